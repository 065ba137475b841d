"""UI-TARS v1 (2B, 7B, 72B; SFT and DPO; on Qwen2-VL): numbers from 0 to 1000 of the screen's width and height.

Facts: see `ui_tars_words`; that numbers are per-mille from bytedance/UI-TARS 582f3a7, `codes/ui_tars/action_parser.py` (whatever is not Qwen2.5-VL is divided by `factor`) and
X-PLUG/MobileAgent 11cea575, `UI-S1/evaluation/ui_tars_utils.py`. Sampling: that evaluator's.
"""

from __future__ import annotations

from types import MappingProxyType

from sopbench.adapters.base import ParsedReply, ParseFailure
from sopbench.adapters.ui_tars_words import UiTarsFamily
from sopbench.geometry import PER_MILLE, Size


class UiTars(UiTarsFamily):
    name = "ui_tars"
    summary = "UI-TARS v1 (7B-SFT, 7B-DPO, 72B): Thought and Action with calls such as click(start_box='(500,250)')"
    frame = "thousandths of the screen's width and height (0 to 1000)"
    default_sampling = MappingProxyType({"temperature": 0.1, "top_k": 1, "max_tokens": 512})
    point_words = ("start_box", "start_box", "end_box")

    def said_point(self, x: int, y: int) -> str:
        return f"<|box_start|>({x},{y})<|box_end|>"

    def sent_size(self, size: Size) -> Size:
        return PER_MILLE

    def parse(self, text: str, size: Size, sent: Size | None = None) -> ParsedReply | ParseFailure:
        return self.read(text, PER_MILLE)
