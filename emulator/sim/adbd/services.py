"""What an adb stream can be opened for: shell, exec, sync, and the small ones."""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Final

from emulator.sim.adbd.streams import Stream
from emulator.sim.adbd.sync import serve_sync
from emulator.sim.android import Android
from emulator.sim.shell import Shell

STDIN, STDOUT, STDERR, EXIT, CLOSE_STDIN = range(5)
"""Packets of the shell protocol, version 2 (AOSP packages/modules/adb, shell_protocol.h): a byte, a length, the data."""
_HEAD: Final = struct.Struct("<BI")
CHUNK: Final = 60_000


class _Output:
    """Standard output or error of a shell, as its packets."""

    def __init__(self, stream: Stream, kind: int) -> None:
        self._stream, self._kind = stream, kind

    def write(self, data: bytes) -> None:
        if not data:
            self._stream.write(b"")
        for start in range(0, len(data), CHUNK):
            part = data[start : start + CHUNK]
            self._stream.write(_HEAD.pack(self._kind, len(part)) + part)


class _Gathering:
    """Joins small writes, so that a command that prints line by line costs few packets; `flush` sends what is left."""

    def __init__(self, sink: _Output | Stream) -> None:
        self._sink = sink
        self._waiting: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        self._waiting.append(data)
        self._size += len(data)
        if self._size >= CHUNK or not data:
            self.flush()

    def flush(self) -> None:
        if self._size or self._waiting:
            data, self._waiting, self._size = b"".join(self._waiting), [], 0
            self._sink.write(data)


class Services:
    """The services of one phone. `reboot` is what the service of that name does."""

    def __init__(self, android: Android, shell: Shell, reboot: Callable[[], None]) -> None:
        self._android, self._shell, self._reboot = android, shell, reboot

    def knows(self, name: str) -> bool:
        head = name.partition(":")[0].partition(",")[0]
        return head in ("shell", "exec", "sync", "root", "unroot", "remount", "reboot", "reverse", "track-jdwp", "jdwp")

    def run(self, stream: Stream, name: str) -> None:
        head, _, rest = name.partition(":")
        service, *options = head.split(",")
        match service:
            case "shell" if "v2" in options:
                self._shell_v2(stream, rest)
            case "shell":
                self._raw(stream, rest, merged=True)
            case "exec":
                self._raw(stream, rest, merged=False)
            case "sync":
                serve_sync(stream, self._android.files)
            case "root" | "remount":
                said = "adbd is already running as root\n" if service == "root" else "remount succeeded\n"
                stream.write(said.encode())
            case "unroot":
                stream.write(b"adbd cannot run as anything but root in this simulation\n")
            case "reboot":
                self._reboot()
            case "reverse":
                message = b"reverse connections are not simulated"
                stream.write(b"FAIL%04x%s" % (len(message), message))

    def _shell_v2(self, stream: Stream, line: str) -> None:
        def stdin() -> bytes:
            data = b""
            while True:
                kind, length = _HEAD.unpack(stream.read(_HEAD.size))
                body = stream.read(length) if length <= 1 << 20 else b""
                if kind == CLOSE_STDIN:
                    return data
                if kind == STDIN:
                    data += body

        out, err = _Gathering(_Output(stream, STDOUT)), _Output(stream, STDERR)
        if not line:
            line = stdin().decode("utf-8", "surrogateescape")
        code = self._shell.run(line, stdin, out, err)
        out.flush()
        stream.write(_HEAD.pack(EXIT, 1) + bytes([code & 255]))

    def _raw(self, stream: Stream, line: str, *, merged: bool) -> None:
        out = _Gathering(stream)
        err = out if merged else _Gathering(_Ignored())
        if not line:
            line = stream.read_all().decode("utf-8", "surrogateescape")
        self._shell.run(line, stream.read_all, out, err)
        out.flush()


class _Ignored(_Output):
    """`exec` has no place for standard error."""

    def __init__(self) -> None:
        return

    def write(self, data: bytes) -> None:
        return
