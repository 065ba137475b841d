"""`--devices` of the AITW suites: a fleet whose devices have Chrome."""

from __future__ import annotations

from emulator.fleet import Fleet
from emulator.fleet.choosing import devices_named


def fleet_for(devices: str, slots: int) -> Fleet:
    """The devices that `--devices` names, never more than `slots`; each is handed out with its clean snapshot loaded. Raises `UsageError`."""
    chosen = devices_named(devices, screen="chromium")
    return Fleet(chosen.make, min(chosen.count, max(1, slots)))
