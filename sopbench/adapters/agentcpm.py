"""AgentCPM-GUI: one compact JSON object with `thought` and one primitive (`POINT`, `PRESS`, `TYPE` or a wait), in per-mille of the screen.

Facts from OpenBMB/AgentCPM-GUI acbaf50: `README.md` (action space, sampling, vLLM), `eval/utils/schema/*.json` (which fields go together), `eval/utils/evaluator.py`
(a long press is a duration over the default of 200 ms; a status that ends the task overrides the rest), `eval/README.md` (frame, 1120 pixels, conversation).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from sopbench.actions import (
    Action,
    Click,
    Direction,
    LongPress,
    Swipe,
    SystemButton,
    Terminate,
    Type,
    Wait,
    from_released,
)
from sopbench.adapters.arguments import Note, read_coordinate, read_number, read_text, read_word
from sopbench.adapters.base import (
    MAX_REPLY,
    Adapter,
    Message,
    ParsedReply,
    ParseFailure,
    Part,
    PromptSource,
    Text,
    Turn,
)
from sopbench.adapters.calling import checked_turns
from sopbench.adapters.loose_json import Bare, without_lone_surrogates
from sopbench.adapters.objects import ObjectForm, find_object
from sopbench.adapters.scrolling import REACH, read_direction
from sopbench.errors import ActionError, CannotExpress, shown
from sopbench.geometry import PER_MILLE, Point, Size
from sopbench.prompts import builtin
from sopbench.prompts.texts import PromptTexts

LONG_PRESS_OVER: Final = 200
"""Milliseconds: the schema's default duration, which is a tap; the family's evaluator takes any longer touch for a long press."""

_PRIMITIVES = ("POINT", "PRESS", "TYPE")
_BEYOND = ("CLEAR", "DEEP_LINK", "OPEN_APP")
_FIELDS = {name.lower(): name for name in (*_PRIMITIVES, *_BEYOND, "to", "duration", "STATUS", "thought")} | {
    "think": "thought"
}
_FORM = ObjectForm(keys=tuple(_FIELDS), labelled=False)
_BUTTONS = {"HOME": "Home", "BACK": "Back", "ENTER": "Enter"}
_BUTTON_WORDS = {button: word for word, button in _BUTTONS.items()}
_GOING_ON = ("continue", "start")
_ENDS = {
    "finish": "success",
    "satisfied": "success",
    "impossible": "failure",
    "interrupt": "failure",
    "need_feedback": "failure",
}
_STEP: Mapping[Direction, tuple[int, int]] = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}


class AgentCPM(Adapter):
    name = "agentcpm"
    summary = "AgentCPM-GUI: compact JSON with thought, POINT, to, duration, PRESS, TYPE, STATUS"
    frame = "per-mille of the screen (0 to 1000), whatever size the image was sent in"
    history = (
        "none: the goal and the current screen. With --history-images N the N-1 turns before it stand there as a "
        "conversation, with the model's own raw replies"
    )
    expresses = frozenset({"click", "long_press", "swipe", "type", "system_button", "wait", "terminate"})
    default_images = 1
    image_limit = 1120
    leaves_out = frozenset({"long_press.seconds"})
    default_sampling = MappingProxyType({"temperature": 0.1, "top_p": 0.3, "max_tokens": 2048})
    server_flags = ("--trust-remote-code",)

    def __init__(self, texts: PromptTexts | None = None) -> None:
        self._texts = texts or builtin(self.name)

    def prompt_source(self) -> PromptSource:
        return self._texts.source()

    def sent_size(self, size: Size) -> Size:
        return PER_MILLE

    def render(self, goal: str, turns: Sequence[Turn], images: int) -> tuple[Message, ...]:
        """System, then the current turn; earlier turns only as far as their screens are sent."""
        first = min(checked_turns(turns, images), len(turns) - 1)
        question = Text(self._texts.fill("user", goal=without_lone_surrogates(goal)))
        messages = [Message("system", (Text(self._texts.fill("system")),))]
        for turn in turns[first:]:
            parts: list[Part] = [question]
            if images:
                parts.append(self.picture(turn.screen))
            messages.append(Message("user", tuple(parts)))
            if turn.reply is not None:
                messages.append(Message("assistant", (Text(without_lone_surrogates(turn.reply)),)))
        return tuple(messages)

    def parse(self, text: str, size: Size, sent: Size | None = None) -> ParsedReply | ParseFailure:
        if len(text) > MAX_REPLY:
            return ParseFailure("reply_too_long", f"{len(text)} characters, more than {MAX_REPLY}")
        notes: dict[str, None] = {}

        def note(name: str) -> None:
            notes[name] = None

        try:
            found = find_object(text, _FORM)
            fields = _known_fields(found.value, note)
            action = _action(fields, note)
        except ActionError as error:
            return ParseFailure(error.reason, error.detail)
        thought = fields.get("thought")
        if not isinstance(thought, str) or not thought.strip():
            thought = found.before
            if thought:
                note("text_before")
        thought = without_lone_surrogates(thought).strip() if thought else None
        return ParsedReply(action, thought, tuple(dict.fromkeys((*found.notes, *notes))))

    def can_express(self, action: Action) -> bool:
        return action.kind in self.expresses and not (isinstance(action, SystemButton) and action.button == "Menu")

    def format(self, action: Action, size: Size, thought: str | None = None) -> str:
        if not self.can_express(action):
            raise CannotExpress(f"{self.name} has no words for {action}")
        reply = ({"thought": thought} if thought else {}) | _fields_for(action)
        return json.dumps(reply, ensure_ascii=False, separators=(",", ":"))


def _known_fields(value: Mapping[str, Any], note: Note) -> dict[str, Any]:
    """The fields of the schema that say something; a null says nothing, except where it is all that a field can say."""
    fields: dict[str, Any] = {}
    for key, said in value.items():
        name = _FIELDS.get(key.strip().lower())
        if name is None:
            note("extra_fields")
        elif said is not None or name in _BEYOND:
            if name != key:
                note("field_name")
            fields.setdefault(name, said)
    return fields


def _action(fields: Mapping[str, Any], note: Note) -> Action:
    status = _status(fields)
    for name in _BEYOND:
        if name in fields:
            raise ActionError("unknown_action", f"{name} is not in the published action space")
    said = [name for name in _PRIMITIVES if name in fields]
    if status in _ENDS:
        if said:
            note("status_over_action")
        return Terminate("success" if _ENDS[status] == "success" else "failure")
    if len(said) > 1:
        raise ActionError("bad_argument", f"{' and '.join(said)} in one reply: each reply has one action")
    if "to" in fields and said != ["POINT"]:
        raise ActionError("missing_argument", "`to` without POINT: a swipe needs the point where it starts")
    milliseconds = _duration(fields, note)
    match said:
        case ["POINT"]:
            return _touch(fields, milliseconds, note)
        case ["PRESS"]:
            return _press(fields["PRESS"], note)
        case ["TYPE"]:
            return from_released({"action": "type", "text": read_text(fields["TYPE"], note)}, PER_MILLE)
    if milliseconds is not None:
        return from_released({"action": "wait", "time": milliseconds / 1000}, PER_MILLE)
    raise ActionError("no_action", f"neither POINT, PRESS, TYPE nor a duration: {shown(dict(fields))}")


def _touch(fields: Mapping[str, Any], milliseconds: float | None, note: Note) -> Action:
    released: dict[str, Any] = {
        "action": "click",
        "coordinate": read_coordinate(fields["POINT"], "POINT", "click", note),
    }
    to = fields.get("to")
    if to is not None:
        direction = read_direction(to.word if isinstance(to, Bare) else to) if isinstance(to, str | Bare) else None
        if direction is not None:
            start = from_released(released, PER_MILLE)
            assert isinstance(start, Click)  # that is what was written there
            return Swipe(start.point, _towards(start.point, direction))
        end = read_coordinate(to, "to", "click", note)
        return from_released({**released, "action": "swipe", "coordinate2": end}, PER_MILLE)
    if milliseconds is not None and milliseconds > LONG_PRESS_OVER:
        return from_released({**released, "action": "long_press", "time": milliseconds / 1000}, PER_MILLE)
    return from_released(released, PER_MILLE)


def _towards(start: Point, direction: Direction) -> Point:
    """Half a screen from `start` in the finger's `direction`, less where the screen ends sooner (but never nothing)."""
    dx, dy = _STEP[direction]

    def moved(value: float, step: int) -> float:
        inside = min(max(value + step * 2 * REACH, 0.0), 1.0)
        return inside if (inside - value) * step > 0 else value + step * REACH

    return Point(moved(start.x, dx) if dx else start.x, moved(start.y, dy) if dy else start.y)


