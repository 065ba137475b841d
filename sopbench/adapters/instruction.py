"""How a request tells the instruction for one step: in our own words, behind the goal.

Only the suite `androidcontrol-low` does that. The hash of these words stands in its runs, beside that of the family's texts.
"""

from __future__ import annotations

import hashlib

WORDS = "{goal}\n\nThe one step to take now, on the latest screen: {instruction}"


def with_instruction(goal: str, instruction: str) -> str:
    """The goal text of a request that also says which step is due."""
    before, between = WORDS.split("{goal}")[1].split("{instruction}")
    return f"{goal}{before}{instruction.strip()}{between}"


def words_sha256() -> str:
    return hashlib.sha256(WORDS.encode()).hexdigest()
