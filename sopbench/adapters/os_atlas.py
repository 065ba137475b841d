"""OS-Atlas Pro (7B on Qwen2-VL, 4B on InternVL2): sections `thoughts:` and `actions:`, actions such as `CLICK <point>[[500,250]]</point>` and `TYPE [text]`.

Facts from OS-Copilot/OS-Atlas at bad0840: `eval/data/ac_test.jsonl` and `gui_odyssey_test.jsonl` (spaces, sections, one user turn of text, screen, text, history
as `Step 1: what was thought`), `README.md` (0 to 1000; a point or a box); the model card of OS-Atlas-Pro-7B (custom actions are the user's to define). Which way
`SCROLL [UP]` goes is documented nowhere (OS-Atlas issue 58, open). Here it is the finger, as X-PLUG/MobileAgent 11cea575 `UI-S1/evaluation/os_atlas_utils.py` and OpenBMB/AgentCPM-GUI acbaf50
`eval/run_predict_os_atlas.py` execute it, and as GUI-Odyssey's own labels mean it.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from sopbench.actions import (
    Action,
    Click,
    LongPress,
    Open,
    Swipe,
    SystemButton,
    Terminate,
    Type,
    Wait,
    swipe_direction,
)
from sopbench.adapters.base import (
    MAX_REPLY,
    Adapter,
    Message,
    ParsedReply,
    ParseFailure,
    Part,
    PromptSource,
    Text,
    Turn,
)
from sopbench.adapters.bracketed import BUTTONS, ambiguous, find_bracketed, safe_thought
from sopbench.adapters.calling import checked_turns
from sopbench.adapters.loose_json import without_lone_surrogates
from sopbench.errors import ActionError, CannotExpress
from sopbench.geometry import PER_MILLE, Point, Size
from sopbench.prompts import builtin
from sopbench.prompts.texts import PromptTexts

MAX_TOLD = 400
"""Characters of a thought that the history keeps."""


class OsAtlas(Adapter):
    name = "os_atlas"
    summary = "OS-Atlas-Pro (7B, 4B): thoughts and actions such as CLICK <point>[[500,250]]</point> and TYPE [text]"
    frame = "thousandths of the screen's width and height (0 to 1000)"
    history = "one user turn: the screen, then the task and a line for every step: what the model itself thought, or else the action it named"
    expresses = frozenset({"click", "long_press", "swipe", "type", "open", "system_button", "wait", "terminate"})
    leaves_out = frozenset({"swipe.path", "long_press.seconds", "wait.seconds"})
    default_images = 1
    default_sampling = MappingProxyType({"top_k": 1, "max_tokens": 128})

    def __init__(self, texts: PromptTexts | None = None) -> None:
        self._texts = texts or builtin(self.name)

    def prompt_source(self) -> PromptSource:
        return self._texts.source()

    def sent_size(self, size: Size) -> Size:
        return PER_MILLE

    def render(self, goal: str, turns: Sequence[Turn], images: int) -> tuple[Message, ...]:
        """One user turn, as the family knows no other: the space, the screen, the task with its history. Earlier screens stand in order before it."""
        first_shown = checked_turns(turns, images)
        parts: list[Part] = [Text(self._texts.fill("space"))]
        for number, turn in list(enumerate(turns, start=1))[first_shown:]:
            if len(turns) - first_shown > 1:
                caption = "current_screen" if number == len(turns) else "earlier_screen"
                parts.append(Text(self._texts.fill(caption, number=number)))
            parts.append(self.picture(turn.screen))
        history = "".join(
            self._texts.fill("step", number=number, action=self._told(turn))
            for number, turn in enumerate(turns[:-1], start=1)
        )
        told = history or self._texts.fill("no_history")
        parts.append(Text(self._texts.fill("task", goal=without_lone_surrogates(goal), history=told)))
        return (Message("user", tuple(parts)),)

    def parse(self, text: str, size: Size, sent: Size | None = None) -> ParsedReply | ParseFailure:
        if len(text) > MAX_REPLY:
            return ParseFailure("reply_too_long", f"{len(text)} characters, more than {MAX_REPLY}")
        try:
            found = find_bracketed(text)
            return ParsedReply(found.action(PER_MILLE), found.thought, tuple(found.notes))
        except ActionError as error:
            return ParseFailure(error.reason, error.detail)

    def can_express(self, action: Action) -> bool:
        match action:
            case Swipe(start, end):
                return start != end
            case Type(text) | Open(text):
                return not ambiguous(text)
        return action.kind in self.expresses

    def format(self, action: Action, size: Size, thought: str | None = None) -> str:
        said = self._said(action, size)
        before = f"thoughts:\n{safe_thought(thought)}\n" if thought else ""
        return f"{before}actions:\n{said}"

    def _said(self, action: Action, size: Size) -> str:
        if self.can_express(action):
            match action:
                case Click(point):
                    return f"CLICK {_point(point)}"
                case LongPress(point):
                    return f"LONG_PRESS {_point(point)}"
                case Swipe(start, end) if direction := swipe_direction(start, end, size):
                    return f"SCROLL [{direction.upper()}]"
                case Type(text):
                    return f"TYPE [{text}]"
                case Open(app):
                    return f"OPEN_APP [{app}]"
                case SystemButton(button):
                    return next(word for word, named in BUTTONS.items() if named == button)
                case Wait():
                    return "WAIT"
                case Terminate(status):
                    return "COMPLETE" if status == "success" else "IMPOSSIBLE"
        raise CannotExpress(f"{self.name} has no words for {action}")

    def _told(self, turn: Turn) -> str:
        """A step on one line, of nothing but the model's own reply."""
        reply = turn.reply or ""
        parsed = self.parse(reply, turn.screen.size)
        if isinstance(parsed, ParseFailure):
            return self._texts.fill("unreadable")
        said = parsed.thought or self._said(parsed.action, turn.screen.size)
        return " ".join(said.split())[:MAX_TOLD]


def _point(point: Point) -> str:
    x, y = point.to_pixels(PER_MILLE)
    return f"<point>[[{round(x)},{round(y)}]]</point>"
