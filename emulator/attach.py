"""An emulator or a phone that somebody else runs: reached, looked at and acted on, never started or stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from emulator.adb import AdbServer
from emulator.device import Address, DeviceFailed, Facts, FailureKind, Limits
from emulator.real import RealDevice

LOOPBACK: Final = frozenset({"127.0.0.1", "localhost"})


class AttachDevice(RealDevice):
    """`port`: an emulator's console (even; adb is the next one), or adb's own port of a phone on the network (odd: no console then).

    On this machine the serial is `emulator-PORT`; another host is reached by `adb connect`. Snapshots need the console's port, and
    `token`, its file with the word that it asks for (default: this user's). `grpc`: the emulator's gRPC port, where it has one.
    """

    limits = Limits(start=60.0)

    def __init__(
        self,
        name: str,
        port: int,
        host: str = "127.0.0.1",
        *,
        grpc: int | None = None,
        token: Path | None = None,
        adb: Path | None = None,
    ) -> None:
        super().__init__(name, adb)
        self._host, self._port, self._grpc, self._token = host, port, grpc, token

    @property
    def facts(self) -> Facts:
        details: dict[str, object] = {"host": self._host, "port": self._port}
        if self._client is not None:
            try:
                for prop in ("ro.product.model", "ro.build.fingerprint"):
                    details[prop] = self.line(f"getprop {prop}").text[:200]
            except DeviceFailed as error:
                details["unknown"] = error.detail[:200]
        return Facts("attach", details)

    def _launch(self, server: AdbServer, deadline: float) -> Address:
        console = None if self._port % 2 else self._port
        adb_port = self._port if console is None else self._port + 1
        if self._host in LOOPBACK and console is not None:
            return Address(f"emulator-{console}", server.port, console, self._grpc)
        return Address(f"{self._host}:{adb_port}", server.port, console, self._grpc, self._host)

    def _introduce(self, server: AdbServer, address: Address) -> None:
        if address.serial.startswith("emulator-"):
            super()._introduce(server, address)
        else:
            server.ask(f"host:connect:{address.serial}", within=5.0)

    def _halt(self, within: float) -> None:
        return  # it is not ours

    def _gone(self) -> FailureKind | None:
        return None

    def restart(self, *, within: float | None = None) -> None:
        raise DeviceFailed("unsupported", f"{self.name} is somebody else's: it is not restarted")
