"""Training rollouts of many goals, without a barrier: every rollout goes at its own pace, and a group is handed over as soon as its last one is over.

What fails for want of a reply is tried again or dropped, and counted. It never becomes a reward.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Coroutine, Iterable, Iterator
from dataclasses import dataclass, field

from sopbench.clients.base import AskFailed
from sopbench.errors import DataError, SopbenchError, UsageError
from sopbench.trajectory import Trajectory
from uis1_train.policies.base import Generated, RolloutId, TokenPolicy
from uis1_train.rollout import Rollout, RolloutConfig, StepSample, play_offline_step, play_rollout

__all__ = [
    "Generated",
    "GroupItem",
    "PlayCounts",
    "Rollout",
    "RolloutConfig",
    "RolloutId",
    "RolloutsFailed",
    "StepSample",
    "TokenPolicy",
    "play_group",
    "play_groups",
    "play_offline_step",
    "play_rollout",
]


class RolloutsFailed(SopbenchError):
    """Group after group could not be played: something is wrong with who answers, not with single requests."""


@dataclass(frozen=True, slots=True)
class GroupItem:
    """What a group is played on: a trajectory, or with `step` one step of it with the expert's history (offline RL). `goal` names the group."""

    goal: str
    trajectory: Trajectory
    step: int | None = None


@dataclass(slots=True)
class PlayCounts:
    """Live counters of `play_groups`: what was completed; by the kind of the failure, rollouts `retried` and groups `dropped`; and the patches that had to do
    without their thought, by reason (`fell_back`). `last_failure` says in words what went wrong most recently."""

    groups: int = 0
    rollouts: int = 0
    steps: int = 0
    patches: int = 0
    retried: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    fell_back: Counter[str] = field(default_factory=Counter)
    unpatchable: Counter[str] = field(default_factory=Counter)
    last_failure: str | None = None


async def play_group(
    trajectory: Trajectory, policy: TokenPolicy, config: RolloutConfig, n: int, *, goal: str | None = None
) -> list[Rollout]:
    """`n` rollouts of one trajectory, played at the same time, in the order of their numbers.

    The first failure (`AskFailed`, `DataError`) cancels the others and is raised.
    """
    if n < 1:
        raise UsageError(f"a group has at least 1 rollout, not {n}")
    return await _together(play_rollout(trajectory, policy, config, goal=goal, rollout=r) for r in range(n))


def play_groups(
    items: Iterable[GroupItem],
    policy: TokenPolicy,
    config: RolloutConfig,
    n: int,
    *,
    concurrency: int,
    retries: int = 2,
    give_up_after: int = 8,
    counts: PlayCounts | None = None,
) -> AsyncGenerator[list[Rollout], None]:
    """Groups of `n` rollouts, each as soon as it is complete (not in the order of `items`). At most `concurrency` rollouts are in flight.

    `items` is read only as far as there is room, so it may be endless: stop by leaving the loop and closing the generator (`contextlib.aclosing`), which
    cancels what is in flight and waits until it is gone. Groups that are complete and not yet taken hold the players up, so that nobody plays far ahead of
    the weights.

    A rollout that fails for want of a reply is played again, up to `retries` times; then its group is dropped and counted. A failure that every request would
    meet ends the iteration with its `AskFailed`, and so do `give_up_after` dropped groups in a row, with `RolloutsFailed`.
    """
    for name, value, least in (
        ("n", n, 1),
        ("concurrency", concurrency, 1),
        ("retries", retries, 0),
        ("give_up_after", give_up_after, 1),
    ):
        if value < least:
            raise UsageError(f"play_groups: {name} is at least {least}, not {value}")
    crew = _Crew(items, policy, config, n, concurrency, retries, give_up_after, counts or PlayCounts())
    return crew.groups()


@dataclass(slots=True)
class _Group:
    item: GroupItem
    rollouts: list[Rollout | None]
    dropped: bool = False

    def complete(self) -> list[Rollout] | None:
        done = [rollout for rollout in self.rollouts if rollout is not None]
        return done if len(done) == len(self.rollouts) else None


