"""Fingers that come as single touch events, made into taps, long presses and swipes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from emulator.sim.screens.base import LONG_PRESS_MS, Screen

SLOP: Final = 12.0
"""Pixels that a finger may wander and still be a tap."""


@dataclass(slots=True)
class _Finger:
    x: float
    y: float
    began: float
    last_x: float
    last_y: float


class Touches:
    """Follows fingers by their identifier; a gesture is handed to the screen when its finger is lifted."""

    def __init__(self, screen: Screen, now: Callable[[], float] = time.monotonic) -> None:
        self._screen, self._now = screen, now
        self._fingers: dict[int, _Finger] = {}

    def event(self, identifier: int, x: float, y: float, *, down: bool) -> None:
        finger = self._fingers.get(identifier)
        if down:
            if finger is None:
                self._fingers[identifier] = _Finger(x, y, self._now(), x, y)
            else:
                finger.last_x, finger.last_y = x, y
            return
        if finger is None:
            return
        del self._fingers[identifier]
        ms = (self._now() - finger.began) * 1000
        if max(abs(finger.last_x - finger.x), abs(finger.last_y - finger.y)) > SLOP:
            self._screen.swipe(finger.x, finger.y, finger.last_x, finger.last_y, ms)
        elif ms >= LONG_PRESS_MS:
            self._screen.hold(finger.x, finger.y, ms)
        else:
            self._screen.tap(finger.x, finger.y)
