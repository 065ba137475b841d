"""Actions as commands of a device's own `input`: the same for a real phone, an emulator and the simulated one.

Texts and names come from models: each word is quoted for the device's shell (`emulator.adb.quoted`), and nothing else is built of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from emulator.adb import quoted
from sopbench.actions import Action, Answer, Click, Key, LongPress, Open, Swipe, SystemButton, Terminate, Type, Wait
from sopbench.geometry import Point, Size

SHORTEST_HOLD: Final = 0.6
LONGEST_HOLD: Final = 10.0
"""Seconds of a long press: long enough to be one (Android's time-out is 0.4 to 0.5 s), and bounded."""
SWIPE_MS: Final = 300
TEXT_PIECE: Final = 1000
"""Letters in one `input text`: a command line has an end."""
_BUTTONS: Final = {"Back": "KEYCODE_BACK", "Home": "KEYCODE_HOME", "Menu": "KEYCODE_MENU", "Enter": "KEYCODE_ENTER"}
_CODE: Final = re.compile(r"[A-Z0-9_]{1,60}")
UNKNOWN_KEY: Final = "0"

PackageOf = Callable[[str], str | None]
"""The package that an app's name stands for, or None."""


def commands(action: Action, size: Size, package_of: PackageOf) -> list[str]:
    """The command lines for the device's shell that perform `action` on a screen of `size`, in order.

    `answer` and `terminate` have none. `wait` is the device's own `sleep`: a real one takes that long, the simulated one lets its time pass.
    """
    match action:
        case Click(point):
            return [quoted("input", "tap", *_pixels(point, size))]
        case LongPress(point, seconds):
            ms = round(min(max(seconds, SHORTEST_HOLD), LONGEST_HOLD) * 1000)
            return [quoted("input", "swipe", *_pixels(point, size), *_pixels(point, size), str(ms))]
        case Swipe(start, end):
            return [quoted("input", "swipe", *_path(start, end, size), str(SWIPE_MS))]
        case Type(text):
            return [quoted("input", "text", piece) for piece in pieces(text)]
        case Open(app):
            package = package_of(app)
            return [quoted("monkey", "-p", package or _nameless(app), "-c", "android.intent.category.LAUNCHER", "1")]
        case SystemButton(button):
            return [quoted("input", "keyevent", _BUTTONS[button])]
        case Key(code):
            return [quoted("input", "keyevent", key_code(code))]
        case Wait(seconds):
            return [quoted("sleep", _decimal(seconds))]
        case Answer() | Terminate():
            return []


def _decimal(value: float) -> str:
    """A number without an exponent, to a millionth."""
    return f"{value:.6f}".rstrip("0").rstrip(".") or "0"


def _pixels(point: Point, size: Size) -> list[str]:
    return [_decimal(value) for value in point.to_pixels(size)]


def _path(start: Point, end: Point, size: Size) -> list[str]:
    """A swipe that does not move is sent as one of a pixel: `input` makes taps and long presses of those that stand still."""
    (x1, y1), (x2, y2) = start.to_pixels(size), end.to_pixels(size)
    if (x1, y1) == (x2, y2):
        y2 += 1
    return [_decimal(value) for value in (x1, y1, x2, y2)]


def _nameless(app: str) -> str:
    """The name of an app that is not known, as monkey will be asked for it: never empty, never an option."""
    name = " ".join(app.split())[:100]
    return name if name and not name.startswith("-") else f"?{name}"


def key_code(code: str) -> str:
    """A key for `input keyevent`: a number, or a name with KEYCODE_. What cannot be one becomes `KEYCODE_UNKNOWN`, which does nothing."""
    name = code.strip().upper()
    if not _CODE.fullmatch(name):
        return UNKNOWN_KEY
    return name if name.isdigit() or name.startswith("KEYCODE_") else f"KEYCODE_{name}"


def pieces(text: str) -> Iterator[str]:
    """`text` in pieces for `input text`, which reads `%s` as a space: none of them has that pair, and only the last ends in a newline.

    Typed one after the other they are the text. Zero bytes, which no command line can hold, are left out.
    """
    text = text.replace("\0", "")
    start = 0
    while True:
        end = min(len(text), start + TEXT_PIECE)
        literal = text.find("%s", start, end + 1)
        if literal >= 0:
            end = literal + 1
        if end >= len(text):
            yield text[start:]
            return
        cut = end
        while cut > start + 1 and text[cut - 1] == "\n":
            cut -= 1
        if text[cut - 1] == "\n":  # nothing but newlines: go on to the letter after them
            cut = end
            while cut < len(text) and text[cut - 1] == "\n":
                cut += 1
        yield text[start:cut]
        start = cut
        if start >= len(text):
            return
