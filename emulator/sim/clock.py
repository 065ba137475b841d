"""The device's clock: it can be set, and runs on from there. Nothing on the phone looks at this machine's calendar."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime

EPOCH = datetime(2023, 10, 15, 15, 34, tzinfo=UTC).timestamp()
"""What a new phone's clock shows: a fixed moment, so that two phones agree."""


class DeviceClock:
    """Seconds since 1970 on the device. `tick` is what makes it run (seconds, monotonic); `skip` is for commands that only wait."""

    def __init__(self, start: float = EPOCH, tick: Callable[[], float] = time.monotonic) -> None:
        self._tick = tick
        self._set = start
        self._at = tick()

    def now(self) -> float:
        return self._set + self._tick() - self._at

    def set(self, moment: float) -> None:
        self._set, self._at = moment, self._tick()

    def skip(self, seconds: float) -> None:
        self._set += seconds

    def datetime(self) -> datetime:
        """Now, in the device's time zone, which is UTC."""
        return datetime.fromtimestamp(self.now(), UTC)
