"""What a plan refuses, what it remarks, and what an override may name."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from sopbench.errors import UsageError
from uis1_train.plan.batches import count_batches
from uis1_train.plan.environment import satisfies
from uis1_train.plan.findings import Finding, about_batches, about_memory, about_tokens
from uis1_train.plan.keys import check_overrides, differences, flatten, plain, unknown_keys
from uis1_train.plan.memory import GB, Use, estimate
from uis1_train.plan.model_shape import QWEN25_VL
from uis1_train.plan.settings import TABLE, settings_table
from uis1_train.plan.tokens import ScreenCost, Tokens

R, A = "actor_rollout_ref.rollout", "actor_rollout_ref.actor"
FLAT: dict[str, Any] = {
    "data.train_batch_size": 32,
    "trainer.n_gpus_per_node": 8,
    "trainer.nnodes": 1,
    "trainer.save_freq": 5,
    "trainer.test_freq": 10,
    "trainer.device": "cuda",
    "uis1.eta": 0.3,
    f"{R}.name": "vllm",
    f"{R}.max_num_batched_tokens": 32768,
    f"{R}.max_num_seqs": 256,
    f"{R}.enable_chunked_prefill": False,
    f"{R}.tensor_model_parallel_size": 1,
    f"{R}.gpu_memory_utilization": 0.6,
    f"{R}.free_cache_engine": True,
    f"{A}.use_dynamic_bsz": False,
    f"{A}.ppo_micro_batch_size_per_gpu": 1,
    f"{A}.use_kl_loss": True,
    f"{A}.fsdp_config.param_offload": True,
    f"{A}.fsdp_config.optimizer_offload": True,
    f"{A}.ulysses_sequence_parallel_size": 1,
    "actor_rollout_ref.model.enable_gradient_checkpointing": True,
    "actor_rollout_ref.ref.fsdp_config.param_offload": True,
}


def tokens(**changes: Any) -> Tokens:
    facts: dict[str, Any] = {
        "max_prompt": 12_288,
        "max_response": 512,
        "max_model_len": 32_678,
        "images": 2,
        "screens": (ScreenCost("1080x2400", "1092x2408", 3354, 1),),
        "longest": 9000,
        "longest_name": "a",
        "overlong": 0,
        "looked_at": 10,
        "assumed": False,
    }
    return Tokens(**(facts | changes))


def of_batches(flat: dict[str, Any], *, goals: int = 32, rollouts: int = 8, trajectories: int = 1000) -> list[Finding]:
    gpus = flat["trainer.n_gpus_per_node"] * flat["trainer.nnodes"]
    counted = count_batches(
        goals=goals,
        rollouts=rollouts,
        lengths=[5] * trajectories,
        patches=1,
        match=0.6,
        gpus=gpus,
        sequence_parallel=1,
        micro_batch=1,
        asking=1,
        wanted_mini_batches=4,
        max_generated=10,
        epochs=5,
        total_steps=None,
        offline=False,
    )
    return list(about_batches(counted, flat, 28))


def only(found: list[Finding], weight: str = "impossible") -> Finding:
    [finding] = [f for f in found if f.weight == weight]
    return finding


def test_the_papers_settings_have_nothing_against_them() -> None:
    assert list(about_tokens(tokens(), 128_000, FLAT)) == []
    assert of_batches(FLAT) == []
    memory = estimate(QWEN25_VL["7B"], Use.of(FLAT, 12_800, 6_708), 80 * GB)
    assert list(about_memory(memory, QWEN25_VL["7B"], tokens(), FLAT)) == []


@pytest.mark.parametrize(
    ("changed", "flat", "words", "fix"),
    [
        ({"max_model_len": 12_288}, {}, "longer than the servers' context", "max_model_len=12800"),
        (
            {"max_model_len": 200_000},
            {f"{R}.max_num_batched_tokens": 200_000},
            "than the model allows",
            "max_model_len=128000",
        ),
        ({}, {f"{R}.max_num_batched_tokens": 8192}, "batched tokens are fewer", "max_num_batched_tokens=32678"),
        ({"images": 4}, {}, "4 screens take 13,416", "uis1.images=1"),
    ],
)
def test_lengths_that_contradict_each_other(
    changed: dict[str, Any], flat: dict[str, Any], words: str, fix: str
) -> None:
    finding = only(list(about_tokens(tokens(**changed), 128_000, FLAT | flat)))

    assert words in finding.what
    assert fix in finding.fix


def test_chunked_prefill_takes_any_context() -> None:
    flat = FLAT | {f"{R}.max_num_batched_tokens": 8192, f"{R}.enable_chunked_prefill": True}

    assert list(about_tokens(tokens(), 128_000, flat)) == []


def test_recordings_that_do_not_fit_are_counted() -> None:
    finding = only(list(about_tokens(tokens(overlong=3, longest=15_000), None, FLAT)), "note")

    assert finding.what.startswith("3 of the 10 longest recordings")


def test_rows_that_do_not_divide_by_the_gpus_name_the_next_batch_that_does() -> None:
    finding = only(of_batches(FLAT | {"trainer.n_gpus_per_node": 6}, goals=32, rollouts=8))

    assert "6 GPUs" in finding.what
    assert finding.fix == "data.train_batch_size=33"


def test_tensor_parallel_must_divide_gpus_and_heads() -> None:
    found = of_batches(FLAT | {f"{R}.tensor_model_parallel_size": 3})

    assert [f.what for f in found if f.weight == "impossible"] == [
        "8 GPUs do not divide into servers of 3 (tensor parallel)",
        "28 attention heads do not divide by 3 (tensor parallel)",
    ]


def test_too_little_data_for_one_batch() -> None:
    assert "an epoch has no step" in only(of_batches(FLAT, trajectories=20)).what


def test_one_rollout_has_nothing_to_be_compared_with() -> None:
    assert f"{R}.n=8" in only(of_batches(FLAT, rollouts=1)).fix


def test_checkpoints_that_miss_the_validations_are_remarked() -> None:
    assert "trainer.save_freq=10" in only(of_batches(FLAT | {"trainer.save_freq": 4}), "note").fix


def test_a_model_that_is_too_large_says_what_takes_the_memory() -> None:
    shape = QWEN25_VL["32B"]
    memory = estimate(shape, Use.of(FLAT, 12_800, 6_708), 80 * GB)

    found = {f.what.split()[0]: f for f in about_memory(memory, shape, tokens(), FLAT) if f.weight == "impossible"}

    assert "AdamW" in found["learning"].what
    assert "more GPUs" in found["learning"].fix
    assert "tensor_model_parallel_size" in found["the"].fix  # no room for a KV cache


KNOWN = (
    "uis1.gamma",
    "uis1.epsilon",
    "actor_rollout_ref.actor.optim.lr",
    "trainer.logger",
    "actor_rollout_ref.model.override_config",
)


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("uis1.gama=0.9", "did you mean uis1.gamma?"),
        ("gamma=0.9", "did you mean uis1.gamma?"),
        ("actor_rollout_ref.actor.lr=1", r"did you mean actor_rollout_ref.actor.optim.lr"),
        ("zzz.qqq=1", "there is no setting 'zzz.qqq'"),
        ("uis1.gamma", "write key=value"),
        ("=3", "write key=value"),
        ("actor_rollout_ref.model.override_config.attn_implementation=sdpa", r"add it with \+actor_rollout_ref"),
    ],
)
def test_an_override_of_nothing_is_told_what_was_meant(override: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        check_overrides([override], KNOWN)


@pytest.mark.parametrize(
    "override",
    ["uis1.gamma=0.9", "+a.b=1", "++uis1.new=2", "~trainer.logger", "uis1={gamma: 1}", "trainer.logger=[console]"],
)
def test_overrides_that_hydra_understands_pass(override: str) -> None:
    check_overrides([override], KNOWN)


def test_keys_of_a_file_that_nobody_reads_are_found() -> None:
    config = {
        "uis1": {"gamma": 1, "anything": 2},
        "trainer": {"logger": [], "total_epoch": 3},
        "actor_rollout_ref": {"model": {"override_config": {"x": 1}}},
    }

    assert unknown_keys(config, [*KNOWN, "trainer.total_epochs"]) == {
        "trainer.total_epoch": "; did you mean trainer.total_epochs?"
    }


def test_differences_are_by_value() -> None:
    assert differences({"a": {"b": 1, "c": 2}, "d": None}, {"a": {"b": 1, "c": 3}, "d": None}) == {"a.c": (3, 2)}
    assert flatten({"a": {}, "b": [1], "c": {"d": None}}) == {"a": {}, "b": [1], "c.d": None}


def test_verdicts_on_settings() -> None:
    flat = {
        "uis1.epsilon": 2,
        "uis1.gamma": 0.5,
        "uis1.reward": "mine",
        "data.max_prompt_length": 12288.0,
        f"{A}.clip_ratio_high": 0.28,
    }

    verdicts = {s.known.key: s.verdict for s in settings_table(flat)}

    assert verdicts["uis1.epsilon"] == "released"
    assert verdicts["uis1.gamma"] == "both"
    assert verdicts["uis1.reward"] == "own"
    assert verdicts["data.max_prompt_length"] == "both"
    assert verdicts[f"{A}.clip_ratio_high"] == "paper"
    assert len({k.key for k in TABLE}) == len(TABLE)


@pytest.mark.parametrize(
    ("version", "wanted", "fits"),
    [
        ("5.10.4", ">=5.5.3,<5.11", True),
        ("5.11.0", ">=5.5.3,<5.11", False),
        ("5.5.2", ">=5.5.3,<5.11", False),
        ("2.13.0+cpu", ">=2.6", True),
        ("0.9.1", "==0.9.1", True),
        ("0.9.1.dev3", "==0.9.1", True),
        ("0.9.2", "==0.9.1", False),
        ("2", ">=2", True),
        ("1.26.4", ">=2", False),
        ("0.10.0rc1", "<=0.10.0", True),
    ],
)
def test_versions_in_ranges(version: str, wanted: str, fits: bool) -> None:
    assert satisfies(version, wanted) is fits


def test_a_length_that_is_only_assumed_makes_no_plan_impossible() -> None:
    flat = FLAT | {f"{R}.free_cache_engine": False}
    shape = QWEN25_VL["7B"]
    memory = estimate(shape, Use.of(flat, 12_800, 6_708), 80 * GB)

    assumed = only(list(about_memory(memory, shape, tokens(looked_at=0, longest=12_288), flat)), "note")
    measured = only(list(about_memory(memory, shape, tokens(longest=12_288), flat)))

    assert "shorter ones may fit" in assumed.what
    assert f"{R}.free_cache_engine=true" in measured.fix


def test_what_json_does_not_know_is_written_as_an_override_has_it() -> None:
    assert plain({"a": [math.inf, 1.5], "b": Path("x/y"), "c": None}) == {"a": ["inf", 1.5], "b": "x/y", "c": None}
