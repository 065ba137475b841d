"""What emulators and phones have in common that this machine's adb reaches and Android's console or gRPC serves: a server each, a
process of their own, snapshots through the console, apps by name, text beyond ASCII. Backends say how one begins and ends."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import tempfile
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Final

from emulator.adb import AdbClient, AdbMissing, AdbServer, AdbServerDown, end
from emulator.android_hands import AndroidHands
from emulator.console import SNAPSHOT_NAME, ConsoleRefused, ask
from emulator.device import Address, DeviceFailed, FailureKind, Rung

LOG_TAIL: Final = 64 * 1024
POLL: Final = 0.25


class RealDevice(AndroidHands):
    """`_launch` begins the device and returns where it is; `_halt` ends what `_launch` began."""

    _address: Address | None = None
    _token: Path | None = None

    def __init__(self, name: str, adb: Path | None = None) -> None:
        self._name, self._adb_program = name, adb

    @abstractmethod
    def _launch(self, server: AdbServer, deadline: float) -> Address:
        """Raises `DeviceFailed`; what it began is ended by `_halt` then."""

    @abstractmethod
    def _halt(self, within: float) -> None:
        """Never raises."""

    @property
    def name(self) -> str:
        return self._name

    @property
    def address(self) -> Address:
        if self._address is None:
            raise DeviceFailed("not_started", f"{self.name} is not running: start it")
        return self._address

    @property
    def pids(self) -> tuple[int, ...]:
        server = self._server.pid if self._server else None
        return () if server is None else (server,)

    # ---- life
    def start(self, *, within: float | None = None) -> None:
        if self._client is not None and self._gone() is None:
            return
        self.stop()
        deadline = time.monotonic() + (self.limits.start if within is None else within)
        try:
            self._server = AdbServer(adb=self._adb_program)
            self._server.start(max(0.5, min(15.0, deadline - time.monotonic())))
            self._address = self._launch(self._server, deadline)
            self._client = AdbClient(self._server, self._address.serial)
            self.wait_until_up(deadline)
        except AdbMissing as error:
            self.stop()
            raise DeviceFailed("not_installed", str(error)) from error
        except (AdbServerDown, OSError) as error:
            self.stop()
            raise DeviceFailed("boot_failed", f"{self.name}: {error}") from error
        except DeviceFailed as error:
            said = " / ".join(self.logs(3))
            self.stop()
            kind: FailureKind = "boot_failed" if error.kind == "died" else error.kind
            raise DeviceFailed(kind, f"{error.detail}; it said: {said[:400]}" if said else error.detail) from error
        except BaseException:
            self.stop()
            raise

    def stop(self, *, within: float | None = None) -> None:
        allowed = self.limits.stop if within is None else within
        self._client, self._address, self._size = None, None, None
        self._halt(allowed)
        server, self._server = self._server, None
        if server is not None:
            server.stop(min(allowed, 5.0))

    def wait_until_up(self, deadline: float) -> None:
        """Make it known to its adb server until it answers there, and wait for the end of the boot."""
        server, address = self._server, self._address
        while server is not None and address is not None and time.monotonic() < deadline:
            gone = self._gone()
            if gone is not None:
                raise DeviceFailed(gone, f"{self.name} ended while it booted")
            try:
                if _known(server, address.serial):
                    break
                self._introduce(server, address)
            except OSError as error:
                if server.pid is None:
                    raise DeviceFailed("offline", f"{self.name}: its adb server ended ({error})") from error
            time.sleep(min(POLL, max(0.0, deadline - time.monotonic())))
        super().wait_until_up(deadline)

    def _introduce(self, server: AdbServer, address: Address) -> None:
        """Tell the adb server of an emulator of this machine. Servers here look for none by themselves (`adb.NO_SCAN`)."""
        if address.console_port is None:
            return
        body = f"host:emulator:{address.console_port + 1}".encode()
        with socket.create_connection(("127.0.0.1", server.port), 2.0) as wire:
            wire.sendall(b"%04x" % len(body) + body)

    def rungs(self) -> list[tuple[Rung, FailureKind, Callable[[float], None]]]:
        return [("process", "died", self._try_process), *super().rungs()]

    def _try_process(self, within: float) -> None:
        if self._client is None:
            raise DeviceFailed("not_started", f"{self.name} is not running: start it")
        gone = self._gone()
        if gone is not None:
            raise DeviceFailed(gone, f"{self.name} has ended: {' / '.join(self.logs(3))[:300]}")

    # ---- snapshots
    def snapshot_save(self, name: str, *, within: float | None = None) -> None:
        self._snapshot("save", name, within)

    def snapshot_load(self, name: str, *, within: float | None = None) -> None:
        deadline = time.monotonic() + (self.limits.snapshot if within is None else within)
        self._snapshot("load", name, within)
        self.wait_until_up(deadline)

    def _snapshot(self, verb: str, name: str, within: float | None) -> None:
        address = self.address
        if address.console_port is None:
            raise DeviceFailed("unsupported", f"{self.name} has no emulator console: no snapshots")
        if not SNAPSHOT_NAME.fullmatch(name):
            raise DeviceFailed("no_snapshot", f"{self.name}: no name for a snapshot: {name[:80]!r}")
        allowed = self.limits.snapshot if within is None else within
        try:
            ask(f"avd snapshot {verb} {name}", address.console_port, allowed, host=address.host, token=self._token)
        except ConsoleRefused as error:
            kind: FailureKind = "no_snapshot" if verb == "load" else "unsupported"
            raise DeviceFailed(kind, f"{self.name}: {error}") from error
        except TimeoutError as error:
            raise DeviceFailed(self._gone() or "timeout", f"{self.name}: its console does not answer") from error
        except OSError as error:
            raise DeviceFailed(self._gone() or "offline", f"{self.name}: console: {error}") from error


def _known(server: AdbServer, serial: str) -> bool:
    """Whether the server has a connection to that device, or is about to."""
    lines = server.ask("host:devices", within=2.0).decode("utf-8", "replace").splitlines()
    return any(line.split("\t")[0] == serial for line in lines)


class Child:
    """A program that is a device, or holds one: a process group of its own, whose words go to a file without a name."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    def start(self, words: Sequence[str], environ: Mapping[str, str], *, tied: bool = False) -> None:
        """tied: its standard input stays open as long as this process lives."""
        self.stop(0.0)
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (closed by stop)
        self._process = subprocess.Popen(
            list(words),
            stdin=subprocess.PIPE if tied else subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            env={**os.environ, **environ},
            start_new_session=True,
        )

    def stop(self, within: float) -> None:
        process, self._process = self._process, None
        if process is not None:
            with contextlib.suppress(OSError):  # a pipe whose reader has gone
                end(process, within)
        log, self._log = self._log, None
        if log is not None:
            log.close()

    def logs(self, lines: int) -> list[str]:
        if self._log is None:
            return []
        size = os.fstat(self._log.fileno()).st_size
        data = os.pread(self._log.fileno(), LOG_TAIL, max(0, size - LOG_TAIL))
        return data.decode("utf-8", "replace").splitlines()[-lines:]
