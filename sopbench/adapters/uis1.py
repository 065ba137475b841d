"""UI-S1-7B, and Qwen2.5-VL-7B as its paper's base model: `<think>..</think>`, then `<action>{JSON}</action>`.

Facts from X-PLUG/MobileAgent 11cea575: `UI-S1/x/data/agent/json.py` (messages and reply form), `x/qwen/data_format.py` (which screens are kept),
`x/data/agent/base.py` (coordinates rounded to whole pixels), `evaluation/eval_qwenvl.py` (two screens), `evaluation/qwenvl_utils.py` (sampling).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from types import MappingProxyType

from sopbench.actions import ACTION_KINDS, Action
from sopbench.adapters.base import (
    Adapter,
    Image,
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
from sopbench.geometry import QWEN_FACTOR, UIS1_MAX_PIXELS, UIS1_MIN_PIXELS, Size, smart_resize
from sopbench.prompts import builtin
from sopbench.prompts.texts import PromptTexts


class UiS1(Adapter):
    name = "uis1"
    summary = "UI-S1-7B; Qwen2.5-VL-7B as in the UI-S1 paper: <think> and <action> with JSON in the released names"
    frame = "pixels of the image after smart_resize (factor 28, 4 to 12,800 tokens of 28x28 pixels)"
    history = "a conversation: system, then user (text, screen) and assistant (the model's own raw reply) in turn"
    expresses = frozenset(ACTION_KINDS)
    default_images = 2
    default_sampling = MappingProxyType({"top_k": 1})
    server_flags = ("--limit-mm-per-prompt '{\"image\": 2}'",)
    image_token_side = QWEN_FACTOR
    pixel_limits = (UIS1_MIN_PIXELS, UIS1_MAX_PIXELS)

    def __init__(self, texts: PromptTexts | None = None) -> None:
        self._texts = texts or builtin(self.name)

    def prompt_source(self) -> PromptSource:
        return self._texts.source()

    def sent_size(self, size: Size) -> Size:
        return smart_resize(size)

    def render(self, goal: str, turns: Sequence[Turn], images: int) -> tuple[Message, ...]:
        first_shown = checked_turns(turns, images)
        messages = [Message("system", (Text(self._texts.fill("system")),))]
        for index, turn in enumerate(turns):
            parts: list[Part]
            if index == 0:
                parts = [
                    Text(self._texts.fill("first_turn", goal=without_lone_surrogates(goal))),
                    Text(self._texts.fill("first_turn_hint")),
                ]
            else:
                parts = [Text(self._texts.fill("next_turn"))]
            if index >= first_shown:
                parts.append(Image(turn.screen))
            messages.append(Message("user", tuple(parts)))
            if turn.reply is not None:
                messages.append(Message("assistant", (Text(without_lone_surrogates(turn.reply)),)))
        return tuple(messages)

    def parse(self, text: str, size: Size, sent: Size | None = None) -> ParsedReply | ParseFailure:
        return parse_call(text, sent or self.sent_size(size), "action")

    def format(self, action: Action, size: Size, thought: str | None = None) -> str:
        """The think part stands only where there is a thought, as in the released data."""
        call = json.dumps(released_in_whole_pixels(action, self.sent_size(size)), ensure_ascii=False)
        think = f"<think>\n{safe_thought(thought)}\n</think>\n" if thought else ""
        return f"{think}<action>\n{call}\n</action>"
