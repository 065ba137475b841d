"""JSON as models really write it: strict JSON first, then a small tolerant reader with named repairs.

Nothing is ever evaluated. What is strict JSON is read as exactly that; only where it is not, the tolerant reader takes over. It knows single and
typographic quotes, apostrophes and stray quotes inside a text, trailing commas, Python's True/False/None and tuples, unquoted words, raw line breaks
in a text, and closing braces that are missing before a closing tag. Text that ends inside a value is `truncated`: a number or a text that may
have been longer is never guessed at.

Depth, steps and stray quotes are bounded, and a `Reader` has one budget for all that it reads: a hostile text costs a fraction of a second.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final, NoReturn

MAX_DEPTH: Final = 12
MAX_STEPS: Final = 100_000
MAX_SCANNED: Final = 600_000
MAX_STRAY_QUOTES: Final = 200
MAX_NUMERAL: Final = 64


class LooseJsonError(Exception):
    """No value here. `reason` is `bad_json` or `truncated`."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason = reason
        self.detail = detail


class Numeral(float):
    """A number that remembers how it was written, so that `"text": 0042` can be typed as it stands."""

    raw: str

    def __new__(cls, raw: str) -> Numeral:
        number = super().__new__(cls, raw if len(raw) <= MAX_NUMERAL else _beyond(raw))
        number.raw = raw
        return number


@dataclass(frozen=True, slots=True)
class Bare:
    """A word without quotes that is no literal: `x` in `[x, y]`, `<value>`, `NaN`."""

    word: str


@dataclass(frozen=True, slots=True)
class Value:
    """What was read: dict, list, str, bool, None, `Numeral` or `Bare`; `end` is the first index behind it."""

    value: Any
    end: int
    notes: tuple[str, ...] = ()


_SPACE = re.compile(r"\s*")
_NUMBER = re.compile(r"[-+]?(?:[0-9]{1,40}\.?[0-9]{0,40}|\.[0-9]{1,40})(?:[eE][-+]?[0-9]{1,5})?")
_WORD = re.compile(r"<[A-Za-z_ ]{1,30}>|[^\s,:\[\]{}()\"'“”‘’<>`]{1,400}")
_CHUNKS = {'"': r"[^\"\\]+", "'": r"[^'\\]+", "“": r"[^“”\\]+", "‘": r"[^‘’\\]+"}
_CHUNK = {quote: re.compile(pattern) for quote, pattern in _CHUNKS.items()} | {
    "”": re.compile(_CHUNKS["“"]),
    "’": re.compile(_CHUNKS["‘"]),
}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "/": "/", "\\": "\\", '"': '"', "'": "'"}
_HEX = {
    "x": re.compile(r"[0-9a-fA-F]{2}"),
    "u": re.compile(r"[0-9a-fA-F]{4}"),
    "U": re.compile(r"000[0-9a-fA-F]{5}|0010[0-9a-fA-F]{4}"),
}
_END_OF_BLOCK = re.compile(r"</\s{0,3}(?:action|tool_call)\b|```|<\|im_end\|>", re.IGNORECASE)
_LITERALS = {"true": True, "false": False, "null": None}
_PYTHON_LITERALS = {"True": True, "False": False, "None": None}

# What must follow a quote for it to be the closing one. For strict JSON this is always so; for the rest it tells an apostrophe from an end.
_AFTER_KEY = re.compile(r"\s*:")
_AFTER_ITEM = re.compile(r"\s*(?:[\]),]|\Z)")
_AFTER_VALUE = re.compile(
    r"\s*(?:[}\])]|\Z|</\s{0,3}(?:action|tool_call)\b|,\s*(?:[\"'“”‘’}\]]|[A-Za-z_]\w{0,30}\s{0,8}:|\Z))", re.IGNORECASE
)


