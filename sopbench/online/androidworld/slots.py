"""Devices with their bridges, lent to one episode each.

A slot is kept as long as both work. A device that broke goes back as broken, its bridge is killed, and the next episode gets another.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from emulator.adb import find_adb
from emulator.device import Device, DeviceFailed
from sopbench.online.androidworld.client import Bridge, BridgeFailed

ATTACH: Final = 180.0
"""Seconds; a real device's forwarder is installed in them, for which upstream alone waits 13."""
SETUP: Final = 3600.0
SIMULATED_SLEEP: Final = 0.1
"""Seconds that upstream's pauses last on a simulated phone, which has nothing to wait for."""


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
    where: tuple[Any, ...] | None = None
    """The address that the bridge is attached to."""
    facts: dict[str, Any] = field(default_factory=dict)


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
        device = self._lender.lend(within)
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
            slot.where = None
        self._lender.give_back(slot.device, broken=broken)

    def _attach(self, slot: Slot) -> None:
        address = slot.device.address
        if address.console_port is None or address.grpc_port is None:
            raise DeviceFailed(
                "unsupported", f"{slot.device.name} has no console and gRPC ports, which AndroidWorld needs"
            )
        where = (address.console_port, address.grpc_port, address.adb_server_port, slot.device.pids)
        if slot.where == where and slot.bridge.pid is not None:
            return
        simulated = slot.device.facts.backend == "sim"
        slot.where = None
        slot.bridge.ask(
            "attach",
            ATTACH,
            console_port=address.console_port,
            grpc_port=address.grpc_port,
            adb_server_port=address.adb_server_port,
            adb=self._adb,
            apks=str(self._apks),
            simulated=simulated,
            longest_sleep=SIMULATED_SLEEP if simulated else None,
        )
        slot.facts = {"backend": slot.device.facts.backend, "simulated": simulated}
        slot.where = where


class SimLender:
    """Simulated phones without a watcher: each made when it is first asked for, and anew after it broke."""

    def __init__(self, count: int, make: Callable[[int], Device]) -> None:
        self._make = make
        self._free: list[int] = list(range(count))
        self._devices: dict[int, Device] = {}
        self._ready = threading.Condition()

    def start(self) -> None:
        return

    def stop(self) -> None:
        with self._ready:
            devices, self._devices = list(self._devices.values()), {}
        for device in devices:
            device.stop()

    def lend(self, within: float | None = None) -> Device:
        with self._ready:
            if not self._ready.wait_for(lambda: self._free, within):
                raise DeviceFailed("timeout", "no phone became free in time")
            number = self._free.pop(0)
            device = self._devices.get(number)
        try:
            if device is None:
                device = self._make(number)
                with self._ready:
                    self._devices[number] = device
            device.start()
        except BaseException:
            with self._ready:
                self._free.append(number)
                self._ready.notify()
            raise
        return device

    def give_back(self, device: Device, *, broken: bool = False) -> None:
        if broken:
            device.stop()
        with self._ready:
            for number, own in self._devices.items():
                if own is device and number not in self._free:
                    if broken:
                        del self._devices[number]
                    self._free.insert(0, number)
                    self._ready.notify()
                    return


def failed(error: BaseException) -> bool:
    """Whether a device or its bridge must not be used again after `error`."""
    return not (isinstance(error, BridgeFailed) and error.alive)
