"""A reply with tool calls as one text, and back: journals, parsers and submissions know replies as texts only.

The text is what the model said beside its calls, and behind it a block for each call, as models write them that have a template for it:

    <tool_call>
    {"name": "click", "arguments": {"coordinate": [500, 500]}}
    </tool_call>

Arguments that are a JSON object stand there as they came, character by character; any others are kept as a JSON string. Neither can hold a line break
followed by a tag, so where a block ends is never in doubt.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final, NoReturn

from sopbench.adapters.base import ToolCall

_OPEN: Final = "<tool_call>\n"
_CLOSE: Final = "\n</tool_call>"
_NAME: Final = '{"name": '
_ARGUMENTS: Final = ', "arguments": '
_CALL_TAG = re.compile(r"<(?=\s{0,3}/?\s{0,3}(?:action|tool_call)\s{0,3}>)", re.IGNORECASE)


def as_text(content: str, calls: Sequence[ToolCall]) -> str:
    """The reply as one text. In `content`, a tag that could pose as a call gets `‹` for `<`: the real calls are the ones that count."""
    if not calls:
        return content
    blocks = [f"{_OPEN}{_NAME}{_json(c.name)}{_ARGUMENTS}{_said(c.arguments)}}}{_CLOSE}" for c in calls]
    before = _CALL_TAG.sub("‹", content)
    return "\n".join([before, *blocks] if before else blocks)


def from_text(text: str) -> tuple[str, tuple[ToolCall, ...]]:
    """What stands before the calls, and the calls at the end of the text that are written exactly as `as_text` does; without ids."""
    calls: list[ToolCall] = []
    end = len(text.rstrip())
    while text.endswith(_CLOSE, 0, end):
        inner = end - len(_CLOSE)
        start = text.rfind(_OPEN, 0, inner)
        if start < 0 or (start > 0 and text[start - 1] != "\n"):
            break
        call = _read(text[start + len(_OPEN) : inner])
        if call is None:
            break
        calls.append(call)
        end = max(start - 1, 0)
    return (text[:end] if calls else text), tuple(reversed(calls))


def is_object(arguments: str) -> bool:
    """Whether `arguments` are a JSON object by the letter: what every server that reads a history of calls can take."""
    try:
        return isinstance(json.loads(arguments, parse_constant=_refuse), dict)
    except (ValueError, RecursionError):
        return False


def _read(block: str) -> ToolCall | None:
    try:
        if not block.startswith(_NAME) or not block.endswith("}"):
            return None
        name, end = json.JSONDecoder().raw_decode(block, len(_NAME))
        if not isinstance(name, str) or not block.startswith(_ARGUMENTS, end):
            return None
        arguments = block[end + len(_ARGUMENTS) : -1]
        if arguments.startswith('"'):
            arguments = json.loads(arguments)
        elif not is_object(arguments):
            return None
    except (ValueError, RecursionError):
        return None
    return ToolCall(name, arguments)


def _said(arguments: str) -> str:
    return arguments if is_object(arguments) else _json(arguments)


def _json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def call_object(call: ToolCall) -> dict[str, Any]:
    """The call as chat completions have it."""
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
