"""The one action space, in the names of the UI-S1 release.

Points are unit coordinates (see `sopbench.geometry`). The JSON form of data files, journals and most models
(`{"action": "click", "coordinate": [x, y]}`) carries pixels of some image; `from_released` and `to_released` are the only
places where the two meet, and they take the size of that image.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias, get_args

from sopbench.errors import ActionError, shown
from sopbench.geometry import Point, Size

Button = Literal["Back", "Home", "Menu", "Enter"]
Status = Literal["success", "failure"]
BUTTONS: tuple[str, ...] = get_args(Button)
STATUSES: tuple[str, ...] = get_args(Status)

MAX_TEXT = 20_000
MAX_COORDINATE = 1e7
DEFAULT_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Click:
    point: Point
    kind: ClassVar[str] = "click"


@dataclass(frozen=True, slots=True)
class LongPress:
    point: Point
    seconds: float = DEFAULT_SECONDS
    kind: ClassVar[str] = "long_press"


@dataclass(frozen=True, slots=True)
class Swipe:
    """The finger's path: a finger that moves up scrolls the content down."""

    start: Point
    end: Point
    kind: ClassVar[str] = "swipe"


@dataclass(frozen=True, slots=True)
class Type:
    text: str
    kind: ClassVar[str] = "type"


@dataclass(frozen=True, slots=True)
class Open:
    """Open an app by the name that its launcher icon bears."""

    app: str
    kind: ClassVar[str] = "open"


@dataclass(frozen=True, slots=True)
class SystemButton:
    button: Button
    kind: ClassVar[str] = "system_button"


@dataclass(frozen=True, slots=True)
class Key:
    """A key event in the syntax of adb's `input keyevent`, such as `volume_up`."""

    code: str
    kind: ClassVar[str] = "key"


@dataclass(frozen=True, slots=True)
class Wait:
    seconds: float = DEFAULT_SECONDS
    kind: ClassVar[str] = "wait"


@dataclass(frozen=True, slots=True)
class Answer:
    text: str
    kind: ClassVar[str] = "answer"


@dataclass(frozen=True, slots=True)
class Terminate:
    status: Status
    kind: ClassVar[str] = "terminate"


Action: TypeAlias = Click | LongPress | Swipe | Type | Open | SystemButton | Key | Wait | Answer | Terminate
ACTION_KINDS: tuple[str, ...] = tuple(a.kind for a in get_args(Action))
ARGUMENTS: Mapping[str, tuple[str, ...]] = {
    "click": ("coordinate",),
    "long_press": ("coordinate", "time"),
    "swipe": ("coordinate", "coordinate2"),
    "type": ("text",),
    "open": ("text",),
    "system_button": ("button",),
    "key": ("text",),
    "wait": ("time",),
    "answer": ("text",),
    "terminate": ("status",),
}
"""The fields of the released form, by kind."""

Direction = Literal["up", "down", "left", "right"]


def swipe_direction(start: Point, end: Point, size: Size) -> Direction | None:
    """Where the finger goes, by the dominant axis in pixels of the screen; None where it does not move."""
    dx, dy = (end.x - start.x) * size.width, (end.y - start.y) * size.height
    if dx == 0 and dy == 0:
        return None
    if abs(dx) > abs(dy):
        return "right" if dx > 0 else "left"
    return "down" if dy > 0 else "up"


def from_released(obj: Mapping[str, Any], size: Size) -> Action:
    """The action that `obj` says, its coordinates being pixels of an image of `size`.

    Exactly the released form: no repair happens here (adapters repair what models emit). Unknown extra fields are ignored, as
    data files carry some (`bbox`).

    Raises `ActionError` with reason `unknown_action`, `missing_argument` or `bad_argument`.
    """
    kind = obj.get("action")
    if not isinstance(kind, str):
        raise ActionError("unknown_action", f"no action name in {shown(obj)}")
    match kind:
        case "click":
            return Click(_point(obj, "coordinate", size))
        case "long_press":
            return LongPress(_point(obj, "coordinate", size), _seconds(obj))
        case "swipe":
            return Swipe(_point(obj, "coordinate", size), _point(obj, "coordinate2", size))
        case "type":
            return Type(_text(obj, "text"))
        case "open":
            return Open(_text(obj, "text"))
        case "key":
            return Key(_text(obj, "text"))
        case "answer":
            return Answer(_text(obj, "text"))
        case "wait":
            return Wait(_seconds(obj))
        case "system_button":
            return SystemButton(_choice(obj, "button", BUTTONS))  # type: ignore[arg-type]  # _choice returns one of BUTTONS
        case "terminate":
            return Terminate(_choice(obj, "status", STATUSES))  # type: ignore[arg-type]  # likewise one of STATUSES
    raise ActionError("unknown_action", f"{kind[:60]!r} is not one of {', '.join(ACTION_KINDS)}")


