"""The language of the tiny model that comes with sopbench: `<think> LABEL</think><action>{JSON}</action>`, in pixels of the screenshot.

Short on both sides, for a model of a few million parameters: one user turn with the goal, a line for every step so far, and last the screen, so that what stands
for the screen can look at the goal. A line is the thought of the model's own reply, or its action where the reply has no thought.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from types import MappingProxyType
from typing import Final

from sopbench.actions import ACTION_KINDS, Action
from sopbench.adapters.base import Adapter, Message, ParsedReply, ParseFailure, Part, PromptSource, Text, Turn
from sopbench.adapters.calling import checked_turns, parse_call, released_in_whole_pixels, safe_thought
from sopbench.adapters.loose_json import without_lone_surrogates
from sopbench.geometry import Size
from sopbench.prompts import builtin
from sopbench.prompts.texts import PromptTexts

MAX_TOLD: Final = 120
"""Characters of an earlier thought that are told; a longer one is cut."""


class Tiny(Adapter):
    name = "tiny"
    summary = "sopbench's own tiny model: <think> label</think><action>{JSON}</action> in the released names"
    frame = "pixels of the original screenshot"
    history = "one user turn: the goal, a line for every step (the thought of the model's own reply, else its action), then the screen"
    expresses = frozenset(ACTION_KINDS)
    default_images = 1
    default_sampling = MappingProxyType({"temperature": 0.0, "max_tokens": 96})

    def __init__(self, texts: PromptTexts | None = None) -> None:
        self._texts = texts or builtin(self.name)

    def prompt_source(self) -> PromptSource:
        return self._texts.source()

    def sent_size(self, size: Size) -> Size:
        return size

    def render(self, goal: str, turns: Sequence[Turn], images: int) -> tuple[Message, ...]:
        """One message. Screens stand behind its text, the current one last."""
        first_shown = checked_turns(turns, images)
        progress = "".join(self._texts.fill("step", said=self._told(turn)) for turn in turns[:-1])
        told = self._texts.fill("user", goal=without_lone_surrogates(goal), progress=progress)
        parts: list[Part] = [Text(told)]
        parts += [self.picture(turn.screen) for turn in turns[first_shown:]]
        return (Message("user", tuple(parts)),)

    def parse(self, text: str, size: Size, sent: Size | None = None) -> ParsedReply | ParseFailure:
        return parse_call(text, sent or size, "action")

    def format(self, action: Action, size: Size, thought: str | None = None) -> str:
        think = f"<think> {safe_thought(thought)}</think>" if thought else ""
        return f"{think}<action>{self._words(action, size)}</action>"

    def _words(self, action: Action, size: Size) -> str:
        return json.dumps(released_in_whole_pixels(action, size), ensure_ascii=False)

    def _told(self, turn: Turn) -> str:
        """A step in one line, from the model's own reply alone."""
        parsed = self.parse(turn.reply or "", turn.screen.size)
        if isinstance(parsed, ParseFailure):
            return self._texts.templates["unreadable"]
        said = " ".join((parsed.thought or "").split()) or self._words(parsed.action, turn.screen.size)
        return said if len(said) <= MAX_TOLD else said[: MAX_TOLD - 1] + "…"