class _Crew:
    """A fixed number of players who take rollouts in the order of the items, one group after the other."""

    def __init__(
        self,
        items: Iterable[GroupItem],
        policy: TokenPolicy,
        config: RolloutConfig,
        n: int,
        concurrency: int,
        retries: int,
        give_up_after: int,
        counts: PlayCounts,
    ) -> None:
        self.policy, self.config, self.n, self.concurrency = policy, config, n, concurrency
        self.retries, self.give_up_after, self.counts = retries, give_up_after, counts
        self.jobs = self._jobs(items)
        self.dropped_in_a_row = 0
        self.ready: asyncio.Queue[list[Rollout] | None] = asyncio.Queue(max(1, concurrency // n))

    async def groups(self) -> AsyncGenerator[list[Rollout], None]:
        players = [asyncio.create_task(self._play()) for _ in range(self.concurrency)]
        end = asyncio.create_task(self._end(players))
        try:
            while (group := await self.ready.get()) is not None:
                yield group
            await end
        finally:
            await _cancelled([*players, end])

    def _jobs(self, items: Iterable[GroupItem]) -> Iterator[tuple[_Group, int]]:
        for item in items:
            group = _Group(item, [None] * self.n)
            for index in range(self.n):
                if group.dropped:
                    break
                yield group, index

    async def _play(self) -> None:
        for group, index in self.jobs:
            rollout = await self._rollout(group, index)
            if rollout is None or group.dropped:
                continue
            group.rollouts[index] = rollout
            self._count(rollout)
            if (complete := group.complete()) is not None:
                self.dropped_in_a_row = 0
                self.counts.groups += 1
                await self.ready.put(complete)

    async def _rollout(self, group: _Group, index: int) -> Rollout | None:
        """The rollout, or None where its group had to be dropped."""
        item, tries = group.item, 0
        while not group.dropped:
            try:
                if item.step is None:
                    return await play_rollout(item.trajectory, self.policy, self.config, goal=item.goal, rollout=index)
                return await play_offline_step(
                    item.trajectory, item.step, self.policy, self.config, goal=item.goal, rollout=index
                )
            except AskFailed as error:
                if error.fatal:
                    raise
                self.counts.last_failure = f"goal {item.goal}, rollout {index}: {error}"
                tries += 1
                if tries > self.retries:
                    self._drop(group, error.kind)
                else:
                    self.counts.retried[error.kind] += 1
            except DataError as error:  # a screen that cannot be read is none the next time either
                self.counts.last_failure = f"goal {item.goal}: {error}"
                self._drop(group, "screen")
        return None

    def _drop(self, group: _Group, kind: str) -> None:
        if group.dropped:
            return
        group.dropped = True
        if self.dropped_in_a_row >= self.give_up_after:
            return  # another player has said so, and this one is about to be stopped
        self.counts.dropped[kind] += 1
        self.dropped_in_a_row += 1
        if self.dropped_in_a_row >= self.give_up_after:
            raise RolloutsFailed(
                f"{self.dropped_in_a_row} groups in a row could not be played, the last for this: {self.counts.last_failure}. "
                "Look at whoever answers (`sopbench doctor` asks an endpoint), or at the data (`sopbench data check`)"
            )

    def _count(self, rollout: Rollout) -> None:
        counts = self.counts
        counts.rollouts += 1
        counts.steps += len(rollout.samples)
        counts.patches += rollout.patches
        counts.fell_back.update(rollout.fell_back)
        if rollout.unpatchable is not None:
            counts.unpatchable[rollout.unpatchable] += 1

    async def _end(self, players: list[asyncio.Task[None]]) -> None:
        """Wait for the players. After the first fault of one the others are stopped; the fault is raised to whoever awaits this."""
        done, playing = await asyncio.wait(players, return_when=asyncio.FIRST_EXCEPTION)
        await _cancelled(list(playing))
        await self.ready.put(None)
        for player in done:
            player.result()


async def _together(rollouts: Iterable[Coroutine[None, None, Rollout]]) -> list[Rollout]:
    tasks = [asyncio.create_task(rollout) for rollout in rollouts]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        await _cancelled(tasks)


async def _cancelled(tasks: list[asyncio.Task[None]] | list[asyncio.Task[Rollout]]) -> None:
    """Cancel whichever are not done, and wait until they are gone. What they raise meanwhile is nobody's business any more."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
