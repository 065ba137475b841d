"""Our actions in AndroidWorld's words (`env/json_action.py`, carried out by `env/actuation.py`), and what those words lose.

`upstream`: everything goes through `execute_action`. Facts of its code at commit d9c569f that change what an agent's action does:
- `input_text` presses Enter after the text;
- a stroke has a direction and no place. `scroll` goes from the middle of the screen to an edge, with the direction in which the content moves on: `down` is a
  finger that goes up. `swipe` goes from edge to edge: its `up` and `down` are the finger's, its `left` is a finger that goes right. Of these
  eight strokes the one whose ends lie nearest to the action's is taken. (`scroll` could name an element, but not the first one: `if action.index`.)
- a long press takes one second, a wait one second, whatever was asked;
- `navigate_home` leaves a MiniWoB page, which begins anew when it is opened again;
- there is no word for Menu and for keys other than Enter, Back and Home: they are sent as key events through adb (`Keys`), and counted.

`mobile-agent`: as the runner of Mobile-Agent v3 and v3.5 has it (X-PLUG/MobileAgent, commit 11cea57, android_world_v3.5/android_world/env/actuation.py): the same, but that
swipes are the four coordinates that the agent gave, long presses the seconds, and that every action is followed by two seconds of waiting. Typing presses Enter there, too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from emulator.actuate import key_code
from sopbench.actions import Action, Answer, Click, Key, LongPress, Open, Swipe, SystemButton, Terminate, Type, Wait
from sopbench.geometry import Point, Size

SETTLE: Final = 2.0
"""Seconds after each action in `mobile-agent` (actuation.py there, its last line)."""
SWIPE_MS: Final = 500
"""Of a swipe there, as upstream's."""
STROKES: Final[dict[tuple[str, str], tuple[Point, Point]]] = {
    ("scroll", "down"): (Point(0.5, 0.5), Point(0.5, 0.0)),
    ("scroll", "up"): (Point(0.5, 0.5), Point(0.5, 1.0)),
    ("scroll", "right"): (Point(0.5, 0.5), Point(0.0, 0.5)),
    ("scroll", "left"): (Point(0.5, 0.5), Point(1.0, 0.5)),
    ("swipe", "down"): (Point(0.5, 0.0), Point(0.5, 1.0)),
    ("swipe", "up"): (Point(0.5, 1.0), Point(0.5, 0.0)),
    ("swipe", "left"): (Point(0.0, 0.5), Point(1.0, 0.5)),
    ("swipe", "right"): (Point(1.0, 0.5), Point(0.0, 0.5)),
}
"""From where to where upstream's strokes go, in unit coordinates (actuation.py, execute_adb_action)."""
_BUTTONS: Final = {"Back": "navigate_back", "Home": "navigate_home", "Enter": "keyboard_enter"}
_KEYS: Final = {"KEYCODE_BACK": "navigate_back", "KEYCODE_HOME": "navigate_home", "KEYCODE_ENTER": "keyboard_enter"}


@dataclass(frozen=True, slots=True)
class Words:
    """An action that upstream's `execute_action` carries out: the fields of a JSONAction."""

    fields: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Keys:
    """A key event that upstream has no word for."""

    code: str


@dataclass(frozen=True, slots=True)
class OnDevice:
    """A stroke or a press that goes to the device by adb, as it is: `mobile-agent`'s."""

    action: Action


Order: TypeAlias = Words | Keys | OnDevice


def order_of(action: Action, actuation: str, size: Size) -> Order | None:
    """What to do for `action` on a screen of `size`; None: nothing."""
    if actuation == "mobile-agent" and isinstance(action, Swipe | LongPress):
        return OnDevice(action)
    match action:
        case Click(point):
            return Words({"action_type": "click", **_place(point, size)})
        case LongPress(point):
            return Words({"action_type": "long_press", **_place(point, size)})
        case Swipe(start, end):
            return _stroke(start, end)
        case Type(text):
            return Words({"action_type": "input_text", "text": text.replace("\0", "")})
        case Open(app):
            return Words({"action_type": "open_app", "app_name": app})
        case SystemButton(button):
            return Words({"action_type": _BUTTONS[button]}) if button in _BUTTONS else Keys("KEYCODE_MENU")
        case Key(code):
            key = key_code(code)
            return Words({"action_type": _KEYS[key]}) if key in _KEYS else Keys(key)
        case Wait():
            return Words({"action_type": "wait"})
        case Answer(text):
            return Words({"action_type": "answer", "text": text})
        case Terminate(status):
            return Words({"action_type": "status", "goal_status": "complete" if status == "success" else "infeasible"})


def swipe_words(action: Swipe, size: Size) -> tuple[str, ...]:
    """The command of `mobile-agent`'s swipe for the device's shell."""
    ends = [*_pixels(action.start, size), *_pixels(action.end, size)]
    return ("input", "swipe", *map(str, ends), str(SWIPE_MS))


def _place(point: Point, size: Size) -> dict[str, int]:
    x, y = _pixels(point, size)
    return {"x": x, "y": y}


def _pixels(point: Point, size: Size) -> tuple[int, int]:
    """Whole pixels that lie on the screen."""
    x, y = point.to_pixels(size)
    return min(max(int(x), 0), size.width - 1), min(max(int(y), 0), size.height - 1)


def _stroke(start: Point, end: Point) -> Words | None:
    """The stroke of upstream's whose ends lie nearest; None for a finger that does not move."""
    if start == end:
        return None

    def far(stroke: tuple[str, str]) -> float:
        begins, ends = STROKES[stroke]
        along = (end.x - start.x) * (ends.x - begins.x) + (end.y - start.y) * (ends.y - begins.y)
        return (1e6 if along <= 0 else 0.0) + _between(begins, start) + _between(ends, end)

    kind, direction = min(STROKES, key=far)
    return Words({"action_type": kind, "direction": direction})


def _between(one: Point, other: Point) -> float:
    return math.hypot(one.x - other.x, one.y - other.y)
