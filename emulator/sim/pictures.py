"""Pictures that are the same for every screen."""

from __future__ import annotations

import io
from functools import lru_cache

from PIL import Image

from sopbench.geometry import Size


@lru_cache(maxsize=4)
def black_png(size: Size) -> bytes:
    """A screen that shows nothing, as a PNG."""
    return png(Image.new("RGB", (size.width, size.height)))


def png(image: Image.Image) -> bytes:
    out = io.BytesIO()
    image.save(out, "PNG", compress_level=1)
    return out.getvalue()
