"""What a suite is: named data, a protocol, and the profile that its numbers are usually given in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from fnmatch import fnmatchcase
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


@dataclass(frozen=True, slots=True)
class SuiteOptions:
    """What a suite may be asked besides its data. None: not asked, the suite's own default. A suite refuses what it does not take.

    through: how a simulated phone is reached, `process` or `adb`. instances: of each task, each with parameters of its own, which come from `task_seed`.
    family: which of a suite's task lists. actuation: how actions become a device's input. devices: where they are played, such as `sim:4` (`emulator.backends`).
    judge_model, judge_base_url: the VLM that decides success where the environment cannot.
    """

    through: str | None = None
    instances: int | None = None
    task_seed: int | None = None
    family: str | None = None
    actuation: str | None = None
    devices: str | None = None
    judge_model: str | None = None
    judge_base_url: str | None = None

    def __post_init__(self) -> None:
        for name, low in (("instances", 1), ("task_seed", 0)):
            value = getattr(self, name)
            if value is not None and not (type(value) is int and low <= value < 2**31):
                raise UsageError(f"{name} is a whole number from {low}, not {value!r}")

    def asked(self) -> dict[str, Any]:
        """What was asked, by name."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    @classmethod
    def read(cls, asked: Mapping[str, Any]) -> SuiteOptions:
        """`asked()` of a recorded run; names of other versions are left out."""
        return cls(**{f.name: asked[f.name] for f in fields(cls) if f.name in asked})


class Suite(ABC):
    """One named benchmark. `default_profile` is None for suites that the environment itself scores.

    A run that plays it calls `open`, then `environment` for each task, from several threads, and `close` at the end.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    protocol: ClassVar[Literal["semi_online", "online", "static"]]
    default_profile: ClassVar[str | None]
    needs_data: ClassVar[bool] = False
    instructs: ClassVar[bool] = False
    """Whether requests tell the recording's instruction for their step: a static suite's business, and `androidcontrol-low`'s alone."""
    takes: ClassVar[frozenset[str]] = frozenset()
    """The names of `SuiteOptions` that this suite takes."""

    def __init__(self, options: SuiteOptions | None = None) -> None:
        self.options = options or SuiteOptions()
        for name in self.options.asked():
            if name not in self.takes:
                flag = f"--{name.replace('_', '-')}"
                takes = ", ".join(f"--{n.replace('_', '-')}" for n in sorted(self.takes))
                raise UsageError(f"suite {self.name} does not take {flag}" + (f"; it takes {takes}" if takes else ""))

    def load(self, source: DataSource, limit: int | None = None, tasks: Sequence[str] = ()) -> Loaded:
        """Read the data; of the episodes that fit a pattern of `tasks` (all without one) the first `limit`, in the data's own order.

        Patterns are globs over an episode's id and, online, its template. Raises `DataError` or `UsageError`.
        """
        if self.needs_data and source.file is None:
            raise UsageError(f"suite {self.name} needs the data file: --data FILE --images DIR")
        if not self.needs_data and source != DataSource():
            raise UsageError(
                f"suite {self.name} brings its own data and screens; for those of yours use --suite sop --data FILE --images DIR"
            )
        if not tasks:
            return self._load(source, limit)
        return _chosen(self._load(source, None), tasks, limit)

    @abstractmethod
    def _load(self, source: DataSource, limit: int | None) -> Loaded: ...

    def facts(self) -> dict[str, Any]:
        """What this suite adds to the facts of its runs."""
        return {}

    def settings(self) -> dict[str, Any]:
        """What it adds to their settings: what changes no number."""
        return {}

    def at_once(self) -> int | None:
        """The most episodes that can be played side by side; None: as many as are asked for. More would wait for each other's devices."""
        return None

    def open(self, slots: int) -> None:
        """Start whatever `environment` needs, for up to `slots` episodes at once. Blocks. Raises `UsageError` or `EnvironmentFailed`."""
        return

    def close(self) -> None:
        """End what `open` started; always called, also after an `open` that failed."""
        return

    def environment(self, task: OnlineTask) -> OnlineEnvironment:
        raise UsageError(f"suite {self.name} is not played online")


def _chosen(loaded: Loaded, patterns: Sequence[str], limit: int | None) -> Loaded:
    """The episodes that fit a pattern. Raises `UsageError` for a pattern that none fits."""
    names = {i: (i,) for i in loaded.ids} | {t.id: (t.id, str(t.facts.get("template", t.id))) for t in loaded.tasks}
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for own in names.values() for name in own):
            some = ", ".join(list(dict.fromkeys(own[-1] for own in names.values()))[:8])
            raise UsageError(f"--tasks {pattern[:80]!r} fits no task of this suite; there are {some}, ...")
    wanted = {i for i, own in names.items() if any(fnmatchcase(name, p) for name in own for p in patterns)}
    return replace(
        loaded,
        trajectories=[t for t in loaded.trajectories if t.id in wanted][:limit],
        tasks=[t for t in loaded.tasks if t.id in wanted][:limit],
    )
