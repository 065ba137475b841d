"""The suites of PocketPhone's large display: rendered once, the same tasks in all three ways of playing them, solvable by their expert."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

import sopbench
from sopbench.cachedir import CACHE
from sopbench.errors import Notice, UsageError
from sopbench.geometry import Size
from sopbench.suites import SUITES, DataSource
from sopbench.suites.pocket_recordings import packaged, recordings

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::sopbench.errors.Notice")]

WAYS = ("", "-static", "-online")
TASKS = {"": 3, "-val": 3, "-heldout": 4}
"""Of three templates, and one that is held out (of which that split has four)."""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def few_templates(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Splits of a few tasks: what is tested is that they are rendered, not how long that takes."""
    from emulator.pocket import tasks

    known = tasks.templates()
    few = (*[t for t in known if not t.heldout][:3], next(t for t in known if t.heldout))
    monkeypatch.setattr(tasks, "templates", lambda: few)
    monkeypatch.setenv(CACHE, str(cache))


@pytest.mark.parametrize("split", TASKS)
def test_a_split_is_the_same_tasks_however_it_is_played(split: str) -> None:
    recorded, static, live = (SUITES[f"pocket-large{split}{way}"]().load(DataSource()) for way in WAYS)
    assert recorded.ids == static.ids == live.ids
    assert len(recorded.ids) == TASKS[split]
    assert all(name.endswith("-large") for name in recorded.ids)
    assert {step.screen.size for t in recorded.trajectories for step in t.steps} == {Size(504, 1092)}
    assert {t.tags["split"] for t in recorded.trajectories} == {SUITES[f"pocket-large{split}"].split}  # type: ignore[attr-defined]


@pytest.mark.parametrize("way", WAYS)
def test_the_expert_is_right_throughout(way: str, tmp_path: Path) -> None:
    run = sopbench.run(suite=f"pocket-large{way}", model="builtin:oracle", out=tmp_path / "run")
    summary = run.summary
    assert summary[{"": "tsr", "-static": "sr", "-online": "success"}[way]] == 100.0
    assert summary["not_scored_steps"] == 0


def test_a_split_is_rendered_once_and_says_so(cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(CACHE, str(tmp_path))
    with pytest.warns(Notice, match="rendering PocketPhone's split 'test' for the large display"):
        first = recordings("large", "test")
    stamp = (first / "trajectories.jsonl").stat().st_mtime_ns
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert recordings("large", "test") == first
    assert (first / "trajectories.jsonl").stat().st_mtime_ns == stamp
    assert not list(tmp_path.rglob("*.making"))


def test_what_a_killed_process_left_is_no_recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CACHE, str(tmp_path))
    with pytest.warns(Notice):
        whole = recordings("large", "test")
    left = whole.rename(whole.with_suffix(".making"))
    (left / "trajectories.jsonl").write_text("half a li")
    with pytest.warns(Notice):
        again = recordings("large", "test")
    assert len((again / "trajectories.jsonl").read_text().splitlines()) == TASKS[""]


def test_a_cache_that_cannot_be_written_is_the_users_to_mend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(CACHE, str(tmp_path / "file"))
    with pytest.raises(UsageError, match="SOPBENCH_CACHE names another folder"):
        recordings("large", "heldout")


def test_the_packaged_split_is_not_rendered() -> None:
    assert recordings("regular", "test") == packaged()
