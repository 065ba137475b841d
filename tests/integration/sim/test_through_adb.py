"""`--through adb`: a run whose phones are reached by the genuine adb is the run in process, and outlives its phones."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import psutil
import pytest

import sopbench
from sopbench.runs.progress import Progress
from sopbench.runs.records import EpisodeEnd, StepRecord

TASKS = ("notes.*", "clock.*", "files.*")


def ours() -> set[psutil.Process]:
    """Simulated phones and adb servers below this process; other tests may have some, too."""
    found = set()
    for process in psutil.Process().children(recursive=True):
        try:
            words = process.cmdline()
        except psutil.Error:  # it has just ended
            continue
        if "emulator.sim" in words or (words and Path(words[0]).name == "adb"):
            found.add(process)
    return found


@pytest.fixture
def before() -> set[psutil.Process]:
    return ours()


@pytest.mark.parametrize("suite", ["pocket-online", "pocket-large-heldout-online"])
def test_both_routes_give_the_same_run(adb: Path, tmp_path: Path, before: set[psutil.Process], suite: str) -> None:
    asked = {"suite": suite, "model": "builtin:noisy", "seed": 3, "limit": 12, "concurrency": 2}
    near = sopbench.run(**asked, out=tmp_path / "near")
    far = sopbench.run(**asked, options={"through": "adb"}, out=tmp_path / "far")
    assert far.info.fingerprint == near.info.fingerprint
    assert far.info.settings["options"] == {"through": "adb"}
    here, there = dict(near.summary), dict(far.summary)
    for own in ("run", "wall_s"):
        here.pop(own), there.pop(own)
    assert there == here

    def told(run: sopbench.Run) -> list[tuple[object, ...]]:
        records = [r for log in run.folder.episodes().values() for r in log.ordered()]
        return [(r.episode, r.step, r.prompt_sha256, r.images, r.reply) for r in records if isinstance(r, StepRecord)]

    assert sorted(told(far)) == sorted(told(near))
    assert ours() - before == set()


def test_a_phone_that_dies_costs_its_episode_nothing(adb: Path, tmp_path: Path, before: set[psutil.Process]) -> None:
    killed: list[int] = []

    def killer(progress: Progress) -> None:
        """Kill the phones once some steps are played: whoever is at play meets it."""
        if progress.steps >= 8 and not killed:
            for process in ours() - before:
                if "emulator.sim" in process.cmdline():
                    os.kill(process.pid, signal.SIGKILL)
                    killed.append(process.pid)

    run = sopbench.run(
        suite="pocket-online",
        model="builtin:oracle",
        tasks=TASKS,
        limit=8,
        concurrency=2,
        options={"through": "adb"},
        listener=killer,
        out=tmp_path / "run",
    )
    assert killed
    assert (run.summary["success"], run.summary["complete"]) == (100.0, True)
    assert sum(run.summary["environment_failures"].values()) >= 1
    lost = [r for r in run.folder.records() if isinstance(r, EpisodeEnd) and r.outcome == "not_scored"]
    broken = {"died", "offline", "timeout", "not_started", "bad_reply"}  # the last: killed in the middle of an answer
    assert {end.error.reason for end in lost if end.error} <= broken
    assert ours() - before == set()


def test_without_adb_nothing_is_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from emulator.adb import AdbMissing

    monkeypatch.setenv("ADB", str(tmp_path / "no-adb"))
    with pytest.raises(AdbMissing, match="is no program"):
        sopbench.run(
            suite="pocket-online", model="builtin:oracle", limit=1, options={"through": "adb"}, out=tmp_path / "r"
        )
