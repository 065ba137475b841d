"""An environment that breaks is an outcome of its own: it ends its episode, costs no other, and is never the agent's failure."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sopbench
from sopbench import api
from sopbench.online.pocket import PocketEnvironment
from sopbench.runs.records import EpisodeEnd
from sopbench.screen import Screen


def broken(*args: Any) -> Any:
    raise RuntimeError("the phone fell into the water")


FAULTS: dict[str, tuple[str, Callable[..., Any], str]] = {
    "no environment": ("__init__", broken, "fell into the water"),
    "no start": ("reset", broken, "fell into the water"),
    "no action": ("act", broken, "fell into the water"),
    "no verdict": ("score", broken, "fell into the water"),
    "no expert": ("expert", broken, "fell into the water"),
    "a verdict beyond all bounds": ("score", lambda self: float("nan"), "nan"),
    "a screen that is none": ("reset", lambda self: Screen.from_bytes(b"not an image", "first"), "not a readable PNG"),
}


@pytest.mark.parametrize("what", FAULTS)
def test_what_breaks_in_the_environment_is_not_scored_and_nothing_else_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    name, fault, says = FAULTS[what]
    usual = getattr(PocketEnvironment, name)
    calls = 0

    def sometimes(self: PocketEnvironment, *args: Any, **kwargs: Any) -> Any:
        """Broken the first time only: the first task meets it."""
        nonlocal calls
        calls += 1
        return fault(self) if calls == 1 else usual(self, *args, **kwargs)

    monkeypatch.setattr(PocketEnvironment, name, sometimes)
    asked = {"suite": "pocket-online", "model": "builtin:oracle", "limit": 3, "concurrency": 1}
    run = sopbench.run(**asked, environment_attempts=1, out=tmp_path / "run")
    assert (run.summary["n"], run.summary["not_scored_trajectories"], run.summary["success"]) == (3, 1, None)
    assert run.summary["not_scored_reasons"] == {"environment_error": 1}
    [end] = [r for r in run.folder.records() if isinstance(r, EpisodeEnd) and r.outcome == "not_scored"]
    assert end.error is not None
    assert says in end.error.detail
    resumed = api.resume(run.path)
    assert (resumed.summary["success"], resumed.summary["complete"]) == (100.0, True)
    assert resumed.summary["environment_failures"] == {"environment_error": 1}


@pytest.mark.parametrize("what", FAULTS)
def test_an_episode_that_its_environment_broke_is_begun_again_in_a_fresh_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    name, fault, says = FAULTS[what]
    usual = getattr(PocketEnvironment, name)
    calls = 0

    def twice(self: PocketEnvironment, *args: Any, **kwargs: Any) -> Any:
        nonlocal calls
        calls += 1
        return fault(self) if calls <= 2 else usual(self, *args, **kwargs)

    monkeypatch.setattr(PocketEnvironment, name, twice)
    run = sopbench.run(suite="pocket-online", model="builtin:oracle", limit=2, concurrency=1, out=tmp_path / "run")
    assert (run.summary["success"], run.summary["complete"], run.summary["not_scored_trajectories"]) == (100.0, True, 0)
    assert run.summary["environment_failures"] == {"environment_error": 2}
    ends = [r for r in run.folder.records() if isinstance(r, EpisodeEnd)]
    assert [(end.attempt, end.outcome) for end in ends] == [
        (0, "not_scored"),
        (1, "not_scored"),
        (2, "scored"),
        (0, "scored"),
    ]
    assert all(says in end.error.detail for end in ends if end.error)


def test_an_environment_that_never_works_is_left_unscored_after_so_many_tries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PocketEnvironment, "reset", broken)
    run = sopbench.run(
        suite="pocket-online", model="builtin:oracle", limit=2, environment_attempts=2, out=tmp_path / "r"
    )
    assert (run.summary["complete"], run.summary["success"]) == (False, None)
    assert run.summary["environment_failures"] == {"environment_error": 4}


def test_an_environment_that_does_not_close_keeps_its_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PocketEnvironment, "close", broken)
    run = sopbench.run(suite="pocket-online", model="builtin:oracle", limit=2, out=tmp_path / "run")
    assert run.summary["success"] == 100.0
    ends = [r for r in run.folder.records() if isinstance(r, EpisodeEnd)]
    assert [end.error.reason for end in ends if end.error] == ["not_closed", "not_closed"]
