"""Where in a reply the action stands: thoughts, tags and bare JSON, for families that answer `<tag>{JSON}</tag>`.

The rules, in order:

1. What stands between `<think>` (or `<thinking>`) and its closing tag is thought. A call that is mentioned there is never the action.
2. A call is `<action>` or `<tool_call>` (any case) followed by JSON, with or without a code fence, to the end of the JSON: a closing tag inside a text
   belongs to the text. A tag that is not followed by JSON is prose. The first call counts, the others are counted in a note.
3. Where no tag holds JSON, the first JSON object outside the thought that looks like a call counts.
4. Where a think tag is never closed, thought and call cannot be told apart by the tag: the calls at the very end of the reply count, so that one
   which the thought only mentions, with prose behind it, does not.
5. A closing think tag that nothing opened: where calls come behind it, all before it was thought; where none do, calls before it count only if it
   trails directly behind them or the reply's thought was closed before.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from sopbench.adapters.loose_json import LooseJsonError, Reader, without_lone_surrogates
from sopbench.errors import ActionError

MAX_CALLS: Final = 64
MAX_BARE: Final = 16

_TAG = re.compile(r"<\s{0,3}(/?)\s{0,3}(think|thinking|action|tool_call)\s{0,3}>", re.IGNORECASE)
_THINK_END = re.compile(r"<\s{0,3}/\s{0,3}think(?:ing)?\s{0,3}>", re.IGNORECASE)
_OPENING = re.compile(r"\s*(```[A-Za-z]{0,10}\s*)?(?=(\[\s*\{|\{|[\"'“][\s\\\"]*\{|\Z)?)")
_CLOSING_PUNCTUATION = re.compile(r"[\s\]}]*(?:```)?\s*")
_NEXT_OBJECT = re.compile(r"[\s,;]*(?=\{)")
_LOOKS_LIKE_OBJECT = re.compile(r"\{\s*(?:[\"'“]|[A-Za-z_]\w{0,30}\s{0,8}:)")
_LOOKS_LIKE_CALL = re.compile(r"\{\s*[\"'“]?(?:action|name|arguments)\b")
_FENCE_BEFORE = re.compile(r"```[A-Za-z]{0,10}\s{0,8}\Z")
_NOTHING_MORE = re.compile(r"(?:\s|```|<\|[a-z_]{1,20}\|>|<\s{0,3}/\s{0,3}[A-Za-z_]{1,20}\s{0,3}>)*\Z")


@dataclass(frozen=True, slots=True)
class Call:
    """A place in the reply that says an action: `value` is its JSON, or `error` why it cannot be read."""

    start: int
    end: int
    tag: str | None
    value: Any = None
    error: LooseJsonError | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    """The call that counts, and what stands around it."""

    value: Any
    thought: str | None
    notes: tuple[str, ...]


def find_call(reply: str, own_tag: str) -> Found:
    """The call that counts in `reply`, by the rules above. `own_tag` is the tag that the family was taught.

    Raises `ActionError` with reason `empty_reply`, `no_action`, `bad_json` or `truncated`.
    """
    text = without_lone_surrogates(reply)
    if not text.strip():
        raise ActionError("empty_reply", "the reply is empty")
    scan = _Scan(text)
    calls = scan.counting()
    if not calls:
        raise scan.why_nothing()
    call = calls[0]
    if call.error is not None:
        raise ActionError(call.error.reason, call.error.detail)
    notes = [*scan.notes, *call.notes]
    if call.tag is None:
        notes.append("no_tag")
    elif call.tag != own_tag:
        notes.append(f"other_tag:{call.tag}")
    if len(calls) > 1:
        notes.append(f"extra_calls:{len(calls) - 1}")
    thought = scan.thought_before(call)
    if thought and not scan.marks_thought:
        notes.append("text_before")
    return Found(call.value, thought, tuple(dict.fromkeys(notes)))


class _Scan:
    """One pass over a reply, left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.notes: list[str] = []
        self.spans: list[tuple[int, int]] = []
        """Thoughts: start and end of their texts, tags left out."""
        self._reader = Reader(text)
        self._calls: list[Call] = []
        self._before_stray: list[Call] = []
        self._mentions = 0
        self._unclosed: int | None = None
        self._tags()
        if not self._calls:
            self._bare()

    @property
    def marks_thought(self) -> bool:
        """Whether the reply has a think tag at all."""
        return bool(self.spans) or self._unclosed is not None

    def counting(self) -> list[Call]:
        """The calls that count, the one to take first."""
        if self._unclosed is None:
            return self._calls
        return self._last_run()

    def why_nothing(self) -> ActionError:
        if self._unclosed is not None and self._calls:
            return ActionError("no_action", "the think tag is never closed, and no call stands at the end of the reply")
        if self._mentions:
            return ActionError("bad_json", "a tag is there, but no JSON object in it")
        if self.spans:
            return ActionError("no_action", "nothing but a thought: no call stands outside it")
        return ActionError("no_action", f"no call in {self.text.strip()[:80]!r}")

    def thought_before(self, call: Call) -> str | None:
        """The thoughts that the reply marks as such, else the text before the call."""
        if self._unclosed is not None:
            parts = [self.text[self._unclosed : call.start]]
        elif self.spans:
            parts = [self.text[start:end] for start, end in self.spans if start < call.start]
        else:
            parts = [self.text[: call.start]]
        return "\n".join(part.strip() for part in parts if part.strip()) or None

    def _tags(self) -> None:
        pos = 0
        while len(self._calls) < MAX_CALLS and (match := _TAG.search(self.text, pos)):
            pos = match.end()
            closing, name = bool(match[1]), match[2].lower()
            if match[2] != name:
                self._note("tag_case")
            if name in ("action", "tool_call"):
                if not closing:
                    pos = self._tagged(match.start(), match.end(), name)
            elif self._unclosed is not None:
                continue
            elif closing:
                self._stray_think_end(match.start())
            elif end := _THINK_END.search(self.text, match.end()):
                self.spans.append((match.end(), end.start()))
                pos = end.end()
            else:
                self._note("unclosed_think")
                self._unclosed = match.end()
        if not self._calls:
            self._calls = self._before_stray

    def _stray_think_end(self, end: int) -> None:
        """Rule 5."""
        self._note("stray_think_end")
        if self._calls:
            trails = _CLOSING_PUNCTUATION.fullmatch(self.text, self._calls[-1].end, end) is not None
            self._before_stray = self._calls if trails or self.spans else []
            self._calls = []
        behind = self.spans[-1][1] if self.spans else 0
        self.spans.append((behind, end))

    def _tagged(self, start: int, pos: int, name: str) -> int:
        """Read what follows an opening tag; returns where to go on."""
        opening = _OPENING.match(self.text, pos)
        assert opening is not None  # matches the empty string too
        if opening[2] is None:
            self._mentions += 1
            return pos
        notes = ["code_fence"] if opening[1] else []
        pos = opening.end()
        while len(self._calls) < MAX_CALLS:
            try:
                read = self._reader.read(pos)
            except LooseJsonError as error:
                self._calls.append(Call(start, pos, name, error=error))
                return pos
            end = self._end_of_block(read.end, name, notes)
            self._calls.append(Call(start, end, name, read.value, notes=(*notes, *read.notes)))
            more = _NEXT_OBJECT.match(self.text, read.end)
            if more is None:
                return end
            start = pos = more.end()
        return pos

    def _end_of_block(self, pos: int, name: str, notes: list[str]) -> int:
        """Step over stray braces, a fence and the closing tag; notes what is odd there."""
        behind = _CLOSING_PUNCTUATION.match(self.text, pos)
        assert behind is not None  # matches the empty string too
        if "}" in behind.group() or "]" in behind.group():
            notes.append("extra_brace")
        tag = _TAG.match(self.text, behind.end())
        if tag and tag[1] and tag[2].lower() == name:
            return tag.end()
        if not self.text.startswith("{", behind.end()):
            notes.append("unclosed_tag")
        return behind.end()

    def _bare(self) -> None:
        """Objects that look like a call, in no tag. The first broken one counts only where nothing whole is found."""
        spans = iter(self.spans)
        span = next(spans, None)
        broken: Call | None = None
        pos = tries = 0
        while tries < MAX_BARE and (pos := self.text.find("{", pos)) >= 0:
            while span is not None and span[1] <= pos:
                span = next(spans, None)
            if span is not None and span[0] <= pos:
                pos = span[1]
                continue
            if not _LOOKS_LIKE_OBJECT.match(self.text, pos):
                pos += 1
                continue
            tries += 1
            try:
                read = self._reader.read(pos)
            except LooseJsonError as error:
                if broken is None and _LOOKS_LIKE_CALL.match(self.text, pos):
                    broken = Call(pos, pos + 1, None, error=error)
                pos += 1
                continue
            if isinstance(read.value, dict) and (
                "action" in read.value or "arguments" in read.value or read.value.keys() >= {"name", "parameters"}
            ):
                fence = _FENCE_BEFORE.search(self.text[max(0, pos - 24) : pos])
                start = pos - len(fence.group()) if fence else pos
                notes = ("code_fence", *read.notes) if fence else read.notes
                self._calls.append(Call(start, read.end, None, read.value, notes=notes))
                pos = read.end
            else:
                pos += 1
        if not self._calls and broken is not None:
            self._calls.append(broken)

    def _last_run(self) -> list[Call]:
        """The calls at the very end of the text, with nothing but white space and closing tags between and behind them."""
        run: list[Call] = []
        for call in reversed(self._calls):
            until = run[0].start if run else len(self.text)
            if call.error is not None:
                return run or [call]
            if not _NOTHING_MORE.match(self.text[call.end : until]):
                break
            run.insert(0, call)
        return run

    def _note(self, name: str) -> None:
        self.notes.append(name)
