"""How many requests may be in flight: a fixed number, or one that finds itself (AIMD).

The adaptive rule, after TCP's congestion control (slow start, additive increase, multiplicative decrease; RFC 5681 sections 3.1 and 3.2):

* it starts at `SLOW_START` requests and grows by one with every success, so that it doubles a round, until the first sign of overload or the maximum;
* from then on it grows by one a round (a round is as many successes as the limit is high);
* it grows only while it is what holds requests back: an idle limit proves nothing;
* a 429 or a timeout halves it (never below one). What was sent before the last halving cannot halve it again: one burst of 429s is one sign.
"""

from __future__ import annotations

import asyncio
from collections import deque

SLOW_START = 4


class Gate:
    """Slots for requests, given in order of arrival; a retry goes before first tries, so that what was begun is finished first.

    `limit` is the number of slots now, `highest` its bound. Safe under cancellation: a slot given to a cancelled waiter goes to the next.
    """

    def __init__(self, highest: int, *, adaptive: bool = False) -> None:
        self.highest = highest
        self.limit = min(SLOW_START, highest) if adaptive else highest
        self.taken = 0
        self._adaptive = adaptive
        self._starting = True
        self._successes = 0
        self._epoch = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    async def acquire(self, *, retry: bool = False) -> int:
        """Wait for a slot. Returns the epoch in which it was given, for `overloaded`."""
        if self.taken < self.limit and not self._waiting:
            self.taken += 1
            return self._epoch
        slot = asyncio.get_running_loop().create_future()
        if retry:
            self._waiting.appendleft(slot)
        else:
            self._waiting.append(slot)
        try:
            await slot
        except asyncio.CancelledError:
            if slot.done() and not slot.cancelled():
                self.release()
            elif slot in self._waiting:
                self._waiting.remove(slot)
            raise
        return self._epoch

    def release(self) -> None:
        self.taken -= 1
        self._wake()

    def succeeded(self) -> None:
        """A request was answered. Call it before its slot is released."""
        if not self._adaptive or self.limit >= self.highest or self.taken < self.limit:
            return
        self._successes += 1
        if self._starting or self._successes >= self.limit:
            self.limit += 1
            self._successes = 0
            self._wake()

    def overloaded(self, epoch: int) -> None:
        """A request that was given its slot in `epoch` met a 429 or a timeout."""
        if not self._adaptive or epoch != self._epoch:
            return
        self.limit = max(1, self.limit // 2)
        self._starting = False
        self._successes = 0
        self._epoch += 1

    def _wake(self) -> None:
        while self._waiting and self.taken < self.limit:
            slot = self._waiting.popleft()
            if not slot.done():
                self.taken += 1
                slot.set_result(None)
