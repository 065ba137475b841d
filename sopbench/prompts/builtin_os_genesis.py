"""Our own words for OS-Genesis: a task, the steps so far, and the reply form. One text for each of the two frames.

Facts (one user turn with the screenshot first, a line for every step with thought and action, reply form, action names) from OS-Copilot/OS-Genesis e9178a8,
`evaluation/android_world/genesis_agents.py` and `genesis_utils.py`, and the paper (arXiv 2412.19723), prompts 12 to 18.
"""

from __future__ import annotations

from typing import Final

from sopbench.prompts.texts import BUILTIN_NOTE, PromptTexts

_USER = """\
You operate an Android phone for its user, and see its screen as it is now.

The task: {goal}
What you have done so far:{progress}

Say what to do next and why, in one sentence, and then the action as JSON. Two lines, in this form:
Low-level thought: ...
action: {"action_type":"..."}

The actions are:
{"action_type":"click","x":...,"y":...}  touch a point briefly
{"action_type":"long_press","x":...,"y":...}  touch a point and hold it
{"action_type":"type","text":"..."}  enter text into the field that has the focus
{"action_type":"scroll","direction":"down"}  bring the content that lies below into view; likewise up, left, right
{"action_type":"open_app","app_name":"..."}  start the app of that name
{"action_type":"navigate_back"}  {"action_type":"navigate_home"}  {"action_type":"keyboard_enter"}  press that button
{"action_type":"wait"}  let the screen change by itself
{"action_type":"answer","text":"..."}  tell the user the answer to what was asked
{"action_type":"status","goal_status":"successful"}  the task is done; "infeasible" where it cannot be done

"""

_PER_MILLE = (
    "x and y are numbers from 0 to 1000, whatever the size of the screen: x from its left edge, y from its top edge.\n"
)
_PIXELS = "x and y are pixels of the screen, which is {width}x{height} pixels large: x from its left edge, y from its top edge.\n"

_REST = {
    "no_progress": " nothing yet",
    "step": "\nStep {number}: {thought} action: {action}",
    "step_without_thought": "\nStep {number}: action: {action}",
    "unreadable_step": "\nStep {number}: a reply without a readable action",
    "earlier_screen": "The screen before step {number}:",
    "current_screen": "The screen now:",
}

TEXTS: Final = PromptTexts(
    family="os_genesis", kind="builtin", note=BUILTIN_NOTE, templates={"user": _USER + _PER_MILLE, **_REST}
)
PIXEL_TEXTS: Final = PromptTexts(
    family="os_genesis_pixels", kind="builtin", note=BUILTIN_NOTE, templates={"user": _USER + _PIXELS, **_REST}
)
