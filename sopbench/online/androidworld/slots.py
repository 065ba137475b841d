"""Devices with their bridges, lent to one episode each.

A slot is kept as long as both work. A device that broke goes back as broken, its bridge is killed, and the next episode gets another.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from emulator.adb import find_adb
from emulator.device import GONE, Device, DeviceFailed
from sopbench.online.androidworld.client import Bridge, BridgeFailed

ATTACH: Final = 180.0
"""Seconds; a real device's forwarder is installed in them, for which upstream alone waits 13."""
LEND: Final = 1800.0
"""Seconds that an episode waits for a device: a first set-up of the apps is in them."""
SETUP: Final = 3600.0
SIMULATED: Final = "sim"
SIMULATED_HARDWARE: Final = "sopbench_sim"
"""What a simulated phone says, however it is reached (emulator/sim/android.py)."""
SIMULATED_SLEEP: Final = 0.2
"""Seconds that upstream's pauses last on a simulated phone. Its forwarder sends a tree every 0.15 s, and upstream asks for one five times: shorter pauses find none."""


class Lender(Protocol):
    """A fleet, as far as it matters here (`emulator.fleet.Fleet`)."""

    def lend(self, within: float | None = None) -> Device: ...

    def give_back(self, device: Device, *, broken: bool = False) -> None: ...

    def start(self) -> None: ...

    def stop(self) -> None: ...


@dataclass(slots=True)
class Slot:
    device: Device
    bridge: Bridge
    facts: dict[str, Any] = field(default_factory=dict)

    def watch(self) -> None:
        """Raises `DeviceFailed` where the device is gone: AndroidWorld's code would try for minutes."""
        health = self.device.health(within=5.0)
        if health.kind is not None and (health.kind in GONE or health.kind == "offline"):
            raise DeviceFailed(health.kind, health.detail)


class Slots:
    """`lender` is started by `open` and stopped by `close`, as are all bridges. `python` is of AndroidWorld's environment, `apks` the folder of kept files."""

    def __init__(self, lender: Lender, python: Path, apks: Path) -> None:
        self._lender, self._python, self._apks = lender, python, apks
        self._slots: dict[str, Slot] = {}
        self._lock = threading.Lock()
        self._adb = ""

    def open(self) -> None:
        self._adb = str(find_adb())
        self._lender.start()

    def close(self) -> None:
        """End everything. Never raises."""
        with self._lock:
            slots, self._slots = list(self._slots.values()), {}
        for slot in slots:
            slot.bridge.close(2.0)
        self._lender.stop()

    def lend(self, within: float | None = None) -> Slot:
        """A device with a bridge attached. Raises `EnvironmentFailed`."""
        device = self._lender.lend(LEND if within is None else within)
        with self._lock:
            slot = self._slots.get(device.name)
            if slot is None or slot.device is not device:
                slot = self._slots[device.name] = Slot(device, Bridge(self._python))
        try:
            self._attach(slot)
        except BaseException:
            self.give_back(slot, broken=True)
            raise
        return slot

    def give_back(self, slot: Slot, *, broken: bool = False) -> None:
        if broken:
            slot.bridge.kill()
        self._lender.give_back(slot.device, broken=broken)

    def _attach(self, slot: Slot) -> None:
        """Anew for every episode: a device is lent with its clean snapshot loaded, whose forwarder sends to whoever was there when that was made."""
        attach(slot.bridge, slot.device, self._adb, self._apks)
        backend = slot.device.facts.backend
        slot.facts = {"backend": backend, "simulated": backend == SIMULATED}


def attach(bridge: Bridge, device: Device, adb: str, apks: Path) -> None:
    """Connect the two. Raises `EnvironmentFailed`."""
    simulated = device.facts.backend == SIMULATED
    if not simulated and device.shell("getprop", "ro.hardware").text == SIMULATED_HARDWARE:
        raise DeviceFailed(
            "unsupported",
            f"{device.name} is a simulated phone, whose numbers are not AndroidWorld's: use --devices sim:N",
        )
    address = device.address
    if address.console_port is None or address.grpc_port is None:
        raise DeviceFailed("unsupported", f"{device.name} has no console and gRPC ports, which AndroidWorld needs")
    bridge.ask(
        "attach",
        ATTACH,
        console_port=address.console_port,
        grpc_port=address.grpc_port,
        adb_server_port=address.adb_server_port,
        adb=adb,
        apks=str(apks),
        simulated=simulated,
        longest_sleep=SIMULATED_SLEEP if simulated else None,
    )


def prepare(python: Path, apks: Path, device: Device) -> None:
    """What is done once to a device, before its clean snapshot is kept: AndroidWorld's apps and the accessibility forwarder. Raises `EnvironmentFailed`.

    A simulated phone brings the apps along.
    """
    if device.facts.backend == SIMULATED:
        return
    bridge = Bridge(python)
    try:
        attach(bridge, device, str(find_adb()), apks)
        bridge.ask("setup", SETUP)
    except BridgeFailed as error:
        raise DeviceFailed("boot_failed", f"{device.name}: AndroidWorld's set-up: {error.detail}") from error
    finally:
        bridge.close()


def failed(error: BaseException) -> bool:
    """Whether a device or its bridge must not be used again after `error`."""
    return not (isinstance(error, BridgeFailed) and error.alive)
