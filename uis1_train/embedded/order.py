"""The order in which data is taken: every epoch all of it, shuffled by seed and epoch alone, so that a place in it is one number."""

from __future__ import annotations

import random
from collections.abc import Iterator


def order(count: int, seed: int, cursor: int = 0) -> Iterator[int]:
    """Indices below `count` without end, from the `cursor`-th on."""
    while True:
        epoch, place = divmod(cursor, count)
        indices = list(range(count))
        random.Random(f"{seed} {epoch}").shuffle(indices)
        for index in indices[place:]:
            cursor += 1
            yield index
