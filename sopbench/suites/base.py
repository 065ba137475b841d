"""What a suite is: named data, a protocol, and the profile that its numbers are usually given in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from sopbench.errors import UsageError
from sopbench.online.base import OnlineEnvironment, OnlineTask
from sopbench.runs.fingerprint import fingerprint
from sopbench.trajectory import Trajectory


@dataclass(frozen=True, slots=True)
class DataSource:
    """Where a user keeps the data: the JSONL file, the folder of its screens, and how those are named."""

    file: Path | None = None
    images: Path | None = None
    pattern: str = "{name}"


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a suite plays. `sha256` identifies the data as a whole (before `--limit`)."""

    sha256: str
    trajectories: Sequence[Trajectory] = ()
    tasks: Sequence[OnlineTask] = ()

    @property
    def ids(self) -> list[str]:
        return [t.id for t in self.trajectories] or [t.id for t in self.tasks]

    @property
    def ids_sha256(self) -> str:
        return fingerprint({"ids": self.ids})


class Suite(ABC):
    """One named benchmark. `default_profile` is None for suites that the environment itself scores."""

    name: ClassVar[str]
    summary: ClassVar[str]
    protocol: ClassVar[Literal["semi_online", "online", "static"]]
    default_profile: ClassVar[str | None]
    needs_data: ClassVar[bool] = False
    instructs: ClassVar[bool] = False
    """Whether requests tell the recording's instruction for their step: a static suite's business, and `androidcontrol-low`'s alone."""

    def load(self, source: DataSource, limit: int | None = None) -> Loaded:
        """Read the data; the first `limit` episodes in the data's own order. Raises `DataError` or `UsageError`."""
        if self.needs_data and source.file is None:
            raise UsageError(f"suite {self.name} needs the data file: --data FILE --images DIR")
        if not self.needs_data and source != DataSource():
            raise UsageError(
                f"suite {self.name} brings its own data and screens; for those of yours use --suite sop --data FILE --images DIR"
            )
        return self._load(source, limit)

    @abstractmethod
    def _load(self, source: DataSource, limit: int | None) -> Loaded: ...

    def facts(self) -> dict[str, Any]:
        """What this suite adds to the facts of its runs."""
        return {}

    def environment(self, task: OnlineTask) -> OnlineEnvironment:
        raise UsageError(f"suite {self.name} is not played online")
