"""Which endpoint gets the next request.

The one with the fewest requests outstanding, among those that are well. An endpoint that failed *rests*: others are preferred to it, for a time that doubles
with every failed return (1 s to 60 s) and ends with its next success. Where all rest, the one that is due first is asked all the same, as the back-off of
each request paces it already. An endpoint that names a time itself (Retry-After) is *held*: nobody asks it before, even if it is the only one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

FIRST_REST = 1.0
LONGEST_REST = 60.0


@dataclass(slots=True)
class Endpoint:
    """One server. Times are those of the event loop's clock, in seconds."""

    url: str
    proxy: str | None = None
    outstanding: int = 0
    served: int = 0
    failures: int = 0
    rested_at: float = float("-inf")
    rest_until: float = float("-inf")
    hold_until: float = float("-inf")

    def answered(self) -> None:
        self.failures = 0
        self.rest_until = float("-inf")

    def failed(self, started: float, now: float) -> None:
        """An attempt that began at `started` failed. A whole crowd that fails together is one failure: those begun before the last rest count no more."""
        if started < self.rested_at:
            return
        self.failures += 1
        self.rested_at = now
        self.rest_until = now + min(LONGEST_REST, FIRST_REST * 2.0 ** min(self.failures - 1, 10))

    def hold(self, until: float) -> None:
        self.hold_until = max(self.hold_until, until)

    def unavailable(self, now: float) -> bool:
        return now < self.rest_until or now < self.hold_until


def choose(endpoints: Sequence[Endpoint], now: float, avoid: Endpoint | None = None) -> Endpoint | None:
    """The endpoint to ask now; None where all are held. `avoid` (who just failed this request) is chosen only for want of others."""
    free = [e for e in endpoints if now >= e.hold_until]
    well = [e for e in free if now >= e.rest_until]
    if well:
        return min(well, key=lambda e: (e is avoid, e.outstanding, e.served))
    return min(free, key=lambda e: (e.rest_until, e.outstanding), default=None)


def next_release(endpoints: Sequence[Endpoint]) -> float:
    """When the first hold ends."""
    return min(e.hold_until for e in endpoints)
