"""What touches the screen and what looks at it: input, screencap, uiautomator."""

from __future__ import annotations

import re
from typing import Final

from emulator.sim.screens.base import LONG_PRESS_MS
from emulator.sim.shell.call import Call, Commands, Failed, encoded
from emulator.sim.ui import uiautomator_xml

MAX_MS: Final = 60_000.0
_SOURCES: Final = frozenset(
    ["touchscreen", "keyboard", "dpad", "trackball", "mouse", "stylus", "touchpad", "gamepad", "joystick"]
)


def input_(call: Call) -> None:
    words = list(call.args)
    while words and (words[0] in _SOURCES or words[0] == "-d"):
        del words[: 2 if words[0] == "-d" else 1]
    if not words:
        raise Failed("Usage: input [<source>] [-d DISPLAY_ID] <command> [<arg>...]", 255)
    verb, *rest = words
    android, screen = call.android, call.android.screen
    with android.lock:
        match verb, rest:
            case "tap", [x, y]:
                screen.tap(_number(x), _number(y))
            case "swipe" | "draganddrop", [x1, y1, x2, y2, *more] if len(more) < 2:
                _swipe(call, [_number(word) for word in (x1, y1, x2, y2)], _number(more[0]) if more else 300.0)
            case "text", _ if rest:
                screen.text(_typed(" ".join(rest)))
            case "keyevent", _:
                _keys(call, rest)
            case "keycombination", _ if rest:
                _combination(call, rest)
            case "motionevent" | "press" | "roll", _:
                raise Failed(f"`input {verb}` is not simulated", 255)
            case _:
                raise Failed(f"Invalid arguments for command: {verb[:40]}", 255)


def _number(word: str) -> float:
    if not re.fullmatch(r"-?\d{1,8}(\.\d{0,9})?", word):
        raise Failed(f"not a number: {word[:40]}", 255)
    return float(word)


def _swipe(call: Call, points: list[float], ms: float) -> None:
    x1, y1, x2, y2 = points
    ms = min(max(ms, 0.0), MAX_MS)
    if (x1, y1) == (x2, y2):
        if ms >= LONG_PRESS_MS:
            call.android.screen.hold(x1, y1, ms)
        else:
            call.android.screen.tap(x1, y1)
    else:
        call.android.screen.swipe(x1, y1, x2, y2, ms)


def _typed(text: str) -> str:
    """The text that `input text` types: `%s` is a space."""
    data = encoded(text.replace("%s", " "))
    try:
        return data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace")


def _keys(call: Call, words: list[str]) -> None:
    codes = [word for word in words if not word.startswith("--")]
    if not codes:
        raise Failed("Usage: input keyevent [--longpress] <key code number or name> ...", 255)
    for code in codes[:100]:
        name = code.strip().lower().removeprefix("keycode_")
        if name in ("endcall", "6") and call.android.telephony.state:
            call.android.telephony.state, call.android.telephony.number = 0, ""
        call.android.screen.key(name)


def _combination(call: Call, words: list[str]) -> None:
    codes = [word.lower().removeprefix("keycode_") for word in words if not word.startswith("-")]
    held = {"113", "ctrl_left", "114", "ctrl_right"}
    if len(codes) == 2 and codes[0] in held and codes[1] in ("29", "a"):
        call.android.screen.key("select_all")
        return
    for code in codes[:20]:
        call.android.screen.key(code)


def screencap(call: Call) -> None:
    """A PNG on standard output, or in the file that is named. Black where that fault is on."""
    on, _, names = call.split("pdah")
    with call.android.lock:
        data = screenshot(call)
    if names:
        call.android.files.write(call.path(names[0]), data)
    elif "p" in on:
        call.out.write(data)
    else:
        raise Failed("raw pixels are not simulated: use -p")


def screenshot(call: Call) -> bytes:
    from emulator.sim.pictures import black_png

    android = call.android
    return black_png(android.screen.size) if android.faults.on("black_screen") else android.screen.png()


def uiautomator(call: Call) -> None:
    if call.args[:1] != ["dump"]:
        raise Failed("only `uiautomator dump [--compressed] [FILE]` is simulated")
    names = [word for word in call.args[1:] if not word.startswith("--")]
    with call.android.lock:
        elements, size = call.android.screen.elements(), call.android.screen.size
    text = encoded(uiautomator_xml(elements, size))
    target = names[0] if names else "/sdcard/window_dump.xml"
    if target == "/dev/tty":
        call.out.write(text + b"\n")
        call.print("UI hierchary dumped to: /dev/tty")
        return
    call.android.files.write(call.path(target), text)
    call.print(f"UI hierchary dumped to: {target}")


COMMANDS: Commands = {"input": input_, "screencap": screencap, "uiautomator": uiautomator}
