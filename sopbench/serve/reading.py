"""A chat completion request, from JSON that anybody may have written to messages and a way of drawing. Everything is bounded before it is worked on."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar, cast, get_args

from sopbench.adapters.base import Image, Message, Part, Role, Text
from sopbench.errors import DataError, shown
from sopbench.screen import Screen
from sopbench.serve.refusing import Refused

MAX_MESSAGES: Final = 1000
MAX_STOPS: Final = 4
MAX_STOP: Final = 200
CHARACTERS_A_TOKEN: Final = 16
"""A prompt with more characters a token of the context is too long, whatever the tokenizer: it is not asked."""

N = TypeVar("N", int, float)


@dataclass(frozen=True, slots=True)
class Limits:
    """What one request may ask for. `context`: tokens of prompt and reply; `reply`: most tokens of a reply; `images`: most pictures."""

    model: str
    context: int
    reply: int
    images: int


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request that can be answered. `seed` None: any chance will do. `top_logprobs`: how many alternatives of a token are told (0 or 1)."""

    messages: tuple[Message, ...]
    temperature: float
    max_tokens: int
    seed: int | None
    stop: tuple[str, ...]
    logprobs: bool
    top_logprobs: int
    stream: bool
    stream_usage: bool


def read_chat(body: bytes, limits: Limits) -> ChatRequest:
    """Raises `Refused` that names the field."""
    obj = _object(body)
    model = obj.get("model")
    if model != limits.model:
        raise Refused(
            404,
            f"The model {shown(model)} does not exist. Served here: {limits.model}.",
            "model",
            "model_not_found",
        )
    _refuse_what_is_not_done(obj)
    temperature = _number(obj, "temperature", float, 0.0, 0.0, 100.0)
    if _number(obj, "top_k", int, 0, -1, 2**31) == 1:
        temperature = 0.0
    top_p = _number(obj, "top_p", float, 1.0, 0.0, 1.0)
    if temperature > 0 and top_p < 1:
        raise Refused(400, "top_p: this server draws from the whole distribution; leave it away", "top_p")
    asked = obj.get("max_completion_tokens", obj.get("max_tokens"))
    max_tokens = _number({"max_tokens": asked}, "max_tokens", int, limits.reply, 1, 2**31)
    logprobs = _flag(obj, "logprobs")
    top = _number(obj, "top_logprobs", int, 0, 0, 20)
    if top and (top > 1 or temperature > 0 or not logprobs):
        raise Refused(
            400,
            "top_logprobs: this server tells the likeliest token only, of greedy replies (temperature 0, logprobs true, top_logprobs 1)",
            "top_logprobs",
        )
    options = obj.get("stream_options")
    return ChatRequest(
        messages=_messages(obj.get("messages"), limits),
        temperature=temperature,
        max_tokens=min(max_tokens, limits.reply),
        seed=None if obj.get("seed") is None else _number(obj, "seed", int, 0, -(2**63), 2**63 - 1),
        stop=_stops(obj.get("stop")),
        logprobs=logprobs,
        top_logprobs=top,
        stream=_flag(obj, "stream"),
        stream_usage=isinstance(options, dict) and options.get("include_usage") is True,
    )


def _object(body: bytes) -> dict[str, Any]:
    try:
        obj = json.loads(body)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)[:200]
        raise Refused(400, f"The body is no JSON: {reason}") from error
    if not isinstance(obj, dict):
        raise Refused(400, "The body must be a JSON object with model and messages")
    return obj


def _refuse_what_is_not_done(obj: Mapping[str, Any]) -> None:
    if obj.get("tools") or obj.get("functions"):
        raise Refused(400, "tools are not supported by this model; ask for text", "tools")
    if obj.get("n") not in (None, 1):
        raise Refused(400, "n: one reply a request; send several requests", "n")


