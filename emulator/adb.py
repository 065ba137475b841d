"""The genuine `adb` program: a server of one's own, and calls of the client that always come back.

Nothing here is read by a shell of this machine: arguments go as a list. What follows `adb shell` is read by the *device's* shell,
so words that a model or a file gave go through `quoted`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sopbench.errors import SopbenchError, shown

MAX_OUTPUT: Final = 64 * 1024 * 1024
"""Bytes of output that are kept of one call; a device that says more is broken or hostile."""
NO_SCAN: Final = {
    "ADB_LOCAL_TRANSPORT_MAX_PORT": "5553",
    "ADB_MDNS": "0",
    "ADB_MDNS_OPENSCREEN": "0",
    "ADB_LIBUSB": "0",
}
"""Keeps a server from looking for emulators on the usual ports (below 5555 there are none), by mDNS or on USB."""
INSTALL: Final = (
    "install it (Debian: `apt-get install adb`; else Google's platform-tools) or name one with ADB=/path/to/adb"
)


_UNREACHABLE: Final = (
    "error: device", "error: no devices", "error: closed", "error: protocol", "error: cannot connect", "adb: device", "adb: error: connect failed",
)  # fmt: skip
"""How adb's client begins when it has no connection to the device."""


class AdbMissing(SopbenchError):
    """There is no adb program on this machine."""


class AdbTimeout(SopbenchError):
    """adb did not come back in time and was killed."""


class AdbServerDown(SopbenchError):
    """The adb server that this client belongs to does not run."""


@dataclass(frozen=True, slots=True)
class AdbResult:
    """What one call of adb gave. `code`: of adb itself, or for `adb shell` of the command on the device."""

    code: int
    stdout: bytes
    stderr: bytes
    seconds: float

    @property
    def text(self) -> str:
        """Standard output as text, without the spaces around it."""
        return self.stdout.decode("utf-8", "replace").strip()

    @property
    def error(self) -> str:
        """What went wrong, in adb's or the command's own words, short."""
        return shown((self.stderr or self.stdout).decode("utf-8", "replace").strip())

    @property
    def unreachable(self) -> bool:
        """Whether adb says that it cannot reach the device, as opposed to a command that failed there."""
        said = self.stderr.decode("utf-8", "replace")
        return self.code != 0 and said.startswith(_UNREACHABLE)


def quoted(*words: str) -> str:
    """`words` as one command line of a POSIX shell. Zero bytes, which no command line can hold, are dropped."""
    return " ".join(
        "'" + word.replace("\0", "").replace("'", "'\\''") + "'" if not _plain(word) else word for word in words
    )


def _plain(word: str) -> bool:
    return bool(word) and all(letter.isascii() and (letter.isalnum() or letter in "-_./:,=+@") for letter in word)


def find_adb(environ: Mapping[str, str] = os.environ) -> Path:
    """The adb program: $ADB, else the one on the path, else an SDK's under $ANDROID_HOME. Raises `AdbMissing`."""
    named = environ.get("ADB")
    if named:
        if os.access(named, os.X_OK):
            return Path(named)
        raise AdbMissing(f"ADB={named} is no program; {INSTALL}")
    found = shutil.which("adb", path=environ.get("PATH"))
    if found:
        return Path(found)
    home = environ.get("ANDROID_HOME") or environ.get("ANDROID_SDK_ROOT")
    if home and os.access(sdk := Path(home, "platform-tools", "adb"), os.X_OK):
        return sdk
    raise AdbMissing(f"no adb on this machine: {INSTALL}")


def free_port() -> int:
    """A port of the loopback interface that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class AdbServer:
    """An adb server of one's own, in the foreground as a child process: it is ended by its pid and leaves nothing behind.

    `start` waits until it answers. `log` is where it writes; None throws that away.
    """

    def __init__(self, port: int | None = None, adb: Path | None = None, log: Path | None = None) -> None:
        self.port = free_port() if port is None else port
        self.program = adb or find_adb()
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process and self._process.poll() is None else None

    def start(self, within: float = 15.0) -> None:
        if self.pid is not None:
            return
        deadline = time.monotonic() + within
        with open(self._log or os.devnull, "ab") as log:
            self._process = subprocess.Popen(
                [self.program, "-P", str(self.port), "nodaemon", "server"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, **NO_SCAN},
                start_new_session=True,
            )
        while True:
            if self.pid is None:
                raise AdbServerDown(
                    f"the adb server ended at once (exit code {self._process.returncode}) on port {self.port}"
                )
            try:
                if self.ask("host:version", within=1.0):
                    return
            except OSError:
                pass  # not up yet
            if time.monotonic() > deadline:
                self.stop()
                raise AdbServerDown(f"the adb server did not answer on port {self.port} within {within:g} s")
            time.sleep(0.02)

    def ask(self, request: str, within: float = 5.0) -> bytes:
        """One request of the server's own protocol (four hexadecimal digits of length, then the words), and its answer.

        Raises `OSError` where the server is not there, refuses or falls silent.
        """
        body = request.encode()
        with socket.create_connection(("127.0.0.1", self.port), within) as wire:
            wire.sendall(b"%04x" % len(body) + body)
            status = _exactly(wire, 4)
            if status not in (b"OKAY", b"FAIL"):
                raise OSError(f"adb server: unreadable answer {status!r}")
            said = _exactly(wire, int(_exactly(wire, 4), 16))
            if status == b"FAIL":
                raise OSError(f"adb server: {said.decode('utf-8', 'replace')[:200]}")
            return said

    def stop(self, within: float = 5.0) -> None:
        """End it; kills it where it does not go by itself."""
        process = self._process
        self._process = None
        if process is not None:
            end(process, within)


class AdbClient:
    """Calls of the adb client for one device."""

    def __init__(self, server: AdbServer, serial: str) -> None:
        self._server = server
        self.serial = serial

    def __call__(self, *arguments: str | bytes, stdin: bytes = b"", within: float = 30.0) -> AdbResult:
        """Run `adb ARGUMENTS`. Raises `AdbTimeout`, or `AdbServerDown` (a client would start a stray server of its own)."""
        if self._server.pid is None:
            raise AdbServerDown(f"the adb server on port {self._server.port} does not run")
        head: list[str | bytes] = [str(self._server.program), "-P", str(self._server.port), "-s", self.serial]
        return run(head + list(arguments), stdin=stdin, within=within)


def run(command: Sequence[str | bytes], *, stdin: bytes = b"", within: float) -> AdbResult:
    """Run a program with a deadline, as a process group of its own that is killed as a whole past it."""
    began = time.monotonic()
    words = [word if isinstance(word, bytes) else word.encode("utf-8", "surrogatepass") for word in command]
    process = subprocess.Popen(
        words,
        stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(stdin or None, timeout=within)
    except subprocess.TimeoutExpired:
        raise AdbTimeout(f"`{told(words)}` did not come back within {within:g} s") from None
    finally:
        if process.poll() is None:
            end(process, 0.0)
    return AdbResult(process.returncode, out[:MAX_OUTPUT], err[:MAX_OUTPUT], time.monotonic() - began)


def end(process: subprocess.Popen[bytes], within: float) -> None:
    """End a child that leads a process group: asked first, killed with its group when `within` seconds are over."""
    if process.poll() is None and within > 0:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(within)
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def told(words: Sequence[bytes]) -> str:
    """A command line for a message, short."""
    line = b" ".join(words).decode("utf-8", "replace")
    return line if len(line) <= 160 else line[:157] + "..."


def _exactly(wire: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = wire.recv(count - len(data))
        if not more:
            raise OSError("the adb server closed the connection")
        data += more
    return data
