"""Our own words for the language of OS-Atlas-Pro: the two sections of a reply, and the actions of a phone.

Facts (names, brackets, sections, what stands before and behind the screen) from OS-Copilot/OS-Atlas bad0840, `eval/data/ac_test.jsonl` and `gui_odyssey_test.jsonl`. The family
lets its user define actions beyond CLICK, TYPE and SCROLL; those below are the ones of its AndroidControl and GUI-Odyssey prompts, and ENTER.
"""

from __future__ import annotations

from typing import Final

from sopbench.prompts.texts import BUILTIN_NOTE, PromptTexts

_SPACE = """\
You operate an Android phone for its user. You get the task, what was done for it so far, and a screenshot of the phone as it is now. Decide on the one action \
that comes next. Your reply has two sections:

thoughts:
what you are going to do, in one sentence
actions:
one action, written as below

The basic actions:

CLICK <point>[[x,y]]</point>  touch a point
TYPE [text]  enter the text into the field that has the focus
SCROLL [UP]  swipe over the middle of the screen; UP, DOWN, LEFT or RIGHT is where the finger moves

The actions of a phone:

LONG_PRESS <point>[[x,y]]</point>  touch a point and hold it
OPEN_APP [name]  start the app of that name
PRESS_BACK  press the back button
PRESS_HOME  go to the home screen
PRESS_RECENT  show the apps that are running
ENTER  press the enter key
WAIT  let the screen load
COMPLETE  the task is done
IMPOSSIBLE  the task cannot be done

x and y are thousandths of the width and the height of the screenshot, from its upper left corner.

The screenshot:"""

TEXTS: Final = PromptTexts(
    family="os_atlas",
    kind="builtin",
    note=BUILTIN_NOTE,
    templates={
        "space": _SPACE,
        "task": "\nThe task: {goal}\nDone so far:{history}",
        "no_history": " nothing yet",
        "step": "\nStep {number}: {action}",
        "unreadable": "a reply without a readable action",
        "earlier_screen": "\nbefore step {number}:",
        "current_screen": "\nnow:",
    },
)
