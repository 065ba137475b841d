"""Experts for boxes to tick, lists to choose from, and sliders."""

from __future__ import annotations

import colorsys
import re
from typing import Final

from sopbench.actions import Action, Click, Key, Swipe
from sopbench.online.miniwob.look import Element, Page, at

HUES: Final = {"red": 0, "green": 120, "blue": 240}


def _named(page: Page) -> list[str]:
    names = page.asked(r"Select (.*) and click Submit")[0]
    return [] if names == "nothing" else names.split(", ")


def checkboxes(page: Page) -> Action | None:
    wanted = _named(page)
    labels, boxes = page.all("#area label"), page.all("#area label input")
    for label, box in zip(labels, boxes, strict=False):
        if box.checked != (label.text in wanted):
            return page.tap(box)
    return page.press("#subbtn")


def choose_list(page: Page) -> Action | None:
    wanted = page.asked(r"Select (.*) from the list")[0]
    return page.choose(page.find("#options"), [wanted]) or page.press("#area button")


def scroll_list(page: Page) -> Action | None:
    wanted = page.asked(r"Select (.*) from the scroll list")[0].split(", ")
    return page.choose(page.find("#options"), wanted) or page.press("#area button")


def shades(page: Page) -> Action | None:
    hue = HUES[page.asked(r"shades of (\w+)")[0]]
    for box in page.all("#area span"):
        if _of_hue(box, hue) != ("selected" in box.classes):
            return page.tap(box)
    return page.press("#area button")


def _of_hue(box: Element, hue: int) -> bool:
    red, green, blue = (part / 255 for part in box.rgb)
    here = colorsys.rgb_to_hsv(red, green, blue)[0] * 360
    return min(abs(here - hue), 360 - abs(here - hue)) < 30


def slider(page: Page) -> Action | None:
    """Touch the handle, then go step by step with the arrow keys; far away, touch the track nearby first."""
    wanted = int(page.asked(r"Select (-?\d+) with")[0])
    shown, track, handle = page.find("#val"), page.find("#slider"), page.find("#slider .ui-slider-handle")
    if shown is None or track is None or handle is None:
        return None
    now = int(shown.text)
    if now == wanted:
        return page.press("#subbtn")
    if not handle.focused:
        return page.tap(handle)
    known: dict[int, float] = page.memory.setdefault("known", {})
    upright = track.box[3] > track.box[2]
    place = handle.centre[1] if upright else handle.centre[0]
    known[now] = place
    if abs(wanted - now) > 3 and page.memory.get("jumps", 0) < 6:
        page.memory["jumps"] = page.memory.get("jumps", 0) + 1
        first, last = (
            (track.box[1] + track.box[3], track.box[1]) if upright else (track.box[0], track.box[0] + track.box[2])
        )
        there = [(value, spot) for value, spot in known.items() if value != now]
        if there:
            value, spot = max(there, key=lambda pair: abs(pair[0] - now))
            target = place + (wanted - now) * (spot - place) / (value - now)
        else:
            target = last if wanted > now else first
        target = max(min(first, last) + 0.5, min(max(first, last) - 0.5, target))
        x, y = track.centre
        return Click(at(x, target) if upright else at(target, y))
    return Key("dpad_right" if wanted > now else "dpad_left")


def search(page: Page) -> Action | None:
    """Search, leaf to the result's page, touch its title."""
    words = page.quoted()[0]
    number = int(page.asked(r"click the (\d+)")[0]) - 1
    todo = page.fill(page.find("#search-text"), words)
    if todo is not None:
        return todo
    titles = page.all("#page-content .search-title")
    if not titles:
        return page.press("#search")
    wanted = str(number // 3 + 1)
    active = page.find("#pagination li.active")
    if active is None or active.text != wanted:
        return page.press("#pagination li a", wanted)
    return page.tap(titles[number % 3])


def posts(page: Page) -> Action | None:
    """The button of some posts of one user; a button that was touched looks so."""
    user = page.asked(r"(@\w+)")[0]
    named = page.quoted()[0]
    count = re.search(r"on (\d+) posts?", page.goal)
    mine = [number for number, name in enumerate(page.all("#area .media .username")) if name.text == user]
    wanted = mine[: int(count.group(1))] if count is not None else mine
    direct = {"Reply": "reply", "Retweet": "retweet", "Like": "like", "Share": "share"}.get(named)
    buttons = page.all(f"#area .media .controls > span.{direct}") if direct is not None else []
    if "Submit" not in page.goal:
        return _one_button(page, mine[0], named, buttons) if mine else None
    for number in wanted:
        if number < len(buttons) and "active" not in buttons[number].classes:
            return page.tap(buttons[number])
    return page.press("#submitRow button")


def _one_button(page: Page, number: int, named: str, buttons: list[Element]) -> Action | None:
    """A button of a post, or of the menu behind its dots."""
    if buttons:
        return page.tap(buttons[number])
    item = page.find("#area .media ul:not(.hide) li", named)
    if item is not None:
        return page.tap(item)
    dots = page.all("#area .media .controls .more")
    return page.tap(dots[number]) if number < len(dots) else None


def scroll_to_end(page: Page) -> Action | None:
    """Swipe within the text until it shows its end, or its beginning."""
    turns = page.memory["turns"] = page.memory.get("turns", 0) + 1
    area = page.find("#text-area")
    if area is None or turns > 12:
        return page.press("#subbtn")
    left, top, width, height = area.box
    x, high, low = left + width / 2, top + height * 0.15, top + height * 0.85
    return Swipe(at(x, low), at(x, high)) if "bottom" in page.goal else Swipe(at(x, high), at(x, low))


EXPERTS: Final = {
    "choose-list": choose_list,
    "click-checkboxes": checkboxes,
    "click-checkboxes-large": checkboxes,
    "click-checkboxes-transfer": checkboxes,
    "click-option": checkboxes,
    "click-scroll-list": scroll_list,
    "click-shades": shades,
    "scroll-text-2": scroll_to_end,
    "search-engine": search,
    "social-media": posts,
    "social-media-all": posts,
    "social-media-some": posts,
    "use-slider": slider,
}
