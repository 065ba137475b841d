"""The watcher: whole checkpoints only, each once, resumable, the best kept. The checkpoints are stubs, served by a stand-in for vLLM."""

from __future__ import annotations

import shlex
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

import sopbench
from sopbench.errors import DataError
from uis1_train.validation.settings import ValidationSettings
from uis1_train.validation.watch import MAX_TRIES, Watcher

SERVER = Path(__file__).with_name("skilled_server.py")
COMMAND = f"{shlex.quote(sys.executable)} {shlex.quote(str(SERVER))} {{model}} {{name}} {{port}}"


def checkpoint(folder: Path, step: int, skill: int | None) -> Path:
    """A folder that looks like a whole transformers model; without a skill its server does not start."""
    path = folder / f"global_step_{step}"
    path.mkdir(parents=True)
    (path / "config.json").write_text("{}")
    (path / "model.safetensors").write_text(f"weights of step {step}")
    if skill is not None:
        (path / "skill").write_text(str(skill))
    return path


def done_up_to(folder: Path, step: int) -> None:
    """What verl writes when a checkpoint is whole."""
    (folder / "latest_checkpointed_iteration.txt").write_text(str(step))


def settings(tmp_path: Path, **more: Any) -> ValidationSettings:
    options = {
        "sop": {"suite": "pocket", "limit": 4},
        "out": tmp_path / "evaluated",
        "prompts": "builtin",
        "how": "serve",
        "serve_command": COMMAND,
        "serve_timeout": 60,
    }
    return ValidationSettings.read(options | more)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "checkpoints"
    path.mkdir()
    return path


def test_everything_whole_is_evaluated_once_in_order_and_the_best_is_kept(tmp_path: Path, folder: Path) -> None:
    for step, skill in ((10, 1), (20, 4), (30, 2)):
        checkpoint(folder, step, skill)
    done_up_to(folder, 30)
    watcher = Watcher(folder, settings(tmp_path))

    seen = list(watcher.watch(once=True))

    assert [(e.result.step, e.result.scalars["val/sop/tsr"], e.is_best) for e in seen] == [
        (10, 25.0, True),
        (20, 100.0, True),
        (30, 50.0, False),
    ]
    best = watcher.keeper.best
    assert best is not None
    assert best.step == 20
    assert best.kept is not None
    assert (best.kept / "model.safetensors").read_text() == "weights of step 20"
    assert sopbench.load_run(seen[0].result.runs["sop"]).summary["tsr"] == 25.0
    assert list(Watcher(folder, settings(tmp_path)).watch(once=True)) == [], (
        "a watcher that is started again finds nothing to do"
    )


def test_what_the_trainer_has_not_finished_is_left_alone(tmp_path: Path, folder: Path) -> None:
    checkpoint(folder, 10, 1)
    checkpoint(folder, 20, 1)
    (folder / "global_step_30").mkdir()
    done_up_to(folder, 10)

    assert [step for step, _ in Watcher(folder, settings(tmp_path)).pending()] == [10]


def test_without_a_tracker_a_checkpoint_is_whole_when_its_files_have_been_left_alone(
    tmp_path: Path, folder: Path
) -> None:
    checkpoint(folder, 10, 1)

    assert Watcher(folder, settings(tmp_path), quiet_seconds=3600).pending() == []
    assert [step for step, _ in Watcher(folder, settings(tmp_path), quiet_seconds=0).pending()] == [10]


def test_shards_that_have_not_all_arrived_are_not_a_checkpoint(tmp_path: Path, folder: Path) -> None:
    actor = folder / "global_step_10" / "actor"
    actor.mkdir(parents=True)
    (actor / "fsdp_config.json").write_text('{"FSDP_version": 2, "world_size": 2}')
    (actor / "model_world_size_2_rank_0.pt").write_text("x")
    done_up_to(folder, 10)
    watcher = Watcher(folder, settings(tmp_path))
    assert watcher.pending() == []

    (actor / "model_world_size_2_rank_1.pt").write_text("x")
    assert [step for step, _ in watcher.pending()] == [10]


def test_the_newest_first_after_a_pause(tmp_path: Path, folder: Path) -> None:
    for step in (10, 20):
        checkpoint(folder, step, 1)
    done_up_to(folder, 20)

    assert [s for s, _ in Watcher(folder, settings(tmp_path), newest_first=True).pending()] == [20, 10]


def test_a_server_that_does_not_start_is_reported_and_given_up_after_some_tries(tmp_path: Path, folder: Path) -> None:
    checkpoint(folder, 10, None)
    checkpoint(folder, 20, 4)
    done_up_to(folder, 20)

    seen = list(Watcher(folder, settings(tmp_path)).watch(once=True))

    failed = [e for e in seen if e.result.step == 10]
    assert len(failed) == MAX_TRIES
    assert "this model has no skill" in failed[0].result.failures["sop"]
    assert "status 7" in failed[0].result.failures["sop"]
    assert [e.result.scalars["val/sop/tsr"] for e in seen if e.result.step == 20] == [100.0]


def test_an_evaluation_that_was_interrupted_is_continued_in_its_folder(tmp_path: Path, folder: Path) -> None:
    path = checkpoint(folder, 10, 4)
    done_up_to(folder, 10)
    [first] = list(Watcher(folder, settings(tmp_path)).watch(once=True))
    journal = first.result.runs["sop"] / "steps.jsonl"
    whole = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(whole[:2]))
    (first.result.folder / "validation.json").unlink()

    [again] = list(Watcher(folder, settings(tmp_path)).watch(once=True))

    assert again.result.folder == first.result.folder
    assert again.result.scalars["val/sop/tsr"] == 100.0
    assert journal.read_text().splitlines(keepends=True)[:2] == whole[:2]
    assert path.exists()


def test_a_step_that_was_written_again_is_another_checkpoint(tmp_path: Path, folder: Path) -> None:
    path = checkpoint(folder, 10, 1)
    done_up_to(folder, 10)
    watcher = Watcher(folder, settings(tmp_path))
    list(watcher.watch(once=True))

    (path / "model.safetensors").write_text("weights of step 10, trained again")
    (path / "skill").write_text("3")

    [again] = list(watcher.watch(once=True))
    assert again.result.folder.name == "step-000010.2"
    assert again.result.scalars["val/sop/tsr"] == 75.0


def test_watching_waits_for_what_comes_and_ends_at_the_step_it_was_told(tmp_path: Path, folder: Path) -> None:
    def train() -> None:
        checkpoint(folder, 10, 1)
        done_up_to(folder, 10)

    timer = threading.Timer(0.5, train)
    timer.start()
    seen = list(Watcher(folder, settings(tmp_path)).watch(every=0.1, until_step=10))
    timer.join()

    assert [e.result.step for e in seen] == [10]


def test_a_folder_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="global_step_N"):
        Watcher(tmp_path / "nowhere", settings(tmp_path))
