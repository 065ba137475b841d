"""`uis1-boxes`: what the released UI-S1 evaluator's code intends, candidate boxes included."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from sopbench.actions import Action
from sopbench.geometry import Size
from sopbench.scoring.base import Profile, Verdict
from sopbench.scoring.uis1 import CONSTANTS, ENLARGE, REASONS, judge_uis1
from sopbench.trajectory import Step


class Uis1Boxes(Profile):
    """As `uis1-released`, and a point in any candidate box enlarged about its centre counts; so does tapping the icon for `open`."""

    name: ClassVar[str] = "uis1-boxes"
    version: ClassVar[int] = 1
    summary: ClassVar[str] = "what the released code intends: candidate boxes, enlarged 1.2x, count as targets"
    constants: ClassVar[Mapping[str, float]] = {**CONSTANTS, "enlarge": ENLARGE}
    reasons: ClassVar[tuple[str, ...]] = REASONS

    def judge(self, pred: Action, step: Step, size: Size) -> Verdict:
        return judge_uis1(pred, step.action(size), step.unit_boxes(size))
