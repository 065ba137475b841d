"""`grounding`: does the click land in the element's box? The metric of ScreenSpot, ScreenSpot-v2 and ScreenSpot-Pro.

Source, read for facts: likaixin2000/ScreenSpot-Pro-GUI-Grounding 588f1f2 `eval_screenspot_pro.py` (edges belong to the box; what cannot be read is wrong).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from sopbench.actions import Action, Click, LongPress
from sopbench.geometry import QWEN_FACTOR, Size
from sopbench.scoring.base import MATCH, WRONG_TYPE, Profile, Verdict, mismatch
from sopbench.scoring.targets import GRID, is_rounded
from sopbench.trajectory import Step


class Grounding(Profile):
    """A click counts in any box of the step, not enlarged, and where it is the gold point as a grid rounds it. Other kinds of gold are compared by type."""

    name: ClassVar[str] = "grounding"
    version: ClassVar[int] = 1
    summary: ClassVar[str] = "grounding benchmarks (ScreenSpot): the click lands inside the element's box"
    constants: ClassVar[Mapping[str, float]] = {"grid": GRID, "resize_factor": QWEN_FACTOR}
    reasons: ClassVar[tuple[str, ...]] = ("wrong_type", "outside_target")

    def judge(self, pred: Action, step: Step, size: Size) -> Verdict:
        match step.action(size), pred:
            case (Click(target), Click(point)) | (LongPress(target), LongPress(point)):
                inside = any(box.contains(point) for box in step.unit_boxes(size))
                return MATCH if inside or is_rounded(point, target, size) else mismatch("outside_target")
            case gold, _:
                return MATCH if pred.kind == gold.kind else WRONG_TYPE