def _press(value: Any, note: Note) -> Action:
    word = read_word(value, "PRESS")
    plain = word.strip().upper()
    if plain not in _BUTTONS:
        raise ActionError("bad_argument", f"PRESS {shown(word)}: it is not HOME, BACK or ENTER")
    if plain != word:
        note("word_case")
    return from_released({"action": "system_button", "button": _BUTTONS[plain]}, PER_MILLE)


def _status(fields: Mapping[str, Any]) -> str:
    if "STATUS" not in fields:
        return "continue"
    word = read_word(fields["STATUS"], "STATUS")
    plain = word.strip().lower()
    if plain not in _ENDS and plain not in _GOING_ON:
        raise ActionError("bad_argument", f"STATUS {shown(word)}: it is not one of {', '.join((*_GOING_ON, *_ENDS))}")
    return plain


def _duration(fields: Mapping[str, Any], note: Note) -> float | None:
    if "duration" not in fields:
        return None
    milliseconds = read_number(fields["duration"], "duration", note)
    if milliseconds < 0:
        raise ActionError("bad_argument", f"duration is negative: {milliseconds:g}")
    return milliseconds


def _fields_for(action: Action) -> dict[str, Any]:
    match action:
        case Click(point):
            return {"POINT": _per_mille(point)}
        case LongPress(point, seconds):
            return {"POINT": _per_mille(point), "duration": max(_milliseconds(seconds), LONG_PRESS_OVER + 1)}
        case Swipe(start, end):
            return {"POINT": _per_mille(start), "to": _per_mille(end)}
        case Type(text):
            return {"TYPE": text}
        case SystemButton(button):
            return {"PRESS": _BUTTON_WORDS[button]}
        case Wait(seconds):
            return {"duration": _milliseconds(seconds)}
        case Terminate(status):
            return {"STATUS": "finish" if status == "success" else "impossible"}
    raise CannotExpress(f"agentcpm has no words for {action}")


def _per_mille(point: Point) -> list[int]:
    return [round(value) for value in point.to_pixels(PER_MILLE)]


def _milliseconds(seconds: float) -> int:
    return round(seconds * 1000)
