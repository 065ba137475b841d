"""What all devices have in common that are reached by adb: acting, looking, the health ladder. Backends add how one is started."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import numpy as np

from emulator.actuate import commands
from emulator.adb import AdbClient, AdbMissing, AdbResult, AdbServer, AdbServerDown, AdbTimeout, quoted
from emulator.device import Device, DeviceFailed, FailureKind, Health, Rung
from emulator.http2 import greet
from sopbench.actions import Action
from sopbench.errors import DataError
from sopbench.geometry import Size
from sopbench.screen import Screen

ALL_BLACK: Final = 3
"""Brightest value, of 255, that a black screen may have."""
POLL: Final = 0.1


class AdbDevice(Device):
    """A device behind an adb server of its own. `_server` and `_client` are there between `start` and `stop`."""

    _server: AdbServer | None = None
    _client: AdbClient | None = None
    _size: Size | None = None
    forest_probe: Callable[[float], None] | None = None
    """Set by whoever receives its accessibility forests: raises `DeviceFailed("no_forest", ...)` where none arrives in so many seconds."""

    # ---- adb
    def adb(self, *arguments: str | bytes, stdin: bytes = b"", within: float | None = None) -> AdbResult:
        client = self._client
        if client is None:
            raise DeviceFailed("not_started", f"{self.name} is not running: start it")
        with self._failures():
            result = client(*arguments, stdin=stdin, within=self.limits.adb if within is None else within)
        if result.unreachable:
            raise DeviceFailed(self._gone() or "offline", f"{self.name}: {result.error}")
        return result

    def line(self, command: str, within: float | None = None) -> AdbResult:
        """One command line for the device's shell, whose words its author has quoted."""
        return self.adb("shell", command, within=within)

    def _gone(self) -> FailureKind | None:
        """`died` where the device's own process has ended."""
        return None

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """adb's errors as the device's."""
        try:
            yield
        except AdbTimeout as error:
            raise DeviceFailed(self._gone() or "timeout", f"{self.name}: {error}") from error
        except (AdbServerDown, OSError) as error:
            raise DeviceFailed(self._gone() or "offline", f"{self.name}: {error}") from error
        except AdbMissing as error:
            raise DeviceFailed("not_installed", str(error)) from error

    # ---- acting and looking
    def package_of(self, app: str) -> str | None:
        """The package behind an app's name."""
        return None

    def size(self, *, within: float | None = None) -> Size:
        """The screen's size; asked once."""
        if self._size is None:
            said = self.line("wm size", within).text
            try:
                self._size = Size.parse(said.splitlines()[-1].rpartition(" ")[2])
            except (DataError, IndexError):
                raise DeviceFailed("bad_reply", f"{self.name}: `wm size` says {said[:80]!r}") from None
        return self._size

    def act(self, action: Action, *, within: float | None = None) -> None:
        deadline = time.monotonic() + (self.limits.act if within is None else within)
        for command in commands(action, self.size(), self.package_of):
            self.line(command, max(0.1, deadline - time.monotonic()))

    def screenshot(self, *, within: float | None = None) -> Screen:
        result = self.adb(
            "exec-out", quoted("screencap", "-p"), within=self.limits.screenshot if within is None else within
        )
        screen = Screen.from_bytes(result.stdout, f"{self.name}'s screen")
        try:
            self._size = screen.size
        except DataError as error:
            raise DeviceFailed("bad_reply", f"{self.name}: {error}") from error
        return screen

    # ---- health
    def rungs(self) -> list[tuple[Rung, FailureKind, Callable[[float], None]]]:
        """The ladder: for each rung the kind of failure it means, and what tries it (seconds it may take). It raises `DeviceFailed`."""
        rungs: list[tuple[Rung, FailureKind, Callable[[float], None]]] = [
            ("adb", "offline", self._try_adb),
            ("boot", "boot_failed", self._try_boot),
            ("screen", "black_screen", self._try_screen),
        ]
        if self._has_grpc():
            rungs.append(("grpc", "offline", self._try_grpc))
        if self.forest_probe is not None:
            rungs.append(("forest", "no_forest", self.forest_probe))
        return rungs

    def health(self, *, within: float | None = None) -> Health:
        began = time.monotonic()
        deadline = began + (self.limits.health if within is None else within)
        passed: list[Rung] = []
        for rung, kind, attempt in self.rungs():
            try:
                attempt(max(0.2, deadline - time.monotonic()))
            except DeviceFailed as error:
                told: FailureKind = error.kind if error.kind != "adb_failed" else kind
                return Health(tuple(passed), time.monotonic() - began, rung, told, error.detail)
            passed.append(rung)
        return Health(tuple(passed), time.monotonic() - began)

    def _try_adb(self, within: float) -> None:
        said = self.adb("shell", "echo here", within=within)
        if said.text != "here":
            raise DeviceFailed("bad_reply", f"{self.name}: `echo here` says {said.text[:60]!r} {said.error[:60]}")

    def _try_boot(self, within: float) -> None:
        if self.line("getprop sys.boot_completed", within).text != "1":
            raise DeviceFailed("boot_failed", f"{self.name} has not finished booting")

    def _try_screen(self, within: float) -> None:
        screen = self.screenshot(within=within)
        try:
            brightest = _brightest(screen)
        except DataError as error:
            raise DeviceFailed("bad_reply", f"{self.name}: {error}") from error
        if brightest <= ALL_BLACK:
            raise DeviceFailed("black_screen", f"{self.name}'s screen is black")

    def _has_grpc(self) -> bool:
        try:
            return self.address.grpc_port is not None
        except DeviceFailed:
            return False

    def _try_grpc(self, within: float) -> None:
        address = self.address
        assert address.grpc_port is not None
        try:
            greet(address.host, address.grpc_port, within)
        except OSError as error:
            raise DeviceFailed(
                self._gone() or ("timeout" if isinstance(error, TimeoutError) else "offline"),
                f"{self.name}: gRPC on port {address.grpc_port}: {error}",
            ) from error

    # ---- remedies
    def reconnect(self, *, within: float | None = None) -> None:
        """Its adb server anew, on the same port: that mends a dead or stuck server and a stale connection."""
        if self._server is None or self._client is None:
            raise DeviceFailed("not_started", f"{self.name} is not running: start it")
        deadline = time.monotonic() + (self.limits.health if within is None else within)
        self._server.stop(1.0)
        with self._failures():
            self._server.start(max(0.5, deadline - time.monotonic()))
        self.wait_until_up(deadline)

    def wait_until_up(self, deadline: float) -> None:
        """Wait for adb and the end of the boot. Raises `DeviceFailed` of the kind `boot_failed` at the deadline (monotonic)."""
        last = "nothing was tried"
        while (left := deadline - time.monotonic()) > 0:
            try:
                self._try_adb(min(left, 5.0))
                self._try_boot(min(left, 5.0))
                return
            except DeviceFailed as error:
                if error.kind in ("died", "not_installed", "not_started"):
                    raise
                last = error.detail
            time.sleep(min(POLL, max(0.0, left)))
        raise DeviceFailed("boot_failed", f"{self.name} did not come up in time; the last try: {last}")


def _brightest(screen: Screen) -> int:
    """The brightest value of any channel."""
    return int(np.asarray(screen.decode()).max())
