"""OS-Genesis: `Low-level thought: ..`, then `action: {"action_type": ..}` in AndroidWorld's manner.

Two adapters, since sources disagree about the numbers: `os_genesis` counts per-mille, as the evaluator released with UI-S1 reads them, and `os_genesis_pixels`
counts pixels of the original screenshot, as the family's own code and training data do.

Facts from OS-Copilot/OS-Genesis e9178a8: `evaluation/android_world/genesis_agents.py` (turn, history, action names), `genesis_utils.py` (reply form, with a sample of
the training data), `evaluation/android_control/ac_eval.py` (pixels); X-PLUG/MobileAgent 11cea575, `UI-S1/evaluation/os_genesis_utils.py` (per-mille).
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
from sopbench.geometry import PER_MILLE, Size
from sopbench.prompts import builtin
from sopbench.prompts.texts import PromptTexts

_OWN = frozenset(
    {
        "answer",
        "click",
        "dismiss",
        "keyboard_enter",
        "long_press",
        "navigate_back",
        "navigate_home",
        "open_app",
        "scroll",
        "status",
        "type",
        "wait",
    }
)


class OsGenesis(Adapter):
    name = "os_genesis"
    summary = 'OS-Genesis: Low-level thought, then action: {"action_type": ...}; coordinates in per-mille'
    frame = "per-mille of the screen (0 to 1000); the family's own code counts pixels: see os_genesis_pixels"
    history = (
        "one user turn: the screen, then the task and the steps so far, each with the model's own thought and action"
    )
    expresses = EXPRESSES
    leaves_out = LEAVES_OUT
    default_images = 1
    default_sampling = MappingProxyType({"temperature": 0.0})

    def __init__(self, texts: PromptTexts | None = None) -> None:
        self._texts = texts or builtin(self.name)

    def prompt_source(self) -> PromptSource:
        return self._texts.source()

    def sent_size(self, size: Size) -> Size:
        return PER_MILLE

    def render(self, goal: str, turns: Sequence[Turn], images: int) -> tuple[Message, ...]:
        """One user turn: the screen first, then the text. With more images, earlier screens stand first, each behind a line of its own."""
        first_shown = checked_turns(turns, images)
        parts: list[Part] = []
        shown = list(enumerate(turns, start=1))[first_shown:]
        for number, turn in shown:
            if len(shown) > 1:
                caption = "current_screen" if number == len(turns) else "earlier_screen"
                parts.append(Text(self._texts.fill(caption, number=number)))
            parts.append(self.picture(turn.screen))
        progress = "".join(self._step(number, turn) for number, turn in enumerate(turns[:-1], start=1))
        size = self.sent_size(turns[-1].screen.size)
        told = progress or self._texts.fill("no_progress")
        task = self._texts.fill(
            "user", goal=without_lone_surrogates(goal), progress=told, width=size.width, height=size.height
        )
        return (Message("user", (*parts, Text(task))),)

    def parse(self, text: str, size: Size, sent: Size | None = None) -> ParsedReply | ParseFailure:
        return parse_android(text, self.sent_size(size), _OWN)

    def can_express(self, action: Action) -> bool:
        return can_say(action)

    def format(self, action: Action, size: Size, thought: str | None = None) -> str:
        before = f"Low-level thought: {safe_thought(thought)}\n" if thought else ""
        return f"{before}action: {self._words(action, size)}"

    def _words(self, action: Action, size: Size) -> str:
        sent = self.sent_size(size)
        said = say_android_action(self.name, action, size, sent, type_word="type", success_word="successful")
        return json.dumps(said, ensure_ascii=False, separators=(",", ":"))

    def _step(self, number: int, turn: Turn) -> str:
        """What the model itself thought and did, in the frame in which it said so: nothing but its reply goes in."""
        parsed = self.parse(turn.reply or "", turn.screen.size)
        if isinstance(parsed, ParseFailure):
            return self._texts.fill("unreadable_step", number=number)
        words = self._words(parsed.action, turn.screen.size)
        if not parsed.thought:
            return self._texts.fill("step_without_thought", number=number, action=words)
        return self._texts.fill("step", number=number, thought=" ".join(parsed.thought.split()), action=words)


class OsGenesisPixels(OsGenesis):
    name = "os_genesis_pixels"
    summary = "OS-Genesis as its own code counts: coordinates in pixels of the original screenshot"
    frame = "pixels of the original screenshot, whatever the server resizes it to"

    def sent_size(self, size: Size) -> Size:
        return size

    def parse(self, text: str, size: Size, sent: Size | None = None) -> ParsedReply | ParseFailure:
        return parse_android(text, sent or size, _OWN)
