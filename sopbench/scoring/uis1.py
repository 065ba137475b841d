"""The rules of the UI-S1 evaluator, which `uis1-released` applies without boxes and `uis1-boxes` with them.

Source of the rules and numbers: X-PLUG/MobileAgent, commit 11cea575, `UI-S1/evaluation/qwenvl_utils.py`, read for facts. Everything is in unit
coordinates, as there: predictions are divided by the size that they refer to, gold by the original size, so that the allowed distance is an ellipse in
pixels (43 by 96 on 1080x2400).

Three kinds of gold are not implemented there, and no published file has them: `key`, `answer` and `terminate`. They get the nearest of the
evaluator's own rules here: a key is compared as buttons are, an answer as typed text is, a status must be equal.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from sopbench.actions import Action, Answer, Click, Key, LongPress, Open, Swipe, SystemButton, Terminate, Type, Wait
from sopbench.geometry import Box, Point
from sopbench.scoring.base import MATCH, WRONG_TYPE, Verdict, mismatch

DISTANCE = 0.04
ENLARGE = 1.2
CONSTANTS: Mapping[str, float] = {"distance": DISTANCE}
REASONS = ("wrong_type", "outside_target", "text_differs", "button", "status", "key")


def judge_uis1(pred: Action, gold: Action, boxes: Sequence[Box]) -> Verdict:
    """The evaluator's verdict on `pred`. `boxes` are the candidate targets that count, in unit coordinates."""
    match gold, pred:
        case (Click(target), Click(point)) | (LongPress(target), LongPress(point)):
            return MATCH if hits(point, target, boxes) else mismatch("outside_target")
        case Open(app), Open(said):
            return MATCH if either_contains(said, app) else mismatch("text_differs")
        case Open(), Click(point) if boxes:
            return MATCH if hits(point, boxes[0].centre, boxes) else mismatch("outside_target")
        case (Type(text), Type(said)) | (Answer(text), Answer(said)):
            return MATCH if either_contains(said, text) else mismatch("text_differs")
        case (Swipe(), Swipe()) | (Wait(), Wait()):
            return MATCH
        case SystemButton(button), SystemButton(pressed):
            return MATCH if pressed == button else mismatch("button")
        case Key(code), Key(pressed_code):
            return MATCH if pressed_code.lower().strip() == code.lower().strip() else mismatch("key")
        case Terminate(status), Terminate(said_status):
            return MATCH if said_status == status else mismatch("status")
    return WRONG_TYPE


def hits(point: Point, target: Point, boxes: Sequence[Box]) -> bool:
    """In a box enlarged about its centre, or within the distance of the target.

    The distance is the square root of the sum of squares, not `math.hypot`: the two differ in the last bit, and the released code (numpy's norm) computes it so.
    """
    if any(box.enlarged(ENLARGE).contains(point) for box in boxes):
        return True
    dx, dy = target.x - point.x, target.y - point.y
    return math.sqrt(dx * dx + dy * dy) <= DISTANCE


def either_contains(said: str, gold: str) -> bool:
    """Lower-cased and stripped, one contains the other: the empty text matches everything."""
    said, gold = said.lower().strip(), gold.lower().strip()
    return said in gold or gold in said
