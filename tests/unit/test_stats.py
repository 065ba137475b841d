"""Metrics, intervals and tests, against values worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sopbench import stats
from sopbench.stats import Outcome


def outcome(episode: str, progress: int, length: int, *, scored: bool = True, repeat: int = 0) -> Outcome:
    return Outcome(episode, repeat, length, progress, scored)


def test_pg_is_the_mean_of_s_over_t_and_tsr_the_share_of_whole_trajectories() -> None:
    head = stats.headline([outcome("a", 4, 4), outcome("b", 1, 4), outcome("c", 0, 2), outcome("d", 1, 2)])
    assert head.pg == pytest.approx((1 + 0.25 + 0 + 0.5) / 4)
    assert head.tsr == pytest.approx(0.25)
    assert head.score == pytest.approx((head.pg + head.tsr) / 2)
    assert head.n == 4
    assert not head.bounds


def test_repeats_are_averaged_within_their_trajectory_first() -> None:
    head = stats.headline(
        [outcome("a", 2, 2), outcome("a", 0, 2, repeat=1), outcome("b", 2, 2), outcome("b", 2, 2, repeat=1)]
    )
    assert head.n == 2
    assert head.tsr == pytest.approx(0.75)


def test_unscored_trajectories_leave_bounds_and_no_mean() -> None:
    """Three of ten fail by infrastructure: n stays 10, no mean over seven is shown (field case 29)."""
    outcomes = [outcome(str(k), 2, 2) for k in range(7)] + [outcome(str(k), 1, 2, scored=False) for k in range(7, 10)]
    head = stats.headline(outcomes)
    assert head.n == 10
    assert head.pg is head.tsr is head.score is None
    assert (head.bounds["tsr"].low, head.bounds["tsr"].high) == pytest.approx((0.7, 1.0))
    assert (head.bounds["pg"].low, head.bounds["pg"].high) == pytest.approx((0.85, 1.0))


def test_no_episodes_is_no_number() -> None:
    assert stats.headline([]).pg is None


def test_the_interval_of_a_constant_is_a_point_and_seeds_make_it_repeatable() -> None:
    constant = stats.bootstrap_means(np.full((20, 1), 0.5))
    assert stats.interval(constant[:, 0]) == stats.Interval(0.5, 0.5)
    values = np.random.default_rng(1).random((50, 2))
    assert np.array_equal(stats.bootstrap_means(values), stats.bootstrap_means(values))


def test_the_interval_agrees_with_the_normal_approximation_on_many_trajectories() -> None:
    values = (np.arange(2000) % 4 == 0).astype(float)[:, None]
    found = stats.interval(stats.bootstrap_means(values)[:, 0])
    half = 1.96 * math.sqrt(0.25 * 0.75 / 2000)
    assert found.low == pytest.approx(0.25 - half, abs=0.002)
    assert found.high == pytest.approx(0.25 + half, abs=0.002)


@pytest.mark.parametrize(
    ("only_a", "only_b", "p"),
    [(0, 0, 1.0), (5, 5, 1.0), (0, 5, 2 / 32), (1, 9, 2 * 11 / 1024), (10, 0, 2 / 1024)],
)
def test_mcnemar_is_the_exact_binomial_test(only_a: int, only_b: int, p: float) -> None:
    assert stats.mcnemar(only_a, only_b) == pytest.approx(p)


def test_mcnemar_survives_large_counts() -> None:
    assert stats.mcnemar(700, 800) == pytest.approx(0.0106, abs=0.0005)
    assert stats.mcnemar(2000, 2000) == 1.0


def test_by_length_groups_and_counts() -> None:
    rows = stats.by_length([outcome("a", 1, 1), outcome("b", 0, 1), outcome("c", 6, 6), outcome("d", 10, 20)])
    assert rows == [
        {"length": "1", "n": 2, "pg": 50.0, "tsr": 50.0},
        {"length": "6-7", "n": 1, "pg": 100.0, "tsr": 100.0},
        {"length": "16+", "n": 1, "pg": 50.0, "tsr": 0.0},
    ]


def test_flips_are_the_trajectories_that_only_some_repeats_solve() -> None:
    found = stats.flips(
        [outcome("a", 2, 2), outcome("a", 1, 2, repeat=1), outcome("b", 2, 2), outcome("b", 2, 2, repeat=1)]
    )
    assert found == ["a"]


def test_quantiles_of_nothing_are_nothing() -> None:
    assert stats.quantiles([]) is None
    assert stats.quantiles([2.0]) == {"p50": 2.0, "p90": 2.0, "p99": 2.0, "mean": 2.0}


@given(st.lists(st.tuples(st.integers(1, 24), st.floats(0, 1)), min_size=1, max_size=30))
def test_score_lies_between_tsr_and_pg_and_inside_its_interval(rows: list[tuple[int, float]]) -> None:
    outcomes = [outcome(str(k), int(share * length), length) for k, (length, share) in enumerate(rows)]
    head = stats.headline(outcomes)
    assert head.pg is not None
    assert head.tsr is not None
    assert head.score is not None
    assert head.tsr <= head.score + 1e-12
    assert head.score <= head.pg + 1e-12
    for name, value in (("pg", head.pg), ("tsr", head.tsr), ("score", head.score)):
        assert head.ci[name].low - 1e-9 <= value <= head.ci[name].high + 1e-9 or len(rows) < 8
