"""Experts for tasks of touches alone: buttons, links, tabs, dialogs, folders."""

from __future__ import annotations

import re
from typing import Final

from sopbench.actions import Action
from sopbench.online.miniwob.look import Element, Page

COLOURS: Final[dict[str, tuple[int, int, int]]] = {
    "red": (255, 0, 0),
    "blue": (0, 0, 255),
    "olive": (128, 128, 0),
    "lime": (0, 255, 0),
    "black": (0, 0, 0),
    "white": (255, 255, 255),
    "grey": (128, 128, 128),
    "purple": (128, 0, 128),
    "orange": (255, 165, 0),
    "yellow": (255, 255, 0),
    "cyan": (0, 255, 255),
    "pink": (255, 192, 203),
    "magenta": (255, 0, 255),
}
"""CSS's named colours."""
SHAPES: Final = {"circle": "circle", "rect": "rectangle", "polygon": "triangle"}


def button(page: Page) -> Action | None:
    return page.press("#area button", page.quoted()[0])


def only_button(page: Page) -> Action | None:
    return page.press("#area button")


def button_one(page: Page) -> Action | None:
    return page.press("#area button", "ONE")


def one_then_two(page: Page) -> Action | None:
    first = not page.memory.get("one")
    page.memory["one"] = True
    return page.press("#area button", "ONE" if first else "TWO")


def close_dialog(page: Page) -> Action | None:
    return page.press(".ui-dialog-titlebar-close")


def dialog_button(page: Page) -> Action | None:
    label = page.quoted()[0]
    return close_dialog(page) if label == "x" else page.press(".ui-dialog-buttonset button", label)


def link(page: Page) -> Action | None:
    return page.press("#area .alink", page.quoted()[0])


def tab(page: Page) -> Action | None:
    return page.press("#area ul a", page.asked(r"(Tab #\d)")[0])


def link_in_sections(page: Page) -> Action | None:
    """Open one section after another until the link is seen."""
    return _opened(page, "#area .ui-accordion-header")


def link_in_tabs(page: Page) -> Action | None:
    return _opened(page, "#area .ui-tabs-anchor")


def _opened(page: Page, headers: str) -> Action | None:
    target = link(page)
    if target is not None:
        return target
    there = page.all(headers)
    turn = page.memory["turn"] = page.memory.get("turn", -1) + 1
    return page.tap(there[turn % len(there)]) if there else None


def section(page: Page) -> Action | None:
    content = page.find("#area .ui-accordion-content")
    return page.press("#subbtn") if content is not None else page.press("#area .ui-accordion-header")


def coloured_box(page: Page) -> Action | None:
    wanted = COLOURS.get(page.asked(r"Click on the (\w+) colored")[0])
    return page.tap(next((e for e in page.all("#area .color") if e.rgb == wanted), None))


def widget(page: Page) -> Action | None:
    kind = page.quoted()[0]
    selector = {
        "radio": "input[type=radio]",
        "checkbox": "input[type=checkbox]",
        "text": "input:not([type=radio]):not([type=checkbox])",
    }
    return page.press(f"#area {selector.get(kind, kind)}")


def coordinate(page: Page) -> Action | None:
    """The dot nearest to where the grid's units lead."""
    x, y = (int(n) for n in page.asked(r"\((-?\d+),\s*(-?\d+)\)"))
    grid = page.find("#area svg")
    if grid is None:
        return None
    cx, cy = grid.box[0] + 75 + 30 * x, grid.box[1] + 75 - 30 * y
    dots = page.all("#area svg circle")
    return page.tap(min(dots, key=lambda d: (d.centre[0] - cx) ** 2 + (d.centre[1] - cy) ** 2, default=None))


def folder(page: Page) -> Action | None:
    """Open folders, one after another, until the name is seen."""
    names = page.all("#tree li > span")
    wanted = next((e for e in names if e.text == page.quoted()[0]), None)
    if wanted is not None:
        return page.tap(wanted)
    opened: list[str] = page.memory.setdefault("opened", [])
    for number, closed in enumerate(page.all("#tree li.expandable > span.folder")):
        mark = f"{closed.text}{number}"
        if mark not in opened:
            opened.append(mark)
            return page.tap(closed)
    return None


def named_shape(page: Page) -> Action | None:
    """Which of letter, number and the shapes the one figure is."""
    figure = page.find("#area_svg > *")
    if figure is None:
        return None
    kind = SHAPES.get(figure.tag, "letter" if figure.text.isalpha() else "number")
    return page.tap(next((b for b in page.all("#area-buttons button") if b.text.lower() == kind), None))


def shape(page: Page) -> Action | None:
    fitting = _shapes(page, re.sub(r"^Click on an? ", "", page.goal))
    return page.tap(fitting[0]) if fitting else None


def count_shapes(page: Page) -> Action | None:
    words = page.asked(r"How many (.*)s are there")[0]
    return page.press("#count-buttons button", str(len(_shapes(page, words))))


def _shapes(page: Page, words: str) -> list[Element]:
    """The figures that fit "small red circle", "large item", "blue digit", "letter E"..."""
    figures = page.all("#area_svg > *")
    asked = words.split()
    sizes = [max(f.box[2], f.box[3]) for f in figures]
    middle = (min(sizes) + max(sizes)) / 2 if sizes else 0.0
    found = []
    for figure, size in zip(figures, sizes, strict=True):
        drawn = figure.tag != "text"
        facts = {SHAPES.get(figure.tag, figure.text), "small" if size < middle else "large", "item"}
        facts.add(figure.attributes.get("fill", "").lower())
        facts.add("shape" if drawn else "digit" if figure.text.isdigit() else "letter")
        if all(word in facts for word in asked):
            found.append(figure)
    return found


def menu(page: Page) -> Action | None:
    """Open the menu, and its part "Playback" where the item is not in sight."""
    if page.find("#menu") is None:
        return page.press("#open-menu")
    named = page.quoted()
    icon = next((c for e in page.all("#query .ui-icon") for c in e.classes if c.startswith("ui-icon-")), None)
    for item in page.all("#menu li.ui-menu-item > div"):
        if len(named) > 1 and item.text == named[1]:
            return page.tap(item)
    if icon is not None and (shown := page.find(f"#menu .{icon}")) is not None:
        return page.tap(shown)
    return page.press("#menu li.ui-menu-item > div", "Playback")


EXPERTS: Final = {
    "click-button": button,
    "click-button-sequence": one_then_two,
    "click-collapsible": section,
    "click-collapsible-2": link_in_sections,
    "click-color": coloured_box,
    "click-dialog": close_dialog,
    "click-dialog-2": dialog_button,
    "click-link": link,
    "click-menu-2": menu,
    "click-shape": shape,
    "click-tab": tab,
    "click-tab-2": link_in_tabs,
    "click-tab-2-easy": link_in_tabs,
    "click-tab-2-hard": link_in_tabs,
    "click-tab-2-medium": link_in_tabs,
    "click-test": only_button,
    "click-test-2": button_one,
    "click-test-transfer": button_one,
    "click-widget": widget,
    "count-shape": count_shapes,
    "grid-coordinate": coordinate,
    "identify-shape": named_shape,
    "navigate-tree": folder,
    "unicode-test": button,
}
