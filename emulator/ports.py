"""Ports of emulators: a console on an even port, adb on the next one, gRPC, as AndroidWorld and android-env expect them."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from typing import Final

from emulator.device import DeviceFailed

FIRST_CONSOLE: Final = 5554
FIRST_GRPC: Final = 8554
MOST: Final = 64
"""Slots of a fleet. Slot k takes place k, k + 64, ...: two slots never try the same."""
ROUNDS: Final = 8


@dataclass(frozen=True, slots=True)
class EmulatorPorts:
    console: int
    grpc: int

    @property
    def adb(self) -> int:
        return self.console + 1


def usual(place: int) -> EmulatorPorts:
    return EmulatorPorts(FIRST_CONSOLE + 2 * place, FIRST_GRPC + place)


def for_slot(slot: int) -> EmulatorPorts:
    """The slot's own ports, or where somebody has them those of a later place. Raises `DeviceFailed` where all are taken."""
    for turn in range(ROUNDS):
        ports = usual(slot + turn * MOST)
        if all(is_free(port) for port in (ports.console, ports.adb, ports.grpc)):
            return ports
    raise DeviceFailed("boot_failed", f"no free ports for slot {slot}: stop the emulators that run already")


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True
