"""The simulated phone as a `Device`: with an adb server of its own, in a process of its own or in this one."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from emulator.adb import AdbClient, AdbMissing, AdbServer, AdbServerDown
from emulator.adb_device import AdbDevice
from emulator.device import Address, DeviceFailed, Facts, FailureKind, Limits, Rung
from emulator.pocket.apps import all_apps
from emulator.sim.child import ChildPhone, Host, InProcessPhone, ask_console
from emulator.sim.faults import FAULTS
from emulator.sim.phone import PhoneError, Ports, free_ports
from emulator.sim.screens.pocket import PREFIX

TRIES: Final = 5
"""Ports may be taken between looking and opening: as often are others tried."""


class SimDevice(AdbDevice):
    """A simulated phone.

    `screen`: `pocket`, `pocket-large`, `chromium`, `desk`. `in_process` keeps the phone's threads here (`host.phone` is the phone then);
    else it is a child process, by `python` where that is given. `grpc`: open the emulator's gRPC, too (`python` needs grpcio).
    All state is the phone's memory: snapshots are gone once it stops.
    """

    forgets = True
    limits = Limits(start=60.0, stop=5.0, health=10.0, snapshot=10.0, screenshot=10.0, act=10.0, adb=20.0)

    def __init__(
        self,
        name: str = "sim",
        screen: str = "pocket",
        *,
        seed: int = 0,
        url: str = "about:blank",
        in_process: bool = False,
        grpc: bool = False,
        python: Path | None = None,
        boot_seconds: float = 0.0,
        adb: Path | None = None,
    ) -> None:
        self._name, self._screen_name = name, screen
        self._grpc, self._adb_program = grpc, adb
        self.host: Host = (
            InProcessPhone(screen, seed, url, boot_seconds)
            if in_process
            else ChildPhone(screen, seed, url, boot_seconds, python)
        )
        self._ports: Ports | None = None

    @property
    def name(self) -> str:
        return self._name

    @property
    def facts(self) -> Facts:
        return Facts("sim", {"screen": self._screen_name, "simulated": True})

    @property
    def address(self) -> Address:
        if self._ports is None or self._server is None:
            raise DeviceFailed("not_started", f"{self.name} is not running: start it")
        return Address(self._ports.serial, self._server.port, self._ports.console, self._ports.grpc)

    @property
    def pids(self) -> tuple[int, ...]:
        server = self._server.pid if self._server else None
        return tuple(pid for pid in (self.host.pid, server) if pid is not None)

    # ---- life
    def start(self, *, within: float | None = None) -> None:
        if self._client is not None and self.host.alive:
            return
        self.stop()
        deadline = time.monotonic() + (self.limits.start if within is None else within)
        try:
            self._server = AdbServer(adb=self._adb_program)
            self._server.start(min(15.0, deadline - time.monotonic()))
            self._ports = self._begin(self._server.port, deadline)
            self._client = AdbClient(self._server, self._ports.serial)
            self.wait_until_up(deadline)
        except AdbMissing as error:
            self.stop()
            raise DeviceFailed("not_installed", str(error)) from error
        except (AdbServerDown, PhoneError) as error:
            self.stop()
            raise DeviceFailed("boot_failed", f"{self.name}: {error}") from error
        except BaseException:
            self.stop()
            raise

    def _begin(self, server_port: int, deadline: float) -> Ports:
        for attempt in range(TRIES):
            ports = free_ports(grpc=self._grpc)
            try:
                self.host.start(ports, server_port, max(0.5, deadline - time.monotonic()))
                return ports
            except PhoneError:
                if attempt == TRIES - 1 or time.monotonic() > deadline:
                    raise
        raise PhoneError("no try was left")

    def stop(self, *, within: float | None = None) -> None:
        allowed = self.limits.stop if within is None else within
        self._client, self._ports, self._size = None, None, None
        self.host.stop(allowed)
        server, self._server = self._server, None
        if server is not None:
            server.stop(allowed)

    def restart(self, *, within: float | None = None) -> None:
        """Kill the phone and boot a new one on the same ports, the adb server staying as it is."""
        ports, server = self._ports, self._server
        if ports is None or server is None:
            self.start(within=within)
            return
        deadline = time.monotonic() + (self.limits.start if within is None else within)
        self.host.stop(0.0)
        try:
            self.host.start(ports, server.port, max(0.5, deadline - time.monotonic()))
        except PhoneError as error:
            raise DeviceFailed("boot_failed", f"{self.name}: {error}") from error
        self.wait_until_up(deadline)

    def reclone(self, *, within: float | None = None) -> None:
        """A new phone in its place: other ports, another adb server."""
        deadline = time.monotonic() + (self.limits.start if within is None else within)
        self.stop(within=0.0)
        self.start(within=max(0.5, deadline - time.monotonic()))

    def _gone(self) -> FailureKind | None:
        return None if self.host.alive else "died"

    def logs(self, lines: int = 200) -> list[str]:
        return self.host.logs(lines)

    # ---- health
    def rungs(self) -> list[tuple[Rung, FailureKind, Callable[[float], None]]]:
        return [("process", "died", self._try_process), *super().rungs()]

    def _try_process(self, within: float) -> None:
        if self._client is None:
            raise DeviceFailed("not_started", f"{self.name} is not running: start it")
        if not self.host.alive:
            raise DeviceFailed("died", f"{self.name}'s process has ended")

    # ---- snapshots and faults
    def snapshot_save(self, name: str, *, within: float | None = None) -> None:
        self._console(f"avd snapshot save {name}", within)

    def snapshot_load(self, name: str, *, within: float | None = None) -> None:
        self._console(f"avd snapshot load {name}", within)

    def inject(self, fault: str, seconds: float | None = None) -> None:
        """Switch a fault on (`emulator.sim.FAULTS`), for some seconds or until `heal`. `slow_boot` is about the next start."""
        if fault not in FAULTS:
            raise ValueError(f"no fault {fault[:40]!r}; there are {', '.join(FAULTS)}")
        if fault == "slow_boot":
            self.host.extra_boot = 30.0 if seconds is None else seconds
        else:
            self._console(f"fault set {fault}" + (f" {seconds:g}" if seconds is not None else ""), None)

    def heal(self) -> None:
        """Switch every fault off."""
        self.host.extra_boot = 0.0
        self._console("fault clear", None)

    def _console(self, line: str, within: float | None) -> None:
        port = self.address.console_port
        assert port is not None
        if "\n" in line or "\r" in line:
            raise DeviceFailed("no_snapshot", f"{self.name}: a name with a line break")
        try:
            ask_console(port, line, self.limits.snapshot if within is None else within)
        except TimeoutError as error:
            raise DeviceFailed(self._gone() or "timeout", f"{self.name}: its console does not answer") from error
        except OSError as error:
            kind: FailureKind = "no_snapshot" if str(error).startswith("KO") else self._gone() or "offline"
            raise DeviceFailed(kind, f"{self.name}: {error}") from error

    # ---- apps
    def package_of(self, app: str) -> str | None:
        """PocketPhone's apps by name, title or alias, as `open` knows them."""
        return pocket_package(app) if self._screen_name.startswith("pocket") else None


def pocket_package(app: str) -> str | None:
    """The package of PocketPhone's app with that name, title or alias."""
    wanted = " ".join(app.split()).casefold()
    for known in all_apps():
        if wanted in (known.name.casefold(), known.title.casefold(), *(alias.casefold() for alias in known.aliases)):
            return f"{PREFIX}.{known.name}"
    return None
