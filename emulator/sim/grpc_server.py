"""The emulator's gRPC services (EmulatorController, SnapshotService), as far as android-env asks for them.

Needs the package grpcio, and only that: messages are read and written by `emulator.sim.protobuf`.
"""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from PIL import Image

from emulator.sim.android import Android
from emulator.sim.console import MAX_SNAPSHOTS, NAME
from emulator.sim.forwarder import Forwarder
from emulator.sim.pictures import black_png, png
from emulator.sim.protobuf import Message, encode
from emulator.sim.touches import Touches
from sopbench.errors import SopbenchError

CONTROLLER: Final = "android.emulation.control.EmulatorController"
SNAPSHOTS: Final = "android.emulation.control.SnapshotService"
VERSION: Final = "sopbench simulated phone"
RUNNING: Final = 1
LOADED: Final = 1
_FORMATS: Final = {0: "PNG", 1: "RGBA", 2: "RGB"}
_KEYS: Final = {
    "GoBack": "back", "GoHome": "home", "AppSwitch": "app_switch", "Enter": "enter", "Backspace": "del", "Escape": "escape", "Power": "power",
    "AudioVolumeUp": "volume_up", "AudioVolumeDown": "volume_down", "Tab": "tab", "Home": "home",
}  # fmt: skip
"""Names of keys in KeyboardEvent.key (W3C UI Events, as emulator_controller.proto says) -> Android's."""
_XKB: Final = {
    8 + 28: "enter",
    8 + 14: "del",
    8 + 158: "back",
    8 + 172: "home",
    8 + 1: "escape",
    8 + 57: "space",
    8 + 15: "tab",
}
"""X11 key codes (evdev's plus 8) -> Android's keys."""

Method = Callable[[bytes], bytes]


class GrpcMissing(SopbenchError):
    """The package grpcio is not there."""


def load_grpc() -> Any:
    """The module `grpc`, imported when it is first asked for."""
    try:
        return importlib.import_module("grpc")
    except ImportError:
        raise GrpcMissing(
            "a gRPC port needs the package grpcio, which is not in this environment: run the phone in the one that "
            "`python scripts/setup_android.py` makes (.venv-android/bin/python -m emulator.sim ...), or leave --grpc-port out"
        ) from None


def serve_grpc(android: Android, port: int) -> Callable[[], None]:
    """Open the services on a port of the loopback interface; call what comes back to close them. Raises `GrpcMissing` or `OSError`."""
    grpc = load_grpc()
    stopped = threading.Event()
    controller = _Controller(android, grpc, stopped)
    server = grpc.server(
        ThreadPoolExecutor(16), options=[("grpc.max_send_message_length", -1), ("grpc.so_reuseport", 0)]
    )
    server.add_generic_rpc_handlers(
        (
            _handler(grpc, CONTROLLER, controller.methods, controller.streams),
            _handler(grpc, SNAPSHOTS, snapshot_methods(android), {}),
        )
    )
    try:
        server.add_secure_port(f"localhost:{port}", grpc.local_server_credentials())
    except RuntimeError as error:
        raise OSError(f"gRPC port {port} is taken") from error
    server.start()
    forwarder = Forwarder(android, grpc)
    forwarder.start()

    def close() -> None:
        stopped.set()
        forwarder.stop()
        server.stop(0.2).wait(2.0)

    return close


def _handler(
    grpc: Any, service: str, methods: dict[str, Method], streams: dict[str, Callable[[bytes], Iterator[bytes]]]
) -> Any:
    handlers = {name: grpc.unary_unary_rpc_method_handler(_unary(method)) for name, method in methods.items()}
    handlers |= {name: grpc.unary_stream_rpc_method_handler(_streaming(method)) for name, method in streams.items()}
    return grpc.method_handlers_generic_handler(service, handlers)


def _unary(method: Method) -> Callable[[bytes, Any], bytes]:
    return lambda request, context: method(request)


def _streaming(method: Callable[[bytes], Iterator[bytes]]) -> Callable[[bytes, Any], Iterator[bytes]]:
    def run(request: bytes, context: Any) -> Iterator[bytes]:
        for reply in method(request):
            if not context.is_active():
                return
            yield reply

    return run


