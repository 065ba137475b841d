"""What the step metrics of AndroidControl and GUI-Odyssey have in common: 0.14 of the screen around the gold point, or the target's box.

Sources, read for facts: OS-Copilot/OS-Atlas bad0840 `eval/eval_scripts/{android_control,odyssey}/evaluation_unify.py`, and OpenGVLab/GUI-Odyssey e12788f
`src/eval_mm/GUIOdyssey_action_matching.py`. All measure the distance between points in thousandths of the screen's sides, so that what is allowed
is an ellipse in pixels (151 by 336 on 1080x2400), and in all of them every button and both endings are action types of their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from sopbench.actions import Action, Answer, Click, Key, LongPress, Open, Swipe, SystemButton, Terminate, Type, Wait
from sopbench.geometry import QWEN_FACTOR, Point, Size
from sopbench.scoring.base import MATCH, WRONG_TYPE, Verdict, mismatch
from sopbench.scoring.targets import GRID, judge_direction

DISTANCE = 0.14
CONSTANTS: Mapping[str, float] = {"distance": DISTANCE, "grid": GRID, "resize_factor": QWEN_FACTOR}
REASONS = (
    "wrong_type",
    "outside_target",
    "text_differs",
    "direction",
    "no_motion",
    "button",
    "status",
    "key",
)


def judge_step(
    pred: Action, gold: Action, size: Size, *, in_box: Callable[[Point], bool], same_text: Callable[[str, str], bool]
) -> Verdict:
    """The verdict on `pred`. `in_box` says whether a point (unit coordinates) lies in a box that counts, `same_text(said, gold)` whether two texts do."""
    match gold, pred:
        case (Click(target), Click(point)) | (LongPress(target), LongPress(point)):
            near = math.hypot(point.x - target.x, point.y - target.y) <= DISTANCE
            return MATCH if near or in_box(point) else mismatch("outside_target")
        case Swipe() as path, Swipe() as swipe:
            return judge_direction(swipe, path, size)
        case (Type(text), Type(said)) | (Open(text), Open(said)) | (Answer(text), Answer(said)):
            return MATCH if same_text(said, text) else mismatch("text_differs")
        case Wait(), Wait():
            return MATCH
        case SystemButton(button), SystemButton(pressed):
            return MATCH if pressed == button else mismatch("button", type_match=False)
        case Terminate(status), Terminate(said_status):
            return MATCH if said_status == status else mismatch("status", type_match=False)
        case Key(code), Key(pressed_code):
            return MATCH if pressed_code.casefold() == code.casefold() else mismatch("key", type_match=False)
    return WRONG_TYPE
