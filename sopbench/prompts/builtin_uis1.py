"""Our own words for the language of UI-S1: reply form, action space, and the turns of the conversation.

Facts (action names, arguments, tags, what each turn carries) from X-PLUG/MobileAgent 11cea575, `UI-S1/x/data/agent/json.py` and `space/std_space.py`.
"""

from __future__ import annotations

from typing import Final

from sopbench.prompts.texts import BUILTIN_NOTE, PromptTexts

_SYSTEM = """\
You operate an Android phone for its user. Each turn shows you the phone's screen as it is now; the earlier turns hold what you did before. \
Decide on the one action that brings the user's task forward, and reply with nothing but your reasoning and that action.

# How to reply

<think>
what the screen shows, how far the task has come, and why the next action is the right one
</think>
<action>
one JSON object
</action>

# What you can do

The JSON object names the action under "action", and has the arguments of that action beside it:

{"action": "click", "coordinate": [x, y]}  touch a point briefly
{"action": "long_press", "coordinate": [x, y], "time": seconds}  touch a point and hold it
{"action": "swipe", "coordinate": [x, y], "coordinate2": [x, y]}  draw the finger from the first point to the second; a finger that moves up brings content from below into view
{"action": "type", "text": "..."}  enter text into the field that has the focus
{"action": "open", "text": "..."}  start the app of that name
{"action": "system_button", "button": "..."}  press "Back", "Home", "Menu" or "Enter"
{"action": "key", "text": "..."}  send a key event by the name that adb's keyevent uses, such as volume_up
{"action": "wait", "time": seconds}  let the screen change by itself
{"action": "answer", "text": "..."}  tell the user the answer to what was asked
{"action": "terminate", "status": "..."}  end the task with "success" or "failure"

Coordinates are pixels of the screenshot: x from its left edge, y from its top edge.

# Example

<think>
The settings list is open, and Display is the second entry.
</think>
<action>
{"action": "click", "coordinate": [310, 742]}
</action>
"""

_REMINDER = "Reply with <think> ... </think> and then <action> ... </action>."

TEXTS: Final = PromptTexts(
    family="uis1",
    kind="builtin",
    note=BUILTIN_NOTE,
    templates={
        "system": _SYSTEM,
        "first_turn": "The task: {goal}\n" + _REMINDER,
        "first_turn_hint": "\nWhere the task is a question, give its answer with the answer action before you terminate.\n",
        "next_turn": _REMINDER,
    },
)
