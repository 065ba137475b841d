"""One place of a fleet: its device, what is known of it, and what has been done to it."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from emulator.device import Address, Device, DeviceFailed, FailureKind, Health
from emulator.fleet.rules import REMEDIES, Remedy

SlotState: TypeAlias = Literal["waiting", "booting", "idle", "checking", "lent", "repairing", "failed", "stopped"]
Job: TypeAlias = Literal["check", "repair"]


@dataclass(slots=True)
class Tally:
    """How often a remedy was tried, how often the device was well after it, and the seconds that it took in all and at worst."""

    tried: int = 0
    mended: int = 0
    seconds: float = 0.0
    longest: float = 0.0

    def as_json(self) -> dict[str, Any]:
        return {
            "tried": self.tried,
            "mended": self.mended,
            "seconds": round(self.seconds, 3),
            "longest": round(self.longest, 3),
        }


@dataclass(slots=True)
class Slot:
    """Fields are read and written under the fleet's lock, but for `device`, which belongs to whoever `state` names."""

    number: int
    device: Device
    state: SlotState = "waiting"
    since: float = field(default_factory=time.monotonic)
    job: Job | None = None
    checked: float = 0.0
    golden: bool = False
    """Whether it has a clean snapshot."""
    kind: FailureKind | None = None
    reason: str = ""
    health: Health | None = None
    lends: int = 0
    boots: int = 0
    rounds: int = 0
    """Repairs in a row of which no remedy helped."""
    broke: Counter[str] = field(default_factory=Counter)
    recent: deque[float] = field(default_factory=deque)
    remedies: dict[Remedy, Tally] = field(default_factory=lambda: {remedy: Tally() for remedy in REMEDIES})

    def become(self, state: SlotState) -> None:
        self.state, self.since = state, time.monotonic()

    def blame(self, kind: FailureKind | None, reason: str) -> None:
        """Note what went wrong last; counted where it is a break."""
        self.kind, self.reason = kind, reason

    def status(self) -> SlotStatus:
        try:
            address: Address | None = self.device.address
        except DeviceFailed:
            address = None
        return SlotStatus(
            self.device.name,
            self.state,
            time.monotonic() - self.since,
            self.device.facts.backend,
            address,
            self.device.pids,
            self.golden,
            self.kind,
            self.reason,
            self.health,
            self.lends,
            self.boots,
            dict(self.broke),
            {remedy: Tally(t.tried, t.mended, t.seconds, t.longest) for remedy, t in self.remedies.items()},
        )


@dataclass(frozen=True, slots=True)
class SlotStatus:
    """A slot at one moment. `seconds`: how long in this state. `kind`, `reason`: what went wrong last, also where it has been mended."""

    name: str
    state: SlotState
    seconds: float
    backend: str
    address: Address | None
    pids: tuple[int, ...]
    golden: bool
    kind: FailureKind | None
    reason: str
    health: Health | None
    lends: int
    boots: int
    broke: Mapping[str, int]
    remedies: Mapping[Remedy, Tally]

    def as_json(self) -> dict[str, Any]:
        address = self.address
        return {
            "name": self.name,
            "state": self.state,
            "seconds": round(self.seconds, 1),
            "backend": self.backend,
            "serial": address.serial if address else None,
            "adb_server_port": address.adb_server_port if address else None,
            "console_port": address.console_port if address else None,
            "grpc_port": address.grpc_port if address else None,
            "pids": list(self.pids),
            "golden": self.golden,
            "kind": self.kind,
            "reason": self.reason,
            "health": self.health.as_json() if self.health else None,
            "lends": self.lends,
            "boots": self.boots,
            "broke": dict(self.broke),
            "remedies": {remedy: tally.as_json() for remedy, tally in self.remedies.items()},
        }


@dataclass(frozen=True, slots=True)
class FleetStatus:
    """All slots at one moment."""

    slots: tuple[SlotStatus, ...]

    def count(self, *states: SlotState) -> int:
        return sum(slot.state in states for slot in self.slots)

    @property
    def ready(self) -> bool:
        """Whether every slot has come up or was given up."""
        return not self.count("waiting", "booting", "repairing")

    def remedies(self) -> dict[str, Tally]:
        """Over all slots."""
        total = {str(remedy): Tally() for remedy in REMEDIES}
        for slot in self.slots:
            for remedy, tally in slot.remedies.items():
                into = total[remedy]
                into.tried += tally.tried
                into.mended += tally.mended
                into.seconds += tally.seconds
                into.longest = max(into.longest, tally.longest)
        return total

    def as_json(self) -> dict[str, Any]:
        return {
            "devices": len(self.slots),
            "idle": self.count("idle", "checking"),
            "lent": self.count("lent"),
            "booting": self.count("waiting", "booting"),
            "repairing": self.count("repairing"),
            "failed": self.count("failed"),
            "remedies": {name: tally.as_json() for name, tally in self.remedies().items()},
            "slots": [slot.as_json() for slot in self.slots],
        }