def _number(obj: Mapping[str, Any], name: str, kind: type[N], default: N, low: float, high: float) -> N:
    value = obj.get(name)
    if value is None:
        return default
    fits = type(value) is int or (kind is float and type(value) is float and math.isfinite(value))
    if not fits or not low <= value <= high:
        what = "a whole number" if kind is int else "a number"
        raise Refused(400, f"{name} must be {what} from {low:g} to {high:g}, not {shown(value)}", name)
    return kind(value)


def _flag(obj: Mapping[str, Any], name: str) -> bool:
    value = obj.get(name)
    if value is not None and not isinstance(value, bool):
        raise Refused(400, f"{name} must be true or false, not {shown(value)}", name)
    return bool(value)


def _stops(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    stops = [value] if isinstance(value, str) else value
    if (
        not isinstance(stops, list)
        or len(stops) > MAX_STOPS
        or not all(isinstance(s, str) and 0 < len(s) <= MAX_STOP for s in stops)
    ):
        raise Refused(
            400, f"stop must be a text or a list of at most {MAX_STOPS}, each of 1 to {MAX_STOP} characters", "stop"
        )
    return tuple(stops)


def _messages(value: Any, limits: Limits) -> tuple[Message, ...]:
    if not isinstance(value, list) or not 0 < len(value) <= MAX_MESSAGES:
        raise Refused(400, f"messages must be a list of 1 to {MAX_MESSAGES} messages", "messages")
    messages = tuple(_message(item, f"messages[{index}]") for index, item in enumerate(value))
    parts = [part for message in messages for part in message.parts]
    images = sum(isinstance(part, Image) for part in parts)
    if images > limits.images:
        raise Refused(400, f"At most {limits.images} image(s) may be provided in one prompt.", "image")
    characters = sum(len(part.text) for part in parts if isinstance(part, Text))
    if characters > CHARACTERS_A_TOKEN * limits.context:
        raise too_long(limits, f"{characters} characters")
    return messages


def too_long(limits: Limits, what: str) -> Refused:
    return Refused(
        400,
        f"This model's maximum context length is {limits.context} tokens, of which a reply may take {limits.reply}. However, your prompt has {what}. "
        "Please reduce the length of the messages.",
        "messages",
        "context_length_exceeded",
    )


def _message(item: Any, where: str) -> Message:
    role = item.get("role") if isinstance(item, dict) else None
    if role not in get_args(Role) or role == "tool":
        raise Refused(400, f"{where}.role must be system, user or assistant, not {shown(role)}", f"{where}.role")
    content = item.get("content")
    if isinstance(content, str):
        return Message(cast(Role, role), (Text(content),))
    if not isinstance(content, list):
        raise Refused(400, f"{where}.content must be a text or a list of parts", f"{where}.content")
    return Message(cast(Role, role), tuple(_part(p, f"{where}.content[{i}]") for i, p in enumerate(content)))


def _part(part: Any, where: str) -> Part:
    kind = part.get("type") if isinstance(part, dict) else None
    if kind == "text" and isinstance(part.get("text"), str):
        return Text(part["text"])
    if kind != "image_url":
        raise Refused(400, f"{where} must be of type text or image_url, not {shown(kind)}", where)
    url = part.get("image_url")
    url = url.get("url") if isinstance(url, dict) else url
    if not isinstance(url, str) or not url.startswith("data:image/"):
        raise Refused(
            400, f"{where}: pictures are taken as data URLs only (data:image/png;base64,...); nothing is fetched", where
        )
    head, comma, data = url.partition(",")
    if not comma or not head.endswith(";base64"):
        raise Refused(400, f"{where}: a data URL must be in base64 (data:image/png;base64,...)", where)
    try:
        screen = Screen.from_bytes(base64.b64decode(data, validate=True), where)
        _ = screen.size
    except ValueError as error:
        raise Refused(400, f"{where}: the picture is not in base64: {error}", where) from error
    except DataError as error:
        raise Refused(400, f"Failed to load image: {error}", where) from error
    return Image(screen)
