"""The suites `pocket` and `pocket-online` from end to end: perfect play scores 100 on both, doing nothing 0 on both."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sopbench


def _summary(tmp_path: Path, suite: str, model: str, **options: Any) -> dict[str, Any]:
    return dict(sopbench.run(suite=suite, model=model, out=tmp_path / "run", **options).summary)


@pytest.mark.parametrize("profile", ["strict", "uis1-released", "uis1-boxes"])
def test_the_oracle_plays_every_recording_to_its_end(tmp_path: Path, profile: str) -> None:
    summary = _summary(tmp_path, "pocket", "builtin:oracle", profile=profile)
    assert summary["n"] >= 100
    assert summary["scored_steps"] >= 600
    assert summary["not_scored_steps"] == 0
    assert (summary["pg"], summary["tsr"], summary["score"]) == (100.0, 100.0, 100.0)


def test_saying_done_at_once_matches_nothing(tmp_path: Path) -> None:
    summary = _summary(tmp_path, "pocket", "builtin:null")
    assert (summary["pg"], summary["tsr"], summary["score"]) == (0.0, 0.0, 0.0)


@pytest.mark.slow
def test_the_expert_solves_the_live_tasks_within_their_budgets(tmp_path: Path) -> None:
    summary = _summary(tmp_path, "pocket-online", "builtin:oracle", limit=40)
    assert (summary["n"], summary["success"]) == (40, 100.0)


@pytest.mark.slow
def test_no_live_task_is_solved_before_it_starts(tmp_path: Path) -> None:
    summary = _summary(tmp_path, "pocket-online", "builtin:null")
    assert summary["n"] >= 100
    assert (summary["success"], summary["mean_steps"]) == (0.0, 1.0)


@pytest.mark.slow
def test_an_expert_that_errs_now_and_then_finds_back_more_often_online_than_in_recordings(tmp_path: Path) -> None:
    """Semi-online, the first mistake ends an episode; a live expert goes on from where its mistake has led."""
    recorded = _summary(tmp_path / "a", "pocket", "builtin:noisy:p=0.2", limit=40, seed=3)
    live = _summary(tmp_path / "b", "pocket-online", "builtin:noisy:p=0.2", limit=40, seed=3)
    assert 0 < recorded["tsr"] < live["success"] < 100
