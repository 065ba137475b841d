"""AndroidWorld's JSONAction: `Reason: ..`, then `Action: {"action_type": ..}`, in pixels of the screenshot.

Facts from google-research/android_world d9c569f: `android_world/env/json_action.py` (the space), `env/actuation.py` (what each action does),
`agents/m3a.py` and `agents/t3a.py` (reply form, steps told as text), `agents/infer.py` (greedy, at most 1,000 tokens).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from types import MappingProxyType

from sopbench.actions import Action
from sopbench.adapters.android_action import EXPRESSES, LEAVES_OUT, can_say, parse_android, say_android_action
from sopbench.adapters.base import Adapter, Message, ParsedReply, ParseFailure, Part, PromptSource, Text, Turn
from sopbench.adapters.calling import checked_turns
from sopbench.adapters.loose_json import without_lone_surrogates
from sopbench.adapters.objects import safe_thought
from sopbench.geometry import Size
from sopbench.prompts import builtin
from sopbench.prompts.texts import PromptTexts

_OWN = frozenset(
    {
        "answer",
        "click",
        "input_text",
        "keyboard_enter",
        "long_press",
        "navigate_back",
        "navigate_home",
        "open_app",
        "scroll",
        "status",
        "swipe",
        "wait",
    }
)


class JsonAction(Adapter):
    name = "json_action"
    summary = 'AndroidWorld\'s JSONAction: Reason, then Action with {"action_type": ...}'
    frame = "pixels of the original screenshot; the system text states its size"
    history = "one user turn: the task, the actions so far as the model itself said them, then the screen"
    expresses = EXPRESSES
    leaves_out = LEAVES_OUT
    default_images = 1
    default_sampling = MappingProxyType({"temperature": 0.0, "max_tokens": 1000})

    def __init__(self, texts: PromptTexts | None = None) -> None:
        self._texts = texts or builtin(self.name)

    def prompt_source(self) -> PromptSource:
        return self._texts.source()

    def sent_size(self, size: Size) -> Size:
        return size

    def render(self, goal: str, turns: Sequence[Turn], images: int) -> tuple[Message, ...]:
        """With one image the user turn is (text, screen). With more, earlier screens stand before it in order, each under its own line."""
        first_shown = checked_turns(turns, images)
        size = turns[-1].screen.size
        system = self._texts.fill("system", width=size.width, height=size.height)
        progress = "".join(self._step(number, turn) for number, turn in enumerate(turns[:-1], start=1))
        told = progress or self._texts.fill("no_progress")
        parts: list[Part] = [Text(self._texts.fill("user", goal=without_lone_surrogates(goal), progress=told))]
        shown = list(enumerate(turns, start=1))[first_shown:]
        for number, turn in shown:
            if len(shown) > 1:
                caption = "current_screen" if number == len(turns) else "earlier_screen"
                parts.append(Text("\n" + self._texts.fill(caption, number=number)))
            parts.append(self.picture(turn.screen))
        return Message("system", (Text(system),)), Message("user", tuple(parts))

    def parse(self, text: str, size: Size, sent: Size | None = None) -> ParsedReply | ParseFailure:
        return parse_android(text, sent or size, _OWN)

    def can_express(self, action: Action) -> bool:
        return can_say(action)

    def format(self, action: Action, size: Size, thought: str | None = None) -> str:
        before = f"Reason: {safe_thought(thought)}\n" if thought else ""
        return f"{before}Action: {self._words(action, size)}"

    def _words(self, action: Action, size: Size) -> str:
        said = say_android_action(self.name, action, size, size, type_word="input_text", success_word="complete")
        return json.dumps(said, ensure_ascii=False)

    def _step(self, number: int, turn: Turn) -> str:
        """The action that the model itself said, in the pixels in which it said it: nothing but its reply goes in."""
        parsed = self.parse(turn.reply or "", turn.screen.size)
        if isinstance(parsed, ParseFailure):
            words = self._texts.fill("unreadable")
        else:
            words = self._words(parsed.action, turn.screen.size)
        return self._texts.fill("step", number=number, action=words)
