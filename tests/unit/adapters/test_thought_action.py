"""`Thought:` and `Action: name(...)`: which call is the action, and what its arguments are. The rules of `sopbench.adapters.thought_action`."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sopbench.adapters.base import MAX_REPLY, ParsedReply
from sopbench.adapters.thought_action import escaped, find_said_call, safe_thought, unescaped
from sopbench.adapters.ui_tars import UiTars
from sopbench.errors import ActionError
from sopbench.geometry import Size

WHERE = [
    ("as taught", "Thought: why\nAction: wait()", "why", ()),
    ("no thought", "Action: wait()", None, ()),
    ("an empty thought", "Thought: \nAction: wait()", None, ()),
    ("full-width colons", "Thought：why\nAction：wait()", "why", ()),
    ("small letters", "thought: why\naction: wait()", "why", ()),
    ("Markdown", "**Thought:** why\n**Action:** wait()", "why", ()),
    ("a heading", "### Thought: why\n### Action: wait()", "why", ()),
    ("on the next line", "Thought: why\nAction:\nwait()", "why", ()),
    ("in a fence", "Thought: why\nAction:\n```\nwait()\n```", "why", ()),
    ("in a fence with a language", "Action: ```python\nwait()\n```", None, ()),
    ("several lines of thought", "Thought: one\n\ntwo\nAction: wait()", "one\n\ntwo", ()),
    ("a reflection", "Reflection: a\nAction_Summary: b\nAction: wait()", "Reflection: a\nAction_Summary: b", ()),
    ("calls in the thought", "Thought: type( or click(1) or press_back()\nAction: wait()", "type( or click(1) or press_back()", ()),
    ("a line of thought that begins with a call", "Thought: no\nclick(1)\nAction: wait()", "no\nclick(1)", ()),
    ("`Action:` with prose behind it", "Thought: x\nAction: I shall wait.\nAction: wait()", "x\nAction: I shall wait.", ()),
    ("`Action:` in the thought's line", "Thought: an Action: no\nAction: wait()", "an Action: no", ()),
    ("all on one line", "Thought: why. Action: wait()", "why.", ("inline_header",)),
    ("the last of two on one line", "Thought: Action: click(1) is wrong. Action: wait()", "Action: click(1) is wrong.", ("inline_header",)),
    ("no header", "wait()", None, ("no_header",)),
    ("no header, in a fence", "```\nwait()\n```", None, ("no_header",)),
    ("an end-of-turn token", "Action: wait()<|im_end|>", None, ()),
    ("two calls", "Action: wait()\n\nclick(start_box='(1,2)')", None, ("extra_calls:1",)),
    ("two thoughts", "Thought: why\nAction: wait()\nThought: and\nAction: press_back()", "why", ("extra_calls:1",)),
    ("space before the parenthesis", "Action: wait ()", None, ()),
]  # fmt: skip


@pytest.mark.parametrize(("reply", "thought", "notes"), [row[1:] for row in WHERE], ids=[row[0] for row in WHERE])
def test_the_call_that_counts(reply: str, thought: str | None, notes: tuple[str, ...]) -> None:
    call = find_said_call(reply)
    assert (call.name, call.thought, call.notes) == ("wait", thought, notes)


ARGUMENTS = [
    ("one", "f(a='x')", {"a": "x"}, ()),
    ("two", "f(a='x', b='y')", {"a": "x", "b": "y"}, ()),
    ("spaces", "f( a = 'x' , b='y' )", {"a": "x", "b": "y"}, ()),
    ("lines", "f(\n  a='x',\n  b='y',\n)", {"a": "x", "b": "y"}, ()),
    ("double quotes", 'f(a="it\'s")', {"a": "it's"}, ()),
    ("typographic quotes", "f(a=‘x’)", {"a": "x"}, ("typographic_quotes",)),
    ("an escaped quote", r"f(a='it\'s')", {"a": r"it\'s"}, ()),
    ("an escaped backslash at the end", r"f(a='x\\')", {"a": r"x\\"}, ()),
    ("a stray quote", "f(a='it's')", {"a": "it's"}, ("unescaped_quote",)),
    ("quotes in quotes", "f(a='say 'hi'')", {"a": "say 'hi'"}, ("unescaped_quote",)),
    ("a call in quotes", "f(a='g('x') now')", {"a": "g('x') now"}, ("unescaped_quote",)),
    ("a comma behind a stray quote", "f(a='it's, well', b='y')", {"a": "it's, well", "b": "y"}, ("unescaped_quote",)),
    ("a raw line break", "f(a='x\ny')", {"a": "x\ny"}, ("raw_line_break",)),
    ("a parenthesis", "f(a=':)')", {"a": ":)"}, ()),
    ("prose behind", "f(a='x') to go on", {"a": "x"}, ("text_behind",)),
    ("no quotes", "f(a=(1, 2))", {"a": "(1, 2)"}, ("unquoted",)),
    (
        "tags without quotes",
        "f(a=<|box_start|>(1,2)<|box_end|>)",
        {"a": "<|box_start|>(1,2)<|box_end|>"},
        ("unquoted",),
    ),
    ("two numbers without brackets in a tag", "f(a=<point>1 2</point>)", {"a": "<point>1 2</point>"}, ("unquoted",)),
    ("no name", "f('x')", {"": "x"}, ("no_argument_name",)),
    ("the same name twice", "f(a='x', a='y')", {"a": "x"}, ()),
    ("capitals", "f(A='x')", {"a": "x"}, ()),
]


@pytest.mark.parametrize(("call", "wanted", "notes"), [row[1:] for row in ARGUMENTS], ids=[row[0] for row in ARGUMENTS])
def test_arguments(call: str, wanted: dict[str, str], notes: tuple[str, ...]) -> None:
    found = find_said_call(f"Thought: why\nAction: {call}")
    assert {name: argument.text for name, argument in found.arguments.items()} == wanted
    assert found.notes == notes


REFUSED = [
    ("nothing", "", "empty_reply"),
    ("white space", " \n", "empty_reply"),
    ("prose", "I can't help with that (sorry)", "no_action"),
    ("a thought only", "Thought: I could press_back()", "no_action"),
    ("prose behind the header", "Action: I shall wait.", "no_action"),
    ("ends behind the header", "Thought: why\nAction:", "truncated"),
    ("ends in the name", "Thought: why\nAction: press_b", "truncated"),
    ("ends behind the parenthesis", "Action: f(", "truncated"),
    ("ends in an argument's name", "Action: f(start", "truncated"),
    ("ends in a text", "Action: f(a='x", "truncated"),
    ("ends behind a quote that may not be the last", "Action: f(a='it's", "truncated"),
    ("ends before the parenthesis", "Action: f(a='x'", "truncated"),
    ("ends behind a comma", "Action: f(a='x',", "truncated"),
    ("ends in numbers without quotes", "Action: f(a=(1,2", "bad_argument"),
    ("no comma", "Action: f(a=1 b=2)", "bad_argument"),
    ("too many arguments", "Action: f(" + "a=1, " * 9 + ")", "bad_argument"),
    ("too many names", "Action: f(" + ", ".join(f"a{k}=1" for k in range(9)) + ")", "bad_argument"),
]


@pytest.mark.parametrize(("reply", "reason"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_what_is_refused_by_name(reply: str, reason: str) -> None:
    with pytest.raises(ActionError) as caught:
        find_said_call(reply)
    assert caught.value.reason == reason
    assert len(caught.value.detail) < 300


@given(text=st.text(max_size=80))
@settings(deadline=None)
def test_escapes_are_undone(text: str) -> None:
    notes: dict[str, None] = {}
    assert unescaped(escaped(text), notes) == text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert notes == {}
    assert "\n" not in escaped(text)


@pytest.mark.parametrize(
    ("written", "meant", "notes"),
    [
        (r"a\nb\tc\rd", "a\nb\tc\rd", {}),
        (r"\u0041\x42", "AB", {}),
        (r"\'\"\\", "'\"\\", {}),
        (r"\d \ud83d", "\\d \ufffd", {"bad_escape": None}),
        ("one\\\ntwo", "onetwo", {}),
        ("end\\", "end\\", {}),
    ],
)
def test_escapes_are_python_s(written: str, meant: str, notes: dict[str, None]) -> None:
    seen: dict[str, None] = {}
    assert (unescaped(written, seen), seen) == (meant, notes)


@given(
    thought=st.lists(st.sampled_from(["Action:", "action：", "wait()", "\n", " ", "**", "x", "Thought:"]), max_size=12)
)
@settings(deadline=None)
def test_a_thought_cannot_pose_as_the_action(thought: list[str]) -> None:
    call = find_said_call(f"Thought: {safe_thought(''.join(thought))}\nAction: press_home()")
    assert (call.name, call.notes) == ("press_home", ())


N = MAX_REPLY
HOSTILE = {
    "headers": "Action:\n" * (N // 8),
    "calls": "Action: wait()\n" * (N // 15),
    "inline headers": "Action: " * (N // 8),
    "inline calls": "xAction: wait() " * (N // 16),
    "quotes": "Action: type(content='" + "' " * (N // 2 - 20),
    "closing quotes": "Action: type(content='" + "')x" * (N // 3 - 20),
    "quotes before commas": "Action: type(content='" + "', " * (N // 3 - 20),
    "backslashes": "Action: type(content='" + "\\" * (N - 40) + "')",
    "escapes": "Action: type(content='" + "\\u0041" * (N // 6 - 20) + "')",
    "spaces behind a parenthesis": "Action: type(content='" + "')  " * (N // 4 - 20),
    "one long space": "Action: type(content='x')" + " " * (N - 40) + "x",
    "arguments": "Action: f(" + "a='x', " * (N // 7 - 20),
    "brackets": "Action: click(start_box=" + "(" * (N - 40),
    "bare": "Action: click(start_box=" + "<a>" * (N // 3 - 20),
    "numbers": "Action: click(start_box='" + "1," * (N // 2 - 40) + "')",
    "opening parentheses": "Action: " + "f(" * (N // 2 - 20),
    "lines": "\n" * N,
    "stars": "*" * N,
    "hashes in lines": "# \n" * (N // 3),
    "parentheses": "wait(" * (N // 5),
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_texts_cost_no_time(text: str) -> None:
    assert len(text) <= MAX_REPLY
    start = time.process_time()
    parsed = UiTars().parse(text, Size(1080, 2400))
    assert time.process_time() - start < 1.0
    assert isinstance(parsed, ParsedReply) or len(parsed.detail) < 500
