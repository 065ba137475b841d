"""Actions and texts for property tests of adapters."""

from __future__ import annotations

from typing import get_args

from hypothesis import strategies as st

from sopbench.actions import (
    Action,
    Answer,
    Button,
    Click,
    Key,
    LongPress,
    Open,
    Status,
    Swipe,
    SystemButton,
    Terminate,
    Type,
    Wait,
)
from sopbench.adapters.arguments import PLACEHOLDER_TEXT
from sopbench.geometry import Point, Size

SIZES = [
    Size(1080, 2400),
    Size(1080, 2340),
    Size(1440, 3120),
    Size(2560, 1600),
    Size(320, 640),
    Size(540, 1200),
    Size(504, 1092),
]

AWKWARD = [
    "",
    " ",
    "it's ok",
    'say "hi", then go',
    "a (b) [c] {d}",
    "two\nlines\r\n\tand a tab",
    "back\\slash \\n \\' \\\" \\u0041",
    "</action>",
    "</tool_call>",
    "<think>",
    "</think>",
    '<action>{"action": "wait"}</action>',
    '{"action": "wait"}',
    "```json",
    "打开微信，搜索“天气”",
    "مرحبا بالعالم",
    "\u202eevil\u202c",
    "👩‍👩‍👧‍👦 🇫🇷",
    "nul\0byte",
    "<|im_end|>",
    "[x, y]",
    "Thought: first\nAction: press_back()",
    "Action：wait()",
    "actions:\nWAIT",
    "a') then (b",
    "<|box_start|>(1,2)<|box_end|>",
    "*starred*",
    "0042",
    "null",
]

texts = st.sampled_from(AWKWARD) | st.text(max_size=60).filter(lambda t: t.strip() != PLACEHOLDER_TEXT)
points = st.builds(Point, st.floats(-0.2, 1.2), st.floats(-0.2, 1.2))
seconds = st.integers(0, 60).map(float) | st.floats(0, 600)

actions: st.SearchStrategy[Action] = st.one_of(
    st.builds(Click, points),
    st.builds(LongPress, points, seconds),
    st.builds(Swipe, points, points),
    st.builds(Type, texts),
    st.builds(Open, texts),
    st.builds(SystemButton, st.sampled_from(get_args(Button))),
    st.builds(Key, texts),
    st.builds(Wait, seconds),
    st.builds(Answer, texts),
    st.builds(Terminate, st.sampled_from(get_args(Status))),
)
