"""What a screen shows, as accessibility services see it: one kind of node for every kind of screen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from xml.sax.saxutils import quoteattr

from sopbench.geometry import Size

Bounds = tuple[int, int, int, int]
"""Left, top, right, bottom in pixels of the screen."""


@dataclass(frozen=True, slots=True)
class Element:
    """One node. `parent` is the id of the node that it belongs to, where there is one on the screen."""

    id: str
    class_name: str
    bounds: Bounds
    text: str = ""
    description: str = ""
    hint: str = ""
    package: str = ""
    clickable: bool = False
    long_clickable: bool = False
    scrollable: bool = False
    editable: bool = False
    checkable: bool = False
    checked: bool = False
    focused: bool = False
    selected: bool = False
    enabled: bool = True
    parent: str | None = None


_FLAGS: Final = (
    ("checkable", "checkable"), ("checked", "checked"), ("clickable", "clickable"), ("enabled", "enabled"),
    ("focusable", "editable"), ("focused", "focused"), ("scrollable", "scrollable"), ("long-clickable", "long_clickable"),
)  # fmt: skip


def uiautomator_xml(elements: Iterable[Element], size: Size, rotation: int = 0) -> str:
    """The screen in the form of `uiautomator dump`: a frame around the nodes, those with a parent inside of it."""
    listed = list(elements)
    known = {element.id for element in listed}
    below: dict[str | None, list[Element]] = {}
    for element in listed:
        parent = element.parent if element.parent in known and element.parent != element.id else None
        below.setdefault(parent, []).append(element)
    package = listed[0].package if listed else ""
    frame = Element("", "android.widget.FrameLayout", (0, 0, size.width, size.height), package=package)
    body = "".join(_node(element, place, below, 0) for place, element in enumerate(below.get(None, [])))
    head = "<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>"
    return f'{head}<hierarchy rotation="{rotation}">{_open(frame, 0)}>{body}</node></hierarchy>'


def _node(element: Element, place: int, below: dict[str | None, list[Element]], depth: int) -> str:
    children = below.get(element.id, []) if depth < 32 else []
    inside = "".join(_node(child, at, below, depth + 1) for at, child in enumerate(children))
    return f"{_open(element, place)}>{inside}</node>" if inside else f"{_open(element, place)} />"


def _open(element: Element, place: int) -> str:
    left, top, right, bottom = element.bounds
    facts = {
        "index": str(place),
        "text": element.text,
        "resource-id": element.id,
        "class": element.class_name,
        "package": element.package,
        "content-desc": element.description,
        **{name: "true" if getattr(element, flag) else "false" for name, flag in _FLAGS},
        "password": "false",
        "selected": "true" if element.selected else "false",
        "bounds": f"[{left},{top}][{right},{bottom}]",
    }
    return "<node " + " ".join(f"{name}={quoteattr(_printable(value))}" for name, value in facts.items())


def _printable(text: str) -> str:
    """XML 1.0 has no control characters and no halves of characters."""
    return "".join(
        letter
        if letter in "\t\n" or (letter >= " " and not "\ud800" <= letter <= "\udfff" and letter not in "\ufffe\uffff")
        else "."
        for letter in text
    )
