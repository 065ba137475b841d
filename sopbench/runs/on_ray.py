"""A run on a Ray cluster: episodes become calls of actors on its nodes; the journal stays here.

Each call plays one episode (of a static suite: all steps of one recording) from where the journal left it, and returns its lines and screens. Only what has
come back is journalled, so a node that dies loses nothing but work, which is done again elsewhere. The lines are those of a run in one process: who plays changes no
request and no verdict.

Every node needs the same sopbench, the data under the same paths (a shared file system), and for endpoints that want one the key in its environment.
Needs the extra `ray`.
"""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sopbench.adapters.base import Adapter
from sopbench.clients.base import AskFailed
from sopbench.errors import DataError, FingerprintMismatch, SopbenchError, UsageError
from sopbench.online.base import OnlineTask
from sopbench.protocols.static import StaticEpisode
from sopbench.runs.config import RunConfig
from sopbench.runs.folder import EpisodeKey, EpisodeLog
from sopbench.runs.player import Play, Player
from sopbench.runs.progress import Progress
from sopbench.runs.records import EpisodeEnd, StepRecord
from sopbench.suites.base import Loaded
from sopbench.trajectory import Trajectory

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_REDONE: Final = 5
"""How often one episode may be lost with its node before the run stops: then it is probably the episode that kills nodes."""


CLOSING: Final = 30.0
"""Seconds that an actor may take to end its environments."""


class ClusterFailed(SopbenchError):
    """The cluster cannot be reached, or keeps losing the same work."""


@dataclass(frozen=True, slots=True)
class Job:
    """One episode and repeat, with what the journal already holds of it."""

    episode: Trajectory | OnlineTask
    repeat: int
    log: EpisodeLog | None


@dataclass(slots=True)
class Played:
    """What came of a job. `stopped` is a refusal that every further request would meet; `error` what must end the run, by its class's name."""

    records: list[StepRecord | EpisodeEnd] = field(default_factory=list)
    screens: dict[str, bytes] = field(default_factory=dict)
    progress: Progress = field(default_factory=lambda: Progress(total=1))
    stopped: tuple[str, str] | None = None
    error: tuple[str, str] | None = None

    def append(self, record: StepRecord | EpisodeEnd) -> None:
        self.records.append(record)

    def keep(self, sha256: str, data: bytes) -> None:
        self.screens[sha256] = data


@dataclass(frozen=True, slots=True)
class Recipe:
    """What an actor needs to play: plain values, since a policy holds connections that cannot travel. `folder` is told in messages only.

    `slots`: episodes that one actor plays at once.
    """

    config: RunConfig
    adapter: Adapter
    images: int
    folder: Path
    slots: int = 1


class Worker:
    """What runs on a node: one policy, and as many episodes at once as it is given."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._plan: Play | None = None
        self._ready = asyncio.Lock()

    async def play(self, job: Job) -> Played:
        played = Played()
        try:
            plan = await self._made()
            online = isinstance(job.episode, OnlineTask)
            own = Loaded("", tasks=[job.episode]) if isinstance(job.episode, OnlineTask) else Loaded("", [job.episode])
            recorded: Mapping[EpisodeKey, EpisodeLog] = {(job.episode.id, job.repeat): job.log} if job.log else {}
            player = Player(
                replace(plan, loaded=own, repeats=1), self._recipe.folder, played, recorded, lambda progress: None
            )
            if online:
                await player.online(own.tasks[0], job.repeat)
            else:
                await _recording(plan, player, own.trajectories[0], job.repeat)
            played.progress = player.progress
            played.stopped = (player.stopped.kind, player.stopped.detail) if player.stopped else None
        except SopbenchError as error:  # exceptions with arguments of their own do not survive the journey
            played.error = (type(error).__name__, str(error))
        return played

    async def _made(self) -> Play:
        async with self._ready:
            if self._plan is None:
                plan = await _plan(self._recipe)
                if plan.suite.protocol == "online":
                    await asyncio.to_thread(plan.suite.open, self._recipe.slots)
                self._plan = plan
            return self._plan

    async def close(self) -> None:
        """End what this worker's environments run on."""
        async with self._ready:
            if self._plan is not None:
                await asyncio.to_thread(self._plan.suite.close)


async def _plan(recipe: Recipe) -> Play:
    from sopbench.clients import make_policy
    from sopbench.scoring import get_profile
    from sopbench.suites import get_suite

    config = recipe.config
    suite = get_suite(config.suite, config.options)
    name = config.profile or suite.default_profile
    return Play(
        suite,
        Loaded(""),
        recipe.adapter,
        get_profile(name) if name else None,
        await make_policy(config),
        images=recipe.images,
        after_mismatch=config.after_mismatch,
        repeats=1,
        seed=config.seed,
        concurrency=config.concurrency,
        environment_attempts=config.environment_attempts,
    )


async def _recording(plan: Play, player: Player, trajectory: Trajectory, repeat: int) -> None:
    if plan.suite.protocol != "static":
        await player.semi_online(trajectory, repeat)
        return
    assert plan.profile is not None
    episode = StaticEpisode(trajectory, plan.adapter, plan.profile, images=plan.images, instruct=plan.suite.instructs)
    for index in range(len(trajectory)):
        if player.stopped is None:
            await player.static_step(episode, index, repeat)


