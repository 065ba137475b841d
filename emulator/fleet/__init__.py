"""Fleets of devices: see docs/devices.md."""

from emulator.fleet.fleet import Fleet
from emulator.fleet.rules import REMEDIES, Rules
from emulator.fleet.slot import FleetStatus, SlotStatus

__all__ = ["REMEDIES", "Fleet", "FleetStatus", "Rules", "SlotStatus"]
