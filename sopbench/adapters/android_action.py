"""AndroidWorld's JSON actions and OS-Genesis' dialect of them: `{"action_type": "click", "x": .., "y": ..}`, both ways.

Facts from google-research/android_world d9c569f, `android_world/env/json_action.py` (names and fields) and `env/actuation.py` (what each does), and from
OS-Copilot/OS-Genesis e9178a8, `evaluation/android_world/genesis_agents.py` (`type`, `successful`).

Directions: `scroll` names the content's side that comes into view, so `down` is a finger that moves up. AndroidWorld's `swipe` is the finger's for `up` and `down`,
but in its code `left` draws the finger from the left edge to the right one, and `right` back: there, the words are the content's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sopbench.actions import (
    Action,
    Answer,
    Click,
    Direction,
    LongPress,
    Open,
    Swipe,
    SystemButton,
    Terminate,
    Type,
    Wait,
    from_released,
    swipe_direction,
)
from sopbench.adapters.arguments import Note, read_number, read_text, read_word
from sopbench.adapters.base import MAX_REPLY, ParsedReply, ParseFailure
from sopbench.adapters.loose_json import Bare
from sopbench.adapters.objects import ObjectForm, find_object
from sopbench.adapters.scrolling import finger_path, opposite, read_direction
from sopbench.errors import ActionError, CannotExpress, shown
from sopbench.geometry import Point, Size

_FORM = ObjectForm(keys=("action_type",), labelled=True)
SECONDS: Final = 1.0
"""How long AndroidWorld waits and holds: its words carry no time (`actuation.py`: a sleep of 1 s; `adb_utils.long_press`: 1,000 ms)."""

LEAVES_OUT: Final = frozenset({"swipe.path", "long_press.seconds", "wait.seconds"})
EXPRESSES: Final = frozenset(
    {"click", "long_press", "swipe", "type", "open", "system_button", "wait", "answer", "terminate"}
)

_BUTTONS = {"navigate_back": "Back", "navigate_home": "Home", "keyboard_enter": "Enter"}
_BUTTON_WORDS = {button: word for word, button in _BUTTONS.items()}
_STATUSES = {
    "complete": "success",
    "task_complete": "success",
    "successful": "success",
    "infeasible": "failure",
}
_SWIPES: Mapping[Direction, Direction] = {"up": "up", "down": "down", "left": "right", "right": "left"}
_UNSAYABLE = {
    "double_tap": "a double tap is no action of the benchmark",
    "get_text": "reading a text does nothing on the phone",
    "unknown": "the agent says itself that it knows no action",
}


def parse_android(text: str, sent: Size, own: frozenset[str]) -> ParsedReply | ParseFailure:
    """Read a reply whose x and y are pixels of an image of size `sent`. Never raises.

    `own` are the dialect's names; another that means a known action is read under the note `foreign_name`.
    """
    if len(text) > MAX_REPLY:
        return ParseFailure("reply_too_long", f"{len(text)} characters, more than {MAX_REPLY}")
    notes: dict[str, None] = {}

    def note(name: str) -> None:
        notes[name] = None

    try:
        found = find_object(text, _FORM)
        name = _name(found.value, note)
        action = _read(name, found.value, sent, note)
    except ActionError as error:
        return ParseFailure(error.reason, error.detail)
    if name not in own:
        note("foreign_name")
    return ParsedReply(action, found.before, tuple(dict.fromkeys((*found.notes, *notes))))


def say_android_action(
    family: str, action: Action, size: Size, sent: Size, *, type_word: str, success_word: str
) -> dict[str, Any]:
    """The object for `action` on a screen of `size`. `type_word` is how the dialect says typing, `success_word` its goal status.

    Raises `CannotExpress`.
    """
    match action:
        case Click(point):
            return {"action_type": "click", **_xy(point, sent)}
        case LongPress(point, _):
            return {"action_type": "long_press", **_xy(point, sent)}
        case Swipe(start, end) if direction := swipe_direction(start, end, size):
            return {"action_type": "scroll", "direction": opposite(direction)}
        case Type(text):
            return {"action_type": type_word, "text": text}
        case Open(app):
            return {"action_type": "open_app", "app_name": app}
        case SystemButton(button) if button in _BUTTON_WORDS:
            return {"action_type": _BUTTON_WORDS[button]}
        case Wait(_):
            return {"action_type": "wait"}
        case Answer(text):
            return {"action_type": "answer", "text": text}
        case Terminate(status):
            return {"action_type": "status", "goal_status": success_word if status == "success" else "infeasible"}
    raise CannotExpress(f"{family} has no words for {action}")


def can_say(action: Action) -> bool:
    """Menu has no word, and a swipe that goes nowhere has no direction."""
    match action:
        case SystemButton(button):
            return button in _BUTTON_WORDS
        case Swipe(start, end):
            return start != end
    return action.kind in EXPRESSES


def _read(name: str, obj: Mapping[str, Any], sent: Size, note: Note) -> Action:
    match name:
        case "click" | "long_press":
            return from_released({"action": name, "coordinate": _point(name, obj, note), "time": SECONDS}, sent)
        case "dismiss":
            note("dismiss_is_click")
            return from_released({"action": "click", "coordinate": _point(name, obj, note)}, sent)
        case "scroll" | "swipe":
            direction = _direction(name, obj)
            if obj.get("index") is not None:
                note("index_left_aside")
            return finger_path(opposite(direction) if name == "scroll" else _SWIPES[direction])
        case "input_text" | "type":
            if obj.get("index") is not None:
                note("index_left_aside")
            return from_released({"action": "type", "text": read_text(_argument(name, obj, "text"), note)}, sent)
        case "answer":
            return from_released({"action": "answer", "text": read_text(_argument(name, obj, "text"), note)}, sent)
        case "open_app":
            return from_released({"action": "open", "text": read_text(_argument(name, obj, "app_name"), note)}, sent)
        case "wait":
            return Wait(SECONDS)
        case "status":
            return _status(read_word(_argument(name, obj, "goal_status"), "goal_status"))
    if name in _BUTTONS:
        return from_released({"action": "system_button", "button": _BUTTONS[name]}, sent)
    why = _UNSAYABLE.get(name, "it is not among AndroidWorld's actions")
    raise ActionError("unknown_action", f"{name[:60]!r}: {why}")


def _name(obj: Mapping[str, Any], note: Note) -> str:
    value = obj.get("action_type")
    if value is None:
        raise ActionError("no_action", f"no `action_type` in {shown(dict(obj))}")
    if not isinstance(value, str | Bare):
        raise ActionError("unknown_action", f"the action's name is not a text: {shown(value)}")
    word = read_word(value, "action_type")
    plain = word.strip().lower().replace("-", "_").replace(" ", "_")
    if plain != word:
        note("action_name_case")
    return plain


def _argument(name: str, obj: Mapping[str, Any], field: str) -> Any:
    if obj.get(field) is None:
        raise ActionError("missing_argument", f"{name} without {field}: {shown(dict(obj))}")
    return obj[field]


def _point(name: str, obj: Mapping[str, Any], note: Note) -> list[float]:
    if obj.get("index") is not None:
        raise ActionError(
            "bad_argument",
            f"{name} by index {shown(obj['index'])}: the request shows no list of elements, only a screen",
        )
    return [read_number(_argument(name, obj, axis), axis, note) for axis in ("x", "y")]


def _direction(name: str, obj: Mapping[str, Any]) -> Direction:
    word = read_word(_argument(name, obj, "direction"), "direction")
    direction = read_direction(word)
    if direction is None:
        raise ActionError("bad_argument", f"{name}: {shown(word)} is not up, down, left or right")
    return direction


def _status(word: str) -> Action:
    plain = word.strip().lower().replace(" ", "_")
    if plain not in _STATUSES:
        raise ActionError("bad_argument", f"goal_status is not one of {', '.join(_STATUSES)}: {shown(word)}")
    return Terminate("success" if _STATUSES[plain] == "success" else "failure")


def _xy(point: Point, sent: Size) -> dict[str, int]:
    x, y = point.to_pixels(sent)
    return {"x": round(x), "y": round(y)}
