"""`odyssey`: GUI-Odyssey's action matching: within 0.14 or in the target's box, scroll direction, text by ANLS."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import ClassVar

from sopbench.actions import Action
from sopbench.geometry import Point, Size
from sopbench.scoring.base import Profile, Verdict
from sopbench.scoring.steps import CONSTANTS, REASONS, judge_step
from sopbench.trajectory import Step

ANLS = 0.5


class Odyssey(Profile):
    """A point counts within 0.14 of the gold point, or in any candidate box; a text by containment or ANLS, case and all."""

    name: ClassVar[str] = "odyssey"
    version: ClassVar[int] = 1
    summary: ClassVar[str] = "GUI-Odyssey's action matching: within 0.14 or in a box, scroll direction, text by ANLS"
    constants: ClassVar[Mapping[str, float]] = {**CONSTANTS, "anls": ANLS}
    reasons: ClassVar[tuple[str, ...]] = REASONS

    def judge(self, pred: Action, step: Step, size: Size) -> Verdict:
        def in_box(point: Point) -> bool:
            return any(box.contains(point) for box in step.unit_boxes(size))

        return judge_step(pred, step.action(size), size, in_box=in_box, same_text=similar)


def similar(said: str, gold: str) -> bool:
    """One text, stripped, contains the other (the empty text is in every text), or their normalised Levenshtein similarity reaches `ANLS`."""
    said, gold = said.strip(), gold.strip()
    if said in gold or gold in said:
        return True
    longer = max(len(said), len(gold))
    if abs(len(said) - len(gold)) > (1 - ANLS) * longer:
        return False  # each missing character is an edit: no need to look at a reply of any length
    return 1 - edit_distance(said, gold) / longer >= ANLS


def edit_distance(one: str, other: str) -> int:
    """The Levenshtein distance, a column of the table at a time as the bits of one integer (Myers 1999, in Hyyro's form of 2003).

    Texts of 20,000 characters, which a hostile reply may have, take a fraction of a second.
    """
    if not one:
        return len(other)
    places: dict[str, int] = defaultdict(int)
    for index, character in enumerate(one):
        places[character] |= 1 << index
    whole = (1 << len(one)) - 1
    last = 1 << (len(one) - 1)
    rises, falls, distance = whole, 0, len(one)
    for character in other:
        equal = places.get(character, 0)
        diagonal = ((((equal & rises) + rises) ^ rises) | equal | falls) & whole
        right_rises = falls | (~(diagonal | rises) & whole)
        right_falls = diagonal & rises
        distance += bool(right_rises & last) - bool(right_falls & last)
        right_rises = ((right_rises << 1) | 1) & whole
        right_falls = (right_falls << 1) & whole
        rises = right_falls | (~(diagonal | right_rises) & whole)
        falls = right_rises & diagonal
    return distance
