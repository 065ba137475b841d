"""Exported recordings: the released form, targets from the UI tree, the same bytes on every run; and the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from emulator.pocket import png
from emulator.pocket.__main__ import main
from emulator.pocket.export import SCREENS, TRAJECTORIES, Exported, export
from emulator.pocket.tasks import TaskSpec, load_split, start
from sopbench.actions import Click, LongPress, Open, Terminate
from sopbench.geometry import Size
from sopbench.scoring.strict import Strict
from sopbench.trajectory import Trajectory, load_trajectories, screens_in

TASKS = ("notes.find_delete", "settings.text_and_sleep", "notes.pin", "cross.sum_prices", "settings.about")


def _specs(display: str = "regular") -> list[TaskSpec]:
    return [start(name, seed, display).spec for name in TASKS for seed in (0, 1)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("export") / "out"
    export(_specs(), "test", out)
    return out


@pytest.fixture(scope="module")
def trajectories(folder: Path) -> list[Trajectory]:
    return load_trajectories(folder / TRAJECTORIES, screens_in(folder / SCREENS))


def _objects(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / TRAJECTORIES).read_text(encoding="utf-8").splitlines()]


# ---- what is written
def test_every_screen_is_there_and_has_the_displays_size(trajectories: list[Trajectory]) -> None:
    steps = [step for trajectory in trajectories for step in trajectory.steps]
    assert len(steps) > 40
    assert {step.screen.size for step in steps} == {Size(540, 1200)}
    assert {step.screen.media_type for step in steps} == {"image/png"}


def test_paths_work_from_the_files_own_folder_too(folder: Path, trajectories: list[Trajectory]) -> None:
    beside = load_trajectories(folder / TRAJECTORIES)
    assert [step.screen.sha256 for t in beside for step in t.steps] == [
        step.screen.sha256 for t in trajectories for step in t.steps
    ]


def test_recordings_end_with_terminate(trajectories: list[Trajectory]) -> None:
    for trajectory in trajectories:
        kinds = Counter(step.kind for step in trajectory.steps)
        assert kinds["terminate"] == 1
        assert trajectory.steps[-1].action() == Terminate("success")


def test_a_touch_has_the_boxes_under_it_the_smallest_first(trajectories: list[Trajectory]) -> None:
    touched = 0
    for step in (step for trajectory in trajectories for step in trajectory.steps):
        action = step.action()
        if isinstance(action, Click | LongPress):
            touched += 1
            x, y = step.content["coordinate"]
            assert isinstance(x, int)
            assert isinstance(y, int)
            assert step.boxes
            assert all(box.x1 <= x <= box.x2 and box.y1 <= y <= box.y2 for box in step.boxes)
            assert list(step.boxes) == sorted(step.boxes, key=lambda box: box.area)
        elif not isinstance(action, Open):
            assert not step.boxes
    assert touched > 20


def test_open_has_the_icons_box_where_the_icon_shows() -> None:
    seen = Counter[bool]()
    for seed in range(40):
        session = start("notes.pin", seed)
        move = session.move()
        assert move is not None
        if isinstance(move.action, Open):
            at_home = session.phone.state.nav.app == "launcher"
            assert (move.target is not None) == at_home
            if move.target is not None:
                assert move.target.id == "app.notes"
            seen[at_home] += 1
    assert seen[True]
    assert seen[False]


def test_the_file_is_the_released_form_with_words_and_tags(folder: Path) -> None:
    for obj in _objects(folder):
        assert set(obj) == {"goal", "is_successful", "steps", "episode_id", "tags"}
        assert set(obj["tags"]) == {"split", "template", "app", "apps", "display", "seed"}
        assert obj["episode_id"] == f"{obj['tags']['template']}-{obj['tags']['seed']}"
        for step in obj["steps"]:
            assert {"action_content", "screenshot", "step_instruction", "check_options", "thought"} == set(step)
            assert step["check_options"]["action"] == step["action_content"]["action"]
            assert step["step_instruction"]
            assert step["thought"]


def test_each_gold_action_counts_under_strict(trajectories: list[Trajectory]) -> None:
    for step in (step for trajectory in trajectories for step in trajectory.steps):
        assert Strict().judge(step.action(), step, step.screen.size).match


def test_screens_are_named_by_their_pixels_and_stored_once(folder: Path) -> None:
    files = sorted((folder / SCREENS).iterdir())
    used = [step["screenshot"] for obj in _objects(folder) for step in obj["steps"]]
    assert {f"{SCREENS}/{file.name}" for file in files} == set(used)
    assert len(files) < len(used), "some screens are shared"
    for file in files[:10]:
        assert fingerprint_of(file)[:16] == file.stem


def fingerprint_of(file: Path) -> str:
    """What a screen's file shows, as `png.Indexed.fingerprint` says it."""
    return png.index(Image.open(file).convert("RGB")).fingerprint


def test_a_large_screen_is_exported_with_its_own_size_and_ids(tmp_path: Path) -> None:
    done = export(_specs("large")[:2], "test", tmp_path / "out")
    read = load_trajectories(tmp_path / "out" / TRAJECTORIES, screens_in(tmp_path / "out" / SCREENS))
    assert {step.screen.size for t in read for step in t.steps} == {Size(504, 1092)}
    assert all(t.id.endswith("-large") for t in read)
    assert done.steps == sum(len(t) for t in read)


