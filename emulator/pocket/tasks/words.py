"""How the expert's moves are said in words: the step's instruction and the thought before it."""

from __future__ import annotations

from collections.abc import Mapping

from emulator.pocket.scene import UiNode
from emulator.pocket.widgets import Field

MAX_LABEL = 48

KINDS = {
    "icon": "app icon",
    "level": "level",
    "field": "field",
    "switch": "switch",
    "button": "button",
    "tab": "tab",
    "key": "key",
    "menuitem": "entry",
    "option": "option",
    "day": "day",
    "card": "card",
    "tile": "tile",
    "row": "row",
    "bubble": "message",
    "bar": "bar",
    "radio": "choice",
    "checkbox": "check box",
}
"""Roles of the UI tree in everyday words; others are called "element"."""


def label(node: UiNode, nodes: Mapping[str, UiNode], fields: Mapping[str, Field]) -> str:
    """What a person would call the node: a field by its label, a part of a row together with the row."""
    text = " ".join(node.text.split()) or node.id
    if node.role in ("level", "day"):
        text = f"{node.role} {text}"
    if field := fields.get(node.id):
        text = field.label or field.hint or node.id
    text = text if len(text) <= MAX_LABEL else text[: MAX_LABEL - 1].rstrip() + "…"
    parent = nodes.get(node.parent) if node.parent else None
    if parent is None or not parent.text:
        return text
    whole = parent.text.rpartition(" ")[0] if parent.role in ("slider", "stepper") else parent.text
    return f"{text} of {whole}"


def kind(node: UiNode) -> str:
    return KINDS.get(node.role, "element")


def tap(node: UiNode, name: str) -> tuple[str, str]:
    return f"Tap {name}", f"The {kind(node)} “{name}” is on the screen; I tap it."


def hold(node: UiNode, name: str) -> tuple[str, str]:
    return f"Press and hold {name}", f"Holding the {kind(node)} “{name}” should bring its actions."


def scroll(direction: str, name: str) -> tuple[str, str]:
    where = {"up": "further up", "down": "further down"}[direction]
    return f"Scroll {direction}", f"{name} must be {where}; I scroll {direction}."


def turn(direction: str) -> tuple[str, str]:
    return f"Swipe {direction}", f"What I look for is on the neighbouring page; I swipe {direction}."


def typing(text: str) -> tuple[str, str]:
    shown = " ".join(text.split())
    return f"Type “{shown}”", f"The cursor is in the right field; I type “{shown}”."


def opening(title: str) -> tuple[str, str]:
    return f"Open {title}", f"I need {title} now, so I open that app."


def button(name: str) -> tuple[str, str]:
    reasons = {
        "Back": "This is not where I need to be; I go back.",
        "Home": "I need another app, so I go to the home screen.",
        "Enter": "The text is complete; I press Enter.",
        "Menu": "I look for more options in the menu.",
    }
    return f"Press {name}", reasons[name]


def waiting(seconds: float) -> tuple[str, str]:
    return f"Wait {seconds:g} seconds", f"Nothing to do but let {seconds:g} seconds pass."


def answering(text: str) -> tuple[str, str]:
    return f"Answer “{text}”", f"I have found it: {text}."


def ending(status: str) -> tuple[str, str]:
    if status == "success":
        return "Say that the task is done", "Everything that was asked for is done."
    return "Say that the task cannot be done", "What the task needs is no longer there."