def without_lone_surrogates(text: str) -> str:
    """`text` with halves of surrogate pairs replaced by U+FFFD: no file or socket could carry them."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


class Reader:
    """Reads values out of one text. All readings share one budget of steps."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._pos = 0
        self._steps = 0
        self._scanned = 0
        self._notes: dict[str, None] = {}

    def read(self, start: int) -> Value:
        """The value that begins at `start`. Raises `LooseJsonError`."""
        self._pos, self._notes = start, {}
        if self._scanned > MAX_SCANNED:
            self._fail("too much broken JSON")
        strict = self._strictly(start)
        if strict is not None:
            self._scanned += strict.end - start
            return strict
        self._scanned += len(self._text) - start
        value = self._value(0, _AFTER_VALUE)
        return Value(value, self._pos, tuple(self._notes))

    def _strictly(self, start: int) -> Value | None:
        """The value as strict JSON, or as JSON that is strict but for raw control characters in its texts."""
        try:
            return Value(*_STRICT.raw_decode(self._text, start))
        except RecursionError:
            return None  # nested beyond all measure: the tolerant reader says so
        except json.JSONDecodeError as error:
            if not error.msg.startswith("Invalid control character"):
                return None
        try:
            return Value(*_RAW_BREAKS.raw_decode(self._text, start), ("raw_control_characters",))
        except (ValueError, RecursionError):
            return None

    def _fail(self, what: str) -> NoReturn:
        around = self._text[max(0, self._pos - 20) : self._pos + 20]
        raise LooseJsonError("bad_json", f"{what} at character {self._pos}, near {around!r}")

    def _cut_off(self) -> NoReturn:
        raise LooseJsonError("truncated", f"the text ends inside a value: ...{self._text[-40:]!r}")

    def _endless(self, start: int) -> NoReturn:
        """A text ran to the end of the reply: cut off, unless the reply itself shows that it is complete."""
        if _END_OF_BLOCK.search(self._text, start) or self._text.rstrip().endswith("}"):
            self._pos = start
            self._fail("a text without an end")
        self._cut_off()

    def _note(self, name: str) -> None:
        self._notes[name] = None

    def _peek(self) -> str:
        """The next character that is no white space; '' at the end of the text."""
        self._steps += 1
        if self._steps > MAX_STEPS:
            self._fail("too much broken JSON")
        space = _SPACE.match(self._text, self._pos)
        assert space is not None  # matches the empty string too
        self._pos = space.end()
        return self._text[self._pos : self._pos + 1]

    def _value(self, depth: int, closes: re.Pattern[str]) -> Any:
        if depth > MAX_DEPTH:
            self._fail(f"nested deeper than {MAX_DEPTH}")
        first = self._peek()
        if not first:
            self._cut_off()
        if first == "{":
            return self._object(depth)
        if first in "[(":
            return self._array(depth)
        if first in _CHUNK:
            return self._string(closes)
        return self._word()

    def _object(self, depth: int) -> dict[str, Any]:
        self._pos += 1
        out: dict[str, Any] = {}
        while True:
            match self._peek():
                case "}":
                    self._pos += 1
                    if out:
                        self._note("trailing_comma")
                    return out
                case "":
                    self._cut_off()
            key = self._key()
            if (colon := self._peek()) != ":":
                self._cut_off() if not colon else self._fail("no `:` behind a name")
            self._pos += 1
            out[key] = self._value(depth + 1, _AFTER_VALUE)
            match self._peek():
                case ",":
                    self._pos += 1
                case "}":
                    self._pos += 1
                    return out
                case "":
                    self._cut_off()
                case _:
                    if _END_OF_BLOCK.match(self._text, self._pos):
                        self._note("missing_brace")
                        return out
                    self._fail("no `,` or `}` behind a value")

    def _key(self) -> str:
        if self._peek() in _CHUNK:
            return self._string(_AFTER_KEY)
        word = self._word()
        if not isinstance(word, Bare):
            self._fail("no name")
        self._note("unquoted_name")
        return word.word

    def _array(self, depth: int) -> list[Any]:
        closer = "]" if self._text[self._pos] == "[" else ")"
        if closer == ")":
            self._note("tuple")
        self._pos += 1
        out: list[Any] = []
        while True:
            match self._peek():
                case "":
                    self._cut_off()
                case here if here == closer:
                    self._pos += 1
                    if out and closer == "]":
                        self._note("trailing_comma")
                    return out
            out.append(self._value(depth + 1, _AFTER_ITEM))
            match self._peek():
                case ",":
                    self._pos += 1
                case "":
                    self._cut_off()
                case here if here == closer:
                    self._pos += 1
                    return out
                case _:
                    self._fail(f"no `,` or `{closer}` behind an item")

    def _word(self) -> Any:
        match = _WORD.match(self._text, self._pos)
        if match is None:
            self._fail("no value")
        word = match.group()
        self._pos = match.end()
        if self._pos == len(self._text):
            self._cut_off()  # who knows how the word would have gone on
        if word in _LITERALS:
            return _LITERALS[word]
        if word in _PYTHON_LITERALS:
            self._note("python_literal")
            return _PYTHON_LITERALS[word]
        if word.lstrip("+-")[:1].isdigit() and len(word) > MAX_NUMERAL and word.lstrip("+-").isdigit():
            return Numeral(word)
        return Numeral(word) if _NUMBER.fullmatch(word) else Bare(word)

    def _string(self, closes: re.Pattern[str]) -> str:
        text, quote = self._text, self._text[self._pos]
        chunk = _CHUNK[quote]
        if quote != '"':
            self._note("single_quotes" if quote == "'" else "typographic_quotes")
        self._pos += 1
        start = self._pos
        parts: list[str] = []
        stray = 0
        while True:
            self._steps += 1
            if self._steps > MAX_STEPS:
                self._fail("too much broken JSON")
            if match := chunk.match(text, self._pos):
                parts.append(match.group())
                self._pos = match.end()
            if self._pos >= len(text):
                self._endless(start)
            here = text[self._pos]
            if here == "\\":
                parts.append(self._escape())
                continue
            self._pos += 1
            if closes.match(text, self._pos):
                return without_lone_surrogates("".join(parts))
            stray += 1
            if stray > MAX_STRAY_QUOTES:
                self._fail("a text without an end")
            self._note("unescaped_quote")
            parts.append(here)

    def _escape(self) -> str:
        text = self._text
        kind = text[self._pos + 1 : self._pos + 2]
        if not kind:
            self._cut_off()
        self._pos += 2
        if kind in _ESCAPES:
            return _ESCAPES[kind]
        if kind in _HEX and (digits := _HEX[kind].match(text, self._pos)):
            self._pos = digits.end()
            return chr(int(digits.group(), 16))
        self._note("bad_escape")
        return "\\" + kind


def _beyond(raw: str) -> str:
    """A numeral too long to be a coordinate, as an infinity that no bound accepts, without converting its digits."""
    return "-inf" if raw.startswith("-") else "inf"


# Hooks keep numbers as they are written, and NaN and the infinities as words; int() is never called, so no digit limit is met.
_STRICT = json.JSONDecoder(parse_int=Numeral, parse_float=Numeral, parse_constant=Bare)
_RAW_BREAKS = json.JSONDecoder(parse_int=Numeral, parse_float=Numeral, parse_constant=Bare, strict=False)
