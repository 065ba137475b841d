"""Named benchmarks. `get_suite(name)`; `trajectories_of(info)` finds the recordings that a run was played on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sopbench.errors import SopbenchError, UsageError
from sopbench.runs.folder import RunInfo
from sopbench.suites.aitw import AitwGeneralSuite, AitwWebSuite
from sopbench.suites.androidworld import AndroidWorldSimSuite, AndroidWorldSuite
from sopbench.suites.base import DataSource, Loaded, Suite, SuiteOptions
from sopbench.suites.miniwob import MiniwobSuite
from sopbench.suites.pocket import PocketOnlineSuite, PocketStaticSuite, PocketSuite, large_suites
from sopbench.suites.sop import SopSuite
from sopbench.suites.static import AndroidControlHigh, AndroidControlLow, GuiOdyssey, ScreenSpotPro, ScreenSpotV2
from sopbench.trajectory import Trajectory

__all__ = [
    "SUITES",
    "DataSource",
    "Loaded",
    "Suite",
    "SuiteOptions",
    "get_suite",
    "loaded_again",
    "source_of",
    "suite_of",
    "trajectories_of",
]

SUITES: dict[str, type[Suite]] = {
    suite.name: suite
    for suite in (
        PocketSuite,
        PocketStaticSuite,
        PocketOnlineSuite,
        SopSuite,
        AndroidControlHigh,
        AndroidControlLow,
        GuiOdyssey,
        ScreenSpotV2,
        ScreenSpotPro,
        AndroidWorldSuite,
        AndroidWorldSimSuite,
        AitwGeneralSuite,
        AitwWebSuite,
        MiniwobSuite,
    )
} | large_suites()


def get_suite(name: str, options: SuiteOptions | None = None) -> Suite:
    """Raises `UsageError` for an unknown name, and for options that the suite does not take.

    What a suite adds to its name in brackets, of what it was asked for, may stand there: `options` decide.
    """
    if name not in SUITES and name.endswith("]"):
        name = name.partition("[")[0]
    if name not in SUITES:
        raise UsageError(f"no suite {name!r}; there are: {', '.join(SUITES)}")
    return SUITES[name](options)


def suite_of(info: RunInfo) -> Suite:
    """The suite of a recorded run, as it was asked for."""
    return get_suite(info.facts["suite"], SuiteOptions.read(info.settings.get("options") or {}))


def loaded_again(info: RunInfo, source: DataSource | None = None) -> Loaded:
    """What a recorded run played, read again."""
    settings = info.settings
    return suite_of(info).load(source or source_of(info), settings.get("limit"), settings.get("tasks") or ())


def source_of(info: RunInfo) -> DataSource:
    """Where the data of a recorded run was."""
    data, images = info.settings.get("data"), info.settings.get("images_dir")
    pattern = info.settings.get("image_pattern") or "{name}"
    return DataSource(Path(data) if data else None, Path(images) if images else None, pattern)


def trajectories_of(info: RunInfo, source: DataSource | None = None) -> Mapping[str, Trajectory] | None:
    """The recordings that a run was played on, by id (of online tasks: the goals, without steps); None where the data is no longer there."""
    suite = suite_of(info)
    try:
        loaded = suite.load(source or source_of(info))
    except SopbenchError:
        if source is not None:
            raise
        return None
    goals = {t.id: Trajectory(t.id, t.goal, ()) for t in loaded.tasks}
    return goals | {t.id: t for t in loaded.trajectories}
