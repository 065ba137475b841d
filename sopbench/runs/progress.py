"""What a run tells whoever watches it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from sopbench.clients.base import PoolStatus


@dataclass(slots=True)
class Progress:
    """Live counts of what is played: episodes, or in a static run steps (`unit`). `resumed` ones were finished before this session; `steps` counts this
    session's requests, and `rate_name` says what `running_tsr` is the share of."""

    total: int
    resumed: int = 0
    finished: int = 0
    succeeded: int = 0
    not_scored: int = 0
    steps: int = 0
    parse_failed: int = 0
    pool: PoolStatus = field(default_factory=PoolStatus)
    started: float = field(default_factory=time.monotonic)
    unit: str = "episodes"
    rate_name: str = "TSR"

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started

    @property
    def rate(self) -> float:
        """Steps a second in this session."""
        return self.steps / self.seconds if self.seconds > 0 else 0.0

    @property
    def eta(self) -> float | None:
        """Seconds left, from what this session has finished; None before the first is done."""
        played = self.finished - self.resumed
        return (self.total - self.finished) * self.seconds / played if played > 0 else None

    @property
    def running_tsr(self) -> float | None:
        """Percent of finished, scored episodes (or steps) that succeeded."""
        scored = self.finished - self.not_scored
        return 100 * self.succeeded / scored if scored else None


Listener = Callable[[Progress], None]
