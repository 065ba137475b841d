"""From goals to optimiser steps: how many samples a batch has, how they are cut, what is padding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from uis1_train.verl_ext.splitting import split

STEP_MATCH = 0.6
"""Assumed chance that a step matches, where nothing better is known: a policy after SFT. It changes the expected numbers, not the bounds."""
MEAN_LENGTH = 8444 / 1543
"""Steps of a trajectory where there is no data to look at: the released SOP file has 8,444 steps in 1,543 trajectories."""


@dataclass(frozen=True, slots=True)
class Batches:
    """Of one training step. `samples` is expected, `most` the bound; rows are padded to a multiple of `multiple` with rows that weigh nothing."""

    goals: int
    rollouts: int
    steps_a_rollout: float
    samples: float
    most: int
    gpus: int
    data_parallel: int
    mini_batches: int
    multiple: int
    padding_at_most: int
    mini_batch: float
    micro_steps: float
    played_at_most: int
    trajectories: int | None
    steps_an_epoch: int | None
    steps: int | None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def steps_of_a_rollout(length: int, match: float, patches: float) -> float:
    """Expected steps of a semi-online rollout over `length` expert steps, when each step matches with probability `match`.

    Step t is played if fewer than patches + 1 of the t before it were mismatches: the sum over t of a binomial distribution function.
    """
    if patches >= length:
        return float(length)
    expected, most = 0.0, int(patches)
    for t in range(length):
        expected += sum(math.comb(t, k) * (1 - match) ** k * match ** (t - k) for k in range(min(most, t) + 1))
    return expected


def count_batches(
    *,
    goals: int,
    rollouts: int,
    lengths: Sequence[int] | None,
    patches: float,
    match: float,
    gpus: int,
    sequence_parallel: int,
    micro_batch: int,
    asking: int,
    wanted_mini_batches: int,
    max_generated: float,
    epochs: int,
    total_steps: int | None,
    offline: bool,
) -> Batches:
    """`lengths`: steps of each trajectory of the training data; None where it is not here. `micro_batch`, `asking`: rows that a GPU takes at a time, in the
    update and for log-probs."""
    known = lengths if lengths else [round(MEAN_LENGTH)]
    mean = 1.0 if offline else sum(steps_of_a_rollout(n, match, patches) for n in known) / len(known)
    samples, most = goals * rollouts * mean, goals * rollouts * (1 if offline else max(known))
    data_parallel = max(1, gpus // sequence_parallel)
    parts, multiple = split(round(samples), data_parallel, wanted_mini_batches, micro_batch, asking)
    padded = math.ceil(samples / multiple) * multiple
    items = None if lengths is None else (sum(lengths) if offline else len(lengths))
    an_epoch = None if items is None else items // goals
    return Batches(
        goals=goals,
        rollouts=rollouts,
        steps_a_rollout=mean,
        samples=samples,
        most=most,
        gpus=gpus,
        data_parallel=data_parallel,
        mini_batches=parts,
        multiple=multiple,
        padding_at_most=multiple - 1,
        mini_batch=padded / parts,
        micro_steps=padded / parts / data_parallel / micro_batch,
        played_at_most=math.ceil(max_generated * goals),
        trajectories=None if lengths is None else len(lengths),
        steps_an_epoch=an_epoch,
        steps=total_steps if total_steps is not None else None if an_epoch is None else an_epoch * epochs,
    )
