"""`--devices` of the AITW suites: a fleet whose devices have Chrome."""

from __future__ import annotations

from typing import Final

from emulator.device import Device
from emulator.fleet import Fleet
from sopbench.errors import UsageError

MAX_PHONES: Final = 64


def fleet_for(devices: str, slots: int) -> Fleet:
    """The devices that `--devices` names, never more than `slots`. Raises `UsageError`."""
    kind, _, count = devices.partition(":")
    if kind != "sim":
        raise UsageError(f"--devices {devices[:60]!r}: this version knows sim:N only")
    if not (count.isascii() and count.isdigit() and 1 <= int(count) <= MAX_PHONES):
        raise UsageError(f"--devices {devices[:60]!r}: say how many phones, as in sim:2")

    def make(number: int) -> Device:
        from emulator.sim import SimDevice

        return SimDevice(f"aitw-{number}", "chromium")

    return Fleet(make, min(int(count), max(1, slots)))
