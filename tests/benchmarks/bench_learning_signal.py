"""How long the learning signal of 100,000 rows takes, beside plain loops over the same rows.

    python -m tests.benchmarks.bench_learning_signal [ROWS]

The rows are those of a large batch: rollouts of 1 to 12 steps, 8 a goal, in random order, named by texts as a trainer names them. The loops are the obvious
ones: dictionaries of lists, one pass from the back over each rollout, one mean and deviation a group. Both results are compared before anything is printed.
The best of five runs counts.
"""

from __future__ import annotations

import random
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from statistics import fmean, stdev
from typing import Any, NamedTuple

import numpy as np

from uis1_train.core.advantages import EPSILON, combined
from uis1_train.core.filtering import kept_goals
from uis1_train.core.returns import step_returns

GAMMA, ETA = 0.5, 0.3


class Rows(NamedTuple):
    rewards: list[float]
    matches: list[bool]
    goals: list[str]
    rollouts: list[str]
    steps: list[int]


def make_rows(count: int, rng: random.Random) -> Rows:
    rows: list[tuple[float, bool, str, str, int]] = []
    goal = 0
    while len(rows) < count:
        for rollout in range(8):
            for step in range(rng.randint(1, 12)):
                match = rng.random() < 0.7
                reward = 1.0 if match else rng.choice([0.0, 0.1, 0.5])
                rows.append((reward, match, f"goal-{goal}", f"goal-{goal}/{rollout}", step))
        goal += 1
    rng.shuffle(rows)
    return Rows(*map(list, zip(*rows, strict=True)))


def looped_returns(rows: Rows) -> list[float]:
    of_rollout: dict[str, list[int]] = defaultdict(list)
    for row, rollout in enumerate(rows.rollouts):
        of_rollout[rollout].append(row)
    out = [0.0] * len(rows.rewards)
    for members in of_rollout.values():
        running = 0.0
        for row in sorted(members, key=rows.steps.__getitem__, reverse=True):
            running = rows.rewards[row] + (GAMMA * running if rows.matches[row] else 0.0)
            out[row] = running
    return out


def looped_normalised(values: list[float], names: list[Any], alone: Callable[[float], float]) -> list[float]:
    groups: dict[Any, list[float]] = defaultdict(list)
    for value, name in zip(values, names, strict=True):
        groups[name].append(value)
    facts = {name: (fmean(g), stdev(g)) for name, g in groups.items() if len(g) > 1}
    out = []
    for value, name in zip(values, names, strict=True):
        mean, deviation = facts.get(name, (value - alone(value), 1.0))
        out.append((value - mean) / (deviation + EPSILON))
    return out


def looped_advantages(rows: Rows, returns: list[float]) -> list[float]:
    step = looped_normalised(returns, list(zip(rows.goals, rows.steps, strict=True)), lambda value: 0.0)
    earned: dict[str, float] = defaultdict(float)
    goal_of = {}
    for reward, goal, rollout in zip(rows.rewards, rows.goals, rows.rollouts, strict=True):
        earned[rollout] += reward
        goal_of[rollout] = goal
    whole = looped_normalised(list(earned.values()), [goal_of[r] for r in earned], lambda value: value)
    episode = dict(zip(earned, whole, strict=True))
    return [a + episode[rollout] for a, rollout in zip(step, rows.rollouts, strict=True)]


def looped_kept(rows: Rows, returns: list[float]) -> set[str]:
    firsts: dict[str, list[float]] = defaultdict(list)
    for value, goal, step in zip(returns, rows.goals, rows.steps, strict=True):
        if step == 0:
            firsts[goal].append(value)
    return {g for g, v in firsts.items() if len(v) == 1 or fmean((x - fmean(v)) ** 2 for x in v) ** 0.5 > ETA}


def ours(rows: Rows) -> tuple[Any, Any, set[Any]]:
    rewards, steps, goals = np.array(rows.rewards), np.array(rows.steps), np.array(rows.goals, dtype=object)
    returns = step_returns(rewards, np.array(rows.matches), rows.rollouts, steps, gamma=GAMMA, cut="paper")
    advantages = combined(returns, rewards, goals, rows.rollouts, steps, norm="mean_std_norm")
    first = steps == 0
    return returns, advantages, set(kept_goals(returns[first], goals[first], eta=ETA))


def loops(rows: Rows) -> tuple[Any, Any, set[Any]]:
    returns = looped_returns(rows)
    return returns, looped_advantages(rows, returns), looped_kept(rows, returns)


def best(work: Callable[[], object], runs: int) -> float:
    times = []
    for _ in range(runs):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def main() -> None:
    rows = make_rows(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000, random.Random(1))
    (returns, advantages, kept), (slow_returns, slow_advantages, slow_kept) = ours(rows), loops(rows)
    np.testing.assert_allclose(returns, slow_returns, atol=1e-9)
    np.testing.assert_allclose(advantages, slow_advantages, atol=1e-6)
    assert kept == slow_kept
    fast, slow = best(lambda: ours(rows), 5), best(lambda: loops(rows), 5)
    goals = len(set(rows.goals))
    print(f"{len(rows.rewards)} rows of {goals} goals: returns, advantages and filter")
    print(f"  uis1_train.core  {fast * 1000:8.1f} ms")
    print(f"  plain loops      {slow * 1000:8.1f} ms   ratio {slow / fast:.1f}")


if __name__ == "__main__":
    main()
