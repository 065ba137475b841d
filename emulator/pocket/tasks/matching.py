"""Values to compare stored state with, where a task leaves something open. They may stand anywhere inside a state."""

from __future__ import annotations

import unicodedata
from typing import Any


class _Anything(str):
    """Equal to everything: ids and dates of things that came into being while the task was played."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    __hash__ = str.__hash__


class _Said(str):
    """Equal to every text that says the same: case and runs of white space aside."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, str) and folded(self) == folded(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = str.__hash__


ANY: Any = _Anything("(anything)")


def said(text: str) -> str:
    """`text`, equal to every text that differs from it only in case and white space (people don't type as goals are printed)."""
    return _Said(text)


def folded(text: str) -> str:
    """NFKC, case folding, white space collapsed."""
    return " ".join(unicodedata.normalize("NFKC", str(text)).casefold().split())
