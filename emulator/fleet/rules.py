"""When a fleet looks, what it tries, how long that may take, and when it gives up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from emulator.device import GONE, FailureKind, Limits

Remedy: TypeAlias = Literal["reconnect", "reload", "restart", "reclone"]
REMEDIES: Final[tuple[Remedy, ...]] = get_args(Remedy)
"""In the order in which they are tried, the mildest first."""
RECONNECTABLE: Final[frozenset[str]] = frozenset({"offline", "timeout", "adb_failed", "bad_reply"})
HOPELESS: Final[frozenset[str]] = frozenset({"not_installed", "unsupported"})
"""Nothing that a fleet can do makes a missing program appear."""


@dataclass(frozen=True, slots=True)
class Rules:
    """Seconds and counts; a deadline that is None comes from the device's own limits.

    check_every: seconds between two looks at an idle device. rounds: times that all remedies may fail before the slot is set aside.
    breaks, window: so many breaks within so many seconds set a slot aside that is mended each time and breaks again.
    """

    check_every: float = 10.0
    boot: float | None = None
    health: float | None = None
    reconnect: float | None = None
    reload: float | None = None
    restart: float | None = None
    reclone: float | None = None
    rounds: int = 3
    pause: float = 1.0
    breaks: int = 30
    window: float = 600.0

    def health_within(self, limits: Limits) -> float:
        return limits.health if self.health is None else self.health

    def boot_within(self, limits: Limits) -> float:
        return limits.start if self.boot is None else self.boot

    def within(self, remedy: Remedy, limits: Limits) -> float:
        """The deadline of one remedy, the look at the device after it not counted."""
        match remedy:
            case "reconnect":
                chosen, usual = self.reconnect, limits.health
            case "reload":
                chosen, usual = self.reload, limits.snapshot
            case "restart":
                chosen, usual = self.restart, limits.start
            case "reclone":
                chosen, usual = self.reclone, 2 * limits.start
        return usual if chosen is None else chosen

    def repair_within(self, limits: Limits) -> float:
        """The longest that one round of repair takes."""
        return sum(self.within(remedy, limits) + self.health_within(limits) for remedy in REMEDIES)


def remedies_for(kind: FailureKind | None) -> tuple[Remedy, ...]:
    """What may help against a failure: a dead process is not reconnected to, a black screen not either."""
    if kind in GONE:
        return ("restart", "reclone")
    if kind in RECONNECTABLE:
        return REMEDIES
    return ("reload", "restart", "reclone")
