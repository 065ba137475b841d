"""The plan's arithmetic: batches, tokens, parameters, memory. None of it needs torch or verl."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from sopbench.adapters import get_adapter
from sopbench.geometry import Size, smart_resize
from sopbench.suites import get_suite
from sopbench.suites.base import DataSource
from uis1_train.plan.batches import Batches, count_batches, steps_of_a_rollout
from uis1_train.plan.memory import GB, Use, estimate
from uis1_train.plan.model_shape import QWEN25_VL, max_positions, shape_of
from uis1_train.plan.tokens import count_tokens


def played(outcomes: tuple[bool, ...], patches: float) -> int:
    """Steps of a rollout whose step t would match or not: the protocol, written out."""
    steps = 0
    for match in outcomes:
        steps += 1
        if not match:
            if patches == 0:
                break
            patches -= 1
    return steps


@pytest.mark.parametrize("patches", [0, 1, 2, math.inf])
@pytest.mark.parametrize("match", [0.0, 0.3, 0.6, 1.0])
def test_expected_steps_are_the_mean_over_all_courses_of_a_rollout(patches: float, match: float) -> None:
    length = 6
    courses = list(itertools.product([True, False], repeat=length))
    chances = [math.prod(match if m else 1 - match for m in course) for course in courses]

    expected = sum(p * played(c, patches) for p, c in zip(chances, courses, strict=True))

    assert steps_of_a_rollout(length, match, patches) == pytest.approx(expected)


def batches(**changes: object) -> Batches:
    options: dict[str, object] = {
        "goals": 32,
        "rollouts": 8,
        "lengths": [5] * 1000,
        "patches": 1,
        "match": 1.0,
        "gpus": 8,
        "sequence_parallel": 1,
        "micro_batch": 1,
        "asking": 1,
        "wanted_mini_batches": 4,
        "max_generated": 10,
        "epochs": 5,
        "total_steps": None,
        "offline": False,
    }
    return count_batches(**(options | changes))  # type: ignore[arg-type]  # a table of options


def test_goals_times_rollouts_times_steps_are_samples() -> None:
    b = batches()

    assert (b.samples, b.most, b.multiple, b.padding_at_most) == (32 * 8 * 5, 32 * 8 * 5, 32, 31)
    assert (b.mini_batch, b.micro_steps) == (320, 40)
    assert (b.steps_an_epoch, b.steps, b.played_at_most) == (31, 155, 320)


def test_offline_has_one_sample_a_rollout_and_a_goal_a_step() -> None:
    b = batches(offline=True)

    assert (b.samples, b.most) == (256, 256)
    assert b.steps_an_epoch == 5000 // 32


def test_without_data_the_number_of_steps_is_not_made_up() -> None:
    b = batches(lengths=None)

    assert (b.trajectories, b.steps_an_epoch, b.steps) == (None, None, None)
    assert batches(lengths=None, total_steps=40).steps == 40


def test_micro_batches_widen_the_padding_and_few_rows_make_fewer_mini_batches() -> None:
    wide = batches(micro_batch=4, asking=3)
    few = batches(goals=4)

    assert (wide.mini_batches, wide.multiple) == (3, 8 * 12)
    assert wide.samples / wide.mini_batches > wide.padding_at_most - 1
    assert few.samples == 160
    assert few.mini_batches == 4
    assert batches(goals=1).mini_batches < 4


@pytest.mark.parametrize(
    ("size", "parameters"),
    [("3B", 3_754_622_976), ("7B", 8_292_166_656), ("32B", 33_452_718_336), ("72B", 73_410_777_344)],
)
def test_parameters_of_the_published_models_are_counted_exactly(size: str, parameters: int) -> None:
    assert QWEN25_VL[size].parameters == parameters


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("Qwen2.5-VL-7B-Instruct", "7B"),
        ("qwen2.5-vl-32b", "32B"),
        ("UI-S1-7B", "7B"),
        ("my-model", None),
        ("model-70b", None),
    ],
)
def test_a_folder_that_is_not_here_is_known_by_the_size_in_its_name(
    tmp_path: Path, name: str, found: str | None
) -> None:
    assert shape_of(tmp_path / name) == (QWEN25_VL[found] if found else None)


def test_config_json_is_read_in_both_forms(tmp_path: Path) -> None:
    text = {
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "intermediate_size": 128,
        "vocab_size": 300,
        "max_position_embeddings": 4096,
    }
    flat, joint = tmp_path / "flat", tmp_path / "joint"
    for folder, config in ((flat, text), (joint, {"text_config": text, "tie_word_embeddings": False})):
        folder.mkdir()
        (folder / "config.json").write_text(json.dumps(config))

    one, other = shape_of(flat), shape_of(joint)

    assert one is not None
    assert other is not None
    assert one.parameters == other.parameters == 2 * (64 * 128 + 128 + 64 * 64 + 3 * 64 * 128 + 128) + 2 * 300 * 64 + 64
    assert max_positions(joint) == 4096


USE = Use(
    gpus=8,
    gpus_a_node=8,
    micro_batch=1,
    tokens=12_800,
    image_tokens=6_708,
    tensor_parallel=1,
    utilisation=0.6,
    batched_tokens=32_768,
    sequences=256,
    checkpointing=True,
    param_offload=True,
    optimizer_offload=True,
    ref=True,
    ref_offload=True,
    rollouts_leave=True,
)
SEVEN = QWEN25_VL["7B"]


def part(memory: object, phase: str, name: str) -> float:
    phases = {p.name: {q.name: q.bytes for q in p.parts} for p in memory.phases}  # type: ignore[attr-defined]
    return phases[phase][name]


def test_memory_of_the_papers_run_by_hand() -> None:
    memory = estimate(SEVEN, USE, 80 * GB)
    p = SEVEN.parameters

    assert part(memory, "learning", "parameters, split") == 4 * p / 8
    assert part(memory, "learning", "AdamW, split") == 8 * p / 8
    assert part(memory, "learning", "logits") == 12_800 * 152_064 * 8
    assert part(memory, "rollouts", "weights, bfloat16") == 2 * p
    assert memory.kv_bytes_a_token == 2 * 28 * 4 * 128 * 2
    assert memory.host == pytest.approx(16 * p)  # parameters 4, AdamW 8, reference 4
    assert {phase.name for phase in memory.phases if phase.bytes < memory.capacity} == {"rollouts", "learning"}


@pytest.mark.parametrize(
    ("change", "phase"),
    [
        ({"checkpointing": False}, "learning"),
        ({"rollouts_leave": False}, "learning"),
        ({"micro_batch": 4}, "learning"),
        ({"param_offload": False}, "rollouts"),
        ({"optimizer_offload": False}, "rollouts"),
        ({"ref_offload": False}, "rollouts"),
        ({"utilisation": 0.9}, "rollouts"),
        ({"gpus": 4}, "learning"),
    ],
)
def test_what_takes_more_memory_shows(change: dict[str, float], phase: str) -> None:
    def total(use: Use) -> float:
        return next(p.bytes for p in estimate(SEVEN, use, 80 * GB).phases if p.name == phase)

    assert total(replace(USE, **change)) > total(USE)  # type: ignore[arg-type]  # a table of changes


def test_tensor_parallel_leaves_more_room_for_the_cache() -> None:
    assert (
        estimate(SEVEN, replace(USE, tensor_parallel=2), 80 * GB).kv_tokens
        > 2 * estimate(SEVEN, USE, 80 * GB).kv_tokens
    )


def test_pocket_prompts_are_counted_from_its_own_screens_and_words() -> None:
    loaded = get_suite("pocket").load(DataSource(), 20)
    size = loaded.trajectories[0].steps[0].screen.size

    tokens = count_tokens(
        get_adapter("uis1"),
        list(loaded.trajectories),
        images=2,
        max_prompt=12_288,
        max_response=512,
        max_model_len=32_678,
        limits=None,
    )

    made = smart_resize(size)
    assert tokens.screens[0].tokens == made.width * made.height // 28**2
    assert tokens.image_tokens == 2 * tokens.screens[0].tokens
    assert tokens.image_tokens < tokens.longest < 12_288
    assert tokens.overlong == 0
    assert tokens.longest_name == max(loaded.trajectories, key=len).id


def test_the_processors_own_limits_count_where_they_are_known() -> None:
    def cost(limits: tuple[int, int] | None) -> int:
        return count_tokens(
            get_adapter("uis1"), None, images=1, max_prompt=999, max_response=1, max_model_len=1000, limits=limits
        ).image_tokens

    assert cost(None) == 39 * 86
    assert cost((3136, 25088)) <= 32


def test_a_prompt_without_data_is_assumed_to_be_as_long_as_allowed() -> None:
    tokens = count_tokens(
        get_adapter("uis1"), None, images=2, max_prompt=12_288, max_response=512, max_model_len=32_678, limits=None
    )

    assert (tokens.sample, tokens.assumed) == (12_800, True)
    assert tokens.screens[0].resized == str(smart_resize(Size(1080, 2400)))
