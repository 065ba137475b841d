"""The fingerprint of a prompt, for the journal: two requests with equal hashes showed the model the same thing."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from sopbench.adapters.base import Image, Message, Text


def prompt_sha256(messages: Sequence[Message]) -> str:
    """SHA-256 over roles, texts and image hashes, in order. A screen that is scaled down to be sent counts by its file and its size then
    (`Screen.fingerprint`), so that no screen has to be decoded for it.

    The hash is of the canonical form `[[role, [["text", text] | ["image", sha256], ...]], ...]`, as ASCII JSON without spaces. Model and sampling are
    not in it: they are facts of the run. Raises `DataError` where a screen cannot be read.
    """
    form = [[message.role, [_part(part) for part in message.parts]] for message in messages]
    return hashlib.sha256(json.dumps(form, separators=(",", ":")).encode("ascii")).hexdigest()


def image_hashes(messages: Sequence[Message]) -> tuple[str, ...]:
    """SHA-256 of the file of every screen that the messages carry, in order; of the recorded file, where it is scaled down to be sent."""
    return tuple(
        part.screen.original.sha256 for message in messages for part in message.parts if isinstance(part, Image)
    )


def _part(part: Text | Image) -> list[str]:
    if isinstance(part, Text):
        return ["text", part.text]
    return ["image", part.screen.fingerprint]
