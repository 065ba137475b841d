"""Where in a reply the action stands, for families that answer with one JSON object and no tags: bare, or behind a label such as `Action:`.

The rules, in order:

1. Where a family has a label, the first label at the beginning of a line that an object follows is the action, whatever stands before or in it.
2. Else the objects of the reply are looked at from left to right, each to the end of its JSON: a brace inside a text belongs to the text. The first one behind a
   label inside a line counts; without one, the first that has a key of the family's calls.
3. What a reply says before `</think>` is thought, unless nothing but thought remains then. A think tag that opens the reply and is never closed leaves no action.
4. Further calls are counted in a note. A broken object that begins like a call is not replaced by a later one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sopbench.adapters.loose_json import LooseJsonError, Reader, without_lone_surrogates
from sopbench.errors import ActionError

MAX_OBJECTS: Final = 64

_LOOKS_LIKE_OBJECT = re.compile(r"\{\s{0,200}(?:[\"'“}]|[A-Za-z_]\w{0,30}\s{0,8}:|\Z)")
_FENCE_BEFORE = re.compile(r"```[A-Za-z]{0,10}\s{0,8}\Z")
_THINK_OPEN = re.compile(r"\s*<\s{0,3}think(?:ing)?\s{0,3}>", re.IGNORECASE)
_THINK_END = re.compile(r"<\s{0,3}/\s{0,3}think(?:ing)?\s{0,3}>", re.IGNORECASE)
_THINK_TAG = re.compile(r"<\s{0,3}/?\s{0,3}think(?:ing)?\s{0,3}>", re.IGNORECASE)
_LABEL = r"actions?[ \t]{0,3}\*{0,2}[ \t]{0,3}[:：]\*{0,2}[ \t]{0,8}"
_LINE_LABEL = re.compile(
    rf"^[ \t>#*-]{{0,8}}{_LABEL}(?:\r?\n[ \t]{{0,8}})?(```[A-Za-z]{{0,10}}\s{{0,8}})?\[?(?=\{{)",
    re.IGNORECASE | re.MULTILINE,
)
_LABEL_BEFORE = re.compile(rf"(?:\A|[^\w\"'])({_LABEL}\[?)\Z", re.IGNORECASE)
_LABEL_IN_THOUGHT = re.compile(rf"({_LABEL}\s{{0,8}}[`\[]{{0,4}}\s{{0,8}})(?=\{{)", re.IGNORECASE)
_THOUGHT_LABEL = re.compile(
    r"\s*\*{0,2}(?:low-level[ \t]{1,3})?(?:thoughts?|reason(?:ing)?)\*{0,2}[ \t]{0,3}[:：]\*{0,2}", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class ObjectForm:
    """What a family's call looks like: a JSON object with one of `keys` (in lower case; any case is taken); `labelled` says whether it stands behind `action:`."""

    keys: tuple[str, ...]
    labelled: bool

    def is_call(self, value: Mapping[str, Any]) -> bool:
        return any(key.strip().lower() in self.keys for key in value)

    def begins_like_call(self, text: str, pos: int) -> bool:
        """Whether the first key of the object at `pos` is one of a call's."""
        return re.compile(rf"\{{\s*[\"'“]?(?:{'|'.join(self.keys)})\b", re.IGNORECASE).match(text, pos) is not None


@dataclass(frozen=True, slots=True)
class FoundObject:
    """The object that counts, and the thought that stands before it in plain words (None: nothing does)."""

    value: dict[str, Any]
    before: str | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Candidate:
    start: int
    end: int
    labelled: bool
    value: dict[str, Any] | None = None
    error: LooseJsonError | None = None
    notes: tuple[str, ...] = ()


def find_object(reply: str, form: ObjectForm) -> FoundObject:
    """The object that counts in `reply`, by the rules above.

    Raises `ActionError` with reason `empty_reply`, `no_action`, `bad_json` or `truncated`.
    """
    text = without_lone_surrogates(reply)
    if not text.strip():
        raise ActionError("empty_reply", "the reply is empty")
    calls, note = _outside_thought(text, _calls(text, form))
    if not calls:
        raise ActionError("no_action", f"no action in {text.strip()[:80]!r}")
    call = calls[0]
    if call.error is not None:
        raise ActionError(call.error.reason, call.error.detail)
    assert call.value is not None  # a candidate has one or the other
    notes = [*note, *call.notes]
    if form.labelled and not call.labelled:
        notes.append("no_label")
    others = sum(other.error is None for other in calls[1:])
    if others:
        notes.append(f"extra_calls:{others}")
    return FoundObject(call.value, _thought(text[: call.start]), tuple(dict.fromkeys(notes)))


