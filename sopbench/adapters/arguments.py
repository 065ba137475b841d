"""From the JSON of a call to an action: unwrap it, repair its arguments under a note, refuse what would have to be guessed.

`to_action` serves families that use the released action names; coordinates are pixels of the image as it was sent. The `read_*` functions
read one argument each, for every family that answers in JSON, and raise `ActionError` (`bad_argument`, `placeholder`).
"""

from __future__ import annotations

import re
import reprlib
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from sopbench.actions import ACTION_KINDS, Action, from_released
from sopbench.adapters.loose_json import Bare, LooseJsonError, Numeral, Reader, without_lone_surrogates
from sopbench.errors import ActionError
from sopbench.geometry import Size

MAX_ENCODINGS: Final = 4
PLACEHOLDER_TEXT: Final = "<value>"
TOOL: Final = "mobile_use"

_POINTED = {"click": ("coordinate",), "long_press": ("coordinate",), "swipe": ("coordinate", "coordinate2")}
_TEXTED = ("type", "open", "key", "answer")
_CHOSEN = {"system_button": "button", "terminate": "status"}
_TIMED = ("long_press", "wait")

_SEPARATOR = re.compile(r"\s*[,;\s]\s*")
_NUMBER = re.compile(r"[-+]?(?:[0-9]{1,12}(?:\.[0-9]{0,12})?|\.[0-9]{1,12})")
_PLACEHOLDER = re.compile(
    r"<[^<>]{0,40}>|\.\.\.|…|[\[({<]?\s{0,4}x\s?1?\s{0,4},\s{0,4}y\s?1?\s{0,4}[\])}>]?", re.IGNORECASE
)
_MARKUP = re.compile(r"<[^<>]{1,20}>")
_BRACKETS = {"[": "]", "(": ")", "{": "}"}

Note = Callable[[str], None]


def to_action(
    value: Any, sent: Size, aliases: Mapping[str, str] = MappingProxyType({})
) -> tuple[Action, tuple[str, ...]]:
    """The action that a call's JSON says, and the notes of what was repaired. `aliases`: further names of actions, and the released ones that they mean.

    Raises `ActionError`: `no_action`, `unknown_action`, `missing_argument`, `bad_argument`, `placeholder`, `bad_json` or `truncated`.
    """
    notes: dict[str, None] = {}

    def note(name: str) -> None:
        notes[name] = None

    call = _unwrap(value, note)
    kind = _kind(call, note, aliases)
    released: dict[str, Any] = {"action": kind}
    for name in _POINTED.get(kind, ()):
        if call.get(name) is not None:
            released[name] = read_coordinate(call[name], name, kind, note)
    if kind in _TEXTED and call.get("text") is not None:
        released["text"] = read_text(call["text"], note)
    if kind in _CHOSEN and call.get(_CHOSEN[kind]) is not None:
        released[_CHOSEN[kind]] = read_word(call[_CHOSEN[kind]], _CHOSEN[kind])
    if kind in _TIMED and call.get("time") is not None:
        released["time"] = read_number(call["time"], "time", note)
    return from_released(released, sent), tuple(notes)


def _unwrap(value: Any, note: Note) -> Mapping[str, Any]:
    """The object that holds the arguments and, under `action`, the name; whatever it was wrapped in."""
    value = _decoded(value, note)
    if isinstance(value, list) and value:
        note("list_of_calls")
        if len(value) > 1:
            note(f"extra_calls:{len(value) - 1}")
        value = _decoded(value[0], note)
    if not isinstance(value, dict):
        raise ActionError("bad_json", f"a call must be a JSON object, not {_short(value)}")
    if "arguments" not in value and "name" in value and "parameters" in value:
        note("parameters_for_arguments")
        value = {**value, "arguments": value["parameters"]}
    if "arguments" not in value:
        return _named_by_tool(value, {}, note) if "action" not in value and "name" in value else value
    arguments = _decoded(value["arguments"], note)
    if arguments is None:
        arguments = {}
    if not isinstance(arguments, dict):
        raise ActionError("bad_json", f"`arguments` must be a JSON object, not {_short(arguments)}")
    if "action" in arguments:
        return arguments
    if "action" in value:
        note("action_beside_arguments")
        return {**arguments, "action": value["action"]}
    return _named_by_tool(value, arguments, note)


def _named_by_tool(value: Mapping[str, Any], arguments: Mapping[str, Any], note: Note) -> Mapping[str, Any]:
    """`{"name": "click", "arguments": {...}}`: the action's name stands where the tool's should."""
    if value.get("name") in (None, TOOL):
        return arguments
    note("action_as_tool_name")
    return {**arguments, "action": value["name"]}


def _decoded(value: Any, note: Note) -> Any:
    """JSON that was encoded as a text, once or more often, becomes what it says."""
    for _ in range(MAX_ENCODINGS):
        if not isinstance(value, str):
            return value
        start = len(value) - len(value.lstrip())
        if not value.startswith(("{", "[", '"', "'"), start):
            raise ActionError("bad_json", f"a text where a JSON object should be: {_short(value)}")
        note("encoded_json")
        try:
            read = Reader(value).read(start)
        except LooseJsonError as error:
            raise ActionError(error.reason, f"inside encoded JSON: {error.detail}") from error
        for name in read.notes:
            note(name)
        value = read.value
    raise ActionError("bad_json", f"JSON encoded as a text more than {MAX_ENCODINGS} times")


