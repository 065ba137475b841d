"""Step returns: worked by hand, against a plain loop, and for rows that make no sense."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sopbench.errors import UsageError
from tests.unit.train.signal_tables import MATCHES, RETURNS, REWARDS, ROLLOUTS, STEPS
from uis1_train.core.returns import Cut, step_returns
from uis1_train.core.rows import SignalError


@pytest.mark.parametrize("cut", get_args(Cut))
def test_the_example_worked_by_hand(cut: Cut) -> None:
    got = step_returns(REWARDS, MATCHES, ROLLOUTS, STEPS, gamma=0.5, cut=cut)
    assert got.dtype == np.float64
    np.testing.assert_allclose(got, RETURNS[cut], atol=1e-12)


def looped(rewards: list[float], matches: list[bool], gamma: float, cut: Cut) -> list[float]:
    """One rollout, read off Eq. 9 term by term: the sum up to the end of the step's segment."""
    out = []
    for t in range(len(rewards)):
        total = 0.0
        for k in range(t, len(rewards)):
            if cut == "released" and k > t and not matches[k]:
                break
            total += gamma ** (k - t) * rewards[k]
            if cut != "whole" and not matches[k]:
                break
        out.append(total)
    return out


rollouts_of_a_batch = st.lists(
    st.lists(st.tuples(st.floats(-2, 2), st.booleans()), min_size=1, max_size=12), min_size=1, max_size=6
)


@given(rollouts_of_a_batch, st.floats(0, 1), st.sampled_from(get_args(Cut)), st.randoms(use_true_random=False))
def test_any_batch_in_any_order_gives_what_a_loop_over_each_rollout_gives(batch, gamma, cut, rng) -> None:  # type: ignore[no-untyped-def]
    rows = []
    for name, rollout in enumerate(batch):
        rewards, matches = [r for r, _ in rollout], [m for _, m in rollout]
        for step, worth in enumerate(looped(rewards, matches, gamma, cut)):
            rows.append((rewards[step], matches[step], f"rollout {name}", step, worth))
    rng.shuffle(rows)
    rewards, matches, names, steps, expected = zip(*rows, strict=True)
    np.testing.assert_allclose(step_returns(rewards, matches, names, steps, gamma=gamma, cut=cut), expected, atol=1e-9)


@given(rollouts_of_a_batch, st.floats(0, 1), st.sampled_from(get_args(Cut)))
def test_padding_rows_get_nothing_and_change_nothing(batch, gamma, cut) -> None:  # type: ignore[no-untyped-def]
    rows = [(r, m, n, s) for n, rollout in enumerate(batch) for s, (r, m) in enumerate(rollout)]
    rewards, matches, names, steps = map(list, zip(*rows, strict=True))
    alone = step_returns(rewards, matches, names, steps, gamma=gamma, cut=cut)
    padded = step_returns(
        [float("nan"), *rewards, float("inf")],
        [True, *matches, False],
        [0, *names, 0],
        [0, *steps, -7],
        gamma=gamma,
        cut=cut,
        valid=[False, *[True] * len(rows), False],
    )
    assert padded[0] == padded[-1] == 0
    assert padded[1:-1].tolist() == alone.tolist()


def test_gamma_0_looks_no_step_ahead() -> None:
    assert step_returns(REWARDS, MATCHES, ROLLOUTS, STEPS, gamma=0, cut="whole").tolist() == REWARDS


def test_with_gamma_1_a_thousand_steps_add_up() -> None:
    got = step_returns([1.0] * 1000, [True] * 1000, ["a"] * 1000, range(1000), gamma=1, cut="paper")
    np.testing.assert_allclose(got, np.arange(1000, 0, -1))


def test_a_rollout_may_start_anywhere_and_have_one_step() -> None:
    assert step_returns([0.5, 1.0], [False, True], ["a", "b"], [7, 3], gamma=0.5, cut="paper").tolist() == [0.5, 1.0]


def test_no_rows_have_no_returns() -> None:
    assert step_returns([], [], [], [], gamma=0.5, cut="paper").shape == (0,)


def test_rows_that_are_all_padding_get_nothing() -> None:
    got = step_returns([np.nan] * 3, [True] * 3, [""] * 3, [0] * 3, gamma=0.5, cut="paper", valid=[False] * 3)
    assert got.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"rewards": [1.0, float("nan"), 1.0]}, "rewards: row 1 holds nan"),
        ({"rewards": [1.0, float("inf"), 1.0]}, "rewards: row 1 holds inf"),
        ({"rewards": [[1.0], [1.0], [1.0]]}, "one number a row, not an array of shape (3, 1)"),
        ({"rewards": [1.0, 1.0]}, "matches has 3 rows, rewards has 2"),
        ({"matches": [True]}, "matches has 1 rows, rewards has 3"),
        ({"matches": [0.5, 1, 1]}, "matches: flags are True and False"),
        ({"steps": [0, 1, 3]}, "rollout 'a' has step 1 and then 3 (rows 1 and 2)"),
        ({"steps": [0, 1, 1]}, "rollout 'a' has step 1 twice"),
        ({"rollouts": ["a", "a"]}, "rollouts has 2 rows, rewards has 3"),
        ({"steps": [0, float("nan"), 2]}, "steps: row 1 holds nan"),
        ({"steps": [0, 1.5, 2]}, "steps: row 1 holds 1.5"),
        ({"steps": [0, -1, 1]}, "steps: row 1 holds -1"),
        ({"steps": ["0", "x", "2"]}, "steps: whole numbers from 0"),
        ({"rollouts": ["a", None, "a"]}, "rollouts: row 1 holds None"),
        ({"rollouts": ["a", [], "a"]}, "rollouts: names must be texts or numbers"),
        ({"valid": [True, True]}, "rewards has 3 rows, valid has 2"),
    ],
)
def test_rows_that_make_no_signal_are_refused_with_the_row(change: dict[str, object], said: str) -> None:
    rows = {"rewards": [1.0, 1.0, 1.0], "matches": [True] * 3, "rollouts": ["a"] * 3, "steps": [0, 1, 2], **change}
    with pytest.raises(SignalError) as error:
        step_returns(**rows, gamma=0.5, cut="paper")  # type: ignore[arg-type]
    assert said in str(error.value)


@pytest.mark.parametrize("gamma", [-0.1, 1.1, float("nan")])
def test_gamma_is_a_discount(gamma: float) -> None:
    with pytest.raises(UsageError, match="gamma must be between 0 and 1"):
        step_returns([1.0], [True], ["a"], [0], gamma=gamma, cut="paper")


def test_an_unknown_cut_is_refused_with_those_there_are() -> None:
    with pytest.raises(UsageError, match="paper, released, whole"):
        step_returns([1.0], [True], ["a"], [0], gamma=0.5, cut="best")  # type: ignore[arg-type]


def test_the_arguments_are_left_as_they_were() -> None:
    rewards = np.array(REWARDS)
    step_returns(rewards, MATCHES, ROLLOUTS, STEPS, gamma=0.5, cut="paper")
    assert rewards.tolist() == REWARDS
