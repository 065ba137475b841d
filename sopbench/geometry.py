"""Sizes, points and boxes, and the frames their numbers live in.

Inside sopbench there is one frame, **unit**: x as a fraction of the screen's width, y of its height
(0..1 on the screen; a model may well point outside). Pixels of the original screenshot, pixels of the
image as the model saw it, and per-mille exist only at the borders, where an adapter, a data file or a
page reads or writes them: `Point.from_pixels(x, y, size)` and `point.to_pixels(size)` serve them all, since per-mille is
the pixels of a 1000 x 1000 image (`PER_MILLE`).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sopbench.errors import DataError


@dataclass(frozen=True, slots=True)
class Size:
    """Width and height of an image, in its own pixels."""

    width: int
    height: int

    def __post_init__(self) -> None:
        if self.width < 1 or self.height < 1:
            raise DataError(f"an image cannot be {self.width}x{self.height} pixels")

    @classmethod
    def parse(cls, text: str) -> Size:
        """Read `1080x2400`."""
        width, _, height = text.lower().partition("x")
        if not (width.isascii() and width.isdigit() and height.isascii() and height.isdigit()):
            raise DataError(f"{text[:40]!r} is not a size; write WIDTHxHEIGHT, for example 1080x2400")
        if len(width) > 6 or len(height) > 6:
            raise DataError(f"{text[:40]!r} is no screen: sides have at most six digits")
        return cls(int(width), int(height))

    def as_list(self) -> list[int]:
        return [self.width, self.height]

    def __str__(self) -> str:
        return f"{self.width}x{self.height}"


PER_MILLE = Size(1000, 1000)


@dataclass(frozen=True, slots=True)
class Point:
    """A point in unit coordinates: fractions of the screen's width and height."""

    x: float
    y: float

    @classmethod
    def from_pixels(cls, x: float, y: float, size: Size) -> Point:
        return cls(x / size.width, y / size.height)

    def to_pixels(self, size: Size) -> tuple[float, float]:
        """Pixels of an image of `size`; float noise below a millionth of a pixel is rounded away."""
        return round(self.x * size.width, 6), round(self.y * size.height, 6)


@dataclass(frozen=True, slots=True)
class Box:
    """An axis-aligned box. Its numbers are in the frame of whoever holds it: a `Step` keeps original pixels,
    scoring works on `box.to_unit(size)`. Edges belong to the box."""

    x1: float
    y1: float
    x2: float
    y2: float

    @property
    def area(self) -> float:
        return max(0.0, self.x2 - self.x1) * max(0.0, self.y2 - self.y1)

    @property
    def centre(self) -> Point:
        return Point((self.x1 + self.x2) / 2, (self.y1 + self.y2) / 2)

    def to_unit(self, size: Size) -> Box:
        return Box(self.x1 / size.width, self.y1 / size.height, self.x2 / size.width, self.y2 / size.height)

    def contains(self, point: Point) -> bool:
        return self.x1 <= point.x <= self.x2 and self.y1 <= point.y <= self.y2

    def enlarged(self, factor: float) -> Box:
        """The box scaled by `factor` about its centre (a box turned inside out stays so: it contains nothing)."""
        cx, cy = (self.x1 + self.x2) / 2, (self.y1 + self.y2) / 2
        width, height = (self.x2 - self.x1) * factor, (self.y2 - self.y1) * factor
        return Box(cx - width / 2, cy - height / 2, cx + width / 2, cy + height / 2)

    def as_list(self) -> list[float]:
        return [self.x1, self.y1, self.x2, self.y2]


QWEN_FACTOR = 28
UIS1_MIN_PIXELS = 4 * 28 * 28
UIS1_MAX_PIXELS = 12_800 * 28 * 28
MAX_ASPECT = 200


def smart_resize(
    size: Size,
    *,
    factor: int = QWEN_FACTOR,
    min_pixels: int = UIS1_MIN_PIXELS,
    max_pixels: int = UIS1_MAX_PIXELS,
) -> Size:
    """The size to which a Qwen-VL image processor resizes an image of `size`.

    Each side is rounded (half to even) to a multiple of `factor`; an area over `max_pixels` is scaled down by
    sqrt(h*w/max) with floor, one under `min_pixels` up with ceil. Source: Qwen2-VL's image processor; limits of
    `UIS1_*` from X-PLUG/MobileAgent 11cea575 `UI-S1/x/qwen/image.py` and `evaluation/qwenvl_utils.py`.

    Raises `DataError` for images that the processor refuses (an aspect ratio over 200).
    """
    width, height = size.width, size.height
    if max(width, height) / min(width, height) > MAX_ASPECT:
        raise DataError(f"an image of {size} is too long and thin: Qwen-VL takes aspect ratios up to {MAX_ASPECT}")
    new_width, new_height = round(width / factor) * factor, round(height / factor) * factor
    if new_width * new_height > max_pixels:
        shrink = math.sqrt(height * width / max_pixels)
        new_width = math.floor(width / shrink / factor) * factor
        new_height = math.floor(height / shrink / factor) * factor
    elif new_width * new_height < min_pixels:
        grow = math.sqrt(min_pixels / (height * width))
        new_width = math.ceil(width * grow / factor) * factor
        new_height = math.ceil(height * grow / factor) * factor
    return Size(max(new_width, factor), max(new_height, factor))
