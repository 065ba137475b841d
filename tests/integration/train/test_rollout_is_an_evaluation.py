"""A rollout with no patch gives the very records of `sopbench run`: same requests, same replies, same verdicts, same line in the journal."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fault_server import FaultServer, answer

import sopbench
from sopbench.adapters import get_adapter
from sopbench.clients.base import Policy, Sampling
from sopbench.clients.builtin import make_builtin
from sopbench.clients.pool import EndpointPool
from sopbench.runs.folder import RunFolder
from sopbench.runs.records import StepRecord
from sopbench.scoring import get_profile
from sopbench.suites.pocket import pocket_data
from sopbench.trajectory import Trajectory, load_trajectories, screens_in
from uis1_train.policies.endpoint import EndpointPolicy
from uis1_train.session import GroupItem, Rollout, RolloutConfig, play_group, play_groups, play_rollout

COUNT = 50
OF_THE_CLOCK = {"at", "latency", "queued", "shown"}


@pytest.fixture(scope="module")
def trajectories() -> list[Trajectory]:
    folder = pocket_data()
    return load_trajectories(folder / "trajectories.jsonl", screens_in(folder / "screens"), limit=COUNT)


def recorded(run: sopbench.Run) -> dict[tuple[str, int, int], dict[str, Any]]:
    records = RunFolder(run.path).records()
    return {(r.episode, r.repeat, r.step): comparable(r) for r in records if isinstance(r, StepRecord)}


def comparable(record: StepRecord) -> dict[str, Any]:
    return record.model_dump(exclude=OF_THE_CLOCK)


def played(rollouts: list[Rollout]) -> dict[tuple[str, int, int], dict[str, Any]]:
    return {(r.trajectory, r.rollout, sample.step): comparable(sample.record) for r in rollouts for sample in r.samples}


async def roll_out(
    trajectories: list[Trajectory], policy: Policy, adapter: str, *, n: int = 1, seed: int | None = 0
) -> list[Rollout]:
    config = RolloutConfig(get_profile("strict"), get_adapter(adapter), patches=0, seed=seed)
    items = [GroupItem(t.id, t) for t in trajectories]
    out: list[Rollout] = []
    async for group in play_groups(items, EndpointPolicy(policy), config, n, concurrency=8):
        out += group
    return out


@pytest.mark.parametrize(
    ("model", "adapter"),
    [
        ("builtin:oracle", "uis1"),
        ("builtin:noisy:p=0.3,prose=0.1", "uis1"),
        ("builtin:noisy:p=0.2", "qwen3vl"),
        ("builtin:noisy:p=0.2", "agentcpm"),
        ("builtin:noisy:p=0.2", "tools"),
        ("builtin:null", "ui_tars15"),
        ("builtin:random", "json_action"),
        ("builtin:prose", "uis1"),
    ],
)
async def test_with_a_builtin_policy(model: str, adapter: str, trajectories: list[Trajectory], tmp_path: Path) -> None:
    options = {"suite": "pocket", "adapter": adapter, "model": model, "limit": COUNT, "seed": 5, "prompts": "builtin"}
    run = await sopbench.arun(**options, out=tmp_path / "run")
    rollouts = await roll_out(trajectories, make_builtin(model, seed=5), adapter, seed=5)
    assert len(rollouts) == COUNT
    assert played(rollouts) == recorded(run)
    assert sum(r.success for r in rollouts) / COUNT * 100 == pytest.approx(run.summary["tsr"], abs=0.05)
    assert sum(r.progress / r.of for r in rollouts) / COUNT * 100 == pytest.approx(run.summary["pg"], abs=0.05)


async def test_the_rollouts_of_a_group_are_the_repeats_of_a_run(trajectories: list[Trajectory], tmp_path: Path) -> None:
    run = await sopbench.arun(suite="pocket", model="builtin:noisy:p=0.3", limit=8, repeats=3, out=tmp_path / "run")
    rollouts = await roll_out(trajectories[:8], make_builtin("builtin:noisy:p=0.3"), "uis1", n=3)
    assert played(rollouts) == recorded(run)
    assert len({r.progress for r in rollouts if r.trajectory == trajectories[2].id}) > 1  # noise differs between them


def fallible_expert(trajectories: list[Trajectory]) -> Callable[[dict[str, Any]], str]:
    """A model that sees only the request: the expert's action for the task and turn that it finds there, and for one request in four something else."""
    adapter = get_adapter("uis1")

    def reply(body: dict[str, Any]) -> str:
        texts = [
            part["text"]
            for m in body["messages"]
            if isinstance(m["content"], list)
            for part in m["content"]
            if "text" in part
        ]
        [trajectory] = [t for t in trajectories if any(t.goal in text for text in texts)]
        turn = sum(m["role"] == "assistant" for m in body["messages"])
        step = trajectory.steps[turn]
        size = step.screen.size
        luck = hashlib.sha256(f"{trajectory.id} {turn}".encode()).digest()[0]
        if luck < 16:
            return "I would rather not."
        action = trajectory.steps[0].action(size) if luck < 64 else step.action(size)
        return adapter.format(action, size, f"step {turn} \N{SNOWMAN}")

    return reply


