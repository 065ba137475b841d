"""Which groups are kept, and what a step is paid."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sopbench.errors import UsageError
from uis1_train.core.filtering import group_stats, kept_goals
from uis1_train.core.rewards import REWARDS, Reward, reward
from uis1_train.core.rows import SignalError


def test_a_group_is_kept_for_its_spread_which_must_exceed_eta() -> None:
    # "apart" deviates by 0.5; "just" by exactly 0.25; "same" by 0
    goals = ["same", "apart", "just", "apart", "same", "just"]
    returns = [1.0, 1.0, 0.5, 0.0, 1.0, 1.0]
    assert kept_goals(returns, goals, eta=0.25) == ("apart",)
    assert kept_goals(returns, goals, eta=0.24) == ("apart", "just")
    assert kept_goals(returns, goals, eta=0.0) == ("apart", "just")


def test_the_statistics_say_why() -> None:
    lone, pair = group_stats([0.3, 1.0, 0.0], ["lone", "pair", "pair"], eta=0.3)
    assert (lone.goal, lone.rollouts, lone.std, lone.kept) == ("lone", 1, 0.0, True)
    assert (pair.rollouts, pair.mean, pair.std, pair.kept) == (2, 0.5, 0.5, True)


def test_the_deviation_is_the_populations() -> None:
    # {0, 1}: 0.5 as a population, 0.707 as a sample
    assert kept_goals([0.0, 1.0], ["g", "g"], eta=0.5) == ()


def test_no_rollouts_no_groups() -> None:
    assert kept_goals([], [], eta=0.3) == ()


@given(st.lists(st.tuples(st.floats(0, 2), st.sampled_from("abcd")), max_size=30), st.floats(0, 1))
def test_a_higher_eta_keeps_no_more(rows, eta) -> None:  # type: ignore[no-untyped-def]
    returns, goals = [r for r, _ in rows], [g for _, g in rows]
    assert set(kept_goals(returns, goals, eta=eta + 0.1)) <= set(kept_goals(returns, goals, eta=eta))


def test_a_return_that_is_no_number_is_refused() -> None:
    with pytest.raises(SignalError, match="step0_returns: row 1 holds nan"):
        kept_goals([1.0, float("nan")], ["g", "g"], eta=0.3)


@pytest.mark.parametrize("eta", [-0.1, float("nan"), float("inf")])
def test_eta_is_a_threshold(eta: float) -> None:
    with pytest.raises(UsageError, match="eta must be a number of at least 0"):
        kept_goals([1.0], ["g"], eta=eta)


@pytest.mark.parametrize(
    ("name", "parsed", "type_match", "match", "thought", "total"),
    [
        ("paper", True, True, True, False, 1.0),
        ("paper", True, True, False, True, 0.5),
        ("paper", True, False, False, True, 0.1),
        ("paper", False, False, False, True, 0.0),
        ("released", True, True, True, True, 1.0),
        ("released", True, True, True, False, 0.9),
        ("released", True, True, False, True, 0.55),
        ("released", True, False, False, True, 0.19),
        ("released", True, False, False, False, 0.09),
        ("released", False, False, False, True, 0.0),
    ],
)
def test_what_a_step_is_paid(name, parsed, type_match, match, thought, total) -> None:  # type: ignore[no-untyped-def]
    assert reward(name, parsed, type_match, match, thought=thought).total == pytest.approx(total)


def test_the_parts_are_told_apart() -> None:
    assert reward("paper", True, True, False) == Reward(format=1, type=1, accuracy=0, total=0.5)
    assert reward("released", True, False, False, thought=False) == Reward(0, 0, 0, pytest.approx(0.09))


@pytest.mark.parametrize("name", REWARDS)
def test_a_better_step_never_pays_less(name) -> None:  # type: ignore[no-untyped-def]
    ladder = [(False, False, False), (True, False, False), (True, True, False), (True, True, True)]
    for thought in (True, False):
        paid = [reward(name, *rung, thought=thought).total for rung in ladder]
        assert paid == sorted(set(paid))
        assert all(0 <= p <= 1 for p in paid)


@pytest.mark.parametrize("name", REWARDS)
def test_a_verdict_that_contradicts_itself_is_refused(name) -> None:  # type: ignore[no-untyped-def]
    for parsed, type_match, match in itertools.product([True, False], repeat=3):
        if (match and not type_match) or (type_match and not parsed):
            with pytest.raises(UsageError, match="no verdict is"):
                reward(name, parsed, type_match, match)


def test_an_unknown_reward_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="paper, released"):
        reward("mine", True, True, True)  # type: ignore[arg-type]
