"""`strict`: the profile recommended for new work. A step counts when the action would have done what the expert's did.

Its one allowance is for rounding: adapters speak whole pixels of the image that the model saw, or thousandths of the screen. A prediction that is
the gold point as such a grid rounds it counts wherever the gold point lies in its box, on the very edge too, and a swipe counts for each
direction that rounding could give the gold path. Nothing else is enlarged.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar

from sopbench.actions import (
    Action,
    Answer,
    Click,
    Key,
    LongPress,
    Open,
    Swipe,
    SystemButton,
    Terminate,
    Type,
    Wait,
)
from sopbench.geometry import QWEN_FACTOR, Box, Point, Size
from sopbench.scoring.app_names import APP_NAMES
from sopbench.scoring.base import MATCH, WRONG_TYPE, Profile, Verdict, mismatch
from sopbench.scoring.targets import GRID, is_rounded, judge_direction, smallest_box
from sopbench.trajectory import Step

DISTANCE = 0.04


class Strict(Profile):
    name: ClassVar[str] = "strict"
    version: ClassVar[int] = 1
    summary: ClassVar[str] = "recommended for new work: the smallest target box, equal text, swipe direction"
    constants: ClassVar[Mapping[str, float]] = {"distance": DISTANCE, "grid": GRID, "resize_factor": QWEN_FACTOR}
    tables: ClassVar[Mapping[str, Any]] = {"app_names": APP_NAMES}
    reasons: ClassVar[tuple[str, ...]] = (
        "wrong_type",
        "outside_target",
        "text_differs",
        "empty_text",
        "direction",
        "no_motion",
        "button",
        "status",
        "key",
    )

    def judge(self, pred: Action, step: Step, size: Size) -> Verdict:
        match step.action(size), pred:
            case (Click(target), Click(point)) | (LongPress(target), LongPress(point)):
                return MATCH if _hits(point, target, step.boxes, size) else mismatch("outside_target")
            case Open(app), Open(said):
                return _judge_text(said, app, aliases=_aliases())
            case (Type(text), Type(said)) | (Answer(text), Answer(said)):
                return _judge_text(said, text)
            case Swipe() as gold, Swipe() as swipe:
                return judge_direction(swipe, gold, size)
            case SystemButton(button), SystemButton(pressed):
                return MATCH if pressed == button else mismatch("button")
            case Key(code), Key(pressed_code):
                return MATCH if pressed_code.casefold() == code.casefold() else mismatch("key")
            case Terminate(status), Terminate(said_status):
                return MATCH if said_status == status else mismatch("status")
            case Wait(), Wait():
                return MATCH
        return WRONG_TYPE


def _hits(point: Point, target: Point, boxes: tuple[Box, ...], size: Size) -> bool:
    """`point` and `target` in unit coordinates, `boxes` in original pixels of a screen of `size`."""
    if is_rounded(point, target, size):
        return True
    box = smallest_box(target, boxes, size)
    if box is not None:
        return box.to_unit(size).contains(point)
    dx, dy = (point.x - target.x) * size.width, (point.y - target.y) * size.height
    return math.hypot(dx, dy) <= DISTANCE * min(size.width, size.height)


def _judge_text(said: str, gold: str, aliases: Mapping[str, str] | None = None) -> Verdict:
    """Equal after normalisation. The empty text matches nothing, unless a recording's own text is empty: every gold matches itself."""
    said, gold = fold(said), fold(gold)
    if said == gold or (aliases and aliases.get(said, said) == aliases.get(gold, gold)):
        return MATCH
    return mismatch("text_differs" if said else "empty_text")


def fold(text: str) -> str:
    """NFKC, case folding (NFKC again, since folding can undo it), white space collapsed to single blanks."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    return " ".join(folded.split())


@cache
def _aliases() -> Mapping[str, str]:
    """Every known name of an app, folded, to the first one of its line."""
    return {fold(name): fold(names[0]) for names in APP_NAMES for name in names}
