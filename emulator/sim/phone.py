"""A simulated phone: its software (`Android`) with the servers through which the world reaches it."""

from __future__ import annotations

import random
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from emulator.sim.adbd import AdbDaemon
from emulator.sim.adbd.services import Services
from emulator.sim.android import Android
from emulator.sim.console import Console, ConsoleServer
from emulator.sim.faults import Faults
from emulator.sim.screens.base import Screen
from emulator.sim.shell import Shell
from emulator.sim.shell.commands import all_commands
from sopbench.errors import SopbenchError

FIRST_PORT: Final = 20_000
LAST_PORT: Final = 32_000


class PhoneError(SopbenchError):
    """A simulated phone that cannot run, and what to do."""


@dataclass(frozen=True, slots=True)
class Ports:
    """`console` is even and `adb` the next one, as emulators have it. `grpc` None: no gRPC."""

    console: int
    grpc: int | None = None

    @property
    def adb(self) -> int:
        return self.console + 1

    @property
    def serial(self) -> str:
        return f"emulator-{self.console}"


def free_ports(*, grpc: bool = False) -> Ports:
    """Ports that nobody listens on now: an even one and its neighbour, below the range from which the system deals out its own.

    Another process may take them before the phone does; whoever starts the phone then asks again.
    """
    dice = random.SystemRandom()
    for _ in range(1000):
        console = dice.randrange(FIRST_PORT, LAST_PORT, 2)
        if _free(console) and _free(console + 1):
            return Ports(console, _any_port() if grpc else None)
    raise PhoneError(f"no two free ports beside each other in {FIRST_PORT}..{LAST_PORT}: stop other phones")


def _free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def _any_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class SimPhone:
    """One phone. `start` opens its ports, `stop` closes them; `screen` makes the screen, anew at every start.

    `adb_server_port`: the adb server that it makes itself known to (None: nobody). `crash` is what the fault of that name does.
    """

    def __init__(
        self,
        screen: Callable[[], Screen],
        ports: Ports,
        *,
        adb_server_port: int | None = None,
        boot_seconds: float = 0.0,
        crash: Callable[[], None] = lambda: None,
    ) -> None:
        self.ports = ports
        self.faults = Faults()
        self.done = threading.Event()
        """Set once the phone was told to end (`adb emu kill`) or stopped."""
        self._make_screen = screen
        self._server_port = adb_server_port
        self._boot_seconds = boot_seconds
        self._crash = crash
        self._android: Android | None = None
        self._parts: list[Callable[[], None]] = []
        self._lock = threading.RLock()

    @property
    def android(self) -> Android:
        """The software; raises `PhoneError` while the phone is off."""
        if self._android is None:
            raise PhoneError("the simulated phone is off: start it first")
        return self._android

    @property
    def running(self) -> bool:
        return self._android is not None

    def start(self) -> None:
        """Boot. Raises `PhoneError` where a port is taken or the screen cannot be had; nothing is left open then."""
        with self._lock:
            if self._android is not None:
                return
            self.done.clear()
            android = Android(self._make_screen(), self.faults)
            try:
                self._serve(android)
            except OSError as error:
                self._close_parts()
                android.close()
                raise PhoneError(
                    f"ports {self.ports.console}/{self.ports.adb} cannot be opened ({error}): choose others"
                ) from error
            except BaseException:
                self._close_parts()
                android.close()
                raise
            android.boot(self._boot_seconds + self.faults.take_boot_delay())
            self._android = android

    def _serve(self, android: Android) -> None:
        console = ConsoleServer(Console(android, self.ports.serial, self.stop), self.ports.console)
        console.start()
        self._parts.append(console.stop)
        services = Services(android, Shell(android, all_commands()), self._reboot_soon)
        daemon = AdbDaemon(android, services, self.ports.adb, self._server_port)
        daemon.start()
        self._parts.append(daemon.stop)
        if self.ports.grpc is not None:
            from emulator.sim.grpc_server import serve_grpc

            self._parts.append(serve_grpc(android, self.ports.grpc))
        watch = threading.Event()
        threading.Thread(target=self._watch, args=(android, watch), name="faults", daemon=True).start()
        self._parts.append(watch.set)

    def _watch(self, android: Android, stopped: threading.Event) -> None:
        while not stopped.wait(0.05):
            if android.faults.on("crash"):
                android.faults.clear("crash")
                self._crash()
                self.stop()
                return

    def stop(self) -> None:
        """Switch off; the state is gone. Nothing to do where it is off."""
        with self._lock:
            self._halt()
            self.done.set()

    def _halt(self) -> None:
        android, self._android = self._android, None
        self._close_parts()
        if android is not None:
            android.close()

    def _close_parts(self) -> None:
        parts, self._parts = self._parts, []
        for close in reversed(parts):
            close()

    def _reboot_soon(self) -> None:
        threading.Thread(target=self.reboot, name="reboot", daemon=True).start()

    def reboot(self) -> None:
        """Off and on again, with files, settings, clock and snapshots as they were; the screen begins anew."""
        with self._lock:
            old = self._android
            if old is None:
                return
            time.sleep(0.05)  # the answer to whoever asked for it still goes out
            old.save("\0reboot")
            kept = old.snapshots
            self._halt()
            self.start()
            kept["\0reboot"].screen = self.android.screen.save()
            self.android.snapshots = kept
            self.android.load("\0reboot")
            del kept["\0reboot"]
