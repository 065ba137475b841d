"""Agreement, against numbers worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sopbench.judging.agreement import Confusion, wilson

COHEN = Confusion(true_success=20, false_success=10, missed_success=5, true_failure=15)
"""The textbook's table of 50: observed 0.7, by chance 0.5 x 0.6 + 0.5 x 0.4 = 0.5, so kappa 0.4."""


def test_the_textbooks_table() -> None:
    assert COHEN.accuracy == pytest.approx(0.7)
    assert COHEN.precision == pytest.approx(20 / 30)
    assert COHEN.recall == pytest.approx(20 / 25)
    assert COHEN.kappa == pytest.approx(0.4)


def test_wilsons_interval_of_known_shares() -> None:
    half = wilson(5, 10)
    assert half is not None
    assert (half.low, half.high) == (pytest.approx(0.2366, abs=1e-4), pytest.approx(0.7634, abs=1e-4))
    none_of_ten = wilson(0, 10)
    assert none_of_ten is not None
    assert (none_of_ten.low, none_of_ten.high) == (pytest.approx(0.0), pytest.approx(0.2775, abs=1e-4))
    assert wilson(0, 0) is None


def test_the_bootstrap_of_kappa_lies_around_it_and_is_the_same_every_time() -> None:
    spread = COHEN.kappa_interval()
    assert spread == COHEN.kappa_interval()
    assert spread is not None
    # the large-sample standard error of this table is about 0.13 (sqrt(0.7 x 0.3 / 50) / 0.5)
    assert spread.low == pytest.approx(0.4 - 1.96 * 0.1296, abs=0.04)
    assert spread.high == pytest.approx(0.4 + 1.96 * 0.1296, abs=0.04)


def test_what_is_not_defined_is_none() -> None:
    nothing = Confusion()
    assert (nothing.accuracy, nothing.precision, nothing.recall, nothing.kappa) == (None, None, None, None)
    assert nothing.as_json()["ci95"] == {"accuracy": None, "precision": None, "recall": None, "kappa": None}
    only_successes = Confusion(true_success=9)
    assert (only_successes.accuracy, only_successes.kappa, only_successes.kappa_interval()) == (1.0, None, None)


def test_a_judge_that_always_says_success_has_no_kappa_beyond_chance() -> None:
    assert Confusion(true_success=6, false_success=4).kappa == pytest.approx(0.0)


def test_a_judge_that_says_the_contrary_is_worse_than_chance() -> None:
    assert Confusion(false_success=5, missed_success=5).kappa == pytest.approx(-1.0)


def test_the_result_names_its_cells() -> None:
    assert COHEN.as_json()["confusion"] == {
        "labelled_success_judged_success": 20,
        "labelled_failure_judged_success": 10,
        "labelled_success_judged_failure": 5,
        "labelled_failure_judged_failure": 15,
    }


counts = st.integers(0, 60)


@settings(max_examples=25)
@given(counts, counts, counts, counts)
def test_every_number_lies_in_its_interval_and_the_intervals_in_their_range(a: int, b: int, c: int, d: int) -> None:
    told = Confusion(a, b, c, d).as_json()
    for name in ("accuracy", "precision", "recall"):
        if told[name] is not None:
            low, high = told["ci95"][name]
            assert 0 <= low <= told[name] <= high <= 1
    if told["kappa"] is not None:
        assert -1 <= told["kappa"] <= 1
