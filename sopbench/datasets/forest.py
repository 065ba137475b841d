"""The accessibility forest of one screen: what could be clicked on it.

Message and field numbers: google-deepmind/android_env 1.3.0, `android_env/proto/a11y/*.proto` (AndroidAccessibilityForest > windows > tree > nodes). Checked
against its generated classes by `tests/unit/datasets/test_forest.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from sopbench.datasets.wire import WireError, fields, number, signed32, submessage
from sopbench.geometry import Box

MAX_NODES: Final = 50_000

_WINDOWS: Final = 1
_TREE: Final = 11
_NODES: Final = 1
_BOUNDS: Final = 2
_DESCRIPTION: Final = 4
_PACKAGE: Final = 6
_TEXT: Final = 7
_CLICKABLE: Final = 14
_LONG_CLICKABLE: Final = 19
_VISIBLE: Final = 23


@dataclass(frozen=True, slots=True)
class Node:
    """One view. `bounds` in pixels of the screen; they may lie beyond its edges. `text` and `description` as the user sees and hears them
    (bytes that are not UTF-8 become U+FFFD: they are only compared, never written)."""

    bounds: Box
    clickable: bool = False
    long_clickable: bool = False
    visible: bool = False
    text: str = ""
    description: str = ""
    package: str = ""


def nodes_of(forest: bytes | memoryview) -> list[Node]:
    """Every node of every window, in the file's order. Raises `WireError`."""
    found: list[Node] = []
    for window in _messages(memoryview(forest), _WINDOWS, "a window"):
        for tree in _messages(window, _TREE, "a tree"):
            for message in _messages(tree, _NODES, "a node"):
                if len(found) >= MAX_NODES:
                    raise WireError(f"an accessibility forest of more than {MAX_NODES} nodes")
                found.append(_node(message))
    return found


def _messages(message: memoryview, wanted: int, what: str) -> Iterator[memoryview]:
    for field, kind, value in fields(message):
        if field == wanted:
            yield submessage(value, kind, what)


def _node(message: memoryview) -> Node:
    bounds = Box(0, 0, 0, 0)
    flags = {_CLICKABLE: False, _LONG_CLICKABLE: False, _VISIBLE: False}
    words = {_TEXT: "", _DESCRIPTION: "", _PACKAGE: ""}
    for field, kind, value in fields(message):
        if field in flags:
            flags[field] = number(value, kind, "a node's flag") != 0
        elif field == _BOUNDS:
            bounds = _rectangle(submessage(value, kind, "a node's bounds"), bounds)
        elif field in words:
            words[field] = bytes(submessage(value, kind, "a node's text")).decode(errors="replace")
    return Node(
        bounds,
        flags[_CLICKABLE],
        flags[_LONG_CLICKABLE],
        flags[_VISIBLE],
        words[_TEXT],
        words[_DESCRIPTION],
        words[_PACKAGE],
    )


def _rectangle(message: memoryview, before: Box) -> Box:
    """left, top, right, bottom. Messages that come twice are merged, as the format has it."""
    edges = [int(edge) for edge in before.as_list()]
    for field, kind, value in fields(message):
        if 1 <= field <= 4:
            edges[field - 1] = signed32(number(value, kind, "an edge"))
    return Box(*edges)
