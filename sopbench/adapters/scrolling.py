"""Scroll words. A family says `up`, `down`, `left` or `right` and means either the finger or the content; inside there is only the finger's path."""

from __future__ import annotations

from typing import Final

from sopbench.actions import Direction, Swipe
from sopbench.geometry import Point

REACH: Final = 0.25
"""Half the length of the path that stands for a direction: half of the screen, as AndroidControl's scrolls are in the SOP file."""

_STEP: Final[dict[Direction, tuple[float, float]]] = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}
_OPPOSITE: Final[dict[Direction, Direction]] = {"up": "down", "down": "up", "left": "right", "right": "left"}

MIDDLE: Final = Point(0.5, 0.5)


def opposite(direction: Direction) -> Direction:
    """From the content's sense to the finger's, and back: content that is to come from below needs a finger that moves up."""
    return _OPPOSITE[direction]


def read_direction(word: str) -> Direction | None:
    """The direction that a word names, in any case; None where it names none."""
    plain = word.strip().lower()
    return plain if plain in _STEP else None


def finger_path(direction: Direction, around: Point = MIDDLE) -> Swipe:
    """A finger that moves in `direction` (the finger's own), half the screen long, about `around` (unit coordinates); shifted where it would leave the screen."""
    dx, dy = _STEP[direction]
    x, y = _inside(around.x, dx), _inside(around.y, dy)
    return Swipe(Point(x - dx * REACH, y - dy * REACH), Point(x + dx * REACH, y + dy * REACH))


def _inside(value: float, along: float) -> float:
    reach = REACH * abs(along)
    return min(max(value, reach), 1 - reach)
