"""Actions as touches and keys of a browser.

| action | what happens |
|---|---|
| click, long_press | a touch at the point, short or for as long as asked (at most 5 s) |
| swipe | where something can scroll: a finger that moves along the line in 0.3 s, rests, and lifts (nothing is flung); elsewhere a drag, as of a mouse |
| type | into what has the focus: a text of up to 200 printable ASCII characters key by key, any other at once; every line break in it presses Enter |
| system_button | Enter is the key; Back closes an open list of choices, and without one takes the focus (as it puts away a keyboard); Home and Menu do nothing |
| key | the few of `KEYS`, by adb's names; others do nothing |
| wait | so long, at most 10 s |
| open, answer, terminate | nothing: there is one page, and it does not hear answers |
"""

from __future__ import annotations

import math
import time
from typing import Any, Final

from sopbench.actions import Action, Click, Key, LongPress, Swipe, SystemButton, Type, Wait
from sopbench.geometry import Point
from sopbench.online.miniwob.browser import VIEWPORT, Browser, script

SWIPE_SECONDS: Final = 0.3
SWIPE_STEPS: Final = 15
REST_SECONDS: Final = 0.06
DOUBLE_TAP_SECONDS: Final = 0.45
DOUBLE_TAP_PIXELS: Final = 50
"""Chromium takes two touches within 0.3 s and some 20 pixels for a double tap (measured: at 15 pixels and 0.3 s it did, at 0.4 s not)."""
LONGEST_PRESS: Final = 5.0
LONGEST_WAIT: Final = 10.0
KEYED_CHARACTERS: Final = 200
MAX_LINES: Final = 200

KEYS: Final[dict[str, tuple[str, int]]] = {
    "enter": ("Enter", 13),
    "del": ("Backspace", 8),
    "forward_del": ("Delete", 46),
    "tab": ("Tab", 9),
    "escape": ("Escape", 27),
    "dpad_left": ("ArrowLeft", 37),
    "dpad_up": ("ArrowUp", 38),
    "dpad_right": ("ArrowRight", 39),
    "dpad_down": ("ArrowDown", 40),
    "page_up": ("PageUp", 33),
    "page_down": ("PageDown", 34),
    "move_home": ("Home", 36),
    "move_end": ("End", 35),
}
"""adb's name (Android's KeyEvent without KEYCODE_, in small letters): the DOM's name of the key, and its Windows virtual key code."""


def perform(browser: Browser, action: Action) -> None:
    match action:
        case Click(point):
            touch(browser, point, 0.0)
        case LongPress(point, seconds):
            touch(browser, point, min(max(seconds, 0.6), LONGEST_PRESS))
        case Swipe(start, end):
            swipe(browser, start, end)
        case Type(text):
            write(browser, text)
        case SystemButton("Enter"):
            press(browser, *KEYS["enter"])
        case SystemButton("Back"):
            browser.call("() => { document.dispatchEvent(new Event('sopbench-back')) }")
        case Key(code):
            known = KEYS.get(code.strip().lower().removeprefix("keycode_"))
            if known is not None:
                press(browser, *known)
        case Wait(seconds):
            time.sleep(min(seconds, LONGEST_WAIT))
        case _:
            return


def touch(browser: Browser, point: Point, seconds: float) -> None:
    if not _on_screen(point):
        return
    _apart(browser, point)
    _finger(browser, "touchStart", point)
    if seconds:
        time.sleep(seconds)
    _finger(browser, "touchEnd")
    browser.last_touch = (time.monotonic(), point.x * VIEWPORT.width, point.y * VIEWPORT.height)


def _apart(browser: Browser, point: Point) -> None:
    """Wait where this touch would make a double tap of the last one: a click is a click, however fast an agent is."""
    if browser.last_touch is None:
        return
    when, x, y = browser.last_touch
    near = math.hypot(point.x * VIEWPORT.width - x, point.y * VIEWPORT.height - y) < DOUBLE_TAP_PIXELS
    if near:
        time.sleep(max(0.0, when + DOUBLE_TAP_SECONDS - time.monotonic()))


def swipe(browser: Browser, start: Point, end: Point) -> None:
    """A touch that moves becomes no mouse event, and the pages' things to drag (jQuery UI's, and text to mark) know mouse events alone."""
    if not _on_screen(start):
        return
    if not browser.call(script("scrolls.js"), start.x * VIEWPORT.width, start.y * VIEWPORT.height):
        _drag(browser, start, end)
        return
    _finger(browser, "touchStart", start)
    for i in range(1, SWIPE_STEPS + 1):
        time.sleep(SWIPE_SECONDS / SWIPE_STEPS)
        part = i / SWIPE_STEPS
        _finger(browser, "touchMove", Point(start.x + (end.x - start.x) * part, start.y + (end.y - start.y) * part))
    time.sleep(REST_SECONDS)
    _finger(browser, "touchEnd")


def _drag(browser: Browser, start: Point, end: Point) -> None:
    _mouse(browser, "mouseMoved", start, 0)
    _mouse(browser, "mousePressed", start, 1)
    for i in range(1, SWIPE_STEPS + 1):
        part = i / SWIPE_STEPS
        _mouse(browser, "mouseMoved", Point(start.x + (end.x - start.x) * part, start.y + (end.y - start.y) * part), 1)
    _mouse(browser, "mouseReleased", end, 0)


def _mouse(browser: Browser, kind: str, point: Point, buttons: int) -> None:
    pressed: dict[str, Any] = {"button": "none" if kind == "mouseMoved" and not buttons else "left", "buttons": buttons}
    if kind != "mouseMoved":
        pressed["clickCount"] = 1
    browser.cdp(
        "Input.dispatchMouseEvent", type=kind, x=point.x * VIEWPORT.width, y=point.y * VIEWPORT.height, **pressed
    )


def write(browser: Browser, text: str) -> None:
    lines = text.replace("\r\n", "\n").split("\n", MAX_LINES)
    for number, line in enumerate(lines):
        if number:
            press(browser, *KEYS["enter"])
        if len(line) <= KEYED_CHARACTERS and line.isascii() and line.isprintable():
            for character in line:
                _character(browser, character)
        elif line:
            browser.cdp("Input.insertText", text=line.encode("utf-8", "replace").decode())


def press(browser: Browser, name: str, code: int) -> None:
    facts: dict[str, Any] = {"key": name, "code": name, "windowsVirtualKeyCode": code, "nativeVirtualKeyCode": code}
    said = {"text": "\r"} if name == "Enter" else {}
    browser.cdp("Input.dispatchKeyEvent", type="keyDown" if said else "rawKeyDown", **facts, **said)
    browser.cdp("Input.dispatchKeyEvent", type="keyUp", **facts)


def _character(browser: Browser, character: str) -> None:
    """A key that writes `character`. Only letters, digits and the space have key codes that are the same on every keyboard."""
    code = ord(character.upper()) if character.isalnum() or character == " " else 0
    facts: dict[str, Any] = {"key": character, "windowsVirtualKeyCode": code}
    browser.cdp("Input.dispatchKeyEvent", type="keyDown", text=character, **facts)
    browser.cdp("Input.dispatchKeyEvent", type="keyUp", **facts)


def _on_screen(point: Point) -> bool:
    return 0 <= point.x <= 1 and 0 <= point.y <= 1


def _finger(browser: Browser, kind: str, point: Point | None = None) -> None:
    points = [] if point is None else [{"x": point.x * VIEWPORT.width, "y": point.y * VIEWPORT.height}]
    browser.cdp("Input.dispatchTouchEvent", type=kind, touchPoints=points)
