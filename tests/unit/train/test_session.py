"""Many rollouts: no barrier, bounded, cancelled cleanly, and failures that are counted and never paid."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Iterator
from contextlib import aclosing
from pathlib import Path

import pytest

from sopbench.clients.base import Ask, AskFailed
from sopbench.errors import DataError, UsageError
from sopbench.screen import Screen
from sopbench.trajectory import Step, Trajectory
from tests.unit.train.players import HIT, NEAR, WRONG, Script, Scripted, config, recording
from uis1_train.policies.base import Generated, RolloutId
from uis1_train.session import GroupItem, PlayCounts, Rollout, RolloutsFailed, play_group, play_groups

TIMEOUT = AskFailed("timeout", "no answer within 1 s")


def items(*lengths: int) -> list[GroupItem]:
    return [GroupItem(f"g{k}", recording(length, name=f"t{k}")) for k, length in enumerate(lengths)]


async def groups_of(given: list[GroupItem], policy: Scripted, n: int, **options: object) -> list[list[Rollout]]:
    options = {"concurrency": 4, **options}
    return [group async for group in play_groups(given, policy, config(), n, **options)]  # type: ignore[arg-type]


async def test_every_group_is_whole_and_in_the_order_of_its_rollouts() -> None:
    counts = PlayCounts()
    groups = await groups_of(items(3, 1, 2), Scripted([HIT, NEAR, HIT]), 4, counts=counts)
    assert sorted(g[0].goal for g in groups) == ["g0", "g1", "g2"]
    for group in groups:
        assert [r.rollout for r in group] == [0, 1, 2, 3]
        assert len({r.goal for r in group}) == 1
    # a mismatch in the middle of three steps is patched, one on the last of two is not
    assert (counts.groups, counts.rollouts, counts.steps, counts.patches) == (3, 12, 4 * (3 + 1 + 2), 4)


async def test_no_items_no_groups() -> None:
    assert await groups_of([], Scripted([]), 4) == []


class Slow(Scripted):
    """Takes the time that `seconds_of` says for each step of a goal."""

    def __init__(self, seconds_of: dict[str, float]) -> None:
        super().__init__([HIT] * 20)
        self.seconds_of = seconds_of

    async def generate(self, ask: Ask, *, rollout: RolloutId) -> Generated:
        await asyncio.sleep(self.seconds_of.get(rollout.goal, 0.0))
        return await super().generate(ask, rollout=rollout)


async def test_a_group_comes_as_soon_as_it_is_done_and_waits_for_no_other() -> None:
    policy = Slow({"g0": 0.15})
    groups = await groups_of(items(3, 3, 3), policy, 2, concurrency=6)
    assert [g[0].goal for g in groups][-1] == "g0"
    # and within a batch nobody waited at a step for the slowest: the quick ones were over before the slow one's second step
    order = [(rollout_id, ask.key[2]) for ask in policy.asks for rollout_id in [ask.key[0]]]
    assert order.index(("t1", 2)) < order.index(("t0", 0))


@pytest.mark.parametrize(("concurrency", "n"), [(1, 4), (3, 4), (8, 2)])
async def test_never_more_rollouts_than_allowed(concurrency: int, n: int) -> None:
    policy = Scripted([HIT] * 3, seconds=0.002)
    await groups_of(items(3, 3, 3, 3, 3, 3, 3), policy, n, concurrency=concurrency)
    assert policy.most_at_once == concurrency


async def test_endless_items_are_read_only_as_far_as_there_is_room() -> None:
    read = 0

    def endless() -> Iterator[GroupItem]:
        nonlocal read
        for read in itertools.count(1):
            yield GroupItem(f"g{read}", recording(1))

    policy = Scripted([HIT])
    async with aclosing(play_groups(endless(), policy, config(), 2, concurrency=4)) as groups:
        taken = 0
        async for _ in groups:
            taken += 1
            await asyncio.sleep(0.01)  # a consumer that is busy holds the players up
            if taken == 5:
                break
    assert taken == 5
    # taken: 5; ready: 2; with the 4 players: at most one group each
    assert read <= 5 + 2 + 4


async def test_closing_cancels_what_is_in_flight() -> None:
    policy = Scripted([HIT] * 2, seconds=0.01)
    before = asyncio.all_tasks()
    started = time.monotonic()
    async with aclosing(play_groups(items(1, 2), policy, config(), 2, concurrency=8)) as groups:
        async for group in groups:
            assert group[0].goal == "g0"
            policy.seconds = 60
            break
    assert asyncio.all_tasks() == before
    assert time.monotonic() - started < 10
    assert policy.playing == 0


async def test_cancelling_whoever_waits_for_groups_cancels_them() -> None:
    policy = Scripted([HIT], seconds=60)
    before = asyncio.all_tasks()
    waiting = asyncio.create_task(groups_of(items(1, 1), policy, 2))
    while policy.playing < 4:
        await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    for _ in range(5):
        await asyncio.sleep(0)
    assert asyncio.all_tasks() == before
    assert policy.playing == 0


def failing(times: int, *, goal: str = "g1", rollout: int = 1, error: AskFailed = TIMEOUT) -> tuple[Script, list[int]]:
    """A script in which one rollout of one goal fails at its second step, `times` times."""
    failed: list[int] = []

    def script(who: RolloutId, step: int) -> str | AskFailed:
        if (who.goal, who.rollout, step) == (goal, rollout, 1) and len(failed) < times:
            failed.append(step)
            return error
        return HIT

    return script, failed


async def test_a_rollout_without_a_reply_is_played_again_from_its_start() -> None:
    script, _ = failing(2)
    counts = PlayCounts()
    policy = Scripted(script)
    groups = await groups_of(items(2, 2, 2), policy, 2, counts=counts, retries=2)
    assert len(groups) == 3
    assert counts.retried == {"timeout": 2}
    assert counts.dropped == {}
    assert [a.key[2] for a in policy.asks if a.key[:2] == ("t1", 1)] == [0, 1] * 3
    assert all(len(r.samples) == 2 and r.success for group in groups for r in group)


async def test_a_group_is_dropped_and_counted_after_that() -> None:
    script, failed = failing(99)
    counts = PlayCounts()
    groups = await groups_of(items(2, 2, 2), Scripted(script), 2, counts=counts, retries=1)
    assert sorted(g[0].goal for g in groups) == ["g0", "g2"]
    assert len(failed) == 2
    assert (counts.retried, counts.dropped, counts.groups) == ({"timeout": 1}, {"timeout": 1}, 2)
    assert counts.last_failure == "goal g1, rollout 1: timeout: no answer within 1 s"


async def test_a_screen_that_cannot_be_read_drops_its_group_at_once(tmp_path: Path) -> None:
    gone = Screen.from_file(tmp_path / "gone.png")
    broken = Trajectory("broken", "goal", (Step({"action": "wait", "time": 1}, gone),))
    counts = PlayCounts()
    given = [GroupItem("broken", broken), *items(1)]
    groups = await groups_of(given, Scripted([HIT]), 2, counts=counts)
    assert [g[0].goal for g in groups] == ["g0"]
    assert (counts.dropped, counts.retried) == ({"screen": 1}, {})
    assert "gone.png" in (counts.last_failure or "")


async def test_a_failure_that_all_would_meet_ends_it_as_itself() -> None:
    no_model = AskFailed("rejected", "the model `x` does not exist", fatal=True)
    policy = Scripted(lambda who, step: no_model)
    with pytest.raises(AskFailed, match="the model `x` does not exist"):
        await groups_of(items(*[1] * 50), policy, 2)
    assert len(policy.asks) <= 4


async def test_groups_dropped_in_a_row_end_it_with_advice() -> None:
    policy = Scripted(lambda who, step: TIMEOUT)
    counts = PlayCounts()
    with pytest.raises(RolloutsFailed, match=r"3 groups in a row .* no answer within 1 s.*sopbench doctor"):
        await groups_of(items(*[1] * 50), policy, 2, counts=counts, retries=0, give_up_after=3)
    assert counts.dropped == {"timeout": 3}


async def test_a_good_group_between_them_starts_the_count_again() -> None:
    policy = Scripted(lambda who, step: HIT if who.goal in ("g2", "g5") else TIMEOUT)
    groups = await groups_of(items(*[1] * 8), policy, 1, concurrency=1, retries=0, give_up_after=3)
    assert len(groups) == 2


async def test_what_breaks_in_the_policy_itself_is_not_hidden() -> None:
    def broken(who: RolloutId, step: int) -> str:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await groups_of(items(1, 1), Scripted(broken), 2)


async def test_offline_items_are_single_steps() -> None:
    trajectory = recording(3)
    given = [GroupItem(f"t:{k}", trajectory, step=k) for k in range(3)]
    groups = await groups_of(given, Scripted([HIT, WRONG, HIT]), 2)
    assert sorted((g[0].goal, g[1].samples[0].step, g[0].success) for g in groups) == [
        ("t:0", 0, True),
        ("t:1", 1, False),
        ("t:2", 2, True),
    ]


async def test_play_group_raises_the_first_failure_and_leaves_nothing_running() -> None:
    policy = Scripted(lambda who, step: TIMEOUT if who.rollout == 2 else HIT, seconds=0.001)
    before = asyncio.all_tasks()
    with pytest.raises(AskFailed, match="no answer"):
        await play_group(recording(200), Scripted(policy.script, seconds=0.001), config(), 4)
    assert asyncio.all_tasks() == before
    group = await play_group(recording(2), Scripted([HIT, HIT]), config(), 3, goal="mine")
    assert [(r.goal, r.rollout) for r in group] == [("mine", 0), ("mine", 1), ("mine", 2)]


@pytest.mark.parametrize("options", [{"n": 0}, {"concurrency": 0}, {"retries": -1}, {"give_up_after": 0}])
def test_numbers_that_cannot_be_are_refused_at_once(options: dict[str, int]) -> None:
    [(name, value)] = options.items()
    with pytest.raises(UsageError, match=f"{name} is at least .*, not {value}"):
        play_groups([], Scripted([]), config(), **{"n": 1, "concurrency": 1, **options})


async def test_a_group_has_members() -> None:
    with pytest.raises(UsageError, match="at least 1 rollout"):
        await play_group(recording(1), Scripted([HIT]), config(), 0)


async def test_data_that_raises_while_it_is_read_is_told() -> None:
    def broken() -> Iterator[GroupItem]:
        yield from items(1)
        raise DataError("line 2 is none")

    with pytest.raises(DataError, match="line 2 is none"):
        async for _ in play_groups(broken(), Scripted([HIT]), config(), 1, concurrency=1):
            pass
