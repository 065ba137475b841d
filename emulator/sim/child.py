"""A phone in a process of its own, and in this one: the two ways in which `SimDevice` keeps it."""

from __future__ import annotations

import json
import os
import selectors
import socket
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Final

from emulator.adb import end
from emulator.sim.console import GREETING
from emulator.sim.phone import PhoneError, Ports, SimPhone
from emulator.sim.screens.choosing import screen_maker

ROOT: Final = Path(__file__).resolve().parents[2]
LOG_TAIL: Final = 64 * 1024
"""Bytes of a phone's log that are looked at."""


class Host(ABC):
    """Where a simulated phone runs. `extra_boot`: seconds that its next boot is to take longer (the fault `slow_boot`)."""

    extra_boot: float = 0.0

    def _take_extra_boot(self) -> float:
        seconds, self.extra_boot = self.extra_boot, 0.0
        return seconds

    @property
    @abstractmethod
    def alive(self) -> bool: ...

    @property
    @abstractmethod
    def pid(self) -> int | None:
        """The process of its own, where it has one."""

    @abstractmethod
    def start(self, ports: Ports, adb_server_port: int, within: float) -> None:
        """Raises `PhoneError`."""

    @abstractmethod
    def stop(self, within: float) -> None: ...

    def logs(self, lines: int) -> list[str]:
        return []


class InProcessPhone(Host):
    """The phone's threads run in this process; `phone` is the phone itself, for tests that look inside."""

    def __init__(self, screen: str, seed: int = 0, url: str = "about:blank", boot_seconds: float = 0.0) -> None:
        self._make = screen_maker(screen, seed=seed, url=url)
        self._boot_seconds = boot_seconds
        self.phone: SimPhone | None = None

    @property
    def alive(self) -> bool:
        return self.phone is not None and self.phone.running

    @property
    def pid(self) -> int | None:
        return None

    def start(self, ports: Ports, adb_server_port: int, within: float) -> None:
        seconds = self._boot_seconds + self._take_extra_boot()
        self.phone = SimPhone(self._make, ports, adb_server_port=adb_server_port, boot_seconds=seconds)
        self.phone.start()

    def stop(self, within: float) -> None:
        if self.phone is not None:
            self.phone.stop()


class ChildPhone(Host):
    """`python -m emulator.sim` as a child process, by `python` (this one if None: gRPC needs one that has grpcio)."""

    def __init__(
        self,
        screen: str,
        seed: int = 0,
        url: str = "about:blank",
        boot_seconds: float = 0.0,
        python: Path | None = None,
    ) -> None:
        self._options = ["--screen", screen, "--seed", str(seed), "--url", url]
        self._boot_seconds = boot_seconds
        self._python = python or Path(sys.executable)
        self._process: subprocess.Popen[bytes] | None = None
        self._log: IO[bytes] | None = None

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None and self.alive else None

    def start(self, ports: Ports, adb_server_port: int, within: float) -> None:
        words: Sequence[str] = [
            "--port", str(ports.console), "--adb-server", str(adb_server_port), "--parent", str(os.getpid()), "--json",
            "--boot-seconds", str(self._boot_seconds + self._take_extra_boot()), *self._options,
        ]  # fmt: skip
        if ports.grpc is not None:
            words = [*words, "--grpc-port", str(ports.grpc)]
        self._close_log()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (closed by stop; has no name, so nothing is left of it)
        self._process = subprocess.Popen(
            [self._python, "-m", "emulator.sim", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._log,
            cwd=ROOT,
            start_new_session=True,
        )
        line = _line(self._process, time.monotonic() + within)
        ready = _read(line)
        if ready is None:
            said = self.logs(5)
            self.stop(1.0)
            raise PhoneError("the simulated phone did not start: " + (" / ".join(said) or "it said nothing"))

    def stop(self, within: float) -> None:
        process, self._process = self._process, None
        if process is not None:
            end(process, within)
        self._close_log()

    def _close_log(self) -> None:
        log, self._log = self._log, None
        if log is not None:
            log.close()

    def logs(self, lines: int) -> list[str]:
        log = self._log
        if log is None:
            return []
        size = os.fstat(log.fileno()).st_size
        data = os.pread(log.fileno(), LOG_TAIL, max(0, size - LOG_TAIL))
        return data.decode("utf-8", "replace").splitlines()[-lines:]


def _line(process: subprocess.Popen[bytes], deadline: float) -> bytes:
    """The first line of standard output, or what there is of it at the deadline."""
    assert process.stdout is not None
    data = b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while b"\n" not in data and time.monotonic() < deadline:
            if not selector.select(min(0.2, max(0.0, deadline - time.monotonic()))):
                continue
            more = os.read(process.stdout.fileno(), 4096)
            if not more:
                break
            data += more
    return data.partition(b"\n")[0]


def _read(line: bytes) -> dict[str, object] | None:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def ask_console(port: int, line: str, within: float) -> list[str]:
    """One command of a phone's console, and the lines of its answer. Raises `OSError`, also for a KO."""
    with socket.create_connection(("127.0.0.1", port), within) as wire:
        wire.settimeout(within)
        lines = wire.makefile("rb")
        for _ in range(GREETING.count(b"\n")):
            lines.readline(4096)
        wire.sendall(line.encode() + b"\n")
        answer: list[str] = []
        while True:
            text = lines.readline(65536).decode("utf-8", "replace").rstrip("\r\n")
            if text == "OK":
                return answer
            if text.startswith("KO") or not text:
                raise OSError(text or "the console closed the connection")
            answer.append(text)
