"""The fingerprint of a prompt, for the journal: two requests with equal hashes showed the model the same thing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from sopbench.adapters.base import Image, Message, Text
from sopbench.adapters.tool_calls import call_object


def prompt_sha256(messages: Sequence[Message], fields: Mapping[str, Any] = MappingProxyType({})) -> str:
    """SHA-256 over roles, texts and image hashes, in order. A screen that is scaled down to be sent counts by its file and its size then
    (`Screen.fingerprint`), so that no screen has to be decoded for it.

    The hash is of the canonical form `[[role, [["text", text] | ["image", sha256], ...]], ...]`, as ASCII JSON without spaces. A message with tool calls, or
    one that answers a call, has an object with them as its third item. Where an adapter adds `fields` to the request (its tools), the form is
    `{"fields": fields, "messages": [...]}`, keys sorted. Model and sampling are not in it: they are facts of the run. Raises `DataError` where a screen
    cannot be read.
    """
    told = [[message.role, [_part(part) for part in message.parts], *_beside(message)] for message in messages]
    form: Any = {"fields": dict(fields), "messages": told} if fields else told
    return hashlib.sha256(json.dumps(form, separators=(",", ":"), sort_keys=True).encode("ascii")).hexdigest()


def image_hashes(messages: Sequence[Message]) -> tuple[str, ...]:
    """SHA-256 of the file of every screen that the messages carry, in order; of the recorded file, where it is scaled down to be sent."""
    return tuple(
        part.screen.original.sha256 for message in messages for part in message.parts if isinstance(part, Image)
    )


def _beside(message: Message) -> list[dict[str, Any]]:
    if not message.calls and message.answers is None:
        return []
    return [{"calls": [call_object(call) for call in message.calls], "answers": message.answers}]


def _part(part: Text | Image) -> list[str]:
    if isinstance(part, Text):
        return ["text", part.text]
    return ["image", part.screen.fingerprint]
