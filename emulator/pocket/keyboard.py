"""Layers of the on-screen keyboard: which keys stand where. Themes draw them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SoftKey:
    """`code` is the character typed, or one of backspace, enter, shift, symbols, letters, space. `span` in key widths x 2."""

    code: str
    label: str = ""
    icon: str = ""
    span: int = 2

    @property
    def node_id(self) -> str:
        return f"key.{self.code}"

    @property
    def special(self) -> bool:
        return len(self.code) > 1 and self.code != "space"


def _letters(text: str) -> tuple[SoftKey, ...]:
    return tuple(SoftKey(char, char) for char in text)


BACKSPACE = SoftKey("backspace", "backspace", "backspace", 3)
ENTER = SoftKey("enter", "enter", "enter", 3)


def regular(layer: str) -> tuple[tuple[SoftKey, ...], ...]:
    """Four rows; `layer` is abc, ABC, symbols or number."""
    if layer == "number":
        return number()
    if layer == "symbols":
        return (
            _letters("1234567890"),
            _letters("@#$%&-+()/"),
            (SoftKey("letters", "ABC", span=3), *_letters("*\"':;!?"), BACKSPACE),
            (SoftKey(",", ","), SoftKey("_", "_"), SoftKey("space", "space", "space", 9), SoftKey("=", "="), SoftKey(".", "."), ENTER),
        )  # fmt: skip
    shift = SoftKey("shift", "shift", "shift_full" if layer == "ABC" else "shift", 3)
    rows = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
    top, middle, bottom = (row.upper() if layer == "ABC" else row for row in rows)
    return (
        _letters(top),
        _letters(middle),
        (shift, *_letters(bottom), BACKSPACE),
        (SoftKey("symbols", "?123", span=3), SoftKey(",", ","), SoftKey("space", "space", "space", 10), SoftKey(".", "."), ENTER),
    )  # fmt: skip


def large(layer: str) -> tuple[tuple[SoftKey, ...], ...]:
    """Rows of six cells (span 2 a cell), in alphabetical order: easy to find a letter in. Capitals and signs are for `type`."""
    if layer == "number":
        return number()
    return (
        _letters("abcdef"),
        _letters("ghijkl"),
        _letters("mnopqr"),
        _letters("stuvwx"),
        (*_letters("yz"), SoftKey("space", "space", "space", 4), SoftKey("backspace", "backspace", "backspace"), SoftKey("enter", "enter", "enter")),
    )  # fmt: skip


def number() -> tuple[tuple[SoftKey, ...], ...]:
    """A number pad of three columns, each two cells wide on the large display."""

    def keys(text: str) -> tuple[SoftKey, ...]:
        return tuple(SoftKey(char, char, span=4) for char in text)

    back = SoftKey("backspace", "backspace", "backspace", 4)
    enter = SoftKey("enter", "enter", "enter", 4)
    return keys("123"), keys("456"), keys("789"), (back, *keys("0"), enter)
