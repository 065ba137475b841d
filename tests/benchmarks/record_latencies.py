"""Record how long an endpoint takes for each step of training rollouts: the trace that `bench_rollout_barrier.py` replays.

    python -m tests.benchmarks.record_latencies BASE_URL MODEL OUT.json [--goals 12] [--rollouts 8] [--concurrency 8] [--temperature 1]

The recordings are PocketPhone's test split, played semi-online with unlimited thought-free patches (so that every rollout goes to its end) and sampled at
`--temperature`. `seconds` holds one list a rollout, in steps; a step's time is that of the request alone, without the wait in our own queue.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import platform
import time
from pathlib import Path

from sopbench.adapters import get_adapter
from sopbench.clients.base import Sampling
from sopbench.clients.pool import EndpointPool
from sopbench.scoring import get_profile
from sopbench.suites.pocket import pocket_data
from sopbench.trajectory import load_trajectories, screens_in
from uis1_train.policies.endpoint import EndpointPolicy
from uis1_train.session import GroupItem, Rollout, RolloutConfig, play_groups


async def record(base_url: str, model: str, goals: int, n: int, concurrency: int, temperature: float) -> list[Rollout]:
    folder = pocket_data()
    trajectories = load_trajectories(folder / "trajectories.jsonl", screens_in(folder / "screens"))
    several = trajectories[:: max(1, len(trajectories) // goals)][:goals]
    config = RolloutConfig(get_profile("strict"), get_adapter("uis1"), patches=math.inf, seed=1)
    sampling = Sampling(temperature=temperature, max_tokens=256)
    rollouts: list[Rollout] = []
    async with EndpointPool([base_url], model, sampling, concurrency=concurrency) as pool:
        items = (GroupItem(t.id, t) for t in several)
        async for group in play_groups(items, EndpointPolicy(pool), config, n, concurrency=concurrency):
            rollouts += group
    return rollouts


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("base_url")
    parser.add_argument("model")
    parser.add_argument("out", type=Path)
    parser.add_argument("--goals", type=int, default=12)
    parser.add_argument("--rollouts", type=int, default=8)
    parser.add_argument("--concurrency", type=int, default=8)
    parser.add_argument("--temperature", type=float, default=1.0)
    parser.add_argument("--server", default="", help="what answered, in words")
    asked = parser.parse_args()
    started = time.monotonic()
    rollouts = asyncio.run(
        record(asked.base_url, asked.model, asked.goals, asked.rollouts, asked.concurrency, asked.temperature)
    )
    trace = {
        "server": asked.server,
        "machine": f"{platform.machine()}, shared with other jobs",
        "goals": asked.goals,
        "rollouts": asked.rollouts,
        "concurrency": asked.concurrency,
        "temperature": asked.temperature,
        "wall_seconds": round(time.monotonic() - started, 1),
        "trajectories": [r.trajectory for r in rollouts],
        "seconds": [[round(s.generated.latency, 3) for s in r.samples] for r in rollouts],
        "completion_tokens": [[s.record.completion_tokens for s in r.samples] for r in rollouts],
    }
    asked.out.write_text(json.dumps(trace, separators=(",", ":")) + "\n")
    print(
        f"{len(rollouts)} rollouts, {sum(map(len, trace['seconds']))} steps in {trace['wall_seconds']} s: {asked.out}"
    )


if __name__ == "__main__":
    main()
