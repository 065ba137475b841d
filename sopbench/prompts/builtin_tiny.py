"""What the tiny model is told: the goal, a line for every step so far, and the screen. It was trained from nothing, so there is nothing to explain to it."""

from __future__ import annotations

from typing import Final

from sopbench.prompts.texts import BUILTIN_NOTE, PromptTexts

TEXTS: Final = PromptTexts(
    family="tiny",
    kind="builtin",
    note=BUILTIN_NOTE,
    templates={
        "user": " {goal}{progress}\n",
        "step": "\n {said}",
        "unreadable": "?",
    },
)
