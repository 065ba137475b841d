"""PNG bytes of a screen: one palette, fixed parameters, so that the same screen is always the same file."""

from __future__ import annotations

import io

from PIL import Image

MAX_COLOURS = 256
COMPRESS_LEVEL = 9


def encode(image: Image.Image) -> bytes:
    """An "RGB" image as a palette PNG.

    Up to 256 colours are kept exactly. Of more, the 256 most frequent ones stay exact and every other pixel takes the nearest of
    them, without dithering: what is lost is shades of anti-aliased edges. Colours are sorted, so the palette depends on nothing but the image.
    """
    counted = image.getcolors(maxcolors=image.width * image.height)
    if counted is None:
        raise ValueError("an RGB image cannot have more colours than pixels")
    ranked = sorted(((-count, colour) for count, colour in counted), key=lambda item: item)
    kept = sorted(colour for _, colour in ranked[:MAX_COLOURS])
    flat = [channel for colour in kept for channel in colour]  # type: ignore[union-attr]  # RGB colours are tuples
    # Padding repeats the last colour: Pillow fills a short palette with black, which would attract dark edges.
    swatch = Image.new("P", (1, 1))
    swatch.putpalette(flat + flat[-3:] * (MAX_COLOURS - len(kept)))
    indexed = image.quantize(palette=swatch, dither=Image.Dither.NONE)
    indexed.putpalette(flat)
    buffer = io.BytesIO()
    indexed.save(buffer, format="PNG", optimize=False, compress_level=COMPRESS_LEVEL, bits=_bits(len(kept)))
    return buffer.getvalue()


def _bits(colours: int) -> int:
    for bits in (1, 2, 4):
        if colours <= 1 << bits:
            return bits
    return 8
