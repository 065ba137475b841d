"""Points as families write them that speak in text rather than JSON: `(500,250)`, `[[500, 250]]`, `<point>500 250</point>`, boxes and quadrangles."""

from __future__ import annotations

import re
from collections.abc import Callable

from sopbench.errors import ActionError, shown

MAX_POINT_TEXT = 200

_TAG = re.compile(r"<[^<>]{1,20}>")
_NUMBER = re.compile(r"[-+]?(?:[0-9]{1,12}(?:\.[0-9]{0,12})?|\.[0-9]{1,12})")
_PLACEHOLDER = re.compile(r"[xy][0-9]?|[xy]-axis|\.\.\.|…", re.IGNORECASE)
_BRACKETS = str.maketrans(dict.fromkeys("[](){}'\"", " "))
_SEPARATORS = re.compile(r"[\s,;]+")


def read_point(text: str, name: str, note: Callable[[str], None]) -> list[float]:
    """[x, y] in the numbers' own frame. Four numbers are a box and eight a quadrangle (x and y in turn): either means its centre, under a note.

    Raises `ActionError`: `placeholder` where the prompt's own `(x1,y1)` stands, else `bad_argument`.
    """
    if len(text) > MAX_POINT_TEXT:
        raise ActionError("bad_argument", f"{name} is not a point: {shown(text)}")
    words = [word for word in _SEPARATORS.split(_TAG.sub(" ", text).translate(_BRACKETS)) if word]
    if words and all(_PLACEHOLDER.fullmatch(word) for word in words):
        raise ActionError("placeholder", f"{name} is a placeholder: {shown(text)}")
    if len(words) not in (2, 4, 8) or not all(_NUMBER.fullmatch(word) for word in words):
        raise ActionError("bad_argument", f"{name} is not a point: {shown(text)}")
    xs, ys = [float(word) for word in words[::2]], [float(word) for word in words[1::2]]
    if len(words) > 2:
        note("box_centre")
    return [sum(xs) / len(xs), sum(ys) / len(ys)]
