"""The whole recipe on tiny models: SFT and RL, text-only and with pictures, each at least three optimiser steps, resumed to the bit."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from sopbench.errors import DataError, UsageError
from tests.train.worlds import BUTTONS, pressing, recipe_options
from uis1_train.embedded.config import make_recipe
from uis1_train.embedded.metrics import read_metrics
from uis1_train.embedded.rl import TooFewGroups, run_rl
from uis1_train.embedded.sft import run_sft

LESSONS = [
    pressing(f"t{n}", f"Press {button}", button, "Home", first_screen=10 * n) for n, button in enumerate(BUTTONS)
]


@pytest.fixture(params=["text", "vl"])
def start(request: pytest.FixtureRequest, tiny_text: Path, tiny_vl: Path) -> Path:
    return tiny_text if request.param == "text" else tiny_vl


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model.safetensors")


def same(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> bool:
    return first.keys() == second.keys() and all(torch.equal(value, second[name]) for name, value in first.items())


def optimiser(folder: Path) -> dict[str, Any]:
    state: dict[str, Any] = torch.load(folder / "optimizer.pt", weights_only=True)
    return state


def differences(first: Any, second: Any, where: str = "") -> list[str]:
    """Where two nested states differ by as much as a bit."""
    if isinstance(first, torch.Tensor):
        return [] if torch.equal(first, second) else [where]
    if isinstance(first, dict):
        assert first.keys() == second.keys(), where
        return [found for name in first for found in differences(first[name], second[name], f"{where}/{name}")]
    if isinstance(first, list | tuple):
        assert len(first) == len(second), where
        return [
            found
            for n, pair in enumerate(zip(first, second, strict=True))
            for found in differences(*pair, f"{where}/{n}")
        ]
    return [] if first == second or (first != first and second != second) else [where]


def test_sft_lowers_the_loss_and_moves_every_part(start: Path, tmp_path: Path) -> None:
    recipe = make_recipe(recipe_options(start, tmp_path, sft={"steps": 6, "batch": 4}))
    run_sft(recipe, LESSONS)
    losses = [line["sft/loss"] for line in read_metrics(tmp_path / "sft" / "metrics.jsonl")]
    assert len(losses) == 6
    assert losses[-1] < 0.9 * losses[0]
    before, after = weights(start), weights(tmp_path / "sft" / "global_step_6")
    unmoved = [name for name in before if name in after and torch.equal(before[name], after[name])]
    assert unmoved == []


def test_rl_takes_steps_and_tells_what_the_paper_watches(start: Path, tmp_path: Path) -> None:
    """Three steps with validation through the harness. A random policy earns nothing: what moves its weights is in the tests below."""
    options = recipe_options(start, tmp_path, rl={"steps": 3, "goals": 2, "rollouts": 3}, method={"epsilon": 1})
    options["validation"] = {"sop": {"suite": "pocket", "limit": 2}}
    result = run_rl(make_recipe(options), LESSONS)
    lines = read_metrics(tmp_path / "rl" / "metrics.jsonl")
    assert [line["step"] for line in lines] == [1, 2, 3]
    assert result["rollouts"] == 18
    for name in (
        "uis1/reward/total",
        "uis1/reward/format",
        "uis1/reward/type",
        "uis1/reward/accuracy",
        "uis1/patch_rate",
        "uis1/rollout/steps",
        "uis1/advantage/std",
        "groups/dropped",
        "rollout/entropy",
        "actor/entropy",
        "actor/kl_loss",
        "actor/pg_loss",
        "actor/grad_norm",
    ):
        assert all(isinstance(line[name], float) for line in lines), name
    assert lines[0]["uis1/patch_rate"] == 0.5, "two steps a rollout: the first is patched, the second ends it"
    assert lines[0]["rollout/entropy"] == pytest.approx(math.log(908), abs=0.3)
    assert lines[2]["val/sop/pg"] == 0
    assert (tmp_path / "rl" / "validation" / "step-000003" / "sop" / "summary.json").is_file()
    assert (tmp_path / "rl" / "best" / "best.json").is_file()


@pytest.mark.parametrize("stage", ["sft", "rl"])
def test_two_steps_and_two_more_are_four_to_the_bit(
    start: Path, tmp_path: Path, stage: str, learned: dict[str, Path]
) -> None:
    """Weights, optimiser, generators, the place in the data and every number that was logged."""
    model = learned["text" if start.name == "tiny-text" else "vl"]
    more: dict[str, Any] = {
        "sft": {"steps": 4, "learner": {"schedule": "cosine", "warmup": 1}},
        "rl": {"steps": 4, "goals": 2, "rollouts": 4, "learner": {"mini_batch": 6}},
    }

    def run(output: Path, **options: Any) -> Path:
        recipe = make_recipe(recipe_options(model, output, **more))
        (run_sft if stage == "sft" else run_rl)(recipe, LESSONS, **options)
        return output / stage

    straight = run(tmp_path / "straight")
    run(tmp_path / "resumed", stop_after=2)
    assert not (tmp_path / "resumed" / stage / "global_step_4").exists()
    resumed = run(tmp_path / "resumed")
    assert same(weights(straight / "global_step_4"), weights(resumed / "global_step_4"))
    assert not same(weights(straight / "global_step_4"), weights(model))
    assert differences(optimiser(straight / "global_step_4"), optimiser(resumed / "global_step_4")) == []
    states = [json.loads((folder / "global_step_4" / "trainer.json").read_text()) for folder in (straight, resumed)]
    assert states[0] == states[1]
    assert states[0]["cursor"] == 8
    lines = [
        [
            {k: v for k, v in line.items() if "time/" not in k and "per_second" not in k}
            for line in read_metrics(folder / "metrics.jsonl")
        ]
        for folder in (straight, resumed)
    ]
    assert lines[0] == lines[1]
    if stage == "rl":
        assert any(line["uis1/advantage/std"] > 0 for line in lines[0]), "there was something to learn from"


@pytest.fixture(scope="session")
def learned(tiny_text: Path, tiny_vl: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Models that can say buttons, each now and then: taught all four for the same request, so that none is likelier than another."""
    folders = {}
    for name, model in (("text", tiny_text), ("vl", tiny_vl)):
        output = tmp_path_factory.mktemp(f"learned-{name}")
        options = recipe_options(
            model, output, sft={"steps": 60, "batch": 8, "thoughts": False, "learner": {"lr": 4e-3, "warmup": 5}}
        )
        either = [pressing(f"e{n}", "Press any button", button) for n, button in enumerate(BUTTONS)]
        run_sft(make_recipe(options), either)
        folders[name] = output / "sft" / "global_step_60"
    return folders


