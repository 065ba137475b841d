"""`uis1-released`: the verdicts of the released UI-S1 evaluator, for comparison with published SOP numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from sopbench.actions import Action
from sopbench.geometry import Size
from sopbench.scoring.base import Profile, Verdict
from sopbench.scoring.uis1 import CONSTANTS, REASONS, judge_uis1
from sopbench.trajectory import Step


class Uis1Released(Profile):
    """Candidate boxes never count: the released code looks for them at the level of the step, where its data file has none."""

    name: ClassVar[str] = "uis1-released"
    version: ClassVar[int] = 1
    summary: ClassVar[str] = "what the released UI-S1 evaluator really does; compare with published SOP numbers"
    constants: ClassVar[Mapping[str, float]] = CONSTANTS
    reasons: ClassVar[tuple[str, ...]] = REASONS

    def judge(self, pred: Action, step: Step, size: Size) -> Verdict:
        return judge_uis1(pred, step.action(size), ())
