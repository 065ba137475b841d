"""The engine: plays what a run's journal does not hold yet, many episodes at once, in this process or on a cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from functools import partial

from sopbench.clients.base import AskFailed
from sopbench.files import replacing
from sopbench.protocols.static import StaticEpisode
from sopbench.runs.folder import RunFolder, require_own
from sopbench.runs.journal import Journal
from sopbench.runs.player import Play, Player
from sopbench.runs.progress import Listener
from sopbench.runs.records import EpisodeEnd, StepRecord

Crew = Callable[[Play, Player], Awaitable[None]]
"""Whoever plays all of a run: see `play_here`, and `sopbench.runs.on_ray`."""


async def play(plan: Play, folder: RunFolder, listener: Listener, crew: Crew | None = None) -> AskFailed | None:
    """Play what the journal of `folder` does not hold yet. Cancellation leaves a run that can be resumed.

    Returns the refusal that every further request would have met too, where one ended the run early (an unknown model, a wrong key), else None.
    """
    with Journal(folder.journal_path) as journal:
        recorded = folder.episodes()
        require_own(recorded, plan.loaded.ids, plan.repeats, folder)
        player = Player(plan, folder.path, FolderSink(folder, journal), recorded, listener)
        player.tell()
        await (crew or play_here)(plan, player)
        player.tell()
    return player.stopped


class FolderSink:
    """Lines go to the journal, screens to the run's folder (each content once)."""

    def __init__(self, folder: RunFolder, journal: Journal) -> None:
        self._folder, self._journal = folder, journal

    def append(self, record: StepRecord | EpisodeEnd) -> None:
        self._journal.append(record)

    def keep(self, sha256: str, data: bytes) -> None:
        path = self._folder.screens_path / f"{sha256}.png"
        if not path.exists():
            path.parent.mkdir(exist_ok=True)
            with replacing(path, lasting=False) as handle:
                handle.write(data)


async def play_here(plan: Play, player: Player) -> None:
    """A fixed crew of workers takes jobs in order, so that at most `concurrency` are in flight."""
    queue = _jobs(plan, player)

    async def work() -> None:
        for job in queue:
            if player.stopped is not None:
                return
            await job()

    async with asyncio.TaskGroup() as crew:
        for _ in range(min(plan.concurrency, player.progress.total)):
            crew.create_task(work())


def _jobs(plan: Play, player: Player) -> Iterator[Callable[[], Awaitable[None]]]:
    """What is to be played, in the data's order: whole episodes, or where steps do not depend on each other every step by itself."""
    for repeat in range(plan.repeats):
        for trajectory in plan.loaded.trajectories:
            if plan.suite.protocol == "static":
                assert plan.profile is not None
                episode = StaticEpisode(
                    trajectory, plan.adapter, plan.profile, images=plan.images, instruct=plan.suite.instructs
                )
                for index in range(len(trajectory)):
                    yield partial(player.static_step, episode, index, repeat)
            else:
                yield partial(player.semi_online, trajectory, repeat)
        for task in plan.loaded.tasks:
            yield partial(player.online, task, repeat)
