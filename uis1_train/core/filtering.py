"""Dynamic sampling: which goals' groups are worth learning from.

Paper, arXiv 2509.11543, section 3 (after DAPO): a group whose rollouts all earned about the same says nothing, so it is dropped and another goal is played.
Released code: X-PLUG/MobileAgent 11cea575, `UI-S1/verl/trainer/ppo/dapo_ray_trainer.py`, metric `seq_future_reward`, threshold 0.3.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sopbench.errors import UsageError
from uis1_train.core.rows import Names, codes, floats, same_length


@dataclass(frozen=True, slots=True)
class GroupStats:
    """One goal's rollouts: how many, and mean and (population) standard deviation of the return of their first step. `kept`: whether to learn from them."""

    goal: Hashable
    rollouts: int
    mean: float
    std: float
    kept: bool


def group_stats(step0_returns: npt.ArrayLike, goals: Names, *, eta: float) -> tuple[GroupStats, ...]:
    """The statistics of every goal, in the order of first appearance; one entry a rollout in both arguments. No entries: no groups.

    A group is kept if its standard deviation exceeds `eta`, or if it has only one rollout.
    """
    if not (np.isfinite(eta) and eta >= 0):
        raise UsageError(f"eta must be a number of at least 0, not {eta}")
    value = floats(step0_returns, "step0_returns")
    same_length("goals", goals, "step0_returns", value)
    group, names = codes(goals, "goals")
    size = np.bincount(group, minlength=len(names))
    mean = np.bincount(group, weights=value, minlength=len(names)) / np.maximum(size, 1)
    std = np.sqrt(np.bincount(group, weights=(value - mean[group]) ** 2, minlength=len(names)) / np.maximum(size, 1))
    kept = (std > eta) | (size == 1)
    return tuple(
        GroupStats(*facts)
        for facts in zip(names, size.tolist(), mean.tolist(), std.tolist(), kept.tolist(), strict=True)
    )


def kept_goals(step0_returns: npt.ArrayLike, goals: Names, *, eta: float) -> tuple[Hashable, ...]:
    """The goals whose groups are worth learning from, in the order of first appearance (see `group_stats`)."""
    return tuple(group.goal for group in group_stats(step0_returns, goals, eta=eta) if group.kept)
