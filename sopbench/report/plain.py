"""Making what models, data files and journals say small and plain enough to stand in a page.

Everything here is hostile input: it is cut to a length, and numbers that JSON (and a browser's `JSON.parse`) does not know are dropped.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from sopbench.actions import MAX_COORDINATE

MAX_WORD = 200
MAX_TEXT = 2_000
MAX_KEYS = 200
MAX_SIDE = 100_000

Plain = dict[str, Any]


def text(value: object, limit: int = MAX_TEXT) -> str | None:
    """`value` cut to `limit` characters, with an ellipsis where something is missing; None where it is no text or empty."""
    if not isinstance(value, str) or not value:
        return None
    return value if len(value) <= limit else value[: limit - 1] + "…"


def word(value: object) -> str | None:
    """A name or code: short text; numbers are taken too."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        value = str(value)
    return text(value, MAX_WORD)


def number(value: object) -> float | int | None:
    """`value` where it is a finite number of a size that JavaScript knows, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if abs(value) < 2**53 else None


def count(value: object) -> int:
    found = number(value)
    return int(found) if found is not None else 0


def pair(value: object) -> list[float] | None:
    """Two finite numbers, as of an interval."""
    if not isinstance(value, list | tuple) or len(value) != 2:
        return None
    low, high = number(value[0]), number(value[1])
    return None if low is None or high is None else [low, high]


def size(value: object) -> list[int] | None:
    """Width and height of an image in whole pixels."""
    found = pair(value)
    if found is None or not all(1 <= side <= MAX_SIDE for side in found):
        return None
    return [int(side) for side in found]


def counts(value: object) -> list[tuple[str, int]]:
    """A mapping of names to counts, as pairs; anything else is empty."""
    if not isinstance(value, Mapping):
        return []
    return [(word(str(name)) or "?", count(n)) for name, n in list(value.items())[:MAX_KEYS]]


def mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def action(value: Mapping[str, Any] | None) -> Plain | None:
    """An action in the released form, reduced to the arguments of the action space. None where there is none."""
    if value is None:
        return None
    kept: Plain = {"action": word(value.get("action")) or "?"}
    for name in ("coordinate", "coordinate2"):
        point = pair(value.get(name))
        if point is not None and all(abs(v) <= MAX_COORDINATE for v in point):
            kept[name] = point
    for name in ("text", "button", "status"):
        if isinstance(value.get(name), str):
            kept[name] = text(value[name]) or ""
    if (seconds := number(value.get("time"))) is not None:
        kept["time"] = seconds
    return kept


def without_none(fields: Plain) -> Plain:
    """Leave out what is not there: a page of 8,444 steps is mostly absent fields."""
    return {key: value for key, value in fields.items() if value is not None and value != [] and value is not False}
