"""Replies of the form `thoughts: ..` / `actions: WORD [text]`, the language of OS-Atlas: where the action stands, and what it says.

The rules, in order:

1. The first line that begins with `actions:` (or `action:`, in any case, a full-width colon too) ends the thought. The first word behind it is the action's name,
   and nothing else is looked at to find out which action it is: `TYPE [CLICK here]` types.
2. A text reaches from the first bracket to the last one before the next line that is an action itself, or before the end. The language has no escapes; where
   an opening bracket too many is in it, it may have been cut off, and is not guessed at.
3. Without such a line, a reply that begins with an action's name in capitals is that action.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from sopbench.actions import Action, Button, Terminate, Wait, from_released
from sopbench.adapters.loose_json import without_lone_surrogates
from sopbench.adapters.points import read_point
from sopbench.adapters.scrolling import finger_path, read_direction
from sopbench.errors import ActionError, shown
from sopbench.geometry import Size

BUTTONS: Final[Mapping[str, Button]] = MappingProxyType(
    {"PRESS_BACK": "Back", "PRESS_HOME": "Home", "PRESS_RECENT": "Menu", "ENTER": "Enter"}
)
STATUSES: Final = MappingProxyType({"COMPLETE": "success", "IMPOSSIBLE": "failure"})
WORDS: Final = ("CLICK", "LONG_PRESS", "TYPE", "SCROLL", "OPEN_APP", "WAIT", *BUTTONS, *STATUSES)
MAX_POINT: Final = 160

_HEADER = re.compile(r"^[ \t*#>\-]{0,8}actions?[ \t*]{0,4}[:：][ \t*]{0,4}", re.IGNORECASE | re.MULTILINE)
_LABEL = re.compile(r"\s*[*#]{0,4}\s?thoughts?[ \t*]{0,4}[:：]\*{0,4}[ \t]{0,4}", re.IGNORECASE)
_NAME = re.compile(r"[\s*`\-]{0,16}(?:[0-9]{1,2}[.)]\s{0,4})?([A-Za-z][A-Za-z0-9_]{0,40})")
_BARE = re.compile(rf"\s*({'|'.join(WORDS)})\b")
_NEXT = re.compile(
    r"\n[ \t]{0,8}(?:(?:CLICK|LONG_PRESS)[ \t]{0,4}(?:<point>|\[\[)|(?:TYPE|SCROLL|OPEN_APP)[ \t]{0,4}\[|"
    rf"(?:WAIT|{'|'.join((*BUTTONS, *STATUSES))})[ \t]*(?=\n|\Z))"
)
_POINT_TAGS = re.compile(r"\s{0,8}((?:<[^<>\n]{1,20}>\s{0,4}){0,2})")
_CUT_TAG = re.compile(r"(?:<[^<>\n]{0,20})?\Z")
_NEXT_PAIR = re.compile(r"\s{0,4},\s{0,4}(?=[\[(])")
_TAGGED_PAIR = re.compile(r"[^<>\[\]()\n]{1,80}(?=</)")
_DIRECTION = re.compile(r"[ \t]{0,8}(?:\[([^\[\]\n]{0,60})\]|([A-Za-z]{1,20})\b(?![\w/]))")
_NOTHING_MORE = re.compile(r"(?:[\s*`.]|<\|[a-z_]{1,20}\|>|</s>)*\Z")
_BRACKET = re.compile(r"[\[\]]")
_OPENS, _CLOSES_TOO = "[(", "])"


@dataclass(frozen=True, slots=True)
class Bracketed:
    """The action that counts: its name in capitals and all that stands behind the name."""

    word: str
    rest: str
    thought: str | None
    notes: dict[str, None] = field(default_factory=dict)

    def action(self, frame: Size) -> Action:
        """The action, its numbers being pixels of an image of size `frame`. Raises `ActionError`."""
        word = self.word
        if word in ("CLICK", "LONG_PRESS"):
            return self._released({"action": word.lower(), "coordinate": self._point()}, frame)
        if word in ("TYPE", "OPEN_APP"):
            return self._released({"action": "type" if word == "TYPE" else "open", "text": self._text()}, frame)
        if word == "SCROLL":
            return self._scroll()
        if word in BUTTONS:
            return self._released({"action": "system_button", "button": BUTTONS[word]}, frame)
        if word == "WAIT":
            return Wait()
        return Terminate("success" if STATUSES[word] == "success" else "failure")

    def _released(self, released: Mapping[str, Any], frame: Size) -> Action:
        return from_released(released, frame)

    def _note(self, name: str) -> None:
        self.notes[name] = None

    def _text(self) -> str:
        start = self.rest.find("[")
        if start < 0 or self.rest[:start].strip():
            if _NOTHING_MORE.match(self.rest) and not self.rest.strip():
                raise ActionError("truncated", f"the reply ends behind {self.word}")
            raise ActionError("missing_argument", f"{self.word} without [text]: {shown(self.rest[:80])}")
        end = self.rest.rfind("]")
        if end < 0:
            raise ActionError("truncated", f"the reply ends inside the text of {self.word}")
        if not _NOTHING_MORE.match(self.rest, end + 1):
            raise ActionError(
                "truncated",
                f"the text of {self.word} goes on behind its last bracket: {shown(self.rest[end + 1 : end + 41])}",
            )
        text = self.rest[start + 1 : end]
        if text.count("[") > text.count("]"):
            raise ActionError(
                "truncated", f"the text of {self.word} has an opening bracket too many: its end may be missing"
            )
        return text

    def _scroll(self) -> Action:
        found = _DIRECTION.match(self.rest)
        if found is None or (
            found[2] is not None and found.end() >= len(self.rest) and read_direction(found[2]) is None
        ):
            if len(self.rest) < 70 and not self.rest.rstrip().endswith("]"):
                raise ActionError("truncated", "the reply ends inside SCROLL")
            raise ActionError("bad_argument", f"SCROLL without [direction]: {shown(self.rest[:80])}")
        said = found[1] if found[1] is not None else found[2]
        if found[2] is not None:
            self._note("no_brackets")
        direction = read_direction(said)
        if direction is None:
            reason = "placeholder" if "/" in said or said.lower().startswith("direction") else "bad_argument"
            raise ActionError(reason, f"SCROLL: no direction is {shown(said)}")
        return finger_path(direction)

    def _point(self) -> list[float]:
        """The first point behind the name: brackets until they are closed, or what stands between tags."""
        tags = _POINT_TAGS.match(self.rest)
        assert tags is not None  # matches the empty string too
        start = pos = tags.end()
        if tags[1] and (pair := _TAGGED_PAIR.match(self.rest, pos)):
            return read_point(pair.group(), "point", self._note)
        if _CUT_TAG.match(self.rest, pos):
            raise ActionError("truncated", f"the reply ends behind {self.word}")
        while self.rest.startswith(("[", "("), pos):
            pos = self._closed(pos)
            more = _NEXT_PAIR.match(self.rest, pos)
            if more is None:
                return read_point(self.rest[start:pos], "point", self._note)
            pos = more.end()
        raise ActionError("missing_argument", f"{self.word} without a point: {shown(self.rest[:80])}")

    def _closed(self, pos: int) -> int:
        """Behind the bracket that closes the one at `pos`."""
        depth = 0
        for index in range(pos, min(len(self.rest), pos + MAX_POINT)):
            character = self.rest[index]
            depth += (character in _OPENS) - (character in _CLOSES_TOO)
            if depth == 0:
                return index + 1
        if len(self.rest) <= pos + MAX_POINT:
            raise ActionError("truncated", f"the reply ends inside the point of {self.word}")
        raise ActionError("bad_argument", f"{self.word}: no point is {shown(self.rest[pos : pos + 80])}")


def find_bracketed(reply: str) -> Bracketed:
    """The action that counts in `reply`, by the rules above. Raises `ActionError`: `empty_reply`, `no_action`, `truncated` or `unknown_action`."""
    text = without_lone_surrogates(reply)
    if not text.strip():
        raise ActionError("empty_reply", "the reply is empty")
    notes: dict[str, None] = {}
    header = _HEADER.search(text)
    if header is None:
        bare = _BARE.match(text)
        if bare is None:
            raise ActionError("no_action", f"no line begins with `actions:` in {text.strip()[:80]!r}")
        notes["no_header"] = None
        name, end, thought = bare[1], bare.end(), None
    else:
        named = _NAME.match(text, header.end())
        if named is None:
            if not text[header.end() :].strip("\r\n\t *`-"):
                raise ActionError("truncated", "the reply ends behind `actions:`")
            raise ActionError("no_action", f"no action's name at {shown(text[header.end() : header.end() + 80])}")
        name, end, thought = named[1], named.end(), _thought(text[: header.start()])
    word = name.upper()
    if word not in WORDS:
        if end == len(text) and any(known.startswith(word) for known in WORDS):
            raise ActionError("truncated", f"the reply ends inside an action's name: {name!r}")
        raise ActionError("unknown_action", f"{name!r} is not one of {', '.join(WORDS)}")
    if word != name:
        notes["action_name_case"] = None
    rest, others = _until_next(text[end:])
    if others:
        notes[f"extra_calls:{others}"] = None
    return Bracketed(word, rest, thought, notes)


def ambiguous(text: str) -> bool:
    """Whether `text` between brackets could be read as something else, the language having no escapes: unpaired brackets, or a line that is an action."""
    return not _paired(text) or _NEXT.search(f"[{text}]") is not None


def _paired(text: str) -> bool:
    depth = 0
    for bracket in _BRACKET.findall(text):
        depth += 1 if bracket == "[" else -1
        if depth < 0:
            return False
    return depth == 0


def safe_thought(thought: str) -> str:
    """`thought` for putting before the actions: the colon of a line that would begin them becomes `∶`."""
    return _HEADER.sub(lambda m: m.group().replace(":", "∶").replace("：", "∶"), thought)


def _thought(before: str) -> str | None:
    label = _LABEL.match(before)
    return before[label.end() if label else 0 :].strip() or None


def _until_next(rest: str) -> tuple[str, int]:
    """What belongs to the first action, and how many more there are (at most 64 are counted)."""
    following = [match.start() for match, _ in zip(_NEXT.finditer(rest), range(64), strict=False)]
    return (rest[: following[0]] if following else rest), len(following)