@pytest.mark.parametrize("kind", ["text", "vl"])
def test_the_reward_of_a_bandit_rises(kind: str, learned: dict[str, Path], tmp_path: Path) -> None:
    """One goal, one step, four buttons of which one pays: what it takes is to try, and to do again what was paid."""
    rl = {
        "steps": 14,
        "goals": 1,
        "rollouts": 64,
        "when_short": "learn",
        "learner": {"lr": 2e-3, "warmup": 2, "kl_coefficient": 0.0},
    }
    options = recipe_options(learned[kind], tmp_path, method={"epsilon": 0, "eta": 0.0}, rl=rl, max_reply=32)
    run_rl(make_recipe(options), [pressing("b", "Press any button", "Menu")])
    lines = read_metrics(tmp_path / "rl" / "metrics.jsonl")

    def mean(name: str, part: list[dict[str, Any]]) -> float:
        return sum(line[name] for line in part) / len(part)

    assert lines[0]["uis1/match"] < 0.4, "four buttons, each as likely as the next"
    assert mean("uis1/match", lines[-3:]) > lines[0]["uis1/match"] + 0.25
    assert mean("uis1/reward/total", lines[-3:]) > lines[0]["uis1/reward/total"] + 0.1


def test_offline_rl_is_one_switch(learned: dict[str, Path], tmp_path: Path) -> None:
    """Steps of the recordings by themselves: every rollout is one step, nothing is patched, also past a mismatch."""
    options = recipe_options(
        learned["text"], tmp_path, method={"mode": "offline"}, rl={"steps": 3, "goals": 4, "rollouts": 4}
    )
    run_rl(make_recipe(options), LESSONS)
    lines = read_metrics(tmp_path / "rl" / "metrics.jsonl")
    assert {line["uis1/rollout/steps"] for line in lines} == {1.0}
    assert {line["uis1/patch_rate"] for line in lines} == {0.0}
    assert lines[-1]["total/steps"] == 3 * 4 * 4
    assert any(line["actor/grad_norm"] > 0 for line in lines)


def test_groups_without_a_difference_are_dropped_and_others_played(learned: dict[str, Path], tmp_path: Path) -> None:
    """One goal that the policy always fails stands among goals that it meets now and then: it never counts, and the batch is full all the same."""
    hopeless = [pressing(f"h{n}", "Press any button", "Back") for n in range(3)]
    for trajectory in hopeless:
        trajectory.steps[0].content["action"] = "wait"  # type: ignore[index]
    hopeful = [pressing(f"b{n}", "Press any button", button) for n, button in enumerate(BUTTONS)]
    options = recipe_options(
        learned["text"], tmp_path, method={"eta": 0.15, "epsilon": 0}, rl={"steps": 3, "goals": 3, "rollouts": 8}
    )
    run_rl(make_recipe(options), [*hopeless, *hopeful])
    lines = read_metrics(tmp_path / "rl" / "metrics.jsonl")
    assert [line["groups/kept"] for line in lines] == [3, 3, 3]
    assert sum(line["groups/dropped"] for line in lines) > 0
    assert all(line["groups/played"] == line["groups/kept"] + line["groups/dropped"] for line in lines)


