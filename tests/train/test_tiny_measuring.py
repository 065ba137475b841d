"""What the study measures and how it tells it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from uis1_train.tiny.corpus import Order, ensure
from uis1_train.tiny.folder import Shape, new_model, vocabulary_from, write_folder
from uis1_train.tiny.measuring import mean_interval, measure
from uis1_train.tiny.rl import METHODS
from uis1_train.tiny.study import AFTERWARDS, SEEDS, Plan
from uis1_train.tiny.telling import best, ship, tell


def test_a_measurement_has_a_value_for_each_task_and_is_made_once(tmp_path: Path) -> None:
    corpus = ensure(tmp_path / "recordings", Order("test", 1, only=2), processes=1, log=lambda _: None)
    tok = vocabulary_from([r.goal for r in corpus.recordings], [])
    small = Shape(hidden=64, inner=64, layers=2, heads=1, vision_inner=64, vision_layers=1)
    write_folder(tmp_path / "model", new_model(tok, small, 0), tok)
    file = tmp_path / "measured.json"
    facts = measure(tmp_path / "model", {"test": tmp_path / "recordings"}, file)
    assert facts["test"]["ids"] == [r.id for r in corpus.recordings]
    for what in ("progress", "success", "static", "online"):
        assert len(facts["test"][what]) == 2
        assert all(0 <= value <= 1 for value in facts["test"][what])
    assert facts["test"]["online"] == [0.0, 0.0], "a random model does not solve a task"
    file.write_text(json.dumps({"kept": True}))
    assert measure(tmp_path / "model", {}, file) == {"kept": True}


def test_an_interval_over_seeds_and_tasks_holds_the_mean() -> None:
    mean, low, high = mean_interval([[1.0, 0.0, 1.0, 1.0], [1.0, 1.0, 1.0, 1.0]])
    assert mean == 87.5
    assert low < mean < high
    assert mean_interval([[1.0, 1.0]]) == (100.0, 100.0, 100.0)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """A study's folder with made-up results."""
    out = tmp_path / "study"
    for folder in ("sft", "rl"):
        (out / folder).mkdir(parents=True)
    split = {
        "ids": ["a", "b"],
        "progress": [0.5, 1.0],
        "success": [0.0, 1.0],
        "static": [0.8, 1.0],
        "online": [0.0, 1.0],
    }
    names = ["start", "sft", *(f"{m}-{s}" for m in METHODS for s in SEEDS), *(f"whole-{m}" for m in AFTERWARDS)]
    for name in names:
        (out / f"{name}.measured.json").write_text(json.dumps({"test": split, "heldout": split}))
    (out / "start.json").write_text(
        json.dumps({"chosen": "at_0.30", "train_sop": {"at_0.30": {"tsr": 31.25, "pg": 50.0}}})
    )
    (out / "sft" / "recipe.json").write_text(json.dumps({"eye_minutes": 8.0, "hand_minutes": 32.0, "processes": 2}))
    check = {"at": "final", "sop": {"tsr": 60.0, "pg": 70.0}, "static": {"all": 90.0}}
    (out / "sft" / "checks.jsonl").write_text(json.dumps(check) + "\n")
    for name in names[2:]:
        folder = out / "rl" / name
        folder.mkdir()
        done = {"sampled": 1000, "updates": 7, "minutes": 1.5, "method": name.removeprefix("whole-").split("-")[0]}
        (folder / "done.json").write_text(json.dumps(done))
        curve = [{"steps": n, "reward": n / 1000, "entropy": 0.3} for n in (100, 500, 1000)]
        (folder / "curve.jsonl").write_text("".join(json.dumps(line) + "\n" for line in curve))
        checks = [{"steps": 0, "tsr": 20.0, "pg": 40.0}, {"steps": 1000, "tsr": 30.0, "pg": 50.0 + len(name)}]
        (folder / "checks.jsonl").write_text("".join(json.dumps(line) + "\n" for line in checks))
    return out


def test_the_page_holds_what_was_measured_and_its_plots(results: Path, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    tell(results, Plan(), docs)
    page = (docs / "study.md").read_text()
    assert "| semi-online RL, epsilon 1 | 75.0 [" in page
    assert "| semi-online RL, epsilon 1 minus offline RL | +0.0 [" in page
    assert "TSR 31.2, PG 50.0" in page
    assert "| semi1-3 | 1,000 | 7 | 1.5 | 0.100, 1.000 | 0.300, 0.300 | 20.0, 30.0 |" in page
    for name in ("reward", "tsr", "entropy", "sft"):
        assert f"images/study-{name}.svg" in page
        assert (docs / "images" / f"study-{name}.svg").read_text().startswith("<?xml")


def test_what_is_best_on_validation_ships(results: Path) -> None:
    assert best(results) == "whole-offline", "PG decides where TSR is the same"
    for method in AFTERWARDS:
        file = results / "rl" / f"whole-{method}" / "checks.jsonl"
        file.write_text('{"tsr": 50.0, "pg": 60.0}\n{"tsr": 49.0, "pg": 70.0}\n')
    assert best(results) == "sft"


def test_the_card_tells_the_figures_of_the_weights_beside_it(results: Path, tmp_path: Path) -> None:
    tok = vocabulary_from(["Open Notes."], [])
    write_folder(results / "rl" / "whole-offline" / "final", new_model(tok, Shape(), 0), tok)
    ship(results, tmp_path / "shipped")
    card = (tmp_path / "shipped" / "README.md").read_text()
    assert "| held-out parameters | 2 | 75.0 [" in card
    assert "8 minutes for the" in card
    assert "then 1,000 sampled replies of offline RL" in card
    assert (tmp_path / "shipped" / "model.safetensors").exists()
