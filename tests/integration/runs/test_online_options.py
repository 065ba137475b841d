"""What can be asked of an online suite: a choice of its tasks, the route to the phone; and what a suite does not take is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import sopbench
from sopbench import api
from sopbench.errors import UsageError
from sopbench.online.base import OnlineEnvironment, OnlineTask
from sopbench.suites import DataSource, get_suite
from sopbench.suites.pocket import PocketOnlineSuite


def test_tasks_are_chosen_by_globs_of_ids_and_of_templates() -> None:
    suite = get_suite("pocket-online")
    everything = suite.load(DataSource())
    notes = suite.load(DataSource(), tasks=["notes.*"])
    assert notes.sha256 == everything.sha256
    assert notes.ids == [t.id for t in everything.tasks if t.facts["template"].startswith("notes.")] != []
    one = everything.tasks[7].id
    assert suite.load(DataSource(), tasks=[one]).ids == [one]
    assert suite.load(DataSource(), limit=2, tasks=["notes.*"]).ids == notes.ids[:2]


def test_recordings_are_chosen_by_their_ids(tmp_path: Path) -> None:
    ids = get_suite("pocket").load(DataSource()).ids
    run = sopbench.run(suite="pocket", model="builtin:oracle", tasks=ids[3], out=tmp_path / "run")
    assert (run.summary["n"], run.summary["tasks"]) == (1, [ids[3]])
    assert list(api.rescore(run.path, "uis1-boxes").trajectories["episode"]) == [ids[3]]


def test_a_pattern_that_fits_nothing_is_told() -> None:
    with pytest.raises(UsageError, match=r"'nonsense\.\*' fits no task of this suite; there are "):
        get_suite("pocket-online").load(DataSource(), tasks=["nonsense.*"])


def test_a_run_of_some_tasks_is_resumed_as_such(tmp_path: Path) -> None:
    run = sopbench.run(suite="pocket-online", model="builtin:oracle", tasks=("notes.*",), limit=2, out=tmp_path / "run")
    again = api.resume(run.path)
    assert again.summary["n"] == run.summary["n"] == 2


@pytest.mark.parametrize(
    ("suite", "options", "says"),
    [
        ("pocket", {"through": "adb"}, "suite pocket does not take --through"),
        ("pocket-online", {"task_seed": 3}, "does not take --task-seed; it takes --through"),
        ("pocket-online", {"through": "telepathy"}, "--through is process or adb"),
        ("pocket-online", {"instances": 0}, "instances is a whole number from 1"),
        ("pocket-online", {"colour": "red"}, "there is no suite option 'colour'"),
    ],
)
def test_what_a_suite_does_not_take_is_refused(suite: str, options: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        sopbench.run(suite=suite, model="builtin:oracle", options=options)


class _Watched(PocketOnlineSuite):
    """`pocket-online` with instances, a goal of its own telling, and a diary."""

    diary: list[str]

    def open(self, slots: int) -> None:
        self.diary.append(f"open {slots}")

    def close(self) -> None:
        self.diary.append("close")

    def facts(self) -> dict[str, Any]:
        return {"built_of": "wood"}

    def environment(self, task: OnlineTask) -> OnlineEnvironment:
        environment = super().environment(task)
        environment.goal = lambda: f"please: {task.goal}"  # type: ignore[method-assign]
        environment.details = lambda: {"raw": 0.5}  # type: ignore[method-assign]
        return environment


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    diary: list[str] = []
    monkeypatch.setattr(_Watched, "diary", diary, raising=False)
    monkeypatch.setitem(sopbench.suites.SUITES, "pocket-online", _Watched)
    return diary


def test_what_a_suite_opens_is_closed_and_what_it_tells_is_kept(tmp_path: Path, watched: list[str]) -> None:
    run = sopbench.run(suite="pocket-online", model="builtin:oracle", limit=2, concurrency=16, out=tmp_path / "run")
    assert watched == ["open 2", "close"]
    assert api.resume(run.path).summary["success"] == 100.0
    assert watched == ["open 2", "close"], "a finished run opens nothing"
    assert run.info.facts["environment"] == {"built_of": "wood"}
    ends = [json.loads(line) for line in run.folder.journal_path.read_text().splitlines() if '"end":true' in line]
    assert {(end["goal"].partition(" ")[0], end["details"]["raw"]) for end in ends} == {("please:", 0.5)}
    steps = [json.loads(line) for line in run.folder.journal_path.read_text().splitlines() if '"end":true' not in line]
    assert all(step["shown"] > 0 for step in steps)


def test_it_is_closed_also_where_playing_fails(
    tmp_path: Path, watched: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("sopbench.runs.journal.Journal.append", full)
    with pytest.raises(OSError, match="disk full"):
        sopbench.run(suite="pocket-online", model="builtin:oracle", limit=2, out=tmp_path / "run")
    assert watched == ["open 2", "close"]
