"""Qwen2.5-VL with its `mobile_use` tool: some text, then `<tool_call>{"name": "mobile_use", "arguments": {...}}</tool_call>`.

Facts from Qwen2.5-VL's cookbook `mobile_agent` (one user turn with task and progress, then the screen; the tool's description states the resized size) and from
X-PLUG/MobileAgent 11cea575, `UI-S1/x/qwen/agent.py` and `x/data/agent/mobile_use.py`. Pixel limits: the model's own `preprocessor_config.json`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

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
from sopbench.geometry import QWEN_FACTOR, Size, smart_resize
from sopbench.prompts import builtin
from sopbench.prompts.texts import PromptTexts

MIN_PIXELS = 3_136
MAX_PIXELS = 12_845_056


class Qwen25VL(Adapter):
    name = "qwen25vl"
    summary = "Qwen2.5-VL with the mobile_use tool: <tool_call> with JSON in the released names"
    frame = "pixels of the image after smart_resize (factor 28, 3,136 to 12,845,056 pixels); the tool's description states that size"
    history = "one user turn: the task, the actions so far as the model itself called them, then the screen"
    expresses = frozenset(ACTION_KINDS)
    default_images = 1
    server_flags = ()
    image_token_side = QWEN_FACTOR
    pixel_limits = (MIN_PIXELS, MAX_PIXELS)

    def __init__(self, texts: PromptTexts | None = None) -> None:
        self._texts = texts or builtin(self.name)

    def prompt_source(self) -> PromptSource:
        return self._texts.source()

    def sent_size(self, size: Size) -> Size:
        return smart_resize(size, min_pixels=MIN_PIXELS, max_pixels=MAX_PIXELS)

    def render(self, goal: str, turns: Sequence[Turn], images: int) -> tuple[Message, ...]:
        """With one image the user turn is (text, screen). With more, earlier screens stand before it in order, each under its own line."""
        first_shown = checked_turns(turns, images)
        stated = self.sent_size(turns[-1].screen.size)
        system = self._texts.fill("system", width=stated.width, height=stated.height)
        task = self._texts.fill("user", goal=without_lone_surrogates(goal), progress=self._progress(turns[:-1]))
        parts: list[Part] = [Text(task)]
        shown = list(enumerate(turns, start=1))[first_shown:]
        for number, turn in shown:
            if len(shown) > 1:
                caption = "current_screen" if number == len(turns) else "earlier_screen"
                parts.append(Text("\n" + self._texts.fill(caption, number=number)))
            parts.append(Image(turn.screen))
        return Message("system", (Text(system),)), Message("user", tuple(parts))

    def parse(self, text: str, size: Size, sent: Size | None = None) -> ParsedReply | ParseFailure:
        return parse_call(text, sent or self.sent_size(size), "tool_call", ordinary=frozenset({"text_before"}))

    def format(self, action: Action, size: Size, thought: str | None = None) -> str:
        """The thought is text before the call: the family has no tag for it."""
        arguments = released_in_whole_pixels(action, self.sent_size(size))
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
        """The call that the model itself made, in the pixels in which it made it: nothing but its reply goes in."""
        size = turn.screen.size
        parsed = self.parse(turn.reply or "", size)
        if isinstance(parsed, ParseFailure):
            return self._texts.fill("unreadable")
        return json.dumps(released_in_whole_pixels(parsed.action, self.sent_size(size)), ensure_ascii=False)
