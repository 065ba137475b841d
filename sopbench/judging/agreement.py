"""How far a judge agrees with labels: accuracy, precision, recall, Cohen's kappa, with intervals.

Kappa: J. Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological Measurement 20 (1960): (p_o - p_e) / (1 - p_e). Shares have Wilson's interval
(E. B. Wilson, JASA 22, 1927), which holds for few examples and near 0 and 1; kappa has a percentile bootstrap over the examples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from sopbench.stats import RESAMPLES, Interval

Z: Final = 1.959963984540054
"""Of the standard normal distribution, for 95 %."""


def wilson(part: int, whole: int) -> Interval | None:
    """The 95 % interval of a share; None of nothing."""
    if not whole:
        return None
    share, z2 = part / whole, Z * Z
    middle = (share + z2 / (2 * whole)) / (1 + z2 / whole)
    half = Z / (1 + z2 / whole) * math.sqrt(share * (1 - share) / whole + z2 / (4 * whole * whole))
    return Interval(max(0.0, middle - half), min(1.0, middle + half))


@dataclass(frozen=True, slots=True)
class Confusion:
    """Counts of examples with a verdict: `true_success` was labelled and judged a success, `false_success` judged one and labelled none, and so on."""

    true_success: int = 0
    false_success: int = 0
    missed_success: int = 0
    true_failure: int = 0

    @property
    def n(self) -> int:
        return self.true_success + self.false_success + self.missed_success + self.true_failure

    @property
    def accuracy(self) -> float | None:
        return (self.true_success + self.true_failure) / self.n if self.n else None

    @property
    def precision(self) -> float | None:
        """Of those judged a success, the share that is one."""
        judged = self.true_success + self.false_success
        return self.true_success / judged if judged else None

    @property
    def recall(self) -> float | None:
        """Of the successes, the share that was judged one."""
        real = self.true_success + self.missed_success
        return self.true_success / real if real else None

    @property
    def kappa(self) -> float | None:
        """Agreement beyond chance, -1..1; None where chance alone would agree always (labels and verdicts never vary)."""
        if not self.n:
            return None
        real, judged = self.true_success + self.missed_success, self.true_success + self.false_success
        chance = (real * judged + (self.n - real) * (self.n - judged)) / (self.n * self.n)
        observed = (self.true_success + self.true_failure) / self.n
        return None if chance == 1 else (observed - chance) / (1 - chance)

    def kappa_interval(self, *, resamples: int = RESAMPLES, seed: int = 0) -> Interval | None:
        """95 %, over resamples in which kappa is defined; None where it is not defined for the whole."""
        if self.kappa is None:
            return None
        cells = np.array([self.true_success, self.false_success, self.missed_success, self.true_failure], dtype=float)
        a, b, c, d = np.random.default_rng(seed).multinomial(self.n, cells / self.n, size=resamples).T / self.n
        chance = (a + c) * (a + b) + (b + d) * (c + d)
        defined = chance < 1
        values = (a + d - chance)[defined] / (1 - chance[defined])
        low, high = np.percentile(values, [2.5, 97.5])
        return Interval(float(low), float(high))

    def as_json(self) -> dict[str, Any]:
        """Fractions, with their 95 % intervals."""
        right, judged = self.true_success + self.true_failure, self.true_success + self.false_success
        intervals = {
            "accuracy": wilson(right, self.n),
            "precision": wilson(self.true_success, judged),
            "recall": wilson(self.true_success, self.true_success + self.missed_success),
            "kappa": self.kappa_interval(),
        }
        return {
            "n": self.n,
            "accuracy": _rounded(self.accuracy),
            "precision": _rounded(self.precision),
            "recall": _rounded(self.recall),
            "kappa": _rounded(self.kappa),
            "ci95": {name: [round(i.low, 4), round(i.high, 4)] if i else None for name, i in intervals.items()},
            "confusion": {
                "labelled_success_judged_success": self.true_success,
                "labelled_failure_judged_success": self.false_success,
                "labelled_success_judged_failure": self.missed_success,
                "labelled_failure_judged_failure": self.true_failure,
            },
        }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
