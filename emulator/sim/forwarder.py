"""The accessibility forwarder: sends what the screen shows to the gRPC server that android-env opens (A11yService.SendForest)."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, Final

from emulator.sim.android import Android
from emulator.sim.protobuf import Field, encode, packed
from emulator.sim.ui import Bounds, Element
from sopbench.geometry import Size

METHOD: Final = "/android_env.A11yService/SendForest"
EVERY: Final = 0.15
"""Seconds between two forests, sent whether anything changed or not: receivers that were just cleared want one soon."""
APPLICATION: Final = 1
PATIENCE: Final = 2.0


def forest(elements: Sequence[Element], size: Size) -> bytes:
    """An AndroidAccessibilityForest: one application window with the elements in a flat tree below a frame of the whole screen."""
    package = elements[0].package if elements else ""
    whole = Element("", "android.widget.FrameLayout", (0, 0, size.width, size.height), package=package)
    numbers = {element.id: place for place, element in enumerate(elements, 1)}
    children: dict[int, list[int]] = {}
    depths: dict[int, int] = {0: 0}
    for place, element in enumerate(elements, 1):
        parent = numbers.get(element.parent or "", 0)
        parent = 0 if parent >= place else parent
        children.setdefault(parent, []).append(place)
        depths[place] = depths[parent] + 1
    nodes = [
        _node(element, place, children.get(place, []), depths[place])
        for place, element in enumerate((whole, *elements))
    ]
    tree = encode(*[(1, node) for node in nodes])
    window = encode(
        (1, _rect((0, 0, size.width, size.height))), (3, 1), (6, APPLICATION), (8, True), (9, True), (11, tree)
    )
    return encode((1, window))


def _rect(bounds: Bounds) -> bytes:
    left, top, right, bottom = bounds
    return encode((1, left), (2, top), (3, right), (4, bottom))


def _node(element: Element, number: int, children: list[int], depth: int) -> bytes:
    name = f"{element.package}:id/{element.id}" if element.package and element.id else element.id
    fields: list[Field] = [
        (1, number), (2, _rect(element.bounds)), (3, element.class_name), (4, element.description), (5, element.hint), (6, element.package),
        (7, element.text), (10, name), (11, 1), (12, element.checkable), (13, element.checked), (14, element.clickable),
        (15, element.editable), (16, element.enabled), (17, element.editable or element.clickable), (18, element.focused),
        (19, element.long_clickable), (21, element.scrollable), (22, element.selected), (23, True),
    ]  # fmt: skip
    if children:
        fields.append(packed(25, children))
    return encode(*fields, (27, depth), (30, number))


class Forwarder:
    """Sends forests as long as the phone knows where to (`Android.forwarder_port`)."""

    def __init__(self, android: Android, grpc: Any) -> None:
        self._android, self._grpc = android, grpc
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="accessibility forwarder", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join(PATIENCE + 1)

    def _run(self) -> None:
        port: int | None = None
        channel: Any = None
        while not self._stopped.wait(EVERY):
            wanted = self._android.forwarder_port
            if wanted is None or self._android.faults.on("no_forest") or self._airplane():
                continue
            if wanted != port:
                if channel is not None:
                    channel.close()
                port = wanted
                channel = self._grpc.secure_channel(f"localhost:{port}", self._grpc.local_channel_credentials())
            self._send(channel)
        if channel is not None:
            channel.close()

    def _airplane(self) -> bool:
        return self._android.settings["global"].get("airplane_mode_on") == "1"

    def _send(self, channel: Any) -> None:
        with self._android.lock:
            elements, size = self._android.screen.elements(), self._android.screen.size
        try:
            channel.unary_unary(METHOD)(forest(elements, size), timeout=PATIENCE)
        except self._grpc.RpcError:
            self._android.log.write("D", "AccessibilityForwarder", "the receiver does not answer")
