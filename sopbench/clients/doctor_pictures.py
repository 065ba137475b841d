"""The doctor's pictures, and what a model's taps on one of them tell about its coordinates."""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal

from sopbench.geometry import Point, Size
from sopbench.screen import Screen

TARGETS: Final[Mapping[str, Point]] = MappingProxyType({"red": Point(0.3, 0.25), "blue": Point(0.7, 0.6)})
"""Where the centres of the squares in `squares` are."""

_COLOURS: Final = {"red": (220, 30, 30), "blue": (30, 60, 220)}
_SIDE: Final = 0.16
"""Side of a square, as a fraction of the screen's width."""
_NEAR: Final = 0.1
"""How far from a target a tap still counts as aimed at it, as a fraction of the screen: a little more than half a square."""
_AGREE: Final = 0.08
"""How far two measurements of one scale may lie apart, as a fraction of the larger."""


@dataclass(frozen=True, slots=True)
class Aim:
    """What the taps tell. `frame` is the size of the image in whose pixels they were counted, where that is another than the adapter's."""

    verdict: Literal["hits", "scaled", "unclear"]
    frame: Size | None = None


def aim(taps: Mapping[str, Point | None], sent: Size) -> Aim:
    """`taps`: where the model tapped when asked for the square of each colour, in unit coordinates as the adapter reads them; None where it did not tap.
    `sent`: the size in whose pixels the adapter reads them.

    A model that counts in pixels of another image misses both squares by the same factors. One that misses otherwise tells nothing about its coordinates.
    """
    found = [(tap, TARGETS[colour]) for colour, tap in taps.items() if tap is not None]
    if len(found) < len(TARGETS):
        return Aim("unclear")
    if all(abs(tap.x - target.x) <= _NEAR and abs(tap.y - target.y) <= _NEAR for tap, target in found):
        return Aim("hits")
    across = _scale([tap.x / target.x for tap, target in found])
    down = _scale([tap.y / target.y for tap, target in found])
    if across is None or down is None:
        return Aim("unclear")
    width, height = round(across * sent.width), round(down * sent.height)
    return Aim("scaled", Size(width, height)) if min(width, height) > 0 else Aim("unclear")


def _scale(ratios: list[float]) -> float | None:
    low, high = min(ratios), max(ratios)
    if low <= 0 or high - low > _AGREE * high:
        return None
    return sum(ratios) / len(ratios)


def squares(size: Size) -> Screen:
    """A pale screen with the squares of `TARGETS`."""
    from PIL import Image, ImageDraw

    picture = Image.new("RGB", (size.width, size.height), (244, 245, 248))
    draw = ImageDraw.Draw(picture)
    half = max(size.width * _SIDE / 2, 2)
    for colour, target in TARGETS.items():
        x, y = target.to_pixels(size)
        draw.rectangle([x - half, y - half, x + half, y + half], fill=_COLOURS[colour])
    return _screen(picture, "doctor squares")


def rows(size: Size, number: int) -> Screen:
    """A picture of a list of rows, as a phone shows one; each number another colour."""
    from PIL import Image, ImageDraw

    picture = Image.new("RGB", (size.width, size.height), (244, 245, 248))
    draw = ImageDraw.Draw(picture)
    colour = [(52, 120, 246), (48, 176, 110), (232, 122, 48)][number % 3]
    height = max(size.height // 12, 4)
    for row in range(1, 10):
        top = row * height
        draw.rectangle([size.width // 12, top, size.width - size.width // 12, top + height // 2], fill=colour)
    return _screen(picture, f"doctor {number}")


def _screen(picture: object, label: str) -> Screen:
    from PIL import Image

    assert isinstance(picture, Image.Image)
    data = io.BytesIO()
    picture.save(data, "PNG")
    return Screen.from_bytes(data.getvalue(), label)
