"""`--devices` of the AITW suites: a fleet whose devices have Chrome."""

from __future__ import annotations

from emulator.backends import devices_from
from emulator.fleet import Fleet


def fleet_for(devices: str, slots: int) -> Fleet:
    """The devices that `--devices` names, never more than `slots`; each is handed out with its clean snapshot loaded. Raises `UsageError`."""
    make, count = devices_from(devices, screen="chromium")
    return Fleet(make, min(count, max(1, slots)))