def safe_thought(thought: str) -> str:
    """`thought` for putting before a labelled call: where it says `action:` before a brace itself, the colon becomes `∶`. Think tags open with `‹`."""
    plain = _LABEL_IN_THOUGHT.sub(lambda m: m[1].replace(":", "∶").replace("：", "∶"), thought)
    return _THINK_TAG.sub(lambda m: "‹" + m.group()[1:], plain)


def _thought(before: str) -> str | None:
    plain = _THINK_TAG.sub("\n", before)
    label = _THOUGHT_LABEL.match(plain)
    return plain[label.end() if label else 0 :].strip() or None


def _calls(text: str, form: ObjectForm) -> list[_Candidate]:
    """The calls in `text`, the one to take first; a broken one ends the list."""
    if form.labelled:
        labelled = list(_read_all(text, _behind_line_labels(text), lambda found: True))
        if labelled:
            return labelled

    def counts(found: _Candidate) -> bool:
        if found.value is not None:
            return found.labelled or form.is_call(found.value)
        return found.labelled or form.begins_like_call(text, found.end - 1)

    calls = list(_read_all(text, _braces(text, form), counts))
    first = next((index for index, call in enumerate(calls) if call.labelled), 0)
    return calls[first:]


def _behind_line_labels(text: str) -> Iterator[tuple[int, int, bool]]:
    for match in _LINE_LABEL.finditer(text):
        if _LOOKS_LIKE_OBJECT.match(text, match.end()):
            yield match.start(), match.end(), True


def _braces(text: str, form: ObjectForm) -> Iterator[tuple[int, int, bool]]:
    """Every brace that may open an object: where its label or fence begins, where it stands, and whether it has a label."""
    pos = -1
    while (pos := text.find("{", pos + 1)) >= 0:
        if not _LOOKS_LIKE_OBJECT.match(text, pos):
            continue
        start = pos
        fence = _FENCE_BEFORE.search(text, max(0, start - 24), start)
        if fence:
            start = fence.start()
        label = _LABEL_BEFORE.search(text, max(0, start - 48), start) if form.labelled else None
        yield (label.start(1) if label else start), pos, label is not None


def _read_all(
    text: str, places: Iterator[tuple[int, int, bool]], counts: Callable[[_Candidate], bool]
) -> Iterator[_Candidate]:
    """The objects at `places` that count, without those inside another. The first broken one that counts is the last."""
    reader = Reader(text)
    behind = tries = 0
    for start, brace, labelled in places:
        if brace < behind:
            continue
        tries += 1
        if tries > MAX_OBJECTS:
            return
        try:
            read = reader.read(brace)
        except LooseJsonError as error:
            broken = _Candidate(start, brace + 1, labelled, error=error)  # ends right behind its brace
            if counts(broken):
                yield broken
                return
            continue
        fence = ("code_fence",) if "```" in text[start:brace] else ()
        found = _Candidate(start, read.end, labelled, read.value, notes=(*fence, *read.notes))
        if counts(found):
            yield found
        elif read.notes:
            continue  # prose that was taken for JSON may have swallowed a call
        behind = read.end


def _outside_thought(text: str, calls: list[_Candidate]) -> tuple[list[_Candidate], tuple[str, ...]]:
    """Rule 3: the calls behind the first `</think>` that is not part of a call's own text."""
    opened = _THINK_OPEN.match(text)
    end = next(
        (m.start() for m in _THINK_END.finditer(text) if not any(c.start < m.start() < c.end for c in calls)), None
    )
    if end is None:
        if opened and calls:
            raise ActionError("no_action", "the think tag is never closed: what it says is thought")
        return calls, ()
    later = [call for call in calls if call.start > end]
    if opened:
        return later, ()
    return (later, ("stray_think_end",)) if later else (calls, ("stray_think_end",))