class RayCrew:
    """Plays all of a run on the cluster at `address` (None: one that is started here, of this machine alone)."""

    def __init__(self, recipe: Recipe, address: str | None) -> None:
        self._recipe, self._address = recipe, address
        self.redone = 0

    async def __call__(self, plan: Play, player: Player) -> None:
        ray = _ray()
        mine = not ray.is_initialized()
        try:
            if mine:
                await asyncio.to_thread(_connect, ray, self._address)
            await self._play(ray, plan, player)
        finally:
            if mine:
                await asyncio.to_thread(ray.shutdown)

    async def _play(self, ray: Any, plan: Play, player: Player) -> None:
        cpus = int(ray.cluster_resources().get("CPU", 1))
        workers = max(1, min(cpus, plan.concurrency, player.progress.total))
        seats = math.ceil(plan.concurrency / workers)
        recipe = replace(self._recipe, slots=seats)
        places = [_Place(ray, recipe, seats) for _ in range(workers)]
        queue = _jobs(plan, player)

        async def work(place: _Place) -> None:
            for job in queue:
                if player.stopped is not None:
                    return
                _take_over(await self._done(place, job), player)

        try:
            async with asyncio.TaskGroup() as crew:
                for seat in range(min(plan.concurrency, player.progress.total)):
                    crew.create_task(work(places[seat % workers]))
        finally:
            await asyncio.gather(*(place.close() for place in places))

    async def _done(self, place: _Place, job: Job) -> Played:
        for _ in range(MAX_REDONE):
            actor = place.actor()
            try:
                played: Played = await actor.play.remote(job)
                return played
            except place.lost_with as error:
                place.forget(actor)
                self.redone += 1
                last = error
        raise ClusterFailed(
            f"episode {job.episode.id} was lost with its node {MAX_REDONE} times ({str(last).splitlines()[0][:200]}); what is finished is kept: resume the run"
        )


class _Place:
    """One actor, and its successor when its node is lost."""

    def __init__(self, ray: Any, recipe: Recipe, seats: int) -> None:
        self._ray, self._recipe, self._seats = ray, recipe, seats
        self._actor: Any = None
        errors = ray.exceptions
        self.lost_with = (
            errors.RayActorError,
            errors.WorkerCrashedError,
            errors.NodeDiedError,
            errors.ObjectLostError,
            errors.OwnerDiedError,
        )

    def actor(self) -> Any:
        """The actor that plays here; it takes no CPU of its own in Ray's books, so that it finds room on whatever node is left."""
        if self._actor is None:
            options = {
                "num_cpus": 0,
                "max_concurrency": self._seats,
                "max_restarts": 0,
                "scheduling_strategy": "SPREAD",
            }
            self._actor = self._ray.remote(Worker).options(**options).remote(self._recipe)
        return self._actor

    def forget(self, actor: Any) -> None:
        """Seats that share an actor all learn of its end; the first one to come here makes way for the next."""
        if self._actor is actor:
            self._actor = None

    async def close(self) -> None:
        """End the actor; where its environments run on something of their own, it ends that first."""
        actor, self._actor = self._actor, None
        if actor is None:
            return
        try:
            await asyncio.wait_for(actor.close.remote(), CLOSING)
        except (TimeoutError, *self.lost_with):  # what is lost has ended, what hangs is killed
            pass
        finally:
            self._ray.kill(actor)


def _jobs(plan: Play, player: Player) -> Iterator[Job]:
    for repeat in range(plan.repeats):
        episodes: list[Trajectory | OnlineTask] = [*plan.loaded.trajectories, *plan.loaded.tasks]
        for episode in episodes:
            yield Job(episode, repeat, player.recorded.get((episode.id, repeat)))


def _take_over(played: Played, player: Player) -> None:
    """Journal what a node has played, and count it."""
    if played.error is not None:
        name, message = played.error
        kinds: dict[str, type[SopbenchError]] = {"DataError": DataError, "FingerprintMismatch": FingerprintMismatch}
        raise kinds.get(name, UsageError)(message)
    for sha256, data in played.screens.items():
        player.sink.keep(sha256, data)
    for record in played.records:
        player.sink.append(record)
    mine, theirs = player.progress, played.progress
    for name in ("resumed", "finished", "succeeded", "not_scored", "steps", "parse_failed"):
        setattr(mine, name, getattr(mine, name) + getattr(theirs, name))
    if played.stopped is not None:
        player.stopped = AskFailed(*played.stopped, fatal=True)
    player.tell()


def _ray() -> Any:
    try:
        import ray
    except ImportError as error:
        raise UsageError("--executor ray needs Ray on every node: pip install 'sopbench[ray]'") from error
    return ray


def _connect(ray: Any, address: str | None) -> None:
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "include_dashboard": False}
    if address is not None:
        options = {"address": address, "log_to_driver": False, "logging_level": "ERROR"}
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        ray.init(**options)
    except (ConnectionError, ValueError, RuntimeError, OSError) as error:
        where = address or "this machine"
        raise ClusterFailed(
            f"no Ray cluster at {where} ({str(error).splitlines()[0][:200]}); start one with: ray start --head"
        ) from error
