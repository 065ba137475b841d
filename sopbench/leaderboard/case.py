"""What is known of a submission while its rules are checked, and how a rule says no."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from sopbench.adapters.base import Adapter
from sopbench.errors import SopbenchError
from sopbench.leaderboard.boards import Board, Boards
from sopbench.leaderboard.metadata import Metadata
from sopbench.leaderboard.reading import Submission
from sopbench.runs.folder import EpisodeKey, EpisodeLog, RunInfo
from sopbench.scoring.base import Profile
from sopbench.suites.base import DataSource, Loaded, Suite
from sopbench.trajectory import Trajectory


class Refused(SopbenchError):
    """A rule is broken; the message says what to fix."""


class NoData(Refused):
    """The board's data is not on this machine: nothing can be judged here."""


class Skipped(SopbenchError):
    """A rule cannot be checked here; the message says what is missing. The submission is not refused for it, and the reader is told."""


@dataclass
class Case:
    """One submission under examination. Later fields are filled by the rules that read them; a rule runs only when those before it held."""

    submission: Submission
    boards: Boards
    source: DataSource
    every_screen: bool = False
    known: MutableMapping[str, Loaded] = field(default_factory=dict)
    """Data by board that was read before, for other submissions."""
    _metadata: Metadata | None = None
    _board: Board | None = None
    _info: RunInfo | None = None
    _suite: Suite | None = None
    _loaded: Loaded | None = None
    _adapter: Adapter | None = None
    profile: Profile | None = None
    logs: dict[EpisodeKey, EpisodeLog] = field(default_factory=dict)
    """What a summary is made of: no replies (see `journal`)."""
    key_found: str | None = None
    replies_sha256: str | None = None
    reproduced: bool = False
    """Whether every reply was had again from a built-in policy."""
    screen_sizes: dict[str, int] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)

    @property
    def has_metadata(self) -> bool:
        return self._metadata is not None

    @property
    def metadata(self) -> Metadata:
        assert self._metadata is not None, "the rule `metadata` comes first"
        return self._metadata

    @property
    def board(self) -> Board:
        assert self._board is not None, "the rule `board` comes first"
        return self._board

    @property
    def info(self) -> RunInfo:
        assert self._info is not None, "the rule `run` comes first"
        return self._info

    @property
    def facts(self) -> dict[str, Any]:
        return self.info.facts

    @property
    def suite(self) -> Suite:
        assert self._suite is not None, "the rule `data` comes first"
        return self._suite

    @property
    def loaded(self) -> Loaded:
        assert self._loaded is not None, "the rule `data` comes first"
        return self._loaded

    @cached_property
    def trajectories(self) -> dict[str, Trajectory]:
        """The data's recordings by id; empty for an online board."""
        return {t.id: t for t in self.loaded.trajectories}

    @property
    def adapter(self) -> Adapter:
        assert self._adapter is not None, "the rule `adapter` comes first"
        return self._adapter


@dataclass(frozen=True, slots=True)
class Rule:
    """`check` returns what was found, raises `Refused` (or another `SopbenchError`) where the rule is broken, `Skipped` where it cannot be told."""

    name: str
    title: str
    check: Callable[[Case], str]
