"""The words of UI-TARS, which v1 and v1.5 share: actions as calls behind `Action:`, told as a conversation. Only the frame of the numbers differs.

Facts, beside the paper (arXiv 2501.12326), from bytedance/UI-TARS at 582f3a7: `README_v1.md` (mobile space of v1), `codes/ui_tars/prompt.py` and `action_parser.py` (that
of v1.5; escapes; box tokens put back into history), `README_deploy.md`, `data/training_example.json` (replies without a screen between them); and
from its maintainers' answers in issues 83, 85, 122 (spaces used on AndroidWorld and AndroidControl) and 129 (`direction` names where more is to be
seen, so the finger moves the other way).
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from sopbench.actions import Action, Click, LongPress, Open, Swipe, SystemButton, Terminate, Type, Wait, from_released
from sopbench.adapters.base import (
    MAX_REPLY,
    Adapter,
    Message,
    ParsedReply,
    ParseFailure,
    PromptSource,
    Text,
    Turn,
)
from sopbench.adapters.calling import checked_turns
from sopbench.adapters.loose_json import without_lone_surrogates
from sopbench.adapters.points import read_point
from sopbench.adapters.scrolling import finger_path, opposite, read_direction
from sopbench.adapters.thought_action import Argument, SaidCall, escaped, find_said_call, safe_thought, unescaped
from sopbench.errors import ActionError, CannotExpress, shown
from sopbench.geometry import Point, Size
from sopbench.prompts import builtin
from sopbench.prompts.texts import PromptTexts

START: Final = ("start_box", "point", "start_point", "box")
END: Final = ("end_box", "end_point")
WORDS: Final = (
    "click",
    "long_press",
    "type",
    "scroll",
    "drag",
    "press_back",
    "press_home",
    "open_app",
    "wait",
    "finished",
)
_BUTTONS = {"press_back": "Back", "press_home": "Home"}
_NO_BOX_TOKENS = re.compile(r"\b(start_box|end_box)='\(([0-9]{1,5}), ?([0-9]{1,5})\)'")


class UiTarsFamily(Adapter):
    """What v1 and v1.5 share."""

    history = (
        "a conversation: the task, then for every step the screen (user) and the model's own raw reply (assistant); where a screen is not kept, the reply "
        "alone"
    )
    expresses = frozenset({"click", "long_press", "swipe", "type", "open", "system_button", "wait", "terminate"})
    leaves_out = frozenset({"long_press.seconds", "wait.seconds"})
    default_images = 5
    server_flags = ("--limit-mm-per-prompt '{\"image\": 5}'",)
    point_words: ClassVar[tuple[str, str, str]]
    """The names of the arguments that hold a click's point, and a drag's two."""

    def __init__(self, texts: PromptTexts | None = None) -> None:
        self._texts = texts or builtin(self.name)

    @abstractmethod
    def said_point(self, x: int, y: int) -> str:
        """A point between the quotes of its argument."""

    def prompt_source(self) -> PromptSource:
        return self._texts.source()

    def render(self, goal: str, turns: Sequence[Turn], images: int) -> tuple[Message, ...]:
        first_shown = checked_turns(turns, images)
        system = self._texts.fill("system")  # empty where the publisher sends none
        messages = [Message("system", (Text(system),))] if system else []
        messages.append(Message("user", (Text(self._texts.fill("task", goal=without_lone_surrogates(goal))),)))
        for index, turn in enumerate(turns):
            if index >= first_shown:
                messages.append(Message("user", (self.picture(turn.screen),)))
            if turn.reply is not None:
                messages.append(Message("assistant", (Text(with_box_tokens(without_lone_surrogates(turn.reply))),)))
        if messages[-1].role != "user":
            messages.append(Message("user", (Text(self._texts.fill("no_screen")),)))
        return tuple(messages)

    def read(self, text: str, frame: Size) -> ParsedReply | ParseFailure:
        """`parse` with the size of the image whose pixels the numbers are."""
        if len(text) > MAX_REPLY:
            return ParseFailure("reply_too_long", f"{len(text)} characters, more than {MAX_REPLY}")
        try:
            call = find_said_call(text)
            return _Reading(call, frame).parsed()
        except ActionError as error:
            return ParseFailure(error.reason, error.detail)

    def can_express(self, action: Action) -> bool:
        match action:
            case SystemButton(button):
                return button in _BUTTONS.values()
            case Terminate(status):
                return status == "success"
        return action.kind in self.expresses

    def format(self, action: Action, size: Size, thought: str | None = None) -> str:
        said = self._said(action, self.sent_size(size))
        before = f"Thought: {safe_thought(thought)}\n" if thought else ""
        return f"{before}Action: {said}"

    def _said(self, action: Action, frame: Size) -> str:
        at, start_word, end_word = self.point_words
        match action:
            case Click(point):
                return f"click({at}='{self._at(point, frame)}')"
            case LongPress(point):
                return f"long_press({at}='{self._at(point, frame)}')"
            case Swipe(start, end):
                return f"drag({start_word}='{self._at(start, frame)}', {end_word}='{self._at(end, frame)}')"
            case Type(text):
                return f"type(content='{escaped(text)}')"
            case Open(app):
                return f"open_app(app_name='{escaped(app)}')"
            case SystemButton("Back" | "Home" as button):
                return f"press_{button.lower()}()"
            case Wait():
                return "wait()"
            case Terminate("success"):
                return "finished()"
        raise CannotExpress(f"{self.name} has no words for {action}")

    def _at(self, point: Point, frame: Size) -> str:
        x, y = point.to_pixels(frame)
        return self.said_point(round(x), round(y))


def with_box_tokens(reply: str) -> str:
    """A reply as the model itself wrote it: servers drop `<|box_start|>` and `<|box_end|>` from what they decode, since they are special tokens.

    Source: `add_box_token` of the publisher's `action_parser.py`, which does the same to history.
    """
    return _NO_BOX_TOKENS.sub(r"\1='<|box_start|>(\2,\3)<|box_end|>'", reply)


class _Reading:
    """One call on its way to an action."""

    def __init__(self, call: SaidCall, frame: Size) -> None:
        self.call = call
        self.frame = frame
        self.notes = dict.fromkeys(call.notes)

    def parsed(self) -> ParsedReply:
        word = self.call.name.lower()
        if word not in WORDS:
            raise ActionError("unknown_action", f"{self.call.name!r} is not one of {', '.join(WORDS)}")
        if word != self.call.name:
            self.note("action_name_case")
        action = self._action(word)
        answer = self._optional_text("content") if word == "finished" else None
        return ParsedReply(action, self.call.thought, tuple(self.notes), answer or None)

    def note(self, name: str) -> None:
        self.notes[name] = None

    def _action(self, word: str) -> Action:
        match word:
            case "click":
                return self._released({"action": "click", "coordinate": self._point(START)})
            case "long_press":
                if "time" in self.call.arguments and self.call.arguments["time"].text.strip():
                    self.note("time_left_aside")
                return self._released({"action": "long_press", "coordinate": self._point(START)})
            case "type":
                return self._released({"action": "type", "text": self._text("content")})
            case "open_app":
                return self._released({"action": "open", "text": self._text("app_name")})
            case "scroll" if self._among(END) is None:
                return self._scroll()
            case "scroll" | "drag":
                path = {"coordinate": self._point(START), "coordinate2": self._point(END)}
                return self._released({"action": "swipe", **path})
            case "press_back" | "press_home":
                return self._released({"action": "system_button", "button": _BUTTONS[word]})
            case "wait":
                return Wait()
        return Terminate("success")

    def _scroll(self) -> Action:
        """`direction` is where more is to be seen; the finger moves the other way."""
        said = self._text("direction")
        direction = read_direction(said)
        if direction is None:
            if len(said) <= 60 and " or " in said:
                raise ActionError("placeholder", f"direction is a placeholder: {shown(said)}")
            raise ActionError("bad_argument", f"direction is not one of up, down, left, right: {shown(said)}")
        at = self._among(START)
        if at is None or not at.text.strip():
            return finger_path(opposite(direction))
        click = self._released({"action": "click", "coordinate": self._point(START)})
        assert isinstance(click, Click)  # from_released gives what `action` names
        return finger_path(opposite(direction), click.point)

    def _released(self, released: Mapping[str, Any]) -> Action:
        """Bounds of coordinates and texts are checked where all adapters check them."""
        return from_released(released, self.frame)

    def _among(self, names: Sequence[str]) -> Argument | None:
        return next((self.call.arguments[name] for name in names if name in self.call.arguments), None)

    def _point(self, names: Sequence[str]) -> list[float]:
        argument = self._among(names) or (self.call.arguments.get("") if names is START else None)
        if argument is None:
            raise ActionError("missing_argument", f"{self.call.name} without {names[0]}")
        return read_point(argument.text, names[0], self.note)

    def _text(self, name: str) -> str:
        text = self._optional_text(name)
        if text is None:
            raise ActionError("missing_argument", f"{self.call.name} without {name}")
        return text

    def _optional_text(self, name: str) -> str | None:
        argument = self.call.arguments.get(name) or self.call.arguments.get("")
        if argument is None:
            return None
        return unescaped(argument.text, self.notes) if argument.quoted else argument.text