def test_an_export_tells_what_it_wrote(tmp_path: Path) -> None:
    done = export(_specs()[:3], "test", tmp_path / "out")
    assert isinstance(done, Exported)
    files = list((tmp_path / "out" / SCREENS).iterdir())
    assert done.trajectories == 3
    assert done.screens == len(files)
    assert done.bytes == sum(f.stat().st_size for f in [*files, tmp_path / "out" / TRAJECTORIES])


@pytest.mark.slow
def test_two_processes_write_the_same_bytes(tmp_path: Path) -> None:
    """With other hash seeds and another time zone and locale, too."""
    for name, hashes in (("a", "1"), ("b", "77")):
        subprocess.run(
            [sys.executable, "-m", "emulator.pocket", "export", "--split", "heldout", "--per-template", "1", "--limit", "5", "--out", str(tmp_path / name)],
            check=True,
            capture_output=True,
            env=os.environ | {"PYTHONHASHSEED": hashes, "TZ": "Asia/Tokyo" if name == "b" else "UTC", "LC_ALL": "C"},
        )  # fmt: skip
    first, second = (_contents(tmp_path / name) for name in "ab")
    assert len(first) > 20
    assert first == second


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


# ---- the command line
def test_export_refuses_a_folder_that_is_not_empty(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    assert main(["export", "--split", "heldout", "--out", str(tmp_path), "--limit", "1", "--per-template", "1"]) == 2
    assert "not empty" in capsys.readouterr().err
    assert [file.name for file in tmp_path.iterdir()] == ["mine.txt"]


def test_overwrite_replaces_an_export_and_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    (tmp_path / SCREENS).mkdir()
    (tmp_path / SCREENS / "old.png").write_bytes(b"old")
    arguments = ["export", "--split", "heldout", "--out", str(tmp_path), "--limit", "2", "--per-template", "1"]
    assert main([*arguments, "--overwrite"]) == 0
    assert "2 trajectories" in capsys.readouterr().out
    assert (tmp_path / "mine.txt").read_text() == "mine"
    assert not (tmp_path / SCREENS / "old.png").exists()
    assert len(load_trajectories(tmp_path / TRAJECTORIES, screens_in(tmp_path / SCREENS))) == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["export", "--split", "tests", "--out", "{tmp}/x"], "train, validation, test, heldout"),
        (["export", "--split", "heldout", "--out", "{tmp}/x", "--display", "huge"], "regular and large"),
        (["export", "--split", "heldout", "--out", "{tmp}/file"], "a file of that name"),
        (["export", "--split", "heldout", "--out", "{tmp}/file/x"], "Not a directory"),
        (["show", "nonsense"], "TEMPLATE-SEED"),
        (["show", "notes.nothing-1"], "notes.pin"),
        (["show", "notes.pin-1", "--display", "tiny"], "regular and large"),
        (["show", "notes.pin-1", "--out", "{tmp}/strip.docx"], "--out"),
        (["tasks", "nowhere"], "nowhere"),
        (["tasks", "--split", "tests"], "train, validation, test, heldout"),
    ],
)
def test_mistakes_are_told_in_one_line(
    arguments: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("a file")
    assert main([argument.replace("{tmp}", str(tmp_path)) for argument in arguments]) == 2
    told = capsys.readouterr().err
    assert told.startswith("error: ")
    assert words in told
    assert told.count("\n") == 1


@pytest.mark.parametrize("count", ["0", "-3", "many"])
def test_a_limit_is_a_positive_number(count: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["export", "--split", "test", "--out", "x", "--limit", count])
    assert stop.value.code == 2
    assert "--limit" in capsys.readouterr().err


def test_help_shows_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (["--help"], ["export", "--help"], ["show", "--help"], ["tasks", "--help"]):
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        assert stop.value.code == 0
        assert "python -m emulator.pocket export --split test --out" in capsys.readouterr().out


def test_tasks_tells_a_template_and_its_lengths(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "notes.pin", "--seeds", "2"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("notes.pin\n")
    assert "steps before terminate: regular 3-" in told


def test_tasks_lists_a_split(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "notes", "--split", "heldout"]) == 0
    ids = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert ids == [spec.id for spec in load_split("heldout") if spec.template.startswith("notes")]


def test_show_tells_the_steps_and_draws_a_strip(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "notes.delete-1"]) == 0
    told = capsys.readouterr().out.splitlines()
    session = start("notes.delete", 1)
    assert told[0] == session.goal
    assert [line.split(". ", 1)[1] for line in told[1:]] == [move.instruction for move in session.solve()]
    picture = tmp_path / "strip.png"
    assert main(["show", "notes.delete-1", "--display", "large", "--out", str(picture)]) == 0
    strip = np.asarray(Image.open(picture).convert("RGB"))
    assert strip.shape[1] > 1000
    assert (strip.reshape(-1, 3) == [0xE5, 0x48, 0x4D]).all(axis=1).any(), "a mark where the finger goes"
