"""Hands for tests: touch things by the ids of the UI tree."""

from __future__ import annotations

from emulator.pocket.phone import Outcome, Phone
from emulator.pocket.scene import UiNode
from sopbench.actions import Click, LongPress, Swipe
from sopbench.geometry import Point


def node(phone: Phone, id: str) -> UiNode:
    """The visible node with this id."""
    found = [candidate for candidate in phone.ui() if candidate.id == id]
    assert found, f"{id} is not on the screen; there are {[n.id for n in phone.ui()]}"
    return found[0]


def has(phone: Phone, id: str) -> bool:
    return any(candidate.id == id for candidate in phone.ui())


def middle(phone: Phone, id: str) -> Point:
    """The middle of a node in unit coordinates."""
    centre = node(phone, id).centre
    return Point(centre.x / phone.size.width, centre.y / phone.size.height)


def tap(phone: Phone, id: str) -> Outcome:
    return phone.act(Click(middle(phone, id)))


def hold(phone: Phone, id: str) -> Outcome:
    return phone.act(LongPress(middle(phone, id)))


def swipe(phone: Phone, dx: float, dy: float) -> Outcome:
    """Move the finger by this part of the screen, starting in its middle."""
    return phone.act(Swipe(Point(0.5, 0.5), Point(0.5 + dx, 0.5 + dy)))
