"""A model in this process as a policy: batches, the event loop, failures, and the harness's own engine asking it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sopbench import api
from sopbench.adapters import get_adapter
from sopbench.clients.base import AskFailed
from sopbench.runs.config import RunConfig
from sopbench.runs.folder import RunFolder
from sopbench.scoring import get_profile
from sopbench.trajectory import Trajectory
from tests.train.worlds import asking, opened, pressing, talk
from uis1_train.policies.base import RolloutId
from uis1_train.policies.local import InProcess, LocalPolicy
from uis1_train.session import RolloutConfig, play_group, play_rollout


@pytest.fixture
def policy(tiny_text: Path) -> Iterator[LocalPolicy]:
    _, _, decoder = opened(tiny_text, max_prompt=120)
    policy = LocalPolicy(decoder, max_tokens=8, max_batch=8)
    yield policy
    policy.shut()


async def test_what_is_asked_together_is_answered_in_one_batch(policy: LocalPolicy) -> None:
    asks = [asking(talk(f"goal {n}"), name=f"e{n}") for n in range(12)]
    replies = await asyncio.gather(*(policy.generate(ask, rollout=RolloutId(ask.key[0], 0)) for ask in asks))
    assert policy.counts.batches == 2, "twelve requests, eight a batch"
    assert policy.counts.replies == 12
    assert policy.counts.tokens == sum(len(reply.response_ids or ()) for reply in replies)


async def test_tokens_and_log_probs_come_with_the_reply(policy: LocalPolicy) -> None:
    ask = asking(talk("goal"))
    reply = await policy.generate(ask, rollout=RolloutId("g", 0))
    prompt = policy.decoder.featurizer.prompt(ask.messages)
    assert reply.prompt_ids == prompt.ids
    assert reply.response_ids is not None
    assert reply.log_probs is not None
    assert len(reply.response_ids) == len(reply.log_probs) == 8
    assert max(reply.log_probs) < 0
    assert reply.finish_reason == "length"
    recorded = reply.as_reply()
    assert (recorded.prompt_tokens, recorded.completion_tokens) == (len(prompt.ids), 8)


async def test_chance_is_a_matter_of_seed_salt_goal_rollout_and_step(policy: LocalPolicy) -> None:
    async def said(step: int = 0, goal: str = "g", rollout: int = 0) -> tuple[int, ...] | None:
        reply = await policy.generate(asking(talk("goal"), step=step), rollout=RolloutId(goal, rollout))
        return reply.response_ids

    first = await said()
    assert await said() == first
    others = [await said(step=1), await said(goal="h"), await said(rollout=1)]
    policy.salt = 1
    others.append(await said())
    assert len({first, *others}) == 5
    policy.salt = 0
    assert await said() == first


async def test_greedy_knows_no_chance(policy: LocalPolicy) -> None:
    greedy = policy.greedy()
    replies = await asyncio.gather(
        *(greedy.generate(asking(talk("goal")), rollout=RolloutId("g", n)) for n in range(4))
    )
    assert len({reply.response_ids for reply in replies}) == 1
    await greedy.close()


async def test_a_request_that_cannot_be_fed_fails_alone(policy: LocalPolicy) -> None:
    good, bad = asking(talk("goal"), name="good"), asking(talk("word " * 200), name="bad")
    replies = await asyncio.gather(
        *(policy.generate(ask, rollout=RolloutId(ask.key[0], 0)) for ask in (good, bad, good)), return_exceptions=True
    )
    assert isinstance(replies[1], AskFailed)
    assert replies[1].kind == "context_overflow"
    assert not isinstance(replies[0], BaseException)
    assert not isinstance(replies[2], BaseException)


async def test_the_event_loop_lives_while_a_batch_is_answered(
    policy: LocalPolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    decode = policy.decoder.decode

    def slow(*args: object) -> object:
        time.sleep(0.3)
        return decode(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(policy.decoder, "decode", slow)
    answering = asyncio.create_task(policy.generate(asking(talk("goal")), rollout=RolloutId("g", 0)))
    turns = 0
    while not answering.done():
        await asyncio.sleep(0.01)
        turns += 1
    assert turns >= 10


async def test_a_cancelled_rollout_holds_nobody_up(policy: LocalPolicy) -> None:
    tasks = [
        asyncio.create_task(policy.generate(asking(talk(f"goal {n}")), rollout=RolloutId("g", n))) for n in range(3)
    ]
    await asyncio.sleep(0)
    tasks[1].cancel()
    done = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(done[1], asyncio.CancelledError)
    again = await policy.generate(asking(talk("goal 0")), rollout=RolloutId("g", 0))
    assert not isinstance(done[0], BaseException)
    assert again.response_ids == done[0].response_ids


async def test_what_breaks_in_the_thread_is_raised_to_who_asked(
    policy: LocalPolicy, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> object:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(policy.decoder, "decode", broken)
    with pytest.raises(RuntimeError, match="out of memory"):
        await policy.generate(asking(talk("goal")), rollout=RolloutId("g", 0))


def test_one_event_loop_after_another(policy: LocalPolicy) -> None:
    async def once() -> tuple[int, ...] | None:
        return (await policy.generate(asking(talk("goal")), rollout=RolloutId("g", 0))).response_ids

    assert asyncio.run(once()) == asyncio.run(once())


def test_groups_are_played_the_same_again_and_in_the_same_batches(policy: LocalPolicy) -> None:
    config = RolloutConfig(get_profile("strict"), get_adapter("tiny"), images=1, patches=float("inf"))
    trajectory = pressing("t", "Go home", "Back", "Home", "Menu")

    def played() -> tuple[list[tuple[int, ...] | None], int]:
        before = policy.counts.batches
        group = asyncio.run(play_group(trajectory, policy, config, 8))
        ids = [sample.generated.response_ids for rollout in group for sample in rollout.samples]
        return ids, policy.counts.batches - before

    ids, batches = played()
    assert played() == (ids, batches)
    assert batches == 3, "eight rollouts of three steps, in step with each other"
    assert len(set(ids)) == 24


def test_the_harness_evaluates_the_model_and_a_rollout_is_that_evaluation(tiny_vl: Path, tmp_path: Path) -> None:
    """Five trajectories through sopbench's ordinary engine, and the same five as greedy rollouts without patches."""
    _, _, decoder = opened(tiny_vl)
    policy = LocalPolicy(decoder, temperature=0.0, max_tokens=12, name="tiny")
    config = RunConfig(suite="pocket", adapter="tiny", limit=5, out=tmp_path / "run", history_images=1, concurrency=8)
    run = asyncio.run(api.arun(config, policy=InProcess(policy)))
    assert run.summary["complete"]
    assert run.info.facts["model"] == "tiny"
    assert run.info.facts["policy"] == {"kind": "local", "seed": 0}

    async def replayed() -> list[str]:
        rollouts = RolloutConfig(get_profile("strict"), get_adapter("tiny"), images=1, patches=0)
        played = [await play_rollout(t, policy, rollouts) for t in _trajectories(5)]
        return [sample.record.reply or "" for rollout in played for sample in rollout.samples]

    recorded = {(r.episode, r.step): r.reply for log in RunFolder(run.path).episodes().values() for r in log.ordered()}
    assert asyncio.run(replayed()) == [
        recorded[key] for t in _trajectories(5) for key in sorted(recorded) if key[0] == t.id
    ]
    policy.shut()


def _trajectories(count: int) -> list[Trajectory]:
    from sopbench.suites import get_suite
    from sopbench.suites.base import DataSource

    return list(get_suite("pocket").load(DataSource(), count).trajectories)
