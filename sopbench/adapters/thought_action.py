"""Replies of the form `Thought: ..` / `Action: name(key='value', ..)`: where the action stands, and how its call is read.

The rules, in order:

1. The first `Action:` at the beginning of a line that a call follows is the action; all before it is thought, whatever calls or parentheses stand there.
   A colon may be full-width, and Markdown's stars may stand around the word.
2. Where no such line is, the last `Action:` inside a line that a call follows counts.
3. Where there is none either, a reply that begins with a call is that call.

Nothing is evaluated. In a text between quotes a backslash escapes as in Python; a quote that nothing behind it lets be the closing one belongs to the text.
Every scan is one pass, and what is scanned is bounded by the caller's limit on replies.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from sopbench.adapters.loose_json import without_lone_surrogates
from sopbench.errors import ActionError, shown

MAX_ARGUMENTS: Final = 8
MAX_HEADERS: Final = 64

_HEADER = re.compile(r"^[ \t*#>\-]{0,8}action[ \t*]{0,4}[:：]", re.IGNORECASE | re.MULTILINE)
_INLINE = re.compile(r"\baction[ \t*]{0,4}[:：]", re.IGNORECASE)
_LABEL = re.compile(r"\s*[*#]{0,4}\s?thought[ \t*]{0,4}[:：]\*{0,4}[ \t]{0,4}", re.IGNORECASE)
_CALL = re.compile(r"[\s*]{0,16}(?:`{1,3}(?:[a-z]{1,10}\s)?\s{0,4})?([A-Za-z_][A-Za-z0-9_]{0,40})\s{0,4}\(")
_ANOTHER = re.compile(
    r"^[ \t]{0,8}(?:(?i:action)[ \t]{0,4}[:：][ \t]{0,4})?[a-z]{2,12}(?:_[a-z]{2,12})?\(", re.MULTILINE
)
_KEY = re.compile(r"([A-Za-z_]\w{0,30})\s{0,4}=\s{0,4}")
_SPACE = re.compile(r"\s*")
_BARE = re.compile(
    r"(?:<[^<>\n]{1,20}>|\([^()\n]{0,100}\)|\[[^\[\]\n]{0,100}\]|[^\s,()\[\]'\"<>]{1,60}|[ \t]{1,3}(?=[\d<])|,[ \t]{0,3}(?=[(\[]))+"
)
_CUT_NAME = re.compile(r"[\s*`]*(?:[A-Za-z0-9_]{1,41}\s*)?\Z")

_CLOSERS = {"'": "'", '"': '"', "‘": "’", "’": "’", "“": "”", "”": "”"}
_QUOTE_OR_ESCAPE = {closer: re.compile(rf"\\.|{closer}", re.DOTALL) for closer in ("'", '"', "’", "”")}
_CLOSES = re.compile(r"\s{0,8}(?:,\s{0,8}[A-Za-z_]\w{0,30}\s{0,4}=|,?\s{0,8}\)[ \t]*(?:\Z|[\r\n`]|<\||</|\[EOS\]))")
_CLOSES_WEAKLY = re.compile(r"\s{0,8}[,)]")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", "'": "'", '"': '"', "\n": ""}


@dataclass(frozen=True, slots=True)
class Argument:
    """`text` without its quotes, escapes still in it; `quoted` says whether there were quotes."""

    text: str
    quoted: bool


@dataclass(frozen=True, slots=True)
class SaidCall:
    """The call that counts. An argument without a name stands under the empty name."""

    name: str
    arguments: Mapping[str, Argument]
    thought: str | None
    notes: tuple[str, ...]


def find_said_call(reply: str) -> SaidCall:
    """The call that counts in `reply`, by the rules above.

    Raises `ActionError`: `empty_reply`, `no_action`, `truncated` or `bad_argument`.
    """
    text = without_lone_surrogates(reply)
    if not text.strip():
        raise ActionError("empty_reply", "the reply is empty")
    notes: dict[str, None] = {}
    thought_end, start = _where(text, notes)
    arguments, end = _arguments(text, start.end(), start[1], notes)
    others = sum(1 for _ in zip(range(MAX_HEADERS), _ANOTHER.finditer(text, end), strict=False))
    if others:
        notes[f"extra_calls:{others}"] = None
    return SaidCall(start[1], arguments, thought_of(text[:thought_end]), tuple(notes))


def thought_of(before: str) -> str | None:
    """What stands before the action, without the word `Thought:`."""
    label = _LABEL.match(before)
    return before[label.end() if label else 0 :].strip() or None


def safe_thought(thought: str) -> str:
    """`thought` for putting before an action: the colon of a line that would pose as the action becomes `∶`."""
    return _HEADER.sub(lambda m: m.group()[:-1] + "∶", thought)


def unescaped(text: str, notes: dict[str, None]) -> str:
    """A quoted text with its escapes resolved, as Python has them; an unknown escape is kept as it is written."""

    def resolve(match: re.Match[str]) -> str:
        code = match[1]
        if len(code) > 1:
            return chr(int(code[1:], 16))
        if code not in _ESCAPED:
            notes["bad_escape"] = None
        return _ESCAPED.get(code, match.group())

    return without_lone_surrogates(_ESCAPE.sub(resolve, text))


def escaped(text: str) -> str:
    """`text` for between single quotes, on one line."""
    return text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\r", "\\r")


def _where(text: str, notes: dict[str, None]) -> tuple[int, re.Match[str]]:
    """Where the thought ends, and the beginning of the call."""
    cut = False
    seen = 0
    for header in _HEADER.finditer(text):
        if (seen := seen + 1) > MAX_HEADERS:
            break
        if call := _CALL.match(text, header.end()):
            return header.start(), call
        cut = cut or _CUT_NAME.match(text, header.end()) is not None
    if cut:
        raise ActionError("truncated", "the reply ends behind `Action:`, before its call is whole")
    inline: tuple[int, re.Match[str]] | None = None
    for header in _INLINE.finditer(text):
        if call := _CALL.match(text, header.end()):
            inline = (header.start(), call)
    if inline is not None:
        notes["inline_header"] = None
        return inline
    if call := _CALL.match(text):
        notes["no_header"] = None
        return 0, call
    if seen:
        raise ActionError("no_action", "no call of the form name(...) stands behind `Action:`")
    raise ActionError("no_action", f"no `Action:` in {text.strip()[:80]!r}")


def _arguments(text: str, pos: int, name: str, notes: dict[str, None]) -> tuple[dict[str, Argument], int]:
    """The arguments from behind the opening parenthesis on, and the index behind the closing one."""
    found: dict[str, Argument] = {}
    for _ in range(MAX_ARGUMENTS + 1):
        pos = _skip(text, pos, name)
        if text[pos] == ")":
            return found, pos + 1
        key = _KEY.match(text, pos)
        if key:
            pos = _skip(text, key.end(), name)
        else:
            notes["no_argument_name"] = None
        value, pos = _value(text, pos, name, notes)
        found.setdefault(key[1].lower() if key else "", value)
        pos = _skip(text, pos, name)
        if text[pos] == ",":
            pos += 1
        elif text[pos] != ")":
            raise ActionError(
                "bad_argument", f"{name}: neither a comma nor a parenthesis at {shown(text[pos : pos + 40])}"
            )
    raise ActionError("bad_argument", f"{name} with more than {MAX_ARGUMENTS} arguments")


def _skip(text: str, pos: int, name: str) -> int:
    """Behind the white space; the reply must go on there."""
    space = _SPACE.match(text, pos)
    assert space is not None  # matches the empty string too
    if space.end() >= len(text):
        raise ActionError("truncated", f"the reply ends inside {name[:41]}(")
    return space.end()


def _value(text: str, pos: int, name: str, notes: dict[str, None]) -> tuple[Argument, int]:
    opening = text[pos]
    if opening in _CLOSERS:
        if opening not in "'\"":
            notes["typographic_quotes"] = None
        raw, end = _quoted(text, pos + 1, _CLOSERS[opening], name, notes)
        return Argument(raw, quoted=True), end
    bare = _BARE.match(text, pos)
    if bare is None:
        raise ActionError("bad_argument", f"{name}: no value at {shown(text[pos : pos + 40])}")
    if bare.end() >= len(text):
        raise ActionError("truncated", f"the reply ends inside {name[:41]}(")
    notes["unquoted"] = None
    return Argument(bare.group().strip(), quoted=False), bare.end()


def _quoted(text: str, start: int, closer: str, name: str, notes: dict[str, None]) -> tuple[str, int]:
    """The text from `start` to its closing quote, and the index behind that quote.

    A quote closes where the next argument or the end of the call and of its line follow. Where none does, the very first quote closes if a comma or a
    parenthesis follows: a call with prose behind it on its line.
    """
    first: re.Match[str] | None = None
    for match in _QUOTE_OR_ESCAPE[closer].finditer(text, start):
        if match.group() != closer:
            continue
        if _CLOSES.match(text, match.end()):
            raw = text[start : match.start()]
            if first is not None:
                notes["unescaped_quote"] = None
            if "\n" in raw:
                notes["raw_line_break"] = None
            return raw, match.end()
        first = first or match
    if first is None or not _CLOSES_WEAKLY.match(text, first.end()):
        raise ActionError("truncated", f"the reply ends inside a text of {name[:41]}(")
    notes["text_behind"] = None
    return text[start : first.start()], first.end()