class _Controller:
    """The methods of EmulatorController, from and to bytes."""

    def __init__(self, android: Android, grpc: Any, stopped: threading.Event) -> None:
        self._android, self._stopped = android, stopped
        self._touches = Touches(android.screen)
        self._began = time.monotonic()
        self._seq = 0
        waiting = {
            "getStatus": self.status, "getScreenshot": self.screenshot, "sendTouch": self.touch, "sendKey": self.key,
            "getVmState": lambda request: encode((1, RUNNING)), "setVmState": lambda request: b"",
            "getClipboard": lambda request: encode((1, self._android.clipboard)), "setClipboard": self.clipboard,
        }  # fmt: skip
        self.methods: dict[str, Method] = {name: self._patient(method) for name, method in waiting.items()}
        self.streams: dict[str, Callable[[bytes], Iterator[bytes]]] = {"streamScreenshot": self.screenshots}

    def _patient(self, method: Method) -> Method:
        def run(request: bytes) -> bytes:
            self._android.faults.wait_while("hang", self._stopped)
            return method(request)

        return run

    def status(self, request: bytes) -> bytes:
        uptime = int((time.monotonic() - self._began) * 1000)
        return encode((1, VERSION), (2, uptime), (3, self._android.booted))

    def screenshot(self, request: bytes) -> bytes:
        wanted = Message(request)
        kind = wanted.number(1) if wanted.number(1) in _FORMATS else 0
        android = self._android
        size = android.screen.size
        width, height = wanted.number(3) or size.width, wanted.number(4) or size.height
        scale = min(1.0, width / size.width, height / size.height)
        with android.lock:
            black = android.faults.on("black_screen")
            if kind == 0 and scale == 1.0:
                data = black_png(size) if black else android.screen.png()
                return self._image(0, size.width, size.height, data)
            image = Image.new("RGB", (size.width, size.height)) if black else android.screen.image()
        if scale < 1.0:
            image = image.resize((max(1, round(size.width * scale)), max(1, round(size.height * scale))))
        data = png(image) if kind == 0 else image.convert(_FORMATS[kind]).tobytes()
        return self._image(kind, image.width, image.height, data)

    def _image(self, kind: int, width: int, height: int, data: bytes) -> bytes:
        self._seq += 1
        moment = int(self._android.clock.now() * 1e6)
        return encode(
            (1, encode((1, kind), (3, width), (4, height))),
            (2, width),
            (3, height),
            (4, data),
            (5, self._seq),
            (6, moment),
        )

    def screenshots(self, request: bytes) -> Iterator[bytes]:
        while not self._stopped.wait(0.2):
            yield self.screenshot(request)

    def touch(self, request: bytes) -> bytes:
        with self._android.lock:
            for finger in Message(request).messages(1)[:16]:
                down = finger.number(4) > 0
                self._touches.event(finger.number(3), float(finger.number(1)), float(finger.number(2)), down=down)
        return b""

    def key(self, request: bytes) -> bytes:
        event = Message(request)
        up = event.number(2) == 1
        text, name, code = event.text(5), event.text(4), event.number(3)
        with self._android.lock:
            if text and not up:
                self._android.screen.text(text)
            elif not up and (key := _KEYS.get(name) or _XKB.get(code)):
                self._android.screen.key(key)
            elif not up and len(name) == 1:
                self._android.screen.text(name)
        return b""

    def clipboard(self, request: bytes) -> bytes:
        self._android.clipboard = Message(request).text(1)[:100_000]
        return b""


def snapshot_methods(android: Android) -> dict[str, Method]:
    """The methods of SnapshotService: ListSnapshots, SaveSnapshot, LoadSnapshot, DeleteSnapshot."""

    def package(name: str, error: str = "") -> bytes:
        return encode((1, name), (3, not error), *([(4, error.encode())] if error else []))

    def listed(request: bytes) -> bytes:
        return encode(*[(1, encode((1, name), (3, LOADED))) for name in sorted(android.snapshots)])

    def save(request: bytes) -> bytes:
        name = Message(request).text(1)
        if not NAME.fullmatch(name):
            return package(name, "a snapshot's name has letters, digits, dots, dashes")
        if len(android.snapshots) >= MAX_SNAPSHOTS and name not in android.snapshots:
            return package(name, f"there are {MAX_SNAPSHOTS} snapshots already")
        android.save(name)
        return package(name)

    def load(request: bytes) -> bytes:
        name = Message(request).text(1)
        return package(name) if android.load(name) else package(name, "no such snapshot")

    def delete(request: bytes) -> bytes:
        name = Message(request).text(1)
        return package(name) if android.snapshots.pop(name, None) else package(name, "no such snapshot")

    return {"ListSnapshots": listed, "SaveSnapshot": save, "LoadSnapshot": load, "DeleteSnapshot": delete}