def _kind(call: Mapping[str, Any], note: Note, aliases: Mapping[str, str]) -> str:
    name = call.get("action")
    if name is None:
        raise ActionError("no_action", f"no `action` in {_short(dict(call))}")
    if isinstance(name, Bare):
        name = name.word
    if not isinstance(name, str):
        raise ActionError("unknown_action", f"the action's name is not a text: {_short(name)}")
    if _PLACEHOLDER.fullmatch(name):
        raise ActionError("placeholder", f"the action's name is a placeholder: {_short(name)}")
    if name in ACTION_KINDS:
        return name
    plain = name.strip().lower().replace("-", "_").replace(" ", "_")
    if plain in aliases:
        note(f"action_alias:{plain}")
        return aliases[plain]
    if plain not in ACTION_KINDS:
        raise ActionError("unknown_action", f"{name[:60]!r} is not one of {', '.join(ACTION_KINDS)}")
    note("action_name_case")
    return plain


def read_coordinate(value: Any, name: str, kind: str, note: Note) -> list[float]:
    """[x, y] out of what models write for it. A box means its centre, unless `kind` is swipe, where it might be the path."""
    if isinstance(value, str | Bare):
        value = _numbers_in(value.word if isinstance(value, Bare) else value, name)
        note("coordinate_as_text")
    if isinstance(value, dict):
        value = [value[axis] for axis in ("x", "y") if axis in value]
        note("coordinate_as_object")
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        value = value[0]
        note("nested_coordinate")
    if not isinstance(value, list):
        raise ActionError("bad_argument", f"{name} is not [x, y]: {_short(value)}")
    numbers = [read_number(item, name, note) for item in value[:5]]
    if len(numbers) == 4 and kind != "swipe":
        note("box_centre")
        return [(numbers[0] + numbers[2]) / 2, (numbers[1] + numbers[3]) / 2]
    if len(numbers) != 2:
        raise ActionError("bad_argument", f"{name} is not [x, y]: {_short(value)}")
    return numbers


def _numbers_in(text: str, name: str) -> list[Numeral]:
    """The numbers of `(540, 1200)`, `540,1200`, `<|box_start|>(540,1200)<|box_end|>`; nothing else may stand in the text."""
    inner = text.strip()
    if len(inner) > 200:
        raise ActionError("bad_argument", f"{name} is not [x, y]: {_short(text)}")
    if _PLACEHOLDER.fullmatch(inner):
        raise ActionError("placeholder", f"{name} is a placeholder: {_short(text)}")
    inner = _MARKUP.sub(" ", inner).strip()
    for _ in range(2):
        if len(inner) > 1 and _BRACKETS.get(inner[0]) == inner[-1]:
            inner = inner[1:-1].strip()
    words = _SEPARATOR.split(inner)
    if not all(_NUMBER.fullmatch(word) for word in words):
        raise ActionError("bad_argument", f"{name} is not [x, y]: {_short(text)}")
    return [Numeral(word) for word in words]


def read_number(value: Any, name: str, note: Note) -> float:
    """A finite number or one written as a text. What is no number at all is a placeholder or a bad argument."""
    if isinstance(value, Numeral):
        return float(value)
    word = value.word if isinstance(value, Bare) else value
    if isinstance(word, str):
        plain = word.strip()
        if _NUMBER.fullmatch(plain):
            note("number_as_text")
            return float(plain)
        if _PLACEHOLDER.fullmatch(plain) or re.fullmatch(r"[xy][0-9]?", plain, re.IGNORECASE):
            raise ActionError("placeholder", f"{name} holds a placeholder: {_short(word)}")
    raise ActionError("bad_argument", f"{name} holds no number: {_short(word)}")


def read_text(value: Any, note: Note) -> str:
    """A text; a number becomes the text as which it was written."""
    if isinstance(value, Numeral):
        note("text_from_number")
        return value.raw
    if isinstance(value, Bare):
        raise ActionError("placeholder", f"text is a word without quotes: {value.word[:60]!r}")
    if not isinstance(value, str):
        raise ActionError("bad_argument", f"text is not a text: {_short(value)}")
    if value.strip() == PLACEHOLDER_TEXT:
        raise ActionError("placeholder", f"text is the placeholder {PLACEHOLDER_TEXT}")
    return without_lone_surrogates(value)


def read_word(value: Any, name: str) -> str:
    """One of a few words, with or without quotes."""
    word = value.word if isinstance(value, Bare) else value
    if not isinstance(word, str):
        raise ActionError("bad_argument", f"{name} is not a text: {_short(word)}")
    if _PLACEHOLDER.fullmatch(word.strip()):
        raise ActionError("placeholder", f"{name} is a placeholder: {_short(word)}")
    return word


def _short(value: object) -> str:
    """A glimpse of a hostile value: bounded in depth and length, where repr() would not be."""
    return reprlib.repr(value)[:120]
