"""Ranks that only tell differences which the data tells: rows that it cannot tell apart are ties.

Two rows of a board were played on the same trajectories, so they are compared pairwise: the 95 % interval of the mean of their differences, trajectory by
trajectory (normal approximation; the unit is the trajectory, repeats are averaged first). They are a tie where that interval holds zero. The rank of a row is one
more than the number of rows that are better than it beyond a tie. Many pairs are compared and no correction is made for it: a lone difference close to the edge is weak.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from sopbench.leaderboard.row import Row

Z: Final = 1.959964
"""The 97.5 % point of the normal distribution."""
NAMED: Final = 8
"""Ties that are named; the others are counted."""


@dataclass(frozen=True, slots=True)
class Place:
    """`rank` counts the rows that are better beyond a tie, `worst` is the last place that ties could put the row at. `ties`: indices of the nearest tied rows."""

    rank: int
    worst: int
    ties: tuple[int, ...]
    tied: int


def order(rows: Sequence[Row], headline: str) -> list[int]:
    """Indices by headline, the best first; rows without one last; equal ones by date, then name."""

    def key(index: int) -> tuple[float, str, str, str]:
        row = rows[index]
        value = row.spread.value * 100 if row.spread is not None else row.values.get(headline, -1.0)
        return -value, row.date or "", row.organisation, row.model

    return sorted(range(len(rows)), key=key)


def places(rows: Sequence[Row]) -> list[Place | None]:
    """The place of each row among those of its board; None for rows that have no headline. `rows` are of one board, and none of them published."""
    ranked = [index for index, row in enumerate(rows) if row.spread is not None]
    found: list[Place | None] = [None] * len(rows)
    if not ranked:
        return found
    spreads = [row.spread for row in rows if row.spread is not None]
    values = np.array([s.value for s in spreads])
    pulls = np.array([s.pulls for s in spreads])
    n = pulls.shape[1]
    product = pulls @ pulls.T
    own = np.diag(product)
    squares = np.maximum(own[:, None] + own[None, :] - 2 * product, 0.0)
    error = np.sqrt(squares / (n * max(1, n - 1)))
    ahead = values[:, None] - values[None, :]  # by how much the row is better than the column
    better = ahead > Z * error + 1e-9
    tied = ~(better | better.T)
    for place, index in enumerate(ranked):
        others = np.flatnonzero(tied[place])
        others = others[others != place]
        nearest = others[np.argsort(np.abs(ahead[place, others]), kind="stable")][:NAMED]
        found[index] = Place(
            rank=1 + int(better[:, place].sum()),
            worst=len(ranked) - int(better[place].sum()),
            ties=tuple(ranked[k] for k in nearest),
            tied=len(others),
        )
    return found
