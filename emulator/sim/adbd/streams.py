"""One adb connection and the streams in it. A stream has one writer at a time; every write waits for the other side's OKAY."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from typing import Final

from emulator.sim.adbd.packets import MAX_PAYLOAD, VERSION, Command, Packet, PacketError, PacketReader
from emulator.sim.shell.call import OutputGone

MAX_STREAMS: Final = 64
MAX_BUFFER: Final = 512 * 1024 * 1024
PATIENCE: Final = 60.0
"""Seconds that a write waits for the other side, and a read for more."""


class Stream:
    """A two-way stream of bytes within a connection."""

    def __init__(self, wire: Connection, local: int, remote: int) -> None:
        self.local, self.remote = local, remote
        self._wire = wire
        self._inbox = bytearray()
        self._changed = threading.Condition()
        self._credit = 0
        self._ended = False

    # ---- from the connection's reader
    def arrived(self, data: bytes) -> None:
        with self._changed:
            if len(self._inbox) + len(data) > MAX_BUFFER:
                self._ended = True
            else:
                self._inbox += data
            self._changed.notify_all()

    def acknowledged(self) -> None:
        with self._changed:
            self._credit += 1
            self._changed.notify_all()

    def end(self) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    # ---- for the service
    @property
    def ended(self) -> bool:
        return self._ended

    def read(self, count: int) -> bytes:
        """Exactly `count` bytes; raises `EOFError` where fewer come."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self._inbox) >= count or self._ended, PATIENCE):
                raise EOFError
            if len(self._inbox) < count:
                raise EOFError
            data = bytes(self._inbox[:count])
            del self._inbox[:count]
            return data

    def read_all(self) -> bytes:
        """Everything until the other side closes."""
        with self._changed:
            self._changed.wait_for(lambda: self._ended, PATIENCE)
            data = bytes(self._inbox)
            self._inbox.clear()
            return data

    def write(self, data: bytes) -> None:
        """Send; raises `OutputGone` once the other side has closed. Empty data only asks whether it has."""
        if self._ended:
            raise OutputGone
        for start in range(0, len(data), self._wire.payload):
            self._wire.send(Command.WRTE, self.local, self.remote, data[start : start + self._wire.payload])
            with self._changed:
                got = self._changed.wait_for(lambda: self._credit > 0 or self._ended, PATIENCE)
                if not got or self._ended:
                    raise OutputGone
                self._credit -= 1


class Connection:
    """One adb server's connection. `serve` runs until it is closed; `service` is called for every stream, in a thread of its own."""

    def __init__(self, wire: socket.socket, banner: bytes, service: Callable[[Stream, str], None]) -> None:
        self._socket = wire
        self._banner = banner
        self._service = service
        self._streams: dict[int, Stream] = {}
        self._lock = threading.Lock()
        self._number = 0
        self.payload = 4096
        self.online = False

    def send(self, command: Command, arg0: int, arg1: int, payload: bytes = b"") -> None:
        try:
            with self._lock:
                self._socket.sendall(Packet(command, arg0, arg1, payload).encode())
        except OSError:
            raise OutputGone from None

    def noise(self, data: bytes) -> None:
        """Send bytes that are no packets (a fault)."""
        try:
            with self._lock:
                self._socket.sendall(data)
        except OSError:
            self.close()

    def close(self) -> None:
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            return  # it was closed already

    def serve(self, pause: Callable[[], None]) -> None:
        """Read packets until the connection ends; `pause` is called before each is looked at (faults wait there)."""
        reader = PacketReader()
        try:
            while data := self._socket.recv(1 << 18):
                pause()
                for packet in reader.feed(data):
                    self._handle(packet)
        except (OSError, PacketError, OutputGone):
            pass  # the other side left, or speaks something else: both end the connection
        finally:
            self.online = False
            for stream in list(self._streams.values()):
                stream.end()
            self._socket.close()

    def _handle(self, packet: Packet) -> None:
        stream = self._streams.get(packet.arg1)
        match packet.command:
            case Command.CNXN:
                self.payload = max(1024, min(packet.arg1, MAX_PAYLOAD))
                self.send(Command.CNXN, VERSION, MAX_PAYLOAD, self._banner)
                self.online = True
            case Command.OPEN:
                self._open(packet)
            case Command.WRTE if stream is not None:
                stream.arrived(packet.payload)
                self.send(Command.OKAY, stream.local, stream.remote)
            case Command.OKAY if stream is not None:
                stream.acknowledged()
            case Command.CLSE if stream is not None:
                del self._streams[packet.arg1]
                stream.end()

    def _open(self, packet: Packet) -> None:
        if len(self._streams) >= MAX_STREAMS:
            self.send(Command.CLSE, 0, packet.arg0)
            return
        self._number += 1
        stream = Stream(self, self._number, packet.arg0)
        self._streams[stream.local] = stream
        name = packet.payload.rstrip(b"\0").decode("utf-8", "surrogateescape")
        threading.Thread(target=self._run, args=(stream, name), name=f"adb {name[:20]}", daemon=True).start()

    def _run(self, stream: Stream, name: str) -> None:
        try:
            self._service(stream, name)
        except (EOFError, OutputGone):
            pass  # the other side left in the middle
        finally:
            gone = self._streams.pop(stream.local, None) is None
            stream.end()
            if not gone:
                try:
                    self.send(Command.CLSE, stream.local, stream.remote)
                except OutputGone:
                    self.close()

    def accept(self, stream: Stream) -> None:
        """Tell the other side that the stream is open."""
        self.send(Command.OKAY, stream.local, stream.remote)

    def refuse(self, stream: Stream) -> None:
        """Tell it that there is no such service."""
        self._streams.pop(stream.local, None)
        self.send(Command.CLSE, 0, stream.remote)