async def test_through_http_at_temperature_0(trajectories: list[Trajectory], tmp_path: Path) -> None:
    different = list({t.goal: t for t in reversed(trajectories)}.values())[::-1]
    goals = [t for t in different if not any(t.goal in other.goal for other in different if other is not t)]
    assert len(goals) >= 40
    sampling = Sampling(temperature=0.0, max_tokens=512)
    with FaultServer([answer(fallible_expert(goals))]) as server:
        run = await sopbench.arun(
            suite="pocket",
            model="tiny",
            base_urls=(server.base_url,),
            sampling=sampling,
            limit=COUNT,
            seed=3,
            prompts="builtin",
            out=tmp_path / "run",
        )
        asked_by_the_run = [got.body for got in server.requests]
        async with EndpointPool([server.base_url], "tiny", sampling) as pool:
            rollouts = await roll_out(goals, pool, "uis1", seed=3)
        asked_by_rollouts = [got.body for got in server.requests[len(asked_by_the_run) :]]
    ids = {t.id for t in goals}
    of_the_run = {key: record for key, record in recorded(run).items() if key[0] in ids}
    assert played(rollouts) == of_the_run
    assert 0 < sum(r.success for r in rollouts) < len(rollouts)
    assert any(record["parse_failure"] for record in of_the_run.values())
    as_texts = set(map(repr, asked_by_the_run))
    assert all(repr(body) in as_texts for body in asked_by_rollouts)  # the same bodies, to the last field


async def test_a_hostile_reply_is_kept_as_a_run_keeps_it(trajectories: list[Trajectory], tmp_path: Path) -> None:
    for text in ("half \ud83d a pair", "x" * 300_000, "", "\x00\x1b[31m"):
        with FaultServer([answer(text)]) as server:
            options = {"model": "tiny", "base_urls": (server.base_url,), "limit": 1, "seed": None, "prompts": "builtin"}
            run = await sopbench.arun(
                suite="pocket", **options, out=tmp_path / hashlib.md5(repr(text).encode()).hexdigest()
            )
            async with EndpointPool([server.base_url], "tiny") as pool:
                rollouts = await roll_out(trajectories[:1], pool, "uis1", seed=None)
        assert played(rollouts) == recorded(run)


async def test_a_group_is_played_at_the_same_time(trajectories: list[Trajectory]) -> None:
    config = RolloutConfig(get_profile("strict"), get_adapter("uis1"), patches=0)
    with FaultServer([answer("nothing", delay=0.2)]) as server:
        async with EndpointPool([server.base_url], "tiny") as pool:
            group = await play_group(trajectories[0], EndpointPolicy(pool), config, 4, goal="g")
            assert server.most_at_once == 4
    assert [(r.goal, r.rollout, len(r.samples)) for r in group] == [("g", k, 1) for k in range(4)]


async def test_cancelling_a_rollout_leaves_no_request_behind(trajectories: list[Trajectory]) -> None:
    config = RolloutConfig(get_profile("strict"), get_adapter("uis1"))
    with FaultServer([answer("nothing", delay=30)]) as server:
        async with EndpointPool([server.base_url], "tiny") as pool:
            playing = asyncio.create_task(play_rollout(trajectories[0], EndpointPolicy(pool), config))
            await server.has_got(1)
            playing.cancel()
            with pytest.raises(asyncio.CancelledError):
                await playing
            assert pool.status().in_flight == 0
