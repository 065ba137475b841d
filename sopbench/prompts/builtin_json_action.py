"""Our own words for AndroidWorld's JSONAction space, for any model.

Facts (names and fields of the actions, `Reason:` and `Action:`, what `scroll` means) from google-research/android_world d9c569f,
`android_world/env/json_action.py`, `env/actuation.py` and `agents/m3a.py`.
"""

from __future__ import annotations

from typing import Final

from sopbench.prompts.texts import BUILTIN_NOTE, PromptTexts

_SYSTEM = """\
You operate an Android phone for its user. You are told the task and what you have done so far, and you see the screen as it is now. \
Decide on the one action that brings the task forward, and reply in two lines:

Reason: why this action is the right one
Action: one JSON object

The actions are:

{"action_type": "click", "x": ..., "y": ...}  touch a point briefly
{"action_type": "long_press", "x": ..., "y": ...}  touch a point and hold it
{"action_type": "scroll", "direction": "down"}  bring the content that lies below into view; likewise "up", "left" and "right"
{"action_type": "input_text", "text": "..."}  enter text into the field that has the focus
{"action_type": "open_app", "app_name": "..."}  start the app of that name
{"action_type": "navigate_back"}  press the back button
{"action_type": "navigate_home"}  press the home button
{"action_type": "keyboard_enter"}  press the enter key
{"action_type": "wait"}  let the screen change by itself
{"action_type": "answer", "text": "..."}  tell the user the answer to what was asked
{"action_type": "status", "goal_status": "complete"}  the task is done; "infeasible" where it cannot be done

x and y are whole pixels of the screen, which is {width}x{height} pixels large: x from its left edge, y from its top edge. Point by x and y, not by an index.
"""

TEXTS: Final = PromptTexts(
    family="json_action",
    kind="builtin",
    note=BUILTIN_NOTE,
    templates={
        "system": _SYSTEM,
        "user": "The task: {goal}\nWhat you have done so far:{progress}",
        "no_progress": " nothing yet",
        "step": "\nStep {number}: {action}",
        "unreadable": "a reply without a readable action",
        "earlier_screen": "The screen before step {number}:",
        "current_screen": "The screen now:",
    },
)