def released_only(obj: Mapping[str, Any]) -> dict[str, Any]:
    """`obj`, which `from_released` has read, without the fields that it ignores: what is kept of it has been checked."""
    kind = str(obj["action"])
    return {"action": kind} | {name: obj[name] for name in ARGUMENTS[kind] if name in obj}


def to_released(action: Action, size: Size) -> dict[str, Any]:
    """The released JSON form, coordinates in pixels of an image of `size` (ints where they are whole)."""
    match action:
        case Click(point):
            return {"action": "click", "coordinate": _pixels(point, size)}
        case LongPress(point, seconds):
            return {"action": "long_press", "coordinate": _pixels(point, size), "time": _whole(seconds)}
        case Swipe(start, end):
            return {"action": "swipe", "coordinate": _pixels(start, size), "coordinate2": _pixels(end, size)}
        case Type(text):
            return {"action": "type", "text": text}
        case Open(app):
            return {"action": "open", "text": app}
        case Key(code):
            return {"action": "key", "text": code}
        case Answer(text):
            return {"action": "answer", "text": text}
        case Wait(seconds):
            return {"action": "wait", "time": _whole(seconds)}
        case SystemButton(button):
            return {"action": "system_button", "button": button}
        case Terminate(status):
            return {"action": "terminate", "status": status}


def _pixels(point: Point, size: Size) -> list[int | float]:
    return [_whole(value) for value in point.to_pixels(size)]


def _whole(value: float) -> int | float:
    return int(value) if value == int(value) else value


def _argument(obj: Mapping[str, Any], name: str) -> Any:
    if name not in obj or obj[name] is None:
        raise ActionError("missing_argument", f"{obj.get('action')} without {name}: {shown(obj)}")
    return obj[name]


def _number(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ActionError("bad_argument", f"{what} is not a number: {shown(value)}")
    if isinstance(value, int) and abs(value) > MAX_COORDINATE:  # before float(): a huge int overflows there
        raise ActionError("bad_argument", f"{what} is out of all bounds")
    number = float(value)
    if not math.isfinite(number) or abs(number) > MAX_COORDINATE:
        raise ActionError("bad_argument", f"{what} is out of all bounds: {number}")
    return number


def _point(obj: Mapping[str, Any], name: str, size: Size) -> Point:
    value = _argument(obj, name)
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise ActionError("bad_argument", f"{name} is not [x, y]: {shown(value)}")
    return Point.from_pixels(_number(value[0], name), _number(value[1], name), size)


def _seconds(obj: Mapping[str, Any]) -> float:
    if obj.get("time") is None:
        return DEFAULT_SECONDS
    seconds = _number(obj["time"], "time")
    if seconds < 0:
        raise ActionError("bad_argument", f"time is negative: {seconds}")
    return seconds


def _text(obj: Mapping[str, Any], name: str) -> str:
    value = _argument(obj, name)
    if not isinstance(value, str):
        raise ActionError("bad_argument", f"{name} is not a text: {shown(value)}")
    if len(value) > MAX_TEXT:
        raise ActionError("bad_argument", f"{name} has {len(value)} characters, more than {MAX_TEXT}")
    return value


def _choice(obj: Mapping[str, Any], name: str, choices: tuple[str, ...]) -> str:
    value = _argument(obj, name)
    if isinstance(value, str):
        for choice in choices:
            if value.strip().lower() == choice.lower():
                return choice
    raise ActionError("bad_argument", f"{name} is not one of {', '.join(choices)}: {shown(value)}")
