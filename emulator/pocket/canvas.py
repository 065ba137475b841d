"""Pixels: flat, anti-aliased shapes, glyphs and type on an RGB image."""

from __future__ import annotations

from functools import lru_cache

from PIL import Image, ImageDraw

from emulator.pocket import fonts, glyphs
from emulator.pocket.palette import Colour

OVERSAMPLE = 4
IntBox = tuple[int, int, int, int]
ALL = (True, True, True, True)


@lru_cache(maxsize=128)
def _corner(radius: int) -> Image.Image:
    """Mask of a rounded rectangle's top left corner."""
    side = radius * OVERSAMPLE
    image = Image.new("L", (side, side), 0)
    ImageDraw.Draw(image).ellipse((0, 0, 2 * side - 1, 2 * side - 1), fill=255)
    return image.reduce(OVERSAMPLE).point(fonts.shade_table())


@lru_cache(maxsize=512)
def _corners(radius: int) -> tuple[Image.Image, ...]:
    """Masks of the four corners: top left, top right, bottom right, bottom left."""
    turn = Image.Transpose
    first = _corner(radius)
    right = first.transpose(turn.FLIP_LEFT_RIGHT)
    return first, right, right.transpose(turn.FLIP_TOP_BOTTOM), first.transpose(turn.FLIP_TOP_BOTTOM)


class Canvas:
    """An image of one screen being drawn. Boxes are (left, top, right, bottom) in pixels, the ends exclusive."""

    def __init__(self, width: int, height: int, colour: Colour) -> None:
        self.image = Image.new("RGB", (width, height), colour)
        self._draw = ImageDraw.Draw(self.image)

    def fill(self, box: IntBox, colour: Colour, radius: int = 0, corners: tuple[bool, ...] = ALL) -> None:
        """A filled rectangle; `corners` says which of top left, top right, bottom right, bottom left are round."""
        x1, y1, x2, y2 = box
        if x2 <= x1 or y2 <= y1:
            return
        radius = min(radius, (x2 - x1) // 2, (y2 - y1) // 2)
        if radius < 1:
            self._draw.rectangle((x1, y1, x2 - 1, y2 - 1), fill=colour)
            return
        if x2 - x1 > 2 * radius:
            self._draw.rectangle((x1 + radius, y1, x2 - radius - 1, y2 - 1), fill=colour)
        if y2 - y1 > 2 * radius:
            self._draw.rectangle((x1, y1 + radius, x2 - 1, y2 - radius - 1), fill=colour)
        places = ((x1, y1), (x2 - radius, y1), (x2 - radius, y2 - radius), (x1, y2 - radius))
        for (x, y), mask, rounded in zip(places, _corners(radius), corners, strict=True):
            if rounded:
                self.image.paste(colour, (x, y), mask)
            else:
                self._draw.rectangle((x, y, x + radius - 1, y + radius - 1), fill=colour)

    def text(self, x: int, baseline: int, text: str, size: int, weight: int, colour: Colour) -> None:
        """A line of text whose first letter starts at `x` on the line `baseline`."""
        if text.strip():
            mask, dx, dy = fonts.mask(text, size, weight)
            self.image.paste(colour, (x + dx, baseline + dy), mask)

    def glyph(self, x: int, y: int, name: str, size: int, colour: Colour) -> None:
        """The icon `name` with its top left corner at (x, y)."""
        self.image.paste(colour, (x, y), glyphs.mask(name, size))

    def dim(self, percent: int) -> None:
        """Darken all that is drawn so far, as behind a dialog."""
        keep = 100 - percent
        self.image = self.image.point([value * keep // 100 for value in range(256)] * 3)
        self._draw = ImageDraw.Draw(self.image)
