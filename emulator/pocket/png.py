"""PNG bytes of a screen: one palette, fixed parameters, so that the same screen is always the same file."""

from __future__ import annotations

import io

import numpy as np
import numpy.typing as npt
from PIL import Image

MAX_COLOURS = 256
COMPRESS_LEVEL = 9

Colours = npt.NDArray[np.int64]


def encode(image: Image.Image) -> bytes:
    """An "RGB" image as a palette PNG.

    Up to 256 colours are kept exactly. Of more, the 256 most frequent ones stay exact and every other pixel takes the nearest of
    them, without dithering: what is lost is shades of anti-aliased edges. The palette is sorted, so it depends on nothing but the image.
    """
    pixels = np.asarray(image.convert("RGB"), dtype=np.uint32)
    codes = pixels[..., 0] << 16 | pixels[..., 1] << 8 | pixels[..., 2]
    colours, inverse, counts = np.unique(codes, return_inverse=True, return_counts=True)
    ranked = np.lexsort((colours, -counts))
    kept = np.sort(ranked[:MAX_COLOURS])
    palette = _channels(colours[kept])
    places = np.full(len(colours), -1, dtype=np.int64)
    places[kept] = np.arange(len(kept))
    for lost in ranked[MAX_COLOURS:]:
        distance = ((palette - _channels(colours[lost : lost + 1])) ** 2).sum(axis=1)
        places[lost] = int(distance.argmin())
    indexed = Image.fromarray(places[inverse].reshape(codes.shape).astype(np.uint8))
    indexed.putpalette(palette.astype(np.uint8).tobytes())
    buffer = io.BytesIO()
    indexed.save(buffer, format="PNG", optimize=False, compress_level=COMPRESS_LEVEL, bits=_bits(len(kept)))
    return buffer.getvalue()


def _channels(codes: npt.NDArray[np.uint32]) -> Colours:
    """Red, green and blue in columns."""
    return np.stack([codes >> 16 & 255, codes >> 8 & 255, codes & 255], axis=1).astype(np.int64)


def _bits(colours: int) -> int:
    for bits in (1, 2, 4):
        if colours <= 1 << bits:
            return bits
    return 8
