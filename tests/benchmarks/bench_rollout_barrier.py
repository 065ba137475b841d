"""What it is worth that no rollout waits for the slowest at every step.

    python -m tests.benchmarks.bench_rollout_barrier [TRACE.json] [--speed 4] [--generated SIGMA]

The released code plays a batch in lock-step: all rollouts are asked for step t, and step t + 1 begins when the last has answered (X-PLUG/MobileAgent
11cea575, `UI-S1/verl/trainer/ppo/dapo_ray_trainer.py`, the loop over `fetch_batch`). `uis1_train.session.play_groups` lets every rollout go on by itself.

Both are played here, by real code and the clock, with a policy that takes for each step of each rollout the time that a real server took for it (a trace
recorded by `record_latencies.py`), `--speed` times faster. The lock-step driver asks the same episodes the same way. Either may have so many requests in
flight as the table's first column says; "all" is one slot for every rollout of the batch. What the replay does not know: without a barrier a server is fuller on
average, so that a request may take longer than it was recorded to.

`--generated` keeps the batch of the trace and its median step, and draws the steps' times from a log-normal distribution of that sigma instead (0: all the same).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import random
import time
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from sopbench.adapters import get_adapter
from sopbench.clients.base import Ask
from sopbench.protocols.semi_online import SemiOnlineEpisode
from sopbench.runs.recording import ask_for
from sopbench.scoring import get_profile
from sopbench.suites.pocket import pocket_data
from sopbench.trajectory import Trajectory, load_trajectories, screens_in
from uis1_train.policies.base import Generated, RolloutId, TokenPolicy
from uis1_train.session import GroupItem, RolloutConfig, play_groups

TRACE = Path(__file__).parent / "data" / "rollout_latencies.json"


@dataclass(frozen=True)
class Batch:
    trajectories: dict[str, Trajectory]
    seconds: dict[tuple[str, int], list[float]]
    n: int
    server: str


def read_trace(file: Path) -> Batch:
    trace = json.loads(file.read_text())
    folder = pocket_data()
    known = {t.id: t for t in load_trajectories(folder / "trajectories.jsonl", screens_in(folder / "screens"))}
    seconds: dict[tuple[str, int], list[float]] = {}
    count: dict[str, int] = defaultdict(int)
    for name, steps in zip(trace["trajectories"], trace["seconds"], strict=True):
        seconds[name, count[name]] = steps
        count[name] += 1
    return Batch({name: known[name] for name in count}, seconds, trace["rollouts"], trace["server"])


def generated(batch: Batch, sigma: float) -> Batch:
    """`batch` with times that nobody measured: log-normal about its median, from a fixed seed."""
    middle, rng = median(s for rollout in batch.seconds.values() for s in rollout), random.Random(1)
    seconds = {who: [middle * rng.lognormvariate(0, sigma) for _ in steps] for who, steps in batch.seconds.items()}
    return Batch(batch.trajectories, seconds, batch.n, f"GENERATED times, log-normal, sigma {sigma:g}")


@dataclass
class Recorded(TokenPolicy):
    """The expert, at the pace of the trace. `slots` bounds how many requests it serves at once."""

    batch: Batch
    speed: float
    slots: asyncio.Semaphore
    busy: float = 0.0
    asked: int = field(default=0)

    async def generate(self, ask: Ask, *, rollout: RolloutId) -> Generated:
        assert ask.expert is not None
        action = ask.expert()
        assert action is not None
        seconds = self.batch.seconds[rollout.goal, rollout.rollout][ask.key[2]] / self.speed
        async with self.slots:
            await asyncio.sleep(seconds)
        self.asked += 1
        self.busy += seconds
        return Generated(ask.adapter.format(action, ask.size))


async def free(batch: Batch, policy: Recorded, slots: int, config: RolloutConfig) -> None:
    items = [GroupItem(name, trajectory) for name, trajectory in batch.trajectories.items()]
    async for _ in play_groups(items, policy, config, batch.n, concurrency=slots):
        pass


async def lock_step(batch: Batch, policy: Recorded, config: RolloutConfig) -> None:
    playing = {
        RolloutId(name, r): SemiOnlineEpisode(trajectory, config.adapter, config.profile, patches=config.patches)
        for name, trajectory in batch.trajectories.items()
        for r in range(batch.n)
    }

    async def step(me: RolloutId, episode: SemiOnlineEpisode) -> None:
        pending = episode.pending()
        assert pending is not None
        gold = episode.trajectory.steps[pending.step_index]
        ask = ask_for(config.adapter, me.goal, me.rollout, pending, seed=None, expert=lambda: gold.action(pending.size))
        episode.advance((await policy.generate(ask, rollout=me)).text)

    while playing:
        await asyncio.gather(*(step(me, episode) for me, episode in playing.items()))
        playing = {me: episode for me, episode in playing.items() if not episode.over}


async def compare(batch: Batch, speed: float) -> None:
    config = RolloutConfig(get_profile("strict"), get_adapter("uis1"), patches=math.inf)
    everybody = len(batch.seconds)
    steps = sorted(s for rollout in batch.seconds.values() for s in rollout)
    print(f"{everybody} rollouts of {len(batch.trajectories)} goals, {len(steps)} steps; {batch.server}")
    quantiles = [steps[min(len(steps) - 1, int(q * len(steps)))] for q in (0.5, 0.9, 0.99)]
    print(f"a step takes {quantiles[0]:.2f} s (median), {quantiles[1]:.2f} s (90 %), {quantiles[2]:.2f} s (99 %)")
    print("in flight   lock-step   without a barrier   gain   slots busy: lock-step / without")
    for slots in (8, 16, 32, everybody):
        taken = []
        for player in (lock_step, free):
            policy = Recorded(batch, speed, asyncio.Semaphore(slots))
            started = time.perf_counter()
            if player is free:
                await free(batch, policy, slots, config)
            else:
                await lock_step(batch, policy, config)
            wall = time.perf_counter() - started
            assert policy.asked == len(steps)
            taken.append((wall * speed, policy.busy / wall / slots))
        (barrier, barrier_busy), (without, without_busy) = taken
        name = "all" if slots == everybody else str(slots)
        print(
            f"{name:>9}   {barrier:7.1f} s   {without:15.1f} s   {barrier / without:4.2f}   {barrier_busy:.0%} / {without_busy:.0%}"
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("trace", type=Path, nargs="?", default=TRACE)
    parser.add_argument("--speed", type=float, default=4.0)
    parser.add_argument("--generated", type=float, metavar="SIGMA")
    asked = parser.parse_args()
    batch = read_trace(asked.trace)
    if asked.generated is not None:
        batch = generated(batch, asked.generated)
    asyncio.run(compare(batch, asked.speed))


if __name__ == "__main__":
    main()
