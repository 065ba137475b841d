"""`androidcontrol`: the step metrics that AndroidControl is usually reported in (TM, GR, SR), as OS-Atlas's evaluation set them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from sopbench.actions import Action, Click, LongPress
from sopbench.geometry import Point, Size
from sopbench.scoring.base import Profile, Verdict
from sopbench.scoring.steps import CONSTANTS, REASONS, judge_step
from sopbench.scoring.targets import smallest_box
from sopbench.trajectory import Step

TEXT_F1 = 0.5


class AndroidControl(Profile):
    """A point counts within 0.14 of the gold point, or in the smallest candidate box around it; a text by the F1 of its words."""

    name: ClassVar[str] = "androidcontrol"
    version: ClassVar[int] = 1
    summary: ClassVar[str] = (
        "AndroidControl's step metrics: within 0.14 or in the target's box, scroll direction, word F1"
    )
    constants: ClassVar[Mapping[str, float]] = {**CONSTANTS, "text_f1": TEXT_F1}
    reasons: ClassVar[tuple[str, ...]] = REASONS

    def judge(self, pred: Action, step: Step, size: Size) -> Verdict:
        gold = step.action(size)

        def in_box(point: Point) -> bool:
            box = smallest_box(gold.point, step.boxes, size) if isinstance(gold, Click | LongPress) else None
            return box is not None and box.to_unit(size).contains(point)

        return judge_step(pred, gold, size, in_box=in_box, same_text=shares_words)


def shares_words(said: str, gold: str) -> bool:
    """Equal but for white space at the ends, or a word F1 above `TEXT_F1`. Words are lower-cased, separated by white space, and counted once."""
    if said.strip() == gold.strip():
        return True
    words, due = set(said.lower().split()), set(gold.lower().split())
    common = len(words & due)
    return common > 0 and 2 * common / (len(words) + len(due)) > TEXT_F1
