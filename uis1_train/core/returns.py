"""Step returns: what a step is worth with what came of it.

Paper, arXiv 2509.11543, Eq. 9: R_t = sum over k from t to t_end of gamma^(k-t) r_k, where t_end is the first mismatch at or after t, or the rollout's end.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from sopbench.errors import UsageError
from uis1_train.core.rows import (
    Codes,
    Floats,
    Mask,
    Names,
    SignalError,
    codes,
    floats,
    mask,
    same_length,
    step_numbers,
    valid_rows,
)

Cut = Literal["paper", "released", "whole"]
CUTS: tuple[Cut, ...] = get_args(Cut)


def step_returns(
    rewards: npt.ArrayLike,
    matches: npt.ArrayLike,
    rollouts: Names,
    steps: npt.ArrayLike,
    *,
    gamma: float,
    cut: Cut,
    valid: npt.ArrayLike | None = None,
) -> Floats:
    """The discounted return of every row, float64[n]; padding rows get 0.

    R_t = r_t + gamma * R_{t+1} wherever t + 1 belongs to the same segment, else R_t = r_t. `cut` says where segments end:

    * `paper`: after a mismatch, whose reward is the last of its segment (Eq. 9).
    * `released`: before and after a mismatch, which stands alone (X-PLUG/MobileAgent 11cea575, `UI-S1/uis1/core_uis1.py`,
      `compute_step_discounted_returns`).
    * `whole`: at the rollout's end only (the paper's ablation of the segment: patched steps chain on).

    A rollout's steps follow each other without gaps; where they start does not matter. Raises `SignalError` for rows that are none and `UsageError`
    for a gamma outside [0, 1] or an unknown cut.
    """
    if not 0.0 <= gamma <= 1.0:
        raise UsageError(f"gamma must be between 0 and 1, not {gamma}")
    if cut not in CUTS:
        raise UsageError(f"no way to cut returns is called {cut!r}: choose one of {', '.join(CUTS)}")
    counts = valid_rows(valid, rewards)
    value = floats(rewards, "rewards", counts)
    match = mask(matches, "matches")
    for what, column in (("matches", match), ("rollouts", rollouts), ("steps", np.asarray(steps))):
        same_length(what, column, "rewards", value)
    order, follows = _chains(rollouts, step_numbers(steps, counts), counts)
    match = match[order]
    if cut != "whole":
        follows &= match
    if cut == "released":
        follows[:-1] &= match[1:]
    out = np.zeros(len(value))
    out[order] = _discounted(value[order], np.where(follows, gamma, 0.0))
    return out


def _chains(rollouts: Names, steps: Codes, valid: Mask) -> tuple[npt.NDArray[np.intp], Mask]:
    """The valid rows rollout by rollout in the order of their steps, and for each whether the next one continues its rollout."""
    rows = np.flatnonzero(valid)
    numbers, names = codes(rollouts, "rollouts", rows)
    by_step = _in_order(numbers, steps[rows])
    order, numbers = rows[by_step], numbers[by_step]
    follows = np.zeros(len(order), dtype=np.bool_)
    follows[:-1] = numbers[1:] == numbers[:-1]
    gaps = np.flatnonzero(follows[:-1] & (np.diff(steps[order]) != 1))
    if len(gaps):
        row, following = order[gaps[0]], order[gaps[0] + 1]
        fault = "twice" if steps[row] == steps[following] else f"and then {steps[following]}"
        raise SignalError(
            f"rollout {names[numbers[gaps[0]]]!r} has step {steps[row]} {fault} (rows {row} and {following}): a rollout's steps follow each other"
        )
    return order, follows


def _in_order(rollouts: Codes, steps: Codes) -> npt.NDArray[np.intp]:
    """Rows by rollout, then by step. Where steps are small and no row stands twice, every row's place is looked up rather than sorted for."""
    width = int(steps.max(initial=0)) + 1
    places = (int(rollouts.max(initial=0)) + 1) * width
    if places <= 16 * len(rollouts):
        place = np.full(places, -1, dtype=np.intp)
        place[rollouts * width + steps] = np.arange(len(rollouts))
        order = place[place >= 0]
        if len(order) == len(rollouts):
            return order
    return np.lexsort((steps, rollouts))


def _discounted(value: Floats, weight: Floats) -> Floats:
    """x_i = value_i + weight_i * x_{i+1} for all i, by doubling: after pass p every row has summed its next 2^p rows. The last weight is 0."""
    total, reach = value.copy(), 1
    weight = weight.copy()
    while reach < len(total) and weight.any():
        total[:-reach] += weight[:-reach] * total[reach:]
        weight[:-reach] *= weight[reach:]
        weight[-reach:] = 0.0
        reach *= 2
    return total
