"""Ranks tell only such differences as the data tells."""

from __future__ import annotations

import random

import numpy as np
import pytest

from sopbench.leaderboard.ranking import order, places
from sopbench.leaderboard.row import Row, Spread


def row(name: str, outcomes: list[float]) -> Row:
    values = np.array(outcomes)
    spread = Spread(float(values.mean()), tuple((values - values.mean()).tolist()))
    return Row("b", name, "o", "self-reported", {"score": round(100 * spread.value, 1)}, spread=spread)


def test_clearly_better_rows_come_first_and_ties_share_a_rank() -> None:
    rng = random.Random(0)
    base = [float(rng.random() < 0.5) for _ in range(200)]
    nearly = [*base[:-1], 1 - base[-1]]
    rows = [row("null", [0.0] * 200), row("a", base), row("b", nearly), row("oracle", [1.0] * 200)]
    found = places(rows)
    assert [(p.rank, p.worst, p.tied) for p in found if p] == [(4, 4, 0), (2, 3, 1), (2, 3, 1), (1, 1, 0)]
    assert found[1] is not None
    assert found[1].ties == (2,)
    assert [rows[k].model for k in order(rows, "score")][::3] == ["oracle", "null"]


def test_pairing_tells_apart_what_two_intervals_would_not() -> None:
    """One model solves all that the other does and 12 of 200 more: the intervals of the two overlap widely, the difference is never the other way."""
    rng = random.Random(1)
    base = [float(rng.random() < 0.5) for _ in range(200)]
    zeros = [k for k, v in enumerate(base) if v == 0][:12]
    more = [1.0 if k in zeros else v for k, v in enumerate(base)]
    found = places([row("base", base), row("more", more)])
    assert [p.rank for p in found if p] == [2, 1]


def test_the_same_difference_spread_over_many_flips_is_a_tie() -> None:
    base = [1.0] * 100 + [0.0] * 100
    other = [0.0] * 40 + [1.0] * 60 + [1.0] * 52 + [0.0] * 48
    found = places([row("base", base), row("other", other)])
    assert [(p.rank, p.tied) for p in found if p] == [(1, 1), (1, 1)]


def test_agrees_with_the_paired_bootstrap() -> None:
    from sopbench import stats

    rng = np.random.default_rng(0)
    for shift in (0.0, 0.05, 0.1, 0.2):
        a = rng.random(300)
        b = np.clip(a + rng.normal(shift, 0.5, 300), 0, 1)
        low, high = np.percentile(stats.bootstrap_means((b - a)[:, None])[:, 0], [2.5, 97.5])
        if min(abs(low), abs(high)) < 0.005:
            continue  # on the edge: either is right
        found = places([row("a", a.tolist()), row("b", b.tolist())])
        assert found[0] is not None
        assert (found[0].tied == 0) == bool(low > 0 or high < 0)


def test_rows_without_a_number_have_no_place() -> None:
    bare = Row("b", "bounds only", "o", "self-reported", {})
    assert places([bare]) == [None]
    assert [p and p.rank for p in places([bare, row("a", [1.0, 0.0])])] == [None, 1]
    assert order([bare, row("a", [1.0])], "score") == [1, 0]


@pytest.mark.slow
def test_two_thousand_rows_are_placed_within_seconds() -> None:
    import time

    rng = np.random.default_rng(0)
    rows = [row(str(k), rng.random(119).tolist()) for k in range(2000)]
    started = time.process_time()
    assert len(places(rows)) == 2000
    assert time.process_time() - started < 10
