"""PG, TSR and Score, their intervals, and paired comparison.

Fractions everywhere inside; the summary turns them into percent. Source of the metrics: arXiv 2509.11543, section 3.3.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sopbench.errors import DataError, shown

FloatArray = npt.NDArray[np.float64]

RESAMPLES = 10_000
LEVEL = 0.95
_CHUNK = 4_000_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """One episode: `progress` matched steps of `length`. `scored` is False where infrastructure ended it early."""

    episode: str
    repeat: int
    length: int
    progress: int
    scored: bool
    reason: str | None = None
    failed_kind: str | None = None

    @property
    def success(self) -> bool:
        return self.progress == self.length


@dataclass(frozen=True, slots=True)
class Interval:
    """A percentile bootstrap interval of a mean, in the units of the values."""

    low: float
    high: float


def bootstrap_means(values: FloatArray, *, resamples: int = RESAMPLES, seed: int = 0) -> FloatArray:
    """Means of `resamples` resamples of the rows of `values` (n, k) -> (resamples, k). The unit of resampling is the row (a trajectory)."""
    rng = np.random.default_rng(seed)
    n = len(values)
    out = np.empty((resamples, values.shape[1]))
    rows = max(1, _CHUNK // n)
    for start in range(0, resamples, rows):
        stop = min(resamples, start + rows)
        counts = rng.multinomial(n, np.full(n, 1 / n), size=stop - start)
        out[start:stop] = counts @ values / n
    return out


def interval(means: FloatArray, level: float = LEVEL) -> Interval:
    tail = (1 - level) / 2 * 100
    low, high = np.percentile(means, [tail, 100 - tail])
    return Interval(float(low), float(high))


@dataclass(frozen=True, slots=True)
class Headline:
    """The three numbers as fractions, with intervals; or, where some trajectory is not scored, only the bounds that any outcome of those would keep."""

    n: int
    pg: float | None
    tsr: float | None
    score: float | None
    ci: Mapping[str, Interval]
    bounds: Mapping[str, Interval]


def per_trajectory(outcomes: Sequence[Outcome]) -> tuple[list[str], FloatArray]:
    """Episode ids and an array (n, 3) of PG, TSR, Score, each a mean over the repeats of that trajectory."""
    rows: dict[str, list[tuple[float, float]]] = {}
    for o in outcomes:
        rows.setdefault(o.episode, []).append((o.progress / o.length, float(o.success)))
    means = np.array([np.mean(values, axis=0) for values in rows.values()], dtype=np.float64).reshape(len(rows), 2)
    return list(rows), np.column_stack([means, means.mean(axis=1)])


def aligned(names: Sequence[str], others: Sequence[str], rows: FloatArray) -> FloatArray:
    """`rows`, which belong to `others`, in the order of `names`. Raises `DataError` where the two do not name the same."""
    place = {name: index for index, name in enumerate(others)}
    if place.keys() != set(names):
        odd = sorted(place.keys() ^ set(names))
        raise DataError(
            f"the journals of the two runs do not hold the same episodes; {shown(odd[0])} is in one of them only"
        )
    return rows[[place[name] for name in names]]


def headline(outcomes: Sequence[Outcome]) -> Headline:
    """Means over all trajectories. A run with unscored ones has no mean, only bounds: those count as ended there, or as solved."""
    n = len({o.episode for o in outcomes})
    if not n:
        return Headline(0, None, None, None, {}, {})
    _, low = per_trajectory(outcomes)
    if all(o.scored for o in outcomes):
        pg, tsr, score = (float(v) for v in low.mean(axis=0))
        means = bootstrap_means(low)
        ci = {name: interval(means[:, k]) for k, name in enumerate(("pg", "tsr", "score"))}
        return Headline(n, pg, tsr, score, ci, {})
    _, high = per_trajectory(
        [o if o.scored else Outcome(o.episode, o.repeat, o.length, o.length, True) for o in outcomes]
    )
    floor, top = low.mean(axis=0), high.mean(axis=0)
    bounds = {name: Interval(float(floor[k]), float(top[k])) for k, name in enumerate(("pg", "tsr", "score"))}
    return Headline(n, None, None, None, {}, bounds)


LENGTH_GROUPS = ((1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 7), (8, 10), (11, 15), (16, math.inf))


def by_length(outcomes: Iterable[Outcome]) -> list[dict[str, Any]]:
    """PG and TSR (percent) by expert length, over scored episodes."""
    groups: dict[tuple[float, float], list[Outcome]] = {group: [] for group in LENGTH_GROUPS}
    for o in outcomes:
        if o.scored:
            groups[next(g for g in LENGTH_GROUPS if g[0] <= o.length <= g[1])].append(o)
    rows = []
    for (low, high), members in groups.items():
        if members:
            label = str(low) if low == high else f"{low}+" if high == math.inf else f"{low}-{high}"
            rows.append(
                {
                    "length": label,
                    "n": len(members),
                    "pg": percent(sum(o.progress / o.length for o in members) / len(members)),
                    "tsr": percent(sum(o.success for o in members) / len(members)),
                }
            )
    return rows


def flips(outcomes: Iterable[Outcome]) -> list[str]:
    """Episodes that some repeat solves and another does not."""
    seen: dict[str, set[bool]] = {}
    for o in outcomes:
        if o.scored:
            seen.setdefault(o.episode, set()).add(o.success)
    return sorted(episode for episode, values in seen.items() if len(values) == 2)


def mcnemar(only_a: int, only_b: int) -> float:
    """Two-sided exact McNemar p-value from the discordant counts (binomial with p = 1/2); 1.0 where there are none."""
    n, k = only_a + only_b, min(only_a, only_b)
    if n == 0:
        return 1.0
    tail = sum(math.comb(n, i) for i in range(k + 1))
    return min(1.0, 2 * tail / 2**n) if n < 1000 else min(1.0, 2 * math.exp(math.log(tail) - n * math.log(2)))


def percent(fraction: float) -> float:
    """Percent with one decimal."""
    return round(100 * fraction, 1)


def quantiles(values: Sequence[float]) -> dict[str, float] | None:
    """Median, tails and mean; None where nothing was measured."""
    if not values:
        return None
    p50, p90, p99 = (float(v) for v in np.percentile(values, [50, 90, 99]))
    return {"p50": round(p50, 4), "p90": round(p90, 4), "p99": round(p99, 4), "mean": round(float(np.mean(values)), 4)}


def sorted_counts(counter: Counter[str]) -> dict[str, int]:
    return dict(sorted(counter.items(), key=lambda item: (-item[1], item[0])))
