"""Recipes and the command: what is wrong is named, with what to do, and without a traceback."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sopbench.errors import UsageError
from tests.train.worlds import recipe_options
from uis1_train.embedded.__main__ import main
from uis1_train.embedded.config import make_recipe, read_recipe
from uis1_train.embedded.metrics import Tracker, read_metrics
from uis1_train.embedded.order import order

SHIPPED = Path(__file__).parents[2] / "configs" / "embedded_tiny.yaml"


def test_the_shipped_recipe_is_one() -> None:
    recipe = read_recipe(SHIPPED)
    assert recipe.method.gamma == 0.5
    assert (recipe.rl.learner.clip_low, recipe.rl.learner.clip_high, recipe.rl.learner.dual_clip) == (0.2, 0.28, 10)
    assert recipe.rl.learner.kl_coefficient == 1e-4
    assert recipe.validation is not None
    assert recipe.validation.adapter == recipe.method.adapter


def test_settings_can_be_given_beside_the_file() -> None:
    recipe = read_recipe(SHIPPED, ("rl.steps=7", "method.mode=offline", "method.epsilon=.inf", "validation=null"))
    assert (recipe.rl.steps, recipe.method.mode, recipe.validation) == (7, "offline", None)
    assert recipe.method.epsilon == float("inf")


def test_validation_asks_as_training_does(tmp_path: Path) -> None:
    options = recipe_options(tmp_path, tmp_path, validation={"sop": {"suite": "pocket"}}, method={"images": 3})
    validation = make_recipe(options).validation
    assert validation is not None
    assert (validation.adapter, validation.history_images, validation.max_tokens) == ("tiny", 3, 24)


@pytest.mark.parametrize(
    ("text", "overrides", "said"),
    [
        ("model: [", (), "is not YAML"),
        ("- a\n- b\n", (), "holds no settings"),
        ("model: a\noutput: b\ndata: {}\nrl: {stepz: 4}\n", (), "stepz"),
        ("model: a\noutput: b\ndata: {}\nrl: {steps: 0}\n", (), "rl.steps"),
        ("model: a\noutput: b\ndata: {}\nrl: {learner: {clip_low: 2}}\n", (), "clip_low"),
        ("output: b\ndata: {}\n", (), "model"),
        ("model: a\noutput: b\ndata: {}\n", ("rl.steps",), "write NAME=VALUE"),
        ("model: a\noutput: b\ndata: {}\n", ("model.steps=4",), "model is a value"),
    ],
)
def test_what_is_wrong_with_a_recipe_is_named(tmp_path: Path, text: str, overrides: tuple[str, ...], said: str) -> None:
    path = tmp_path / "recipe.yaml"
    path.write_text(text)
    with pytest.raises(UsageError, match=said):
        read_recipe(path, overrides)


def test_the_command_runs_both_stages_and_says_where_they_are(
    tiny_text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    output = tmp_path / "out"
    path = tmp_path / "recipe.yaml"
    path.write_text(json.dumps(recipe_options(tiny_text, output)))  # JSON is YAML
    assert main(["all", "--config", str(path), "sft.steps=1", "rl.steps=1"]) == 0
    said = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["stage"], line["step"]) for line in said] == [("sft", 1), ("rl", 1)]
    assert (output / "rl" / "global_step_1" / "model.safetensors").is_file()
    assert main(["rl", "--config", str(path), "sft.steps=1", "rl.steps=1"]) == 0
    assert json.loads(capsys.readouterr().out)["step"] == 1, "done already: nothing is played again"


def test_the_command_ends_with_one_line_where_it_cannot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rl", "--config", str(tmp_path / "none.yaml")]) == 2
    assert capsys.readouterr().err.startswith("error: cannot read the recipe")
    path = tmp_path / "recipe.yaml"
    path.write_text(json.dumps(recipe_options(tmp_path / "no-model", tmp_path / "out")))
    assert main(["sft", "--config", str(path)]) == 2
    assert "no config.json there" in capsys.readouterr().err


def test_numbers_after_the_step_that_is_resumed_are_forgotten(tmp_path: Path) -> None:
    with Tracker(tmp_path, tensorboard=False) as tracker:
        for step in (1, 2, 3):
            tracker.write(step, {"a": float(step), "b": float("nan")})
    with (tmp_path / "metrics.jsonl").open("a") as lines:
        lines.write('{"step": 4, "a"')  # a crash in the middle of a line
    with Tracker(tmp_path, step=2, tensorboard=False) as tracker:
        tracker.write(3, {"a": 30.0})
    assert [(line["step"], line["a"]) for line in read_metrics(tmp_path / "metrics.jsonl")] == [
        (1, 1.0),
        (2, 2.0),
        (3, 30.0),
    ]
    assert read_metrics(tmp_path / "metrics.jsonl")[0]["b"] is None


def test_tensorboard_gets_the_numbers_too(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with Tracker(tmp_path) as tracker:
        tracker.write(1, {"uis1/reward/total": 0.25})
    events = EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    assert [(e.step, e.value) for e in events.Scalars("uis1/reward/total")] == [(1, 0.25)]


def test_every_epoch_takes_everything_once_from_any_place() -> None:
    from itertools import islice

    whole = list(islice(order(5, seed=1), 15))
    assert [sorted(whole[start : start + 5]) for start in (0, 5, 10)] == [[0, 1, 2, 3, 4]] * 3
    assert whole[:5] != whole[5:10]
    assert list(islice(order(5, seed=1, cursor=7), 8)) == whole[7:]
    assert list(islice(order(5, seed=2), 15)) != whole
