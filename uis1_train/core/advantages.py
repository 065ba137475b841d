"""Group-relative advantages at two levels.

Paper, arXiv 2509.11543, section 3: A = w_E A_E + w_S A_S. A_S compares the returns of one step over a goal's rollouts, A_E what whole rollouts earned.
Both are broadcast over the tokens of the step's response by the trainer.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

import numpy as np
import numpy.typing as npt

from sopbench.errors import UsageError
from uis1_train.core.rows import (
    Codes,
    Floats,
    Mask,
    Names,
    codes,
    floats,
    joined,
    same_length,
    step_numbers,
    valid_rows,
)

Norm = Literal["mean_norm", "mean_std_norm"]
NORMS: tuple[Norm, ...] = get_args(Norm)
Over = Literal["rollouts", "rows"]
OVERS: tuple[Over, ...] = get_args(Over)
EPSILON: Final = 1e-6
"""Added to the standard deviation. X-PLUG/MobileAgent 11cea575, `UI-S1/uis1/core_uis1.py`, `compute_uis1_outcome_advantage`."""


def step_advantages(
    returns: npt.ArrayLike, goals: Names, steps: npt.ArrayLike, *, norm: Norm, valid: npt.ArrayLike | None = None
) -> Floats:
    """Every row's return against those of the same goal and step index, float64[n]; padding rows get 0.

    `mean_norm`: minus the group's mean. `mean_std_norm`: that over the group's standard deviation (with Bessel's correction) + 1e-6. A row that is alone
    in its group is its own mean: 0 (`step_norm_reward` in the released `core_uis1.py`).
    """
    counts = valid_rows(valid, returns)
    value = floats(returns, "returns", counts)
    same_length("goals", goals, "returns", value)
    same_length("steps", np.atleast_1d(steps), "returns", value)
    numbers = step_numbers(steps, counts)
    rows = np.flatnonzero(counts)
    group, groups = joined(codes(goals, "goals", rows)[0], numbers[rows])
    out = np.zeros(len(value))
    out[rows] = _normalised(value[rows], group, groups, norm, alone_is_mean=True)
    return out


def episode_advantages(
    step_rewards: npt.ArrayLike,
    goals: Names,
    rollouts: Names,
    *,
    norm: Norm,
    over: Over = "rollouts",
    valid: npt.ArrayLike | None = None,
) -> Floats:
    """What every row's rollout earned against the goal's others, float64[n]; padding rows get 0.

    * `over="rollouts"` (paper): a rollout earns the sum of its step rewards; mean and deviation are over the goal's rollouts, each counted once, and every
      row of a rollout gets the same.
    * `over="rows"` (released): every row stands for itself with its own step's reward; mean and deviation are over all step rows of the goal, so that long
      rollouts weigh more (`episode_norm_reward` in `core_uis1.py`, whose `compute_mean_std_cross_all_data` is never switched off).

    A goal with a single member has mean 0 and standard deviation 1 there, so the member keeps its reward. `rollouts` are unique within a goal.
    """
    if over not in OVERS:
        raise UsageError(f"episode advantages are taken over {' or '.join(OVERS)}, not {over!r}")
    counts = valid_rows(valid, step_rewards)
    value = floats(step_rewards, "step_rewards", counts)
    same_length("goals", goals, "step_rewards", value)
    same_length("rollouts", rollouts, "step_rewards", value)
    rows = np.flatnonzero(counts)
    goal = codes(goals, "goals", rows)[0]
    out = np.zeros(len(value))
    if not len(rows):
        _known(norm)
        return out
    groups = int(goal.max()) + 1
    if over == "rows":
        out[rows] = _normalised(value[rows], goal, groups, norm, alone_is_mean=False)
        return out
    rollout, members = joined(goal, codes(rollouts, "rollouts", rows)[0])
    earned: Floats = np.bincount(rollout, weights=value[rows], minlength=members).astype(np.float64)
    goal_of = np.zeros(members, dtype=np.int64)
    goal_of[rollout] = goal
    out[rows] = _normalised(earned, goal_of, groups, norm, alone_is_mean=False)[rollout]
    return out


def combined(
    returns: npt.ArrayLike,
    step_rewards: npt.ArrayLike,
    goals: Names,
    rollouts: Names,
    steps: npt.ArrayLike,
    *,
    norm: Norm,
    over: Over = "rollouts",
    episode_weight: float = 1.0,
    step_weight: float = 1.0,
    valid: npt.ArrayLike | None = None,
) -> Floats:
    """A = w_E A_E + w_S A_S for every row, float64[n]: what each response token of the row's step is weighted with."""
    for name, weight in (("episode_weight", episode_weight), ("step_weight", step_weight)):
        if not np.isfinite(weight):
            raise UsageError(f"{name} must be a number, not {weight}")
    counts = valid_rows(valid, returns)
    for what, column in (("step_rewards", np.atleast_1d(step_rewards)), ("goals", goals), ("rollouts", rollouts)):
        same_length(what, column, "returns", counts)
    goal, rollout = (_numbered(column, what, counts) for what, column in (("goals", goals), ("rollouts", rollouts)))
    episode = episode_advantages(step_rewards, goal, rollout, norm=norm, over=over, valid=counts)
    step = step_advantages(returns, goal, steps, norm=norm, valid=counts)
    return episode_weight * episode + step_weight * step


def _numbered(names: Names, what: str, valid: Mask) -> Codes:
    """Names as numbers, so that texts are looked at only once; padding rows get 0."""
    out = np.zeros(len(valid), dtype=np.int64)
    rows = np.flatnonzero(valid)
    out[rows] = codes(names, what, rows)[0]
    return out


def _normalised(value: Floats, group: Codes, groups: int, norm: Norm, *, alone_is_mean: bool) -> Floats:
    """`value` normalised within its group. Whoever is alone keeps its value, or where `alone_is_mean` is its own mean."""
    _known(norm)
    size = np.bincount(group, minlength=groups)
    several = size > 1
    mean = np.bincount(group, weights=value, minlength=groups) / np.maximum(size, 1)
    if not alone_is_mean:
        mean = np.where(several, mean, 0.0)
    apart = value - mean[group]
    if norm == "mean_norm":
        return apart
    variance = np.bincount(group, weights=apart**2, minlength=groups) / np.maximum(size - 1, 1)
    deviation = np.where(several, np.sqrt(variance), 1.0)
    out: Floats = apart / (deviation[group] + EPSILON)
    return out


def _known(norm: str) -> None:
    if norm not in NORMS:
        raise UsageError(f"no normalisation is called {norm!r}: choose one of {', '.join(NORMS)}")
