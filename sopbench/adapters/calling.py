"""What families share that answer with one call in JSON, in the released names, in pixels of the resized image."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from sopbench.actions import Action, to_released
from sopbench.adapters.arguments import to_action
from sopbench.adapters.base import MAX_REPLY, ParsedReply, ParseFailure, Turn
from sopbench.adapters.calls import find_call
from sopbench.errors import ActionError, UsageError
from sopbench.geometry import Size

_TAG_START = re.compile(r"<(?=\s{0,3}/?\s{0,3}(?:think|thinking|action|tool_call)\s{0,3}>)", re.IGNORECASE)


def parse_call(
    text: str,
    sent: Size,
    own_tag: str,
    ordinary: frozenset[str] = frozenset(),
    aliases: Mapping[str, str] = MappingProxyType({}),
) -> ParsedReply | ParseFailure:
    """Read a reply whose coordinates are pixels of an image of size `sent`. Never raises.

    `own_tag` wraps the family's calls; notes in `ordinary` name what is the family's normal form and are left out. `aliases` are names beyond the released
    ones that the family's own harness understands.
    """
    if len(text) > MAX_REPLY:
        return ParseFailure("reply_too_long", f"{len(text)} characters, more than {MAX_REPLY}")
    try:
        found = find_call(text, own_tag)
        action, repairs = to_action(found.value, sent, aliases)
    except ActionError as error:
        return ParseFailure(error.reason, error.detail)
    notes = dict.fromkeys(note for note in (*found.notes, *repairs) if note not in ordinary)
    return ParsedReply(action, found.thought, tuple(notes))


def released_in_whole_pixels(action: Action, sent: Size) -> dict[str, Any]:
    """The released form of `action` with coordinates rounded to whole pixels of `sent`, as the families' own data has them."""
    released = to_released(action, sent)
    for name in ("coordinate", "coordinate2"):
        if name in released:
            released[name] = [round(value) for value in released[name]]
    return released


def safe_thought(thought: str) -> str:
    """`thought` for putting before a call: in tags of the language `<` becomes `‹`, so that they cannot end the thought or pose as a call."""
    return _TAG_START.sub("‹", thought)


def checked_turns(turns: Sequence[Turn], images: int) -> int:
    """The index of the first turn whose screen is sent. Raises `UsageError` for turns or a number of images that make no request."""
    if images < 0:
        raise UsageError(f"images must be 0 or more, not {images}")
    if not turns or turns[-1].reply is not None or any(turn.reply is None for turn in turns[:-1]):
        raise UsageError("a request needs turns that are answered, and then one that is not")
    return max(0, len(turns) - images)
