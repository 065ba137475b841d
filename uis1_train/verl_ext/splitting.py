"""How a batch, whose number of rows nobody chooses, is split into mini-batches."""

from __future__ import annotations

import math


def split(rows: int, dp_size: int, wanted: int, learning: int, asking: int) -> tuple[int, int]:
    """(mini-batches, the multiple that `rows` are padded to). `learning`, `asking`: rows a GPU takes at a time, in the update and for log-probs.

    At most `wanted` mini-batches, and so few that none can be all padding: k of them in a batch that is padded to a multiple of M hold at least rows / k
    rows each, and there are less than M padding rows, so that rows >= k * M suffices.
    """
    for k in range(wanted, 0, -1):
        multiple = dp_size * math.lcm(k * learning, asking)
        if k == 1 or rows >= k * multiple:
            return k, multiple
    raise AssertionError("wanted is at least 1")
