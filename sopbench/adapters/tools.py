"""Models that call tools: GPT, Claude and Gemini behind OpenAI-compatible endpoints, and open models with a tool parser of vLLM.

Every action of the space is a tool with a JSON schema. A reply reaches us as one text that ends with its calls (`tool_calls`), and stands in the history as
real calls again. `tools` also reads a call that is written in the text, which is what endpoints without a parser for the model's calls send; `tools_text` is for endpoints
that take no `tools` at all: it describes the same tools in the prompt, and sends plain messages.

Facts: OpenAI's chat completions (`tools`, `tool_choice`, `tool_calls`, role `tool`: each call of the history has to be answered, by its id); Mistral's chat
templates (an id has nine letters or digits); vLLM 0.32, `renderers/chat_utils.py` (arguments in the history are read as JSON).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

from sopbench.actions import ACTION_KINDS, Action
from sopbench.adapters.arguments import to_action
from sopbench.adapters.base import (
    MAX_REPLY,
    Adapter,
    Message,
    ParsedReply,
    ParseFailure,
    Part,
    PromptSource,
    Text,
    ToolCall,
    Turn,
)
from sopbench.adapters.calling import checked_turns, parse_call, released_in_whole_pixels
from sopbench.adapters.loose_json import without_lone_surrogates
from sopbench.adapters.tool_calls import as_text, from_text, is_object
from sopbench.errors import ActionError
from sopbench.geometry import PER_MILLE, Size
from sopbench.prompts import builtin
from sopbench.prompts.texts import PromptTexts

ORDINARY = frozenset({"text_before", "action_as_tool_name", "encoded_json"})
"""Notes that name what is this family's own form."""

_THINK_TAG = re.compile(r"<\s{0,3}/?\s{0,3}think(?:ing)?\s{0,3}>", re.IGNORECASE)


class Tools(Adapter):
    name = "tools"
    summary = "GPT, Claude, Gemini, and any model that calls tools in the OpenAI way: one tool for each action"
    frame = "thousandths of the screen's width and height (0 to 1000), stated in the tools' descriptions"
    history = "a conversation: the model's own calls as tool_calls, a result for each that says no more than that the screen follows, and the screen"
    expresses = frozenset(ACTION_KINDS)
    default_images = 2
    server_flags: ClassVar[tuple[str, ...]] = (
        "--enable-auto-tool-choice",
        "--tool-call-parser NAME",
        "--limit-mm-per-prompt '{\"image\": 2}'",
    )

    def __init__(self, texts: PromptTexts | None = None) -> None:
        self._texts = texts or builtin(self.name)

    def prompt_source(self) -> PromptSource:
        return self._texts.source()

    def sent_size(self, size: Size) -> Size:
        return PER_MILLE

    def request_fields(self) -> Mapping[str, Any]:
        return {"tools": self._tools, "tool_choice": self._texts.templates["tool_choice"]}

    def render(self, goal: str, turns: Sequence[Turn], images: int) -> tuple[Message, ...]:
        first_shown = checked_turns(turns, images)
        messages = [Message("system", (Text(self._system()),))]
        for index, turn in enumerate(turns):
            parts: list[Part] = []
            if index == 0:
                parts.append(Text(self._texts.fill("user", goal=without_lone_surrogates(goal)) + "\n"))
            shown = index >= first_shown
            parts.append(Text(self._texts.templates["screen" if shown else "no_screen"]))
            if shown:
                parts.append(self.picture(turn.screen))
            messages.append(Message("user", tuple(parts)))
            if turn.reply is not None:
                messages += self._replied(without_lone_surrogates(turn.reply), index)
        return tuple(messages)

    def parse(self, text: str, size: Size, sent: Size | None = None) -> ParsedReply | ParseFailure:
        if len(text) > MAX_REPLY:
            return ParseFailure("reply_too_long", f"{len(text)} characters, more than {MAX_REPLY}")
        content, calls = from_text(without_lone_surrogates(text))
        if not calls:
            return parse_call(text, PER_MILLE, "tool_call", ordinary=ORDINARY)
        try:
            action, notes = _action(calls[0])
        except ActionError as error:
            return ParseFailure(error.reason, error.detail)
        left = (f"extra_calls:{len(calls) - 1}",) if len(calls) > 1 else ()
        return ParsedReply(action, _THINK_TAG.sub("", content).strip() or None, (*notes, *left))

    def format(self, action: Action, size: Size, thought: str | None = None) -> str:
        arguments = released_in_whole_pixels(action, PER_MILLE)
        name = arguments.pop("action")
        return as_text(thought or "", [ToolCall(name, json.dumps(arguments, ensure_ascii=False))])

    def _system(self) -> str:
        return self._texts.templates["system"]

    def _replied(self, reply: str, turn: int) -> list[Message]:
        """An earlier reply: with its calls where a server can take them, else as the text that it is."""
        content, calls = from_text(reply)
        if not calls or not all(call.name in self._names and is_object(call.arguments) for call in calls):
            return [self._said(reply)]
        named = tuple(replace(call, id=f"call{turn % 1000:03}{place % 100:02}") for place, call in enumerate(calls))
        parts: tuple[Part, ...] = (Text(content),) if content.strip() else ()
        results = [
            Message("tool", (Text(self._texts.templates["no_result" if place else "result"]),), answers=call.id)
            for place, call in enumerate(named)
        ]
        return [Message("assistant", parts, calls=named), *results]

    def _said(self, reply: str) -> Message:
        """Some endpoints refuse an empty text."""
        return Message("assistant", (Text(reply if reply.strip() else self._texts.templates["silence"]),))

    @cached_property
    def _tools(self) -> list[dict[str, Any]]:
        tools: list[dict[str, Any]] = json.loads(self._texts.templates["tools"])
        return tools

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(tool["function"]["name"] for tool in self._tools)


class ToolsText(Tools):
    name = "tools_text"
    summary = "the same tools told in the prompt, for models and endpoints without tool calling: <tool_call> with JSON"
    history = "a conversation: user (screen) and assistant (the model's own raw reply) in turn"
    server_flags = ("--limit-mm-per-prompt '{\"image\": 2}'",)

    def request_fields(self) -> Mapping[str, Any]:
        return {}

    def _system(self) -> str:
        return self._texts.fill("system", tools=self._texts.templates["tools"])

    def _replied(self, reply: str, turn: int) -> list[Message]:
        return [self._said(reply)]


def _action(call: ToolCall) -> tuple[Action, tuple[str, ...]]:
    """Raises `ActionError`. A call whose arguments name another action than its tool is refused: which one is meant would have to be guessed."""
    action, repairs = to_action({"name": call.name, "arguments": call.arguments}, PER_MILLE)
    if call.name in ACTION_KINDS and action.kind != call.name:
        raise ActionError(
            "bad_argument", f"the tool {call.name} is called with the action {action.kind} in its arguments"
        )
    return action, tuple(note for note in dict.fromkeys(repairs) if note not in ORDINARY)
