"""UI-TARS v1.5 (7B, on Qwen2.5-VL): the words of v1, but numbers are pixels of the image after smart_resize.

Facts: see `ui_tars_words`; frame and pixel limits from bytedance/UI-TARS 582f3a7, `README_coordinates.md` and `codes/ui_tars/action_parser.py` (100 to 16,384 tokens of 28x28).
Sampling: its `README_deploy.md`.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from sopbench.adapters.base import ParsedReply, ParseFailure
from sopbench.adapters.ui_tars_words import UiTarsFamily
from sopbench.geometry import QWEN_FACTOR, Size, smart_resize

MIN_PIXELS: Final = 100 * QWEN_FACTOR**2
MAX_PIXELS: Final = 16_384 * QWEN_FACTOR**2


class UiTars15(UiTarsFamily):
    name = "ui_tars15"
    summary = "UI-TARS v1.5 (7B): Thought and Action with calls such as click(point='<point>546 1204</point>')"
    frame = "pixels of the image after smart_resize (factor 28, 100 to 16,384 tokens of 28x28 pixels)"
    default_sampling = MappingProxyType({"temperature": 0.0, "max_tokens": 400})
    image_token_side = QWEN_FACTOR
    pixel_limits = (MIN_PIXELS, MAX_PIXELS)
    point_words = ("point", "start_point", "end_point")

    def said_point(self, x: int, y: int) -> str:
        return f"<point>{x} {y}</point>"

    def sent_size(self, size: Size) -> Size:
        return smart_resize(size, min_pixels=MIN_PIXELS, max_pixels=MAX_PIXELS)

    def parse(self, text: str, size: Size, sent: Size | None = None) -> ParsedReply | ParseFailure:
        return self.read(text, sent or self.sent_size(size))
