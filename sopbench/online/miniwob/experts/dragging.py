"""Experts for things to drag: boxes, corners, text to mark."""

from __future__ import annotations

from typing import Final

from sopbench.actions import Action, Swipe
from sopbench.online.miniwob.look import Element, Page, at


def box(page: Page) -> Action | None:
    """Drag the small box into the middle of the large one."""
    small, large = page.find("#draggableSmall"), page.find("#draggableLarge")
    if small is None or large is None:
        return None
    apart = max(abs(small.centre[0] - large.centre[0]), abs(small.centre[1] - large.centre[1]))
    if apart < 5:
        return page.press("#subbtn")
    grip = small.hit or small.centre
    dx, dy = grip[0] - small.centre[0], grip[1] - small.centre[1]
    return Swipe(at(*grip), at(large.centre[0] + dx, large.centre[1] + dy))


def corner(page: Page) -> Action | None:
    """Drag the corner outwards or inwards, then press the button."""
    handle = page.find("#area .ui-resizable-se")
    if handle is None:
        return None
    if page.memory.get("dragged"):
        return page.press("#submit")
    page.memory["dragged"] = True
    by = 15 if "larger" in page.goal else -15
    x, y = handle.centre
    return Swipe(at(x, y), at(x + by, y + by))


def _marked(page: Page, text: Element | None) -> Action | None:
    if text is None:
        return None
    if page.memory.get("marked"):
        return page.press("#subbtn")
    page.memory["marked"] = True
    left, top, width, height = text.box
    return Swipe(at(left + 0.5, top + 3), at(left + width - 1, top + height - 2))


def text(page: Page) -> Action | None:
    return _marked(page, page.find("#randomText"))


def paragraph(page: Page) -> Action | None:
    number = int(page.asked(r"the (\d)")[0])
    there = page.all("#area p")
    return _marked(page, there[number - 1]) if number <= len(there) else None


EXPERTS: Final = {
    "drag-box": box,
    "highlight-text": text,
    "highlight-text-2": paragraph,
    "resize-textarea": corner,
}
