"""TM, GR and SR of steps that were asked independently, with intervals.

TM is the share of steps whose action type is the expert's, SR that of steps that match, GR that of matches among the steps where both the expert and the model
click. Every step counts once; the unit of resampling is the trajectory, since its steps share a goal and an app. Fractions everywhere inside; summaries turn them
into percent. Sources of the metrics: see `sopbench.scoring.steps`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sopbench.stats import FloatArray, Interval, bootstrap_means, interval

METRICS = ("tm", "gr", "sr")
_FIELDS = ("n", "typed", "matched", "clicks", "grounded")


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """One step of one repeat. `gold` and `said` are kinds of action (`said` is None where the reply was none); `scored` is False where infrastructure failed."""

    episode: str
    step: int
    repeat: int
    gold: str
    scored: bool
    said: str | None = None
    type_match: bool = False
    match: bool = False
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Shares:
    """The three metrics as fractions with intervals; where a step is not scored, only the bounds that any outcome of it would keep.

    `n` counts steps (each repeat of them), `scored` those with a verdict. A metric without a step to count, as GR where nobody clicks, is None in `values`.
    """

    n: int
    scored: int
    values: Mapping[str, float | None]
    ci: Mapping[str, Interval]
    bounds: Mapping[str, Interval]


def shares(outcomes: Sequence[StepOutcome], *, with_intervals: bool = True) -> Shares:
    scored = [o for o in outcomes if o.scored]
    if not outcomes:
        return Shares(0, 0, {}, {}, {})
    if len(scored) < len(outcomes):
        return Shares(len(outcomes), len(scored), {}, {}, _bounds(outcomes))
    _, sums = per_trajectory(outcomes)
    values = {name: _one(ratio(sums.mean(axis=0)[None, :])) for name, ratio in RATIOS.items()}
    ci = {}
    if with_intervals:
        means = bootstrap_means(sums)
        ci = {name: interval(spread) for name, ratio in RATIOS.items() if len(spread := _known(ratio(means)))}
    return Shares(len(outcomes), len(scored), values, ci, {})


def per_trajectory(outcomes: Iterable[StepOutcome]) -> tuple[list[str], FloatArray]:
    """Trajectory ids and, for each, sums over its steps and repeats: an array (trajectories, 5) of steps, type matches, matches, clicks by both, and those that match."""
    rows: dict[str, list[float]] = {}
    for o in outcomes:
        row = rows.setdefault(o.episode, [0.0] * len(_FIELDS))
        clicks = o.gold == "click" == o.said
        for index, value in enumerate((1, o.type_match, o.match, clicks, clicks and o.match)):
            row[index] += value
    return list(rows), np.array(list(rows.values()), dtype=np.float64).reshape(len(rows), len(_FIELDS))


def _ratio(part: int, whole: int) -> Callable[[FloatArray], FloatArray]:
    def ratio(sums: FloatArray) -> FloatArray:
        """Of rows of sums (or means: the ratio is the same), NaN where there is nothing to count."""
        with np.errstate(invalid="ignore", divide="ignore"):
            out: FloatArray = sums[:, part] / sums[:, whole]
        return out

    return ratio


RATIOS: Mapping[str, Callable[[FloatArray], FloatArray]] = {"tm": _ratio(1, 0), "gr": _ratio(4, 3), "sr": _ratio(2, 0)}
"""Each metric from rows of sums, as `per_trajectory` gives them."""


def _bounds(outcomes: Sequence[StepOutcome]) -> dict[str, Interval]:
    """An unscored step may have been anything: no match, a match, and where the expert clicks a click or none."""
    n = len(outcomes)
    unscored = [o for o in outcomes if not o.scored]
    _, sums = per_trajectory(o for o in outcomes if o.scored)
    _, typed, matched, clicks, grounded = sums.sum(axis=0) if len(sums) else np.zeros(len(_FIELDS))
    missing, missing_clicks = len(unscored), sum(o.gold == "click" for o in unscored)
    bounds = {
        "tm": Interval(float(typed) / n, float(typed + missing) / n),
        "sr": Interval(float(matched) / n, float(matched + missing) / n),
    }
    if whole := float(clicks) + missing_clicks:
        bounds["gr"] = Interval(float(grounded) / whole, float(grounded + missing_clicks) / whole)
    return bounds


def _known(values: FloatArray) -> FloatArray:
    kept: FloatArray = values[~np.isnan(values)]
    return kept


def _one(values: FloatArray) -> float | None:
    return None if np.isnan(values[0]) else float(values[0])
