"""Our own words for the language of UI-TARS, v1 and v1.5: they differ in how a point is written and in what its numbers are.

Facts (calls and their arguments, `Thought:` and `Action:`, escapes, a task before all screens) from bytedance/UI-TARS 582f3a7, `README_v1.md` and `codes/ui_tars/prompt.py`,
and its issues 83 and 85.
"""

from __future__ import annotations

from typing import Final

from sopbench.prompts.texts import BUILTIN_NOTE, PromptTexts

_SYSTEM = "You operate an Android phone for its user. You see its screen and decide, step by step, what to do."

_TASK = """\
What follows are screenshots of the phone, each with what you replied to it; the last one is how the phone looks now. Decide on the one action that comes next, \
and reply in exactly this form:

Thought: a short plan, and at its end one sentence that names the next action and what it acts on
Action: one of the calls below

The calls:

click({at}='{point}')  touch a point briefly
long_press({at}='{point}')  touch a point and hold it
drag({from}='{point}', {to}='{other_point}')  draw the finger from the first point to the second
scroll({at}='{point}', direction='...')  bring more into view at that point; direction is up, down, left or right, the side on which more is to appear
type(content='...')  enter a text into the field that has the focus; end it with \\n where it is to be submitted
open_app(app_name='...')  start the app of that name
press_back()  press the back button
press_home()  go to the home screen
wait()  do nothing for a while
finished(content='...')  end the task, and tell the user what was asked for

Inside the quotes of a text write \\' for a quote, \\\\ for a backslash and \\n for a line break.
{numbers}

The task: {goal}
"""

_NUMBERS = "x and y count from the left and the upper edge of the screenshot, "


def _texts(family: str, numbers: str, **words: str) -> PromptTexts:
    """The templates with the family's way to write points; `{goal}` is left to be filled."""
    task = _TASK
    for field, word in {**words, "numbers": _NUMBERS + numbers}.items():
        task = task.replace("{" + field + "}", word)
    return PromptTexts(
        family=family,
        kind="builtin",
        note=BUILTIN_NOTE,
        templates={
            "system": _SYSTEM,
            "task": task,
            "no_screen": "No screenshot this time. What is the next action?",
        },
    )


V1_TEXTS: Final = _texts(
    "ui_tars",
    "in thousandths of its width and its height.",
    **{"at": "start_box", "from": "start_box", "to": "end_box"},
    point="<|box_start|>(x,y)<|box_end|>",
    other_point="<|box_start|>(x,y)<|box_end|>",
)
V15_TEXTS: Final = _texts(
    "ui_tars15",
    "in pixels.",
    **{"at": "point", "from": "start_point", "to": "end_point"},
    point="<point>x y</point>",
    other_point="<point>x y</point>",
)
