"""The body of a chat completion request, written piece by piece.

A request with two screenshots is some three megabytes of JSON, nearly all of it base64. So the text around the images is encoded once, and the images are read,
encoded and sent in small chunks while the socket takes them: thousands of requests in flight cost no more memory than their texts. The length
is known beforehand from the sizes of the files, so that the request carries an honest Content-Length.
"""

from __future__ import annotations

import binascii
import json
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from sopbench.adapters.base import Image, Message, Text
from sopbench.adapters.tool_calls import call_object
from sopbench.clients.base import Sampling
from sopbench.errors import DataError, UsageError
from sopbench.screen import Screen

CHUNK = 96 * 1024
"""Bytes of a screen read at a time; a multiple of 3, so that base64 pieces join without padding in between."""

OWNED_FIELDS = frozenset({"model", "messages", "stream", "n", "tools"})
"""Fields of the request that are not the user's to set: the harness fills them, or relies on their absence."""

_IMAGE_OPEN = '{"type": "image_url", "image_url": {"url": "data:%s;base64,'
_IMAGE_CLOSE = '"}}'


class RequestBody:
    """The JSON body of one request: `json.dumps(request_object(...))`, byte for byte, without ever being whole in memory.

    Raises `DataError` at construction where a screen is missing or no image.
    """

    def __init__(self, messages: Sequence[Message], model: str, options: dict[str, Any]) -> None:
        self._pieces = _pieces(messages, model, options)
        self.length = sum(
            _base64_length(piece.nbytes) if isinstance(piece, Screen) else len(piece) for piece in self._pieces
        )

    def chunks(self) -> Iterator[bytes]:
        """The body in chunks of at most 128 KiB of base64. Raises `DataError` where a screen changed since its size was taken."""
        for piece in self._pieces:
            if isinstance(piece, Screen):
                yield from _encoded(piece)
            else:
                yield piece


def request_options(
    sampling: Sampling, seed: int | None, fields: Mapping[str, Any] = MappingProxyType({})
) -> dict[str, Any]:
    """The request's fields besides model and messages. Raises `UsageError` for what cannot be sent.

    `fields` are the adapter's (`Adapter.request_fields`); what the user sets, such as another `tool_choice` in the extra body, goes before them.
    """
    options = sampling.as_body(seed)
    if owned := sorted(OWNED_FIELDS & options.keys()):
        raise UsageError(
            f"extra body: {', '.join(owned)} cannot be set there; the harness fills the request's own fields"
        )
    try:
        json.dumps(options, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(f"the sampling options are no JSON: {error}") from error
    return {**fields, **options}


def request_object(
    messages: Sequence[Message],
    model: str,
    sampling: Sampling,
    seed: int | None = None,
    fields: Mapping[str, Any] = MappingProxyType({}),
) -> dict[str, Any]:
    """The request as a JSON object, images included: what `RequestBody` streams."""
    return {
        "model": model,
        "messages": [{"role": m.role, "content": _content(m), **_beside(m)} for m in messages],
        **request_options(sampling, seed, fields),
    }


def request_json(messages: Sequence[Message], model: str, sampling: Sampling, seed: int | None = None) -> str:
    """The request's JSON text in whole. For tests and for looking at; clients stream `RequestBody`."""
    return json.dumps(request_object(messages, model, sampling, seed))


def _content(message: Message) -> str | list[dict[str, Any]] | None:
    if _is_plain(message):
        return _plain_text(message)
    return [_part_object(part) for part in message.parts]


def _beside(message: Message) -> dict[str, Any]:
    """A message's fields besides role and content."""
    calls = {"tool_calls": [call_object(call) for call in message.calls]} if message.calls else {}
    return calls if message.answers is None else {**calls, "tool_call_id": message.answers}


def _is_plain(message: Message) -> bool:
    return len(message.parts) == 0 or (len(message.parts) == 1 and isinstance(message.parts[0], Text))


def _plain_text(message: Message) -> str | None:
    """The content as a plain string where it is one text: some chat templates take nothing else for system and assistant turns. Null where there are
    calls and no text, which is how servers themselves send such a turn.

    Several texts stay a list, also without an image: templates put them together without anything in between, and a family's released code may count on that.
    """
    match message.parts:
        case ():
            return None if message.calls else ""
        case (Text(text),):
            return text
    return None


def _part_object(part: Text | Image) -> dict[str, Any]:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    encoded = b"".join(_encoded(part.screen)).decode("ascii")
    return {"type": "image_url", "image_url": {"url": f"data:{part.screen.media_type};base64,{encoded}"}}


def _pieces(messages: Sequence[Message], model: str, options: dict[str, Any]) -> list[bytes | Screen]:
    """Text and screens in the order of the body; neighbouring texts are joined."""
    pieces: list[bytes | Screen] = []
    text: list[str] = [f'{{"model": {json.dumps(model)}, "messages": [']
    for index, message in enumerate(messages):
        text.append(f'{", " if index else ""}{{"role": {json.dumps(message.role)}, "content": ')
        end = "".join(f", {json.dumps(key)}: {json.dumps(value)}" for key, value in _beside(message).items()) + "}"
        if _is_plain(message):
            text.append(json.dumps(_plain_text(message)) + end)
            continue
        for place, part in enumerate(message.parts):
            text.append(", " if place else "[")
            if isinstance(part, Text):
                text.append(json.dumps(_part_object(part)))
                continue
            text.append(_IMAGE_OPEN % part.screen.media_type)
            pieces += ["".join(text).encode("ascii"), part.screen]
            text = [_IMAGE_CLOSE]
        text.append("]" + end)
    text.append("]")
    text += [f", {json.dumps(key)}: {json.dumps(value)}" for key, value in options.items()]
    text.append("}")
    pieces.append("".join(text).encode("ascii"))
    return pieces


def _base64_length(nbytes: int) -> int:
    return 4 * -(-nbytes // 3)


def _encoded(screen: Screen) -> Iterator[bytes]:
    left = screen.nbytes
    with screen.open() as handle:
        while data := handle.read(CHUNK):
            left -= len(data)
            if left < 0:
                break
            yield binascii.b2a_base64(data, newline=False)
    if left:
        raise DataError(f"screen {screen.label} changed while it was being sent; leave the screens alone during a run")
