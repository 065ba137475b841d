"""Qwen3-VL and GUI-Owl 1.5 with their `mobile_use` tool: a line `Action: ..`, then `<tool_call>{"name": "mobile_use", "arguments": {...}}</tool_call>`.

The call is that of `qwen25vl`, the frame is not: numbers are thousandths of the screen, which the tool's description states as 1000x1000.

Facts from QwenLM/Qwen3-VL 9658872, `cookbooks/mobile_agent.ipynb` (one user turn: query, progress, screen; the screen is stated as 999x999) and `README.md` (sampling), and from
X-PLUG/MobileAgent 11cea575, `Mobile-Agent-v3.5`: `mobile_use/utils.py` and `run_gui_owl_1_5_for_mobile.py` (1000x1000, last screens as a conversation, older steps as text, numbers
divided by 1000), `android_world_v3.5/.../agents/gui_owl.py` (`tap` means click) and `mobile_agent_utils_new.py` (`open_app` means open).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from sopbench.actions import ACTION_KINDS, Action
from sopbench.adapters.base import (
    Adapter,
    Message,
    ParsedReply,
    ParseFailure,
    Part,
    PromptSource,
    Text,
    Turn,
)
from sopbench.adapters.calling import checked_turns, parse_call, released_in_whole_pixels, safe_thought
from sopbench.adapters.loose_json import without_lone_surrogates
from sopbench.geometry import PER_MILLE, Size
from sopbench.prompts import builtin
from sopbench.prompts.texts import PromptTexts

ALIASES: Final[Mapping[str, str]] = MappingProxyType({"tap": "click", "open_app": "open", "scroll": "swipe"})
"""Names that the publisher's own harness takes for actions of the tool (a scroll there has two coordinates)."""
MAX_TOLD: Final = 400
"""Characters of a step that the progress keeps."""

_SENTENCE = re.compile(r"^[ \t*]{0,8}action[ \t*]{0,4}[:：]", re.IGNORECASE | re.MULTILINE)


class Qwen3VL(Adapter):
    name = "qwen3vl"
    summary = "Qwen3-VL and GUI-Owl 1.5 with the mobile_use tool: <tool_call> with JSON in the released names"
    frame = "thousandths of the screen's width and height; the tool's description states 1000x1000"
    history = (
        "steps whose screen is not kept are lines of the first user turn (the model's own `Action:` sentence, or its call); those whose screen is kept are a "
        "conversation"
    )
    expresses = frozenset(ACTION_KINDS)
    default_images = 1
    default_sampling = MappingProxyType({"temperature": 0.7, "top_p": 0.8, "top_k": 20})

    def __init__(self, texts: PromptTexts | None = None) -> None:
        self._texts = texts or builtin(self.name)

    def prompt_source(self) -> PromptSource:
        return self._texts.source()

    def sent_size(self, size: Size) -> Size:
        return PER_MILLE

    def render(self, goal: str, turns: Sequence[Turn], images: int) -> tuple[Message, ...]:
        """With one image: one user turn, as Qwen3-VL's cookbook has it. With more: the last screens and replies in turn, as GUI-Owl's harness has it."""
        first_shown = checked_turns(turns, images)
        first = min(first_shown, len(turns) - 1)
        system = self._texts.fill("system", width=PER_MILLE.width, height=PER_MILLE.height)
        task = self._texts.fill("user", goal=without_lone_surrogates(goal), progress=self._progress(turns[:first]))
        messages = [Message("system", (Text(system),))]
        for index, turn in enumerate(turns[first:], start=first):
            parts: list[Part] = [Text(task)] if index == first else []
            if index >= first_shown:
                parts.append(self.picture(turn.screen))
            messages.append(Message("user", tuple(parts)))
            if turn.reply is not None:
                messages.append(Message("assistant", (Text(without_lone_surrogates(turn.reply)),)))
        return tuple(messages)

    def parse(self, text: str, size: Size, sent: Size | None = None) -> ParsedReply | ParseFailure:
        return parse_call(text, PER_MILLE, "tool_call", ordinary=frozenset({"text_before"}), aliases=ALIASES)

    def format(self, action: Action, size: Size, thought: str | None = None) -> str:
        """The thought is text before the call, as in `qwen25vl`."""
        arguments = released_in_whole_pixels(action, PER_MILLE)
        call = json.dumps({"name": "mobile_use", "arguments": arguments}, ensure_ascii=False)
        before = f"{safe_thought(thought)}\n" if thought else ""
        return f"{before}<tool_call>\n{call}\n</tool_call>"

    def _progress(self, history: Sequence[Turn]) -> str:
        if not history:
            return self._texts.fill("no_progress")
        return "".join(
            self._texts.fill("step", number=number, action=self._step_line(turn))
            for number, turn in enumerate(history, start=1)
        )

    def _step_line(self, turn: Turn) -> str:
        """What the model itself said it does, else the call that it made."""
        parsed = self.parse(turn.reply or "", turn.screen.size)
        if isinstance(parsed, ParseFailure):
            return self._texts.fill("unreadable")
        sentences = list(_SENTENCE.finditer(parsed.thought or ""))
        if parsed.thought and sentences and (said := " ".join(parsed.thought[sentences[-1].end() :].split())):
            return said[:MAX_TOLD]
        return json.dumps(released_in_whole_pixels(parsed.action, PER_MILLE), ensure_ascii=False)
