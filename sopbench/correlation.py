"""How well one metric tells another over a handful of models: R^2 of a straight line, Spearman's rank correlation, and how sure that is.

With so few points a coefficient alone says little: each comes with n, a bootstrap interval over the models, and the range that leaving one model out gives.
The paper's own claim (arXiv 2509.11543, figure 1: R^2 of AndroidWorld on SOP) is over six of its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sopbench.errors import UsageError
from sopbench.stats import LEVEL, RESAMPLES, FloatArray, Interval, interval

LEAST = 3
"""Two points always lie on a line."""


@dataclass(frozen=True, slots=True)
class Fit:
    """y = slope * x + intercept by least squares over n points; `r2` and `spearman` with bootstrap intervals (None where resamples rarely vary), `r2_without_one` the least and
    the largest R^2 when one point is left out (None below four points)."""

    n: int
    slope: float
    intercept: float
    r2: float
    spearman: float
    r2_interval: Interval | None
    spearman_interval: Interval | None
    r2_without_one: Interval | None


def fit(x: Sequence[float], y: Sequence[float], *, resamples: int = RESAMPLES, seed: int = 0) -> Fit:
    """Fit y on x. Raises `UsageError` for fewer than three points, or where one of the two is the same for all of them."""
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1:
        raise UsageError("the two metrics must have one value each for every model")
    if len(a) < LEAST:
        raise UsageError(f"{len(a)} models are too few for a correlation: {LEAST} at least")
    if not np.isfinite(a).all() or not np.isfinite(b).all():
        raise UsageError("a metric has a value that is no number")
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        raise UsageError("one of the two metrics is the same for every model: there is nothing to correlate")
    slope = float(_covariance(a, b) / _covariance(a, a))
    draws = np.random.default_rng(seed).integers(0, len(a), size=(resamples, len(a)))
    ranks_a, ranks_b = _ranks(a[draws]), _ranks(b[draws])
    without = [_r2(np.delete(a, k)[None], np.delete(b, k)[None])[0] for k in range(len(a))] if len(a) > LEAST else []
    whole = [value for value in without if np.isfinite(value)]
    return Fit(
        n=len(a),
        slope=slope,
        intercept=float(b.mean() - slope * a.mean()),
        r2=float(_r2(a[None], b[None])[0]),
        spearman=float(_pearson(_ranks(a[None]), _ranks(b[None]))[0]),
        r2_interval=_spread(_r2(a[draws], b[draws])),
        spearman_interval=_spread(_pearson(ranks_a, ranks_b)),
        r2_without_one=Interval(float(min(whole)), float(max(whole))) if whole else None,
    )


def _covariance(a: FloatArray, b: FloatArray) -> float:
    return float(((a - a.mean()) * (b - b.mean())).mean())


def _pearson(a: FloatArray, b: FloatArray) -> FloatArray:
    """Row by row; NaN where a row does not vary."""
    a = a - a.mean(axis=1, keepdims=True)
    b = b - b.mean(axis=1, keepdims=True)
    spread = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    with np.errstate(invalid="ignore", divide="ignore"):
        found: FloatArray = np.where(spread > 1e-12, (a * b).sum(axis=1) / spread, np.nan)
    return found


def _r2(a: FloatArray, b: FloatArray) -> FloatArray:
    squared: FloatArray = _pearson(a, b) ** 2
    return squared


def _ranks(rows: FloatArray) -> FloatArray:
    """Ranks within each row, ties sharing their mean rank."""
    less = (rows[:, None, :] < rows[:, :, None]).sum(axis=2)
    equal = (rows[:, None, :] == rows[:, :, None]).sum(axis=2)
    found: FloatArray = less + (equal + 1) / 2
    return found


def _spread(values: FloatArray) -> Interval | None:
    """The percentile interval; None where more than half of the resamples have no value (all their points alike)."""
    whole = values[np.isfinite(values)]
    return interval(whole, LEVEL) if len(whole) > len(values) / 2 else None
