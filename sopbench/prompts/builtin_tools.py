"""Our own words for models that call tools: one tool for each action, what the conversation says around the calls, and the same told as text."""

from __future__ import annotations

import json
from typing import Any, Final

from sopbench.actions import BUTTONS, STATUSES
from sopbench.prompts.texts import BUILTIN_NOTE, PromptTexts

_SECONDS: Final = {"type": "number", "minimum": 0, "maximum": 60}


def _tool(name: str, description: str, optional: tuple[str, ...] = (), **properties: dict[str, Any]) -> dict[str, Any]:
    """JSON Schema of the plainest kind: what OpenAI, Anthropic and Gemini gateways and guided decoding all take."""
    required = [name for name in properties if name not in optional]
    parameters = {"type": "object", "properties": properties, "required": required}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def _point(description: str) -> dict[str, Any]:
    number = {"type": "integer", "minimum": 0, "maximum": 1000}
    return {
        "type": "array",
        "items": number,
        "minItems": 2,
        "maxItems": 2,
        "description": f"[x, y] in thousandths of the screen's width and height: {description}",
    }


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


TOOLS: Final = (
    _tool("click", "Touch a point of the screen briefly.", coordinate=_point("where to touch")),
    _tool(
        "long_press",
        "Touch a point of the screen and hold it.",
        optional=("time",),
        coordinate=_point("where to touch"),
        time={**_SECONDS, "description": "how long to hold it, in seconds; 2 if left out"},
    ),
    _tool(
        "swipe",
        "Draw a finger over the screen. A finger that moves up brings content from below into view.",
        coordinate=_point("where the finger is put down"),
        coordinate2=_point("where it is lifted"),
    ),
    _tool("type", "Enter text into the field that has the focus.", text=_text("the text to enter")),
    _tool("open", "Start an app.", text=_text("the app's name as its icon shows it")),
    _tool(
        "system_button",
        "Press a button of the system. Menu shows the apps that are running; Enter confirms what was typed.",
        button={"type": "string", "enum": list(BUTTONS), "description": "which button"},
    ),
    _tool(
        "key", "Send a key event.", text=_text("the key by the name that adb's keyevent has for it, such as volume_up")
    ),
    _tool(
        "wait",
        "Do nothing for a while, so that the screen can change by itself.",
        optional=("time",),
        time={**_SECONDS, "description": "how long, in seconds; 2 if left out"},
    ),
    _tool("answer", "Tell the user the answer to what was asked.", text=_text("the answer")),
    _tool(
        "terminate",
        "End the task: nothing more is left to do, or it cannot be done.",
        status={"type": "string", "enum": list(STATUSES), "description": "how the task ended"},
    ),
)

_ROLE = """\
You operate an Android phone for its user. Each turn shows you the phone's screen as it is now; the turns before hold what you did. \
Decide on the one action that brings the user's task forward.\
"""

_RULES = """\
A point is [x, y] in thousandths of the screen, whatever size the picture seems to have: x runs from 0 at the left edge to 1000 at the right one, y from 0 at \
the top edge to 1000 at the bottom one. Aim at the middle of what you mean to touch. Where the task is a question, give its answer with the tool answer before you \
call terminate.\
"""

_SYSTEM = f"""\
{_ROLE} You act by calling tools: say briefly what you see and why the next action is the right one, then call exactly one tool. Of several calls in a turn \
only the first is carried out, and a turn without a call does nothing.

{_RULES}
"""

_SYSTEM_IN_TEXT = f"""\
{_ROLE} You act by calling tools, in writing.

# Tools

{{tools}}

# How to reply

Say briefly what you see and why the next action is the right one. Then write exactly one call: a JSON object with the tool's name and its arguments, between tags. \
Of several calls in a turn only the first is carried out, and a turn without a call does nothing.

The Display settings are the second row of the list.
<tool_call>
{{"name": "click", "arguments": {{"coordinate": [287, 302]}}}}
</tool_call>

{_RULES}
"""

_TURNS: Final = {
    "user": "The task: {goal}",
    "screen": "The screen now:",
    "no_screen": "The screen of this turn is not shown.",
    "silence": "(an empty reply)",
}

TEXTS: Final = PromptTexts(
    family="tools",
    kind="builtin",
    note=BUILTIN_NOTE,
    templates={
        "tools": json.dumps(TOOLS, indent=1),
        "tool_choice": "auto",
        "system": _SYSTEM,
        "result": "The screen follows.",
        "no_result": "Not carried out: only the first call of a turn is.",
        **_TURNS,
    },
)

IN_TEXT: Final = PromptTexts(
    family="tools_text",
    kind="builtin",
    note=BUILTIN_NOTE,
    templates={
        "tools": "\n".join(json.dumps(tool) for tool in TOOLS),
        "system": _SYSTEM_IN_TEXT,
        **_TURNS,
    },
)
