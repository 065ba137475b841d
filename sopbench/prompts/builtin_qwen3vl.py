"""Our own words for the `mobile_use` tool of Qwen3-VL and GUI-Owl 1.5, whose screen is always 1000 by 1000.

Facts (tool and argument names, `Action:` before the call, actions so far in the first user turn) from QwenLM/Qwen3-VL 9658872, `cookbooks/mobile_agent.ipynb`, and
X-PLUG/MobileAgent 11cea575, `Mobile-Agent-v3.5/mobile_use/utils.py` and `android_world_v3.5/android_world/agents/gui_owl.py`.
"""

from __future__ import annotations

from typing import Final

from sopbench.prompts.texts import BUILTIN_NOTE, PromptTexts

_SYSTEM = """\
You operate an Android phone for its user, with one tool. Look at the screenshot and decide on the one action that brings the task forward.

<tools>
{"type": "function", "function": {"name": "mobile_use", "description": "Acts on the phone whose screenshot you see. Whatever its real size, the screen counts as \
{width}x{height}: x from the left edge, y from the top edge. Aim at the middle of what you mean to touch. Apps may need time to load: wait, and look again.", \
"parameters": {"type": "object", "properties": {
"action": {"type": "string", "enum": ["click", "long_press", "swipe", "type", "open", "system_button", "key", "wait", "answer", "terminate"], "description": \
"click: touch `coordinate` briefly. long_press: touch `coordinate` for `time` seconds. swipe: draw the finger from `coordinate` to `coordinate2`; a finger that \
moves up brings content from below into view. type: enter `text` into the field that has the focus. open: start the app named `text`. system_button: press `button`. \
key: send the key event that adb's keyevent calls `text`. wait: do nothing for `time` seconds. answer: tell the user `text`. terminate: end the task with `status`."},
"coordinate": {"type": "array", "description": "[x, y]; for click, long_press and the start of a swipe"},
"coordinate2": {"type": "array", "description": "[x, y]; for the end of a swipe"},
"text": {"type": "string", "description": "for type, open, key and answer"},
"time": {"type": "number", "description": "seconds; for long_press and wait"},
"button": {"type": "string", "enum": ["Back", "Home", "Menu", "Enter"], "description": "for system_button; Menu shows the apps that are running"},
"status": {"type": "string", "enum": ["success", "failure"], "description": "for terminate"}
}, "required": ["action"]}}}
</tools>

Reply with one sentence that says what you do on the screen, and one call of the tool:

Action: what you do, as an order
<tool_call>
{"name": "mobile_use", "arguments": {"action": "wait", "time": 2}}
</tool_call>
"""

TEXTS: Final = PromptTexts(
    family="qwen3vl",
    kind="builtin",
    note=BUILTIN_NOTE,
    templates={
        "system": _SYSTEM,
        "user": "The task: {goal}\nWhat you have done so far:{progress}",
        "no_progress": " nothing yet",
        "step": "\nStep {number}: {action}",
        "unreadable": "a reply without a readable action",
    },
)
