"""Listens for adb servers, and makes itself known to the one of this phone, as an emulator does."""

from __future__ import annotations

import os
import socket
import threading
from typing import Final

from emulator.sim.adbd.services import Services
from emulator.sim.adbd.streams import Connection, Stream
from emulator.sim.android import Android

FEATURES: Final = ("shell_v2", "stat_v2", "ls_v2", "fixed_push_mkdir")
"""What adb may use (AOSP packages/modules/adb, transport.cpp). Without `cmd` and `abb` it installs apps by push and `pm install`."""
MAX_CONNECTIONS: Final = 8
KNOCK_EVERY: Final = 1.0


def banner(android: Android) -> bytes:
    """What the device says of itself in its CNXN."""
    names = ("ro.product.name", "ro.product.model", "ro.product.device")
    told = "".join(f"{name}={android.property(name)};" for name in names)
    return f"device::{told}features={','.join(FEATURES)}".encode()


class AdbDaemon:
    """The adb daemon of one phone, on a port of the loopback interface.

    As long as no adb server is connected it knocks at `server_port` once a second ("host:emulator:PORT"): a server that was started
    later, or anew, finds the phone without being told.
    """

    def __init__(self, android: Android, services: Services, port: int, server_port: int | None) -> None:
        self._android, self._services = android, services
        self._port, self._server_port = port, server_port
        self._connections: set[Connection] = set()
        self._stopped = threading.Event()
        self._listener: socket.socket | None = None
        self._threads: list[threading.Thread] = []

    @property
    def connected(self) -> bool:
        return any(connection.online for connection in list(self._connections))

    def start(self) -> None:
        """Raises `OSError` where the port is taken."""
        self._listen()
        for work in (self._accept, self._knock):
            thread = threading.Thread(target=work, name=f"adbd {work.__name__}", daemon=True)
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        self._stopped.set()
        self._close_listener()
        self.drop()
        for thread in self._threads:
            thread.join(2.0)

    def drop(self) -> None:
        """Cut every connection."""
        for connection in list(self._connections):
            connection.close()

    # ---- listening
    def _listen(self) -> None:
        listener = socket.socket()
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(("127.0.0.1", self._port))
            listener.listen(16)
            listener.settimeout(0.2)
        except OSError:
            listener.close()
            raise
        self._listener = listener

    def _close_listener(self) -> None:
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.close()

    def _accept(self) -> None:
        while not self._stopped.is_set():
            if self._android.faults.on("offline"):
                self._close_listener()
                self.drop()
                self._stopped.wait(0.05)
                continue
            listener = self._listener
            try:
                if listener is None:
                    self._listen()
                    continue
                wire, _ = listener.accept()
            except TimeoutError:
                continue
            except OSError:
                self._stopped.wait(0.1)  # closed under our hands, or the port is not free again yet
                continue
            if len(self._connections) >= MAX_CONNECTIONS:
                wire.close()
                continue
            wire.setblocking(True)
            wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._serve, args=(wire,), name="adb connection", daemon=True).start()

    def _serve(self, wire: socket.socket) -> None:
        connection = Connection(
            wire, banner(self._android), lambda stream, name: self._service(connection, stream, name)
        )
        self._connections.add(connection)

        def pause() -> None:
            faults = self._android.faults
            if faults.on("offline"):
                connection.close()
            if faults.on("adb_garbage"):
                connection.noise(os.urandom(64))
            faults.wait_while("hang", self._stopped)

        try:
            connection.serve(pause)
        finally:
            self._connections.discard(connection)

    def _service(self, connection: Connection, stream: Stream, name: str) -> None:
        self._android.faults.wait_while("hang", self._stopped)
        if self._android.faults.on("offline"):
            return
        if not self._services.knows(name):
            connection.refuse(stream)
            return
        connection.accept(stream)
        self._services.run(stream, name)

    # ---- being known
    def _knock(self) -> None:
        while not self._stopped.is_set():
            if self._server_port is not None and not self.connected and not self._android.faults.on("offline"):
                self._announce(self._server_port)
            self._stopped.wait(KNOCK_EVERY)

    def _announce(self, server_port: int) -> None:
        message = f"host:emulator:{self._port}".encode()
        try:
            with socket.create_connection(("127.0.0.1", server_port), 1.0) as wire:
                wire.sendall(b"%04x" % len(message) + message)
                wire.settimeout(1.0)
                wire.recv(64)
        except OSError:
            return  # no server there yet: we knock again
