"""PNG bytes of a screen: one palette, fixed parameters, so that the same screen is always the same file.

Written here and not by Pillow, whose wheels bring compressors that change from release to release; Python's zlib changes rarely
(and another one gives other bytes of the same pixels).
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from PIL import Image

MAX_COLOURS = 256
COMPRESS_LEVEL = 9

Colours = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Indexed:
    """An image as indices into a palette: `palette` one RGB row a colour, `pixels` one row a row of the image."""

    palette: Bytes
    pixels: Bytes

    @property
    def fingerprint(self) -> str:
        """SHA-256 of size, palette and pixels: the same on every machine that draws the same, whatever compresses it."""
        height, width = self.pixels.shape
        digest = hashlib.sha256(struct.pack(">II", width, height))
        digest.update(self.palette.tobytes())
        digest.update(self.pixels.tobytes())
        return digest.hexdigest()

    def png(self) -> bytes:
        """PNG (W3C Recommendation, third edition): signature, IHDR, PLTE, IDAT, IEND; rows packed, without a filter."""
        height, width = self.pixels.shape
        bits = _bits(len(self.palette))
        planes = self.pixels[..., None] >> np.arange(bits - 1, -1, -1, dtype=np.uint8) & 1
        packed = np.packbits(planes.reshape(height, -1), axis=1) if bits < 8 else self.pixels
        rows = np.concatenate((np.zeros((height, 1), dtype=np.uint8), packed), axis=1).tobytes()
        header = struct.pack(">IIBBBBB", width, height, bits, 3, 0, 0, 0)
        chunks = (
            (b"IHDR", header),
            (b"PLTE", self.palette.tobytes()),
            (b"IDAT", zlib.compress(rows, COMPRESS_LEVEL)),
            (b"IEND", b""),
        )
        return b"\x89PNG\r\n\x1a\n" + b"".join(
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
            for kind, data in chunks
        )


def encode(image: Image.Image) -> bytes:
    """An "RGB" image as a palette PNG; see `index` for what is kept of more than 256 colours."""
    return index(image).png()


def index(image: Image.Image) -> Indexed:
    """The image with a palette of its own.

    Up to 256 colours are kept exactly. Of more, the 256 most frequent ones stay exact and every other pixel takes the nearest of
    them, without dithering: what is lost is shades of anti-aliased edges. The palette is sorted, so it depends on nothing but the image.
    """
    channels = np.asarray(image.convert("RGB"), dtype=np.uint32)
    codes = (channels[..., 0] << 16 | channels[..., 1] << 8 | channels[..., 2]).ravel()
    # screens are made of long runs of one colour: count and look up runs, not pixels
    starts = np.flatnonzero(np.concatenate(([True], codes[1:] != codes[:-1])))
    lengths = np.diff(starts, append=len(codes))
    colours, inverse = np.unique(codes[starts], return_inverse=True)
    counts = np.bincount(inverse, weights=lengths)
    ranked = np.lexsort((colours, -counts))
    kept = np.sort(ranked[:MAX_COLOURS])
    palette = _channels(colours[kept])
    places = np.full(len(colours), -1, dtype=np.int64)
    places[kept] = np.arange(len(kept))
    for lost in ranked[MAX_COLOURS:]:
        distance = ((palette - _channels(colours[lost : lost + 1])) ** 2).sum(axis=1)
        places[lost] = int(distance.argmin())
    pixels = np.repeat(places[inverse].astype(np.uint8), lengths).reshape(image.height, image.width)
    return Indexed(palette.astype(np.uint8), pixels)


def _channels(codes: npt.NDArray[np.uint32]) -> Colours:
    """Red, green and blue in columns."""
    return np.stack([codes >> 16 & 255, codes >> 8 & 255, codes & 255], axis=1).astype(np.int64)


def _bits(colours: int) -> int:
    for bits in (1, 2, 4):
        if colours <= 1 << bits:
            return bits
    return 8
