"""JSON from strangers: bounded in size and depth, no NaN, no name twice in one object (of which two readers might take different values)."""

from __future__ import annotations

import json
import math
from typing import Any, Final

from sopbench.errors import DataError

MAX_BYTES: Final = 1024 * 1024
MAX_DEPTH: Final = 24


def json_object(data: bytes, where: str, *, limit: int = MAX_BYTES) -> dict[str, Any]:
    """The object in `data`. Raises `DataError` that says what is wrong; `where` names the file or line."""
    if len(data) > limit:
        raise DataError(f"{where} is larger than {limit} bytes")
    _check_depth(data, where)
    try:
        value = json.loads(
            data.decode("utf-8"),
            parse_constant=_finite,
            parse_float=_finite,
            parse_int=_whole,
            object_pairs_hook=_once,
        )
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where} is not JSON as a run writes it ({ascii(str(error))[1:120]})") from error
    if not isinstance(value, dict):
        raise DataError(f"{where} is not a JSON object")
    return value


def _check_depth(data: bytes, where: str) -> None:
    """Before anything is built: brackets outside of texts, counted. Most lines have too few brackets altogether to need it."""
    if data.count(b"[") + data.count(b"{") <= MAX_DEPTH:
        return
    depth, inside, escaped = 0, False, False
    for byte in data:
        if inside:
            if escaped:
                escaped = False
            elif byte == 0x5C:
                escaped = True
            elif byte == 0x22:
                inside = False
        elif byte == 0x22:
            inside = True
        elif byte in b"[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise DataError(f"{where} is nested deeper than {MAX_DEPTH} levels")
        elif byte in b"]}":
            depth -= 1


def _finite(word: str) -> float:
    number = float(word)
    if not math.isfinite(number):
        raise ValueError(f"{word[:20]} is no number of JSON")
    return number


def _whole(word: str) -> int:
    if len(word) > 20:
        raise ValueError("a number of more than 20 digits")
    return int(word)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice in one object")
    return found
