"""Suites `pocket` and `pocket-online`: the same PocketPhone tasks, recorded and live. PocketPhone is a simulation and says so."""

from __future__ import annotations

import hashlib
from importlib import resources
from pathlib import Path
from typing import ClassVar, Literal

from sopbench.files import file_sha256
from sopbench.online.base import OnlineEnvironment, OnlineTask
from sopbench.suites.base import DataSource, Loaded, Suite
from sopbench.trajectory import load_trajectories, screens_in

SPLIT = "test"


def pocket_data() -> Path:
    """The folder of the packaged split: `trajectories.jsonl` and `screens/`."""
    return Path(str(resources.files("emulator.pocket").joinpath("data", SPLIT)))


class PocketSuite(Suite):
    name: ClassVar[str] = "pocket"
    summary: ClassVar[str] = (
        "PocketPhone (simulated), recorded by its expert, played semi-online; ships with the package"
    )
    protocol: ClassVar[Literal["semi_online", "online"]] = "semi_online"
    default_profile: ClassVar[str | None] = "strict"

    def _load(self, source: DataSource, limit: int | None) -> Loaded:
        file = pocket_data() / "trajectories.jsonl"
        return Loaded(file_sha256(file), load_trajectories(file, screens_in(pocket_data() / "screens"), limit=limit))


class PocketOnlineSuite(Suite):
    name: ClassVar[str] = "pocket-online"
    summary: ClassVar[str] = "the tasks of `pocket` on a live PocketPhone (simulated), scored by its state"
    protocol: ClassVar[Literal["semi_online", "online"]] = "online"
    default_profile: ClassVar[str | None] = None

    def _load(self, source: DataSource, limit: int | None) -> Loaded:
        from emulator.pocket.tasks import load_split

        specs = load_split(SPLIT)
        digest = hashlib.sha256("\n".join(spec.canonical() for spec in specs).encode()).hexdigest()
        tasks = [OnlineTask(s.id, s.goal, s.budget, {"template": s.template, "seed": s.seed}) for s in specs]
        return Loaded(digest, tasks=tasks[:limit])

    def environment(self, task: OnlineTask) -> OnlineEnvironment:
        from sopbench.online.pocket import PocketEnvironment

        return PocketEnvironment(task.facts["template"], task.facts["seed"])
