"""Task by task: where a task has two of the three results, how often do they say the same?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from sopbench.linking.gather import PROTOCOLS, Model


@dataclass(frozen=True, slots=True)
class Agreement:
    """Over every model and task with both results (solved means: in at least half of its episodes). `phi` is the correlation of the two yes/no answers; None where one of
    them never varies."""

    first: str
    second: str
    both: int
    only_first: int
    only_second: int
    neither: int

    @property
    def n(self) -> int:
        return self.both + self.only_first + self.only_second + self.neither

    @property
    def same(self) -> float:
        """Share of model-task pairs on which the two agree, 0..1."""
        return (self.both + self.neither) / self.n

    @property
    def phi(self) -> float | None:
        first, second = self.both + self.only_first, self.both + self.only_second
        spread = first * (self.n - first) * second * (self.n - second)
        return (
            None if spread == 0 else (self.both * self.neither - self.only_first * self.only_second) / math.sqrt(spread)
        )


def agreements(models: Sequence[Model]) -> list[Agreement]:
    """One for each pair of protocols that some model has on the same tasks."""
    found = []
    for first, second in combinations(PROTOCOLS, 2):
        counts = {(a, b): 0 for a in (True, False) for b in (True, False)}
        for model in models:
            if first not in model.ids or model.ids.get(first) != model.ids.get(second):
                continue
            for task, share in model.solved[first].items():
                if task in model.solved[second]:
                    counts[share >= 0.5, model.solved[second][task] >= 0.5] += 1
        if sum(counts.values()):
            found.append(
                Agreement(
                    first, second, counts[True, True], counts[True, False], counts[False, True], counts[False, False]
                )
            )
    return found
