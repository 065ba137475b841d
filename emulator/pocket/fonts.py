"""Type: the font that ships with Pillow, in three weights, measured, wrapped and rendered to masks.

Pillow carries one weight of Aileron; heavier ones are made by stroking the outline. Glyphs are placed one by one with the
basic layout engine, so that the result does not depend on whether libraqm is installed.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

from PIL import Image, ImageDraw, ImageFont

REGULAR, MEDIUM, BOLD = 0, 1, 2
STROKE = {REGULAR: 0.0, MEDIUM: 0.011, BOLD: 0.022}
"""Outline added on each side of a stem, as a fraction of the font size."""

LEVELS = 8
"""Shades of grey an edge may have. Few enough that a screen's colours fit a palette and its PNG stays small."""

FOLD = {"–": "-", "—": "-", "−": "-", "×": "x", "÷": "/", "€": "EUR ", "£": "GBP ", "→": ">", "•": "·", "\t": " "}
"""Characters the font lacks and what is drawn in their place."""


@lru_cache(maxsize=1)
def shade_table() -> list[int]:
    """Maps 0..255 to `LEVELS` evenly spaced shades."""
    step = 255 / (LEVELS - 1)
    return [round(round(value / step) * step) for value in range(256)]


@lru_cache(maxsize=64)
def font(size: int) -> ImageFont.FreeTypeFont:
    """The shipped font at `size` pixels."""
    loaded = ImageFont.load_default(size)
    if not isinstance(loaded, ImageFont.FreeTypeFont):
        raise RuntimeError("PocketPhone draws with FreeType; this Pillow was built without it")
    return loaded.font_variant(layout_engine=ImageFont.Layout.BASIC)


@lru_cache(maxsize=2048)
def drawable(text: str) -> str:
    """`text` as the font can draw it: accents folded, unknown symbols replaced where a likeness exists."""
    if text.isascii():
        return text
    folded = "".join(FOLD.get(char, char) for char in text)
    return "".join(char for char in unicodedata.normalize("NFKD", folded) if not unicodedata.combining(char))


@lru_cache(maxsize=16384)
def _advance(pair: str, size: int) -> float:
    """Advance of the last character of `pair`, kerned against the one before it."""
    face = font(size)
    return float(face.getlength(pair) - (face.getlength(pair[0]) if len(pair) == 2 else 0.0))


def _tracking(size: int, weight: int) -> float:
    return 1.5 * STROKE[weight] * size


@lru_cache(maxsize=8192)
def width(text: str, size: int, weight: int = REGULAR) -> int:
    """Pixels that a line of `text` takes."""
    text = drawable(text)
    total = sum(_advance(text[max(0, i - 1) : i + 1], size) for i in range(len(text)))
    return round(total + _tracking(size, weight) * len(text))


@lru_cache(maxsize=64)
def cap_height(size: int) -> int:
    """Height of a capital letter in pixels: what centring a line in a box goes by."""
    return round(-font(size).getbbox("H", anchor="ls")[1])


@lru_cache(maxsize=4096)
def mask(text: str, size: int, weight: int = REGULAR) -> tuple[Image.Image, int, int]:
    """The line as an "L" image, with the offset (dx, dy) of its corner from the pen's start on the baseline."""
    text = drawable(text)
    pad = 2 + round(size * 0.12)
    ascent, descent = font(size).getmetrics()
    image = Image.new("L", (width(text, size, weight) + 2 * pad, ascent + descent + 2 * pad), 0)
    pen = ImageDraw.Draw(image)
    x = float(pad)
    for i, char in enumerate(text):
        advance = _advance(text[max(0, i - 1) : i + 1], size)
        kern = advance - _advance(char, size)
        pen.text(
            (round(x + kern), pad + ascent),
            char,
            font=font(size),
            fill=255,
            anchor="ls",
            stroke_width=STROKE[weight] * size,
        )
        x += advance + _tracking(size, weight)
    return image.point(shade_table()), -pad, -pad - ascent


@lru_cache(maxsize=8192)
def fit(text: str, size: int, weight: int, room: int) -> str:
    """`text` on one line in at most `room` pixels, cut with an ellipsis where it must be."""
    line = " ".join(text.split("\n"))
    if width(line, size, weight) <= room:
        return line
    low, high = 0, len(line)
    while low < high:
        middle = (low + high + 1) // 2
        if width(line[:middle].rstrip() + "…", size, weight) <= room:
            low = middle
        else:
            high = middle - 1
    return line[:low].rstrip() + "…"


def tail(text: str, size: int, weight: int, room: int) -> str:
    """The end of `text` that fits `room` pixels: what a field shows while its cursor stands at the end."""
    start = 0
    while start < len(text) and width(text[start:], size, weight) > room:
        start += 1
    return text[start:]


@lru_cache(maxsize=2048)
def wrap(text: str, size: int, weight: int, room: int) -> tuple[str, ...]:
    """`text` broken into lines of at most `room` pixels; newlines are kept, overlong words are cut."""
    lines: list[str] = []
    for paragraph in text.split("\n"):
        line = ""
        for word in paragraph.split(" "):
            candidate = f"{line} {word}" if line else word
            if width(candidate, size, weight) <= room:
                line = candidate
                continue
            if line:
                lines.append(line)
            while width(word, size, weight) > room and len(word) > 1:
                cut = _longest_prefix(word, size, weight, room)
                lines.append(word[:cut])
                word = word[cut:]
            line = word
        lines.append(line)
    return tuple(lines)


def _longest_prefix(word: str, size: int, weight: int, room: int) -> int:
    low, high = 1, len(word)
    while low < high:
        middle = (low + high + 1) // 2
        if width(word[:middle], size, weight) <= room:
            low = middle
        else:
            high = middle - 1
    return low
