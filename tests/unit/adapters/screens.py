"""Small screens for rendering tests."""

from __future__ import annotations

import io
from functools import cache

from PIL import Image

from sopbench.screen import Screen


@cache
def blank(width: int, height: int, shade: int = 0) -> Screen:
    """A screen of one shade, in memory; the same object for the same arguments."""
    out = io.BytesIO()
    Image.new("RGB", (width, height), (shade, shade, shade)).save(out, "PNG")
    return Screen.from_bytes(out.getvalue(), f"{width}x{height}-{shade}")
