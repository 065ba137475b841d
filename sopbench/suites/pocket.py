"""The suites of PocketPhone: the same tasks recorded (semi-online, static) and live. PocketPhone is a simulation and says so.

`pocket` and `pocket-online` are the packaged test split on the regular display. `pocket-large...` are those of the `large` display, which the tiny
model can read: splits test, validation and held-out templates, each semi-online, static and online.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from sopbench.errors import UsageError
from sopbench.files import file_sha256
from sopbench.online.base import OnlineEnvironment, OnlineTask
from sopbench.suites.base import DataSource, Loaded, Suite, SuiteOptions
from sopbench.suites.pocket_recordings import Shown, packaged, recordings
from sopbench.suites.static import StaticSuite
from sopbench.trajectory import load_trajectories, screens_in

if TYPE_CHECKING:
    from sopbench.online.pocket_adb import PocketPhones

ROUTES = ("process", "adb")
"""How a live PocketPhone is reached. Both give the same screens and the same verdicts for the same actions."""
SPLIT = "test"
SPLITS = {"": "test", "-val": "validation", "-heldout": "heldout"}
"""Ending of a suite's name, split."""
ABOUT = {"test": "unseen parameters", "validation": "for choosing among checkpoints", "heldout": "unseen templates"}


def pocket_data() -> Path:
    """The folder of the packaged split: `trajectories.jsonl` and `screens/`."""
    return packaged()


class _Recorded(Suite):
    """A split as its expert recorded it."""

    display: ClassVar[Shown] = "regular"
    split: ClassVar[str] = SPLIT
    default_profile: ClassVar[str | None] = "strict"

    def _load(self, source: DataSource, limit: int | None) -> Loaded:
        folder = recordings(self.display, self.split)
        file = folder / "trajectories.jsonl"
        return Loaded(file_sha256(file), load_trajectories(file, screens_in(folder / "screens"), limit=limit))


class PocketSuite(_Recorded):
    name: ClassVar[str] = "pocket"
    summary: ClassVar[str] = (
        "PocketPhone (simulated), recorded by its expert, played semi-online; ships with the package"
    )
    protocol: ClassVar[Literal["semi_online", "online", "static"]] = "semi_online"


class PocketStaticSuite(_Recorded, StaticSuite):
    name: ClassVar[str] = "pocket-static"
    summary: ClassVar[str] = "the recordings of `pocket`, every step alone with the expert's history"
    needs_data: ClassVar[bool] = False
    default_profile: ClassVar[str | None] = "strict"


class PocketOnlineSuite(Suite):
    name: ClassVar[str] = "pocket-online"
    summary: ClassVar[str] = "the tasks of `pocket` on a live PocketPhone (simulated), scored by its state"
    protocol: ClassVar[Literal["semi_online", "online", "static"]] = "online"
    default_profile: ClassVar[str | None] = None
    display: ClassVar[Shown] = "regular"
    split: ClassVar[str] = SPLIT
    takes: ClassVar[frozenset[str]] = frozenset({"through"})

    def __init__(self, options: SuiteOptions | None = None) -> None:
        super().__init__(options)
        if self.options.through not in (None, *ROUTES):
            raise UsageError(f"--through is {' or '.join(ROUTES)}, not {self.options.through!r}")
        self._phones: PocketPhones | None = None

    def _load(self, source: DataSource, limit: int | None) -> Loaded:
        from emulator.pocket.tasks import load_split

        specs = load_split(self.split, display=self.display)
        digest = hashlib.sha256("\n".join(spec.canonical() for spec in specs).encode()).hexdigest()
        tasks = [
            OnlineTask(s.id, s.goal, s.budget, {"template": s.template, "seed": s.seed, "display": s.display})
            for s in specs
        ]
        return Loaded(digest, tasks=tasks[:limit])

    def open(self, slots: int) -> None:
        """Through adb: phones are started as they are needed, each in a process of its own, and stopped by `close`."""
        if self.options.through != "adb":
            return
        from emulator.adb import find_adb
        from sopbench.online.pocket_adb import PocketPhones

        find_adb()
        self._phones = PocketPhones()

    def close(self) -> None:
        phones, self._phones = self._phones, None
        if phones is not None:
            phones.close()

    def environment(self, task: OnlineTask) -> OnlineEnvironment:
        if self._phones is not None:
            return self._phones.environment(task)
        from sopbench.online.pocket import PocketEnvironment

        return PocketEnvironment(task.facts["template"], task.facts["seed"], task.facts["display"])


def large_suites() -> dict[str, type[Suite]]:
    """`pocket-large`, `pocket-large-static`, `pocket-large-online`, and the same of `-val` and `-heldout`."""
    found: dict[str, type[Suite]] = {}
    for ending, split in SPLITS.items():
        stem, what = f"pocket-large{ending}", f"PocketPhone on its large display, split {split} ({ABOUT[split]})"
        shared: dict[str, Any] = {"display": "large", "split": split, "__module__": __name__}
        for base, name, how in (
            (PocketSuite, stem, "semi-online"),
            (PocketStaticSuite, f"{stem}-static", "every step alone"),
            (PocketOnlineSuite, f"{stem}-online", "live"),
        ):
            found[name] = type(base.__name__, (base,), shared | {"name": name, "summary": f"{what}, {how}"})
    return found
