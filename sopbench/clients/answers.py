"""Reading the body of a successful response. Servers, proxies and models are all able to surprise: nothing here trusts a shape."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from sopbench.adapters.base import ToolCall
from sopbench.adapters.tool_calls import as_text
from sopbench.clients.refusals import error_words

MAX_RESPONSE = 4 * 1024 * 1024
"""Bytes of a response that are read; a chat completion is a few kilobytes."""


MAX_CALLS = 32
"""Tool calls of a reply that are kept. One is asked for, and the first is the one that counts."""


class BadBody(ValueError):
    """A 2xx response that is no chat completion: the fault of a server or a proxy, never of the model."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a chat completion says. `text` is the content, and behind it the tool calls in the form of `sopbench.adapters.tool_calls`. It is empty where the
    model says nothing: that is an answer too, and no parser will find an action in it."""

    text: str
    model: str | None
    finish_reason: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    notes: tuple[str, ...] = ()


def read_answer(content_type: str | None, body: bytes) -> Answer:
    """The answer in `body`. Raises `BadBody` with a sentence that says what came instead."""
    obj = _json_object(content_type, body)
    choices = obj.get("choices")
    if not isinstance(choices, list) or not choices:
        told = error_words(body) if "error" in obj else None
        raise BadBody(f"no choices in the response{f': {told}' if told else ''}")
    choice = choices[0]
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(message, dict):
        raise BadBody("the first choice has no message")
    text, notes = _text(message)
    if choice.get("logprobs"):
        notes = (*notes, "logprobs")
    usage = obj.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    return Answer(
        text=text,
        model=_short(obj.get("model")),
        finish_reason=_short(choice.get("finish_reason")),
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
        notes=notes,
    )


def _json_object(content_type: str | None, body: bytes) -> dict[str, Any]:
    kind = (content_type or "").partition(";")[0].strip().lower()
    if kind and kind != "application/json" and not kind.endswith("+json"):
        start = " ".join(body[:200].decode("utf-8", "replace").split())[:80]
        raise BadBody(f"the response is {kind[:60]!r}, not JSON; it begins {start!r}")
    try:
        obj = json.loads(body)
    except (ValueError, RecursionError) as error:  # ValueError covers JSON, UTF-8 and numbers with too many digits
        raise BadBody(f"the response is no JSON: {error}") from error
    if not isinstance(obj, dict):
        raise BadBody(f"the response is a JSON {type(obj).__name__}, not an object")
    return obj


def _text(message: dict[str, Any]) -> tuple[str, tuple[str, ...]]:
    """The reply text and notes about where it came from: `content_parts`, `refusal`, `no_content`, `reasoning_apart`, `tool_calls`, `unreadable_calls:N`."""
    content = message.get("content")
    calls, unreadable = _calls(message)
    notes: list[str] = []
    if isinstance(content, list):
        text = "".join(_part_text(part) for part in content)
        notes.append("content_parts")
    elif isinstance(content, str):
        text = content
    elif content is None:
        refusal = message.get("refusal")
        text = refusal if isinstance(refusal, str) else ""
        if text or not calls:
            notes.append("refusal" if text else "no_content")
    else:
        raise BadBody(f"the message's content is a JSON {type(content).__name__}, not a text")
    if any(isinstance(message.get(name), str) and message[name] for name in ("reasoning_content", "reasoning")):
        notes.append("reasoning_apart")
    if calls or unreadable:
        notes.append("tool_calls")
    if unreadable:
        notes.append(f"unreadable_calls:{unreadable}")
    return as_text(text, calls), tuple(notes)


def _calls(message: dict[str, Any]) -> tuple[list[ToolCall], int]:
    """The calls in order, and how many there are besides that no one can read. `function_call` is the older form of a single one."""
    said = message.get("tool_calls")
    if not isinstance(said, list):
        said = []
    functions = [item.get("function") if isinstance(item, dict) else None for item in said]
    if not functions and isinstance(message.get("function_call"), dict):
        functions = [message["function_call"]]
    calls = [call for function in functions[:MAX_CALLS] if (call := _call(function)) is not None]
    return calls, len(functions) - len(calls)


def _call(function: Any) -> ToolCall | None:
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        return None
    arguments = function.get("arguments")
    if arguments is None or arguments == "":
        return ToolCall(function["name"], "{}")
    return ToolCall(function["name"], arguments if isinstance(arguments, str) else json.dumps(arguments))


def _part_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, dict):
        for name in ("text", "refusal"):
            if isinstance(part.get(name), str):
                return str(part[name])
        return ""
    raise BadBody(f"a part of the message's content is a JSON {type(part).__name__}")


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < 2**53 else None


def _short(value: Any) -> str | None:
    """A name that the server chose; half a surrogate pair, which no file could hold, becomes a question mark."""
    return value[:200].encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else None