def test_too_few_groups_is_an_error_that_says_what_to_do(tiny_text: Path, tmp_path: Path) -> None:
    options = recipe_options(tiny_text, tmp_path, method={"eta": 0.3, "max_generated": 2})
    with pytest.raises(TooFewGroups, match=r"of 4 groups played, 0 of the 2 wanted .* eta=0.3 .* Lower method.eta"):
        run_rl(make_recipe(options), LESSONS)


def test_or_the_loop_learns_from_what_there_is(tiny_text: Path, tmp_path: Path) -> None:
    options = recipe_options(
        tiny_text, tmp_path, method={"eta": 0.3, "max_generated": 2}, rl={"when_short": "learn", "steps": 2}
    )
    run_rl(make_recipe(options), LESSONS)
    lines = read_metrics(tmp_path / "rl" / "metrics.jsonl")
    assert [(line["groups/played"], line["groups/kept"]) for line in lines] == [(4, 0), (4, 0)]
    assert same(weights(tiny_text), weights(tmp_path / "rl" / "global_step_2"))


def test_rl_starts_where_sft_of_the_recipe_ended(tiny_text: Path, tmp_path: Path) -> None:
    recipe = make_recipe(
        recipe_options(tiny_text, tmp_path, sft={"steps": 2}, rl={"steps": 1, "learner": {"lr": 1e-12}})
    )
    run_sft(recipe, LESSONS)
    run_rl(recipe, LESSONS)
    after_sft, after_rl = weights(tmp_path / "sft" / "global_step_2"), weights(tmp_path / "rl" / "global_step_1")
    apart = max((after_sft[name] - after_rl[name]).abs().max().item() for name in after_sft)
    assert apart < 1e-6
    assert not same(weights(tiny_text), after_sft)


def test_other_settings_are_not_a_continuation(tiny_text: Path, tmp_path: Path) -> None:
    run_sft(make_recipe(recipe_options(tiny_text, tmp_path, sft={"steps": 2})), LESSONS)
    other = make_recipe(recipe_options(tiny_text, tmp_path, sft={"steps": 4, "learner": {"lr": 5e-3}}))
    with pytest.raises(UsageError, match="trained with other settings"):
        run_sft(other, LESSONS)
    run_sft(make_recipe(recipe_options(tiny_text, tmp_path, sft={"steps": 3})), LESSONS)
    assert (tmp_path / "sft" / "global_step_3").is_dir()


def test_old_checkpoints_go_and_a_whole_one_is_always_there(tiny_text: Path, tmp_path: Path) -> None:
    run_sft(make_recipe(recipe_options(tiny_text, tmp_path, sft={"steps": 4, "save_every": 1, "keep": 2})), LESSONS)
    assert sorted(p.name for p in (tmp_path / "sft").glob("global_step_*")) == ["global_step_3", "global_step_4"]
    assert (tmp_path / "sft" / "latest_checkpointed_iteration.txt").read_text().strip() == "4"
    (tmp_path / "sft" / "global_step_4" / "trainer.json").unlink()
    with pytest.raises(DataError, match="no whole checkpoint"):
        run_sft(make_recipe(recipe_options(tiny_text, tmp_path, sft={"steps": 5})), LESSONS)


def test_a_checkpoint_is_a_model_for_everybody(tiny_vl: Path, tmp_path: Path) -> None:
    from transformers import AutoModelForImageTextToText, AutoProcessor

    run_sft(make_recipe(recipe_options(tiny_vl, tmp_path, sft={"steps": 1})), LESSONS)
    folder = tmp_path / "sft" / "global_step_1"
    model = AutoModelForImageTextToText.from_pretrained(folder)
    processor = AutoProcessor.from_pretrained(folder)
    assert processor.chat_template == AutoProcessor.from_pretrained(tiny_vl).chat_template
    stored, loaded = weights(folder), {f"{name}": value for name, value in model.named_parameters()}
    assert any(torch.equal(value, stored[name]) for name, value in loaded.items() if name in stored)
    assert (folder / "preprocessor_config.json").is_file()


def test_data_that_nothing_can_be_made_of_is_said(tiny_text: Path, tmp_path: Path) -> None:
    short = make_recipe(recipe_options(tiny_text, tmp_path, max_prompt=10))
    with pytest.raises(DataError, match="not one of 8 samples can be asked"):
        run_sft(short, LESSONS)
    none = make_recipe(recipe_options(tiny_text, tmp_path / "b", data={"suite": "sop"}))
    with pytest.raises(UsageError, match=r"data.file"):
        run_sft(none)
    online = make_recipe(recipe_options(tiny_text, tmp_path / "c", data={"suite": "pocket-online", "limit": 1}))
    with pytest.raises(UsageError, match="played live"):
        run_rl(online)


def test_a_goal_with_pictures_beyond_the_limit_ends_the_run_at_once(tiny_vl: Path, tmp_path: Path) -> None:
    from sopbench.clients.base import AskFailed

    options = recipe_options(tiny_vl, tmp_path, max_images=0)
    with pytest.raises(AskFailed, match="raise max_images"):
        run_rl(make_recipe(options), LESSONS)
