"""The page as the scripted experts see it: shown elements, their words, colours and boxes. They touch what they see; nothing of the page is called."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from sopbench.actions import Action, Click, Key, Swipe, Type
from sopbench.geometry import Point
from sopbench.online.base import EnvironmentFailed
from sopbench.online.miniwob.browser import VIEWPORT, Browser, script

_NUMBERS: Final = re.compile(r"-?\d+(?:\.\d+)?")


@dataclass(frozen=True, slots=True)
class Element:
    """A shown element. Boxes (left, top, width, height) and `hit`, where a finger reaches it, in CSS pixels of the screen."""

    tag: str
    id: str
    classes: Sequence[str]
    text: str
    value: str
    checked: bool
    disabled: bool
    focused: bool
    box: Sequence[float]
    hit: Sequence[float] | None
    over: Sequence[float] | None
    """The box of what it scrolls in."""
    colour: str
    attributes: dict[str, str]

    @property
    def centre(self) -> tuple[float, float]:
        left, top, width, height = self.box
        return left + width / 2, top + height / 2

    @property
    def rgb(self) -> tuple[int, int, int]:
        """The background's colour; black where it has none."""
        found = [int(float(n)) for n in _NUMBERS.findall(self.colour)[:3]]
        return (found[0], found[1], found[2]) if len(found) == 3 else (0, 0, 0)

    def number(self, name: str) -> float:
        """A number among its attributes; 0 where it has none of that name."""
        found = _NUMBERS.search(self.attributes.get(name, ""))
        return float(found.group()) if found else 0.0


def at(x: float, y: float) -> Point:
    """CSS pixels as unit coordinates."""
    return Point(x / VIEWPORT.width, y / VIEWPORT.height)


class Page:
    """What an expert may ask. `goal`: the words of the task; `memory`: the expert's own notes of this episode."""

    def __init__(self, browser: Browser, goal: str, memory: dict[str, Any]) -> None:
        self._browser = browser
        self.goal, self.memory = goal, memory

    # ---- seeing
    def all(self, selector: str) -> list[Element]:
        """The shown elements that fit a CSS selector, in the page's order."""
        return self._seen(selector, False)

    def find(self, selector: str, text: str | None = None) -> Element | None:
        """The first of them, or the first with exactly these words."""
        return next((e for e in self.all(selector) if text is None or e.text == text), None)

    def choices(self) -> list[Element]:
        """The rows of an open list of choices."""
        return self._seen(".row, .ok", True)

    def quoted(self) -> list[str]:
        """What stands between double quotes in the goal."""
        return re.findall(r'"(.*?)"', self.goal)

    def asked(self, pattern: str) -> list[str]:
        """The groups of `pattern` in the goal. Raises `EnvironmentFailed` where it does not fit: the page is not the one that the expert knows."""
        found = re.search(pattern, self.goal)
        if found is None:
            raise EnvironmentFailed("expert_lost", f"the goal {self.goal[:100]!r} does not fit {pattern!r}")
        return list(found.groups())

    # ---- doing
    def tap(self, element: Element | None) -> Action | None:
        """Touch it; where it is scrolled away, scroll."""
        if element is None:
            return None
        if element.hit is not None:
            return Click(at(*element.hit))
        return self._towards(element)

    def press(self, selector: str, text: str | None = None) -> Action | None:
        return self.tap(self.find(selector, text))

    def fill(self, field: Element | None, text: str) -> Action | None:
        """The next action to have `text` in the field; None where it has."""
        if field is None or field.value == text:
            return None
        if not field.focused:
            if field.attributes.get("type") == "number":  # its right end is a pair of small buttons
                return Click(at(field.box[0] + 5, field.centre[1]))
            return self.tap(field)
        if not field.value:
            return Type(text)
        if self.memory.get("at_end") != field.value:  # behind what stands there, to take it away from its end
            self.memory["at_end"] = field.value
            return Key("move_end")
        self.memory["at_end"] = field.value[:-1]
        return Key("del")

    def choose(self, select: Element | None, wanted: Sequence[str]) -> Action | None:
        """The next action to have exactly the options `wanted` chosen in a list of choices; None where they are."""
        if select is None:
            return None
        rows = self.choices()
        if not rows:
            chosen = [o.text for o in self.options(select)]
            return None if sorted(chosen) == sorted(wanted) else self.tap(select)
        for row in rows:
            wrong = "ok" not in row.classes and ("on" in row.classes) != (row.text in wanted)
            if wrong and ("many" in row.classes or row.text in wanted):
                return self.tap(row)
        return self.tap(
            next((r for r in rows if "ok" in r.classes), None) or next(r for r in rows if "on" in r.classes)
        )

    def options(self, select: Element) -> list[Element]:
        """The chosen options of a <select>, shown or not."""
        told = self._browser.call(
            "(id) => [...document.querySelectorAll('select')].filter((s) => s.id === id)"
            ".flatMap((s) => [...s.selectedOptions].map((o) => o.text.slice(0, 200)))",
            select.id,
        )
        return [_element({"text": text}) for text in told or ()]

    def _towards(self, element: Element) -> Action | None:
        if element.over is None:
            return None
        left, top, width, height = element.over
        x, middle = left + width / 2, top + height / 2
        away = element.centre[1] - middle
        reach = max(-0.8 * height, min(0.8 * height, away))
        if abs(reach) < 1:
            return None
        return Swipe(at(x, middle + reach / 2), at(x, middle - reach / 2))

    def _seen(self, selector: str, inside: bool) -> list[Element]:
        told = self._browser.call(script("look.js"), selector, inside)
        return [_element(e) for e in told if isinstance(e, dict)] if isinstance(told, list) else []


def _element(told: dict[str, Any]) -> Element:
    return Element(
        tag=str(told.get("tag", "")),
        id=str(told.get("id", "")),
        classes=tuple(told.get("classes", ())),
        text=str(told.get("text", "")).strip(),
        value=str(told.get("value", "")),
        checked=told.get("checked") is True,
        disabled=told.get("disabled") is True,
        focused=told.get("focused") is True,
        box=tuple(told.get("box", (0.0, 0.0, 0.0, 0.0))),
        hit=tuple(told["hit"]) if told.get("hit") else None,
        over=tuple(told["over"]) if told.get("over") else None,
        colour=str(told.get("colour", "")),
        attributes=dict(told.get("attributes", {})),
    )
