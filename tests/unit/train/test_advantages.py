"""Advantages: worked by hand, against statistics of each group, and for groups that are none."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from statistics import fmean, stdev

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sopbench.errors import UsageError
from tests.unit.train.signal_tables import (
    EPISODE_ADVANTAGES,
    EPISODE_ADVANTAGES_OVER_ROWS,
    GOALS,
    RETURNS,
    REWARDS,
    ROLLOUTS,
    STEP_ADVANTAGES,
    STEPS,
)
from uis1_train.core.advantages import EPSILON, combined, episode_advantages, step_advantages
from uis1_train.core.rows import SignalError


def test_step_advantages_of_the_example_worked_by_hand() -> None:
    got = step_advantages(RETURNS["paper"], GOALS, STEPS, norm="mean_norm")
    np.testing.assert_allclose(got, STEP_ADVANTAGES, atol=1e-12)


def test_with_the_deviation_too_the_last_step_of_the_example() -> None:
    # {1.0, 0.1}: mean 0.55, deviation with Bessel's correction sqrt(2 * 0.45^2) = 0.6364
    got = step_advantages(RETURNS["paper"], GOALS, STEPS, norm="mean_std_norm")
    np.testing.assert_allclose(got[[3, 7]], [0.45 / (0.45 * 2**0.5 + 1e-6), -0.45 / (0.45 * 2**0.5 + 1e-6)])


def test_episode_advantages_of_the_example_worked_by_hand() -> None:
    got = episode_advantages(REWARDS, GOALS, ROLLOUTS, norm="mean_norm")
    np.testing.assert_allclose(got, EPISODE_ADVANTAGES, atol=1e-12)
    # deviation of {4.0, 2.6, 1.6}: sqrt((1.2667^2 + 0.1333^2 + 1.1333^2) / 2) = 1.20554
    normed = episode_advantages(REWARDS, GOALS, ROLLOUTS, norm="mean_std_norm")
    np.testing.assert_allclose(normed[[0, 4, 8]], [1.050706, -0.110601, -0.940105], atol=1e-5)


def test_over_rows_every_step_stands_for_itself() -> None:
    got = episode_advantages(REWARDS, GOALS, ROLLOUTS, norm="mean_norm", over="rows")
    np.testing.assert_allclose(got, EPISODE_ADVANTAGES_OVER_ROWS, atol=1e-12)


def test_combined_is_the_weighted_sum() -> None:
    got = combined(
        RETURNS["paper"], REWARDS, GOALS, ROLLOUTS, STEPS, norm="mean_norm", episode_weight=0.5, step_weight=2
    )
    np.testing.assert_allclose(got, 0.5 * np.array(EPISODE_ADVANTAGES) + 2 * np.array(STEP_ADVANTAGES))


@pytest.mark.parametrize("norm", ["mean_norm", "mean_std_norm"])
def test_whoever_is_alone_has_no_step_advantage_and_keeps_its_episode_reward(norm) -> None:  # type: ignore[no-untyped-def]
    assert step_advantages([0.7], ["g"], [4], norm=norm).tolist() == [0.0]
    scale = 1 + EPSILON if norm == "mean_std_norm" else 1
    assert episode_advantages([0.7, 0.1], ["g"] * 2, [3, 3], norm=norm).tolist() == pytest.approx([0.8 / scale] * 2)
    assert episode_advantages([0.7], ["g"], [3], norm=norm, over="rows").tolist() == pytest.approx([0.7 / scale])


def test_rollouts_of_different_goals_may_have_the_same_number() -> None:
    got = episode_advantages([1.0, 0.0, 5.0, 3.0], ["a", "a", "b", "b"], [0, 1, 0, 1], norm="mean_norm")
    assert got.tolist() == [0.5, -0.5, 1.0, -1.0]


def test_step_numbers_may_be_any_whole_numbers() -> None:
    far = 2**62
    got = step_advantages([1.0, 3.0, 7.0, 9.0], ["a", "a", "b", "b"], [far, far, 5, far], norm="mean_norm")
    assert got.tolist() == [-1.0, 1.0, 0.0, 0.0]


def test_a_group_without_spread_teaches_nothing_whatever_the_norm() -> None:
    for norm in ("mean_norm", "mean_std_norm"):
        got = step_advantages([0.1 + 0.2, 0.3, 0.1 + 0.2], ["g"] * 3, [0] * 3, norm=norm)
        np.testing.assert_allclose(got, 0, atol=1e-9)


columns = st.lists(
    st.tuples(st.floats(-3, 3), st.sampled_from("abc"), st.integers(0, 3), st.integers(0, 4)), min_size=1, max_size=40
)


def by_hand(values: list[float], names: list[object], *, std: bool, alone: Callable[[float], float]) -> list[float]:
    groups: dict[object, list[float]] = defaultdict(list)
    for value, name in zip(values, names, strict=True):
        groups[name].append(value)
    out = []
    for value, name in zip(values, names, strict=True):
        members = groups[name]
        if len(members) == 1:
            out.append(alone(value) / (1 + EPSILON if std else 1))
        else:
            out.append((value - fmean(members)) / (stdev(members) + EPSILON if std else 1))
    return out


@given(columns, st.booleans())
def test_step_advantages_are_each_groups_own_statistics(rows, std) -> None:  # type: ignore[no-untyped-def]
    values, goals, _, steps = map(list, zip(*rows, strict=True))
    norm = "mean_std_norm" if std else "mean_norm"
    expected = by_hand(values, list(zip(goals, steps, strict=True)), std=std, alone=lambda value: 0.0)
    np.testing.assert_allclose(step_advantages(values, goals, steps, norm=norm), expected, atol=1e-6)


@given(columns, st.booleans())
def test_episode_advantages_are_each_goals_own_statistics(rows, std) -> None:  # type: ignore[no-untyped-def]
    values, goals, rollouts, _ = map(list, zip(*rows, strict=True))
    norm = "mean_std_norm" if std else "mean_norm"
    earned: dict[tuple[str, int], float] = defaultdict(float)
    for value, goal, rollout in zip(values, goals, rollouts, strict=True):
        earned[goal, rollout] += value
    whole = by_hand(list(earned.values()), [goal for goal, _ in earned], std=std, alone=lambda value: value)
    expected = dict(zip(earned, whole, strict=True))
    got = episode_advantages(values, goals, rollouts, norm=norm)
    np.testing.assert_allclose(got, [expected[pair] for pair in zip(goals, rollouts, strict=True)], atol=1e-6)
    over_rows = by_hand(values, goals, std=std, alone=lambda value: value)
    np.testing.assert_allclose(
        episode_advantages(values, goals, rollouts, norm=norm, over="rows"), over_rows, atol=1e-6
    )


@given(columns)
def test_padding_rows_get_nothing_and_change_nothing(rows) -> None:  # type: ignore[no-untyped-def]
    values, goals, rollouts, steps = map(list, zip(*rows, strict=True))
    alone = combined(values, values, goals, rollouts, steps, norm="mean_std_norm")
    nan, more = float("nan"), [False, *[True] * len(rows)]
    padded = combined(
        [nan, *values],
        [nan, *values],
        ["a", *goals],
        [0, *rollouts],
        [0, *steps],
        norm="mean_std_norm",
        valid=more,
    )
    assert padded[0] == 0
    assert padded[1:].tolist() == alone.tolist()


@given(columns, st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(rows, rng) -> None:  # type: ignore[no-untyped-def]
    order = list(range(len(rows)))
    rng.shuffle(order)

    def advantages(rows):  # type: ignore[no-untyped-def]
        values, goals, rollouts, steps = zip(*rows, strict=True)
        return combined(values, values, goals, rollouts, steps, norm="mean_norm")

    np.testing.assert_allclose(advantages([rows[i] for i in order]), advantages(rows)[order], atol=1e-9)


def test_no_rows_have_no_advantages() -> None:
    assert combined([], [], [], [], [], norm="mean_norm").shape == (0,)
    assert episode_advantages([np.nan], [""], [0], norm="mean_norm", valid=[False]).tolist() == [0]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"returns": [1.0, float("nan")]}, "returns: row 1 holds nan"),
        ({"step_rewards": [float("-inf"), 0.0]}, "step_rewards: row 0 holds -inf"),
        ({"goals": ["g", float("nan")]}, "goals: row 1 holds nan"),
        ({"goals": ["g"]}, "goals has 1 rows, returns has 2"),
        ({"rollouts": [0]}, "rollouts has 1 rows, returns has 2"),
        ({"steps": [0, 1, 2]}, "steps has 3 rows, returns has 2"),
        ({"returns": [1.0, 1.0, 1.0]}, "step_rewards has 2 rows, returns has 3"),
    ],
)
def test_rows_that_make_no_signal_are_refused(change: dict[str, object], said: str) -> None:
    rows = {
        "returns": [1.0, 1.0],
        "step_rewards": [1.0, 1.0],
        "goals": ["g", "g"],
        "rollouts": [0, 1],
        "steps": [0, 0],
        **change,
    }
    with pytest.raises(SignalError) as error:
        combined(**rows, norm="mean_norm")  # type: ignore[arg-type]
    assert said in str(error.value)


def test_names_that_do_not_exist_are_refused_with_those_that_do() -> None:
    with pytest.raises(UsageError, match="mean_norm, mean_std_norm"):
        step_advantages([1.0], ["g"], [0], norm="std")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="mean_norm, mean_std_norm"):
        episode_advantages([], [], [], norm="std")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="rollouts or rows"):
        episode_advantages([1.0], ["g"], [0], norm="mean_norm", over="tokens")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="step_weight must be a number"):
        combined([1.0], [1.0], ["g"], [0], [0], norm="mean_norm", step_weight=float("nan"))
