"""OS-Atlas: sections, brackets, one user turn. The rules of `sopbench.adapters.bracketed`."""

from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sopbench.actions import Action, Answer, Click, Key, LongPress, Open, Swipe, SystemButton, Terminate, Type, Wait
from sopbench.adapters.base import MAX_REPLY, Image, ParsedReply, ParseFailure, Text, Turn
from sopbench.adapters.bracketed import WORDS, ambiguous, find_bracketed, safe_thought
from sopbench.adapters.os_atlas import MAX_TOLD, OsAtlas
from sopbench.geometry import PER_MILLE, Point, Size
from tests.unit.adapters.screens import blank

PHONE = Size(1080, 2400)
ADAPTER = OsAtlas()
AT = Click(Point(0.5, 0.25))

WHERE = [
    ("as its test data have it", "thoughts:\nwhy\nactions:\nCLICK <point>[[500,250]]</point>", "why", ()),
    ("without a thought", "actions:\nCLICK <point>[[500,250]]</point>", None, ()),
    ("capitals", "Thoughts:\nwhy\nActions:\nCLICK <point>[[500,250]]</point>", "why", ()),
    ("on the same line", "Thoughts: why\nActions: CLICK <point>[[500,250]]</point>", "why", ()),
    ("full-width colons", "thoughts：\nwhy\nactions：\nCLICK <point>[[500,250]]</point>", "why", ()),
    ("the singular", "thought: why\naction: CLICK <point>[[500,250]]</point>", "why", ()),
    ("Markdown", "**Thoughts:**\nwhy\n**Actions:**\n`CLICK <point>[[500,250]]</point>`", "why", ()),
    ("a numbered list", "actions:\n1. CLICK <point>[[500,250]]</point>", None, ()),
    ("names in the thought", "thoughts:\nTYPE [x] or WAIT, or CLICK\nactions:\nCLICK <point>[[500,250]]</point>", "TYPE [x] or WAIT, or CLICK", ()),
    ("no header", "CLICK <point>[[500,250]]</point>", None, ("no_header",)),
    ("small letters", "actions:\nclick <point>[[500,250]]</point>", None, ("action_name_case",)),
    ("an end-of-turn token", "actions:\nCLICK <point>[[500,250]]</point><|im_end|>", None, ()),
    ("two actions", "actions:\nCLICK <point>[[500,250]]</point>\nTYPE [x]\nPRESS_BACK", None, ("extra_calls:2",)),
    ("prose behind", "actions:\nCLICK <point>[[500,250]]</point> to open it", None, ()),
    ("spaces", "actions:\nCLICK <point>[[ 500 , 250 ]]</point>", None, ()),
    ("one bracket", "actions:\nCLICK <point>[500,250]</point>", None, ()),
    ("parentheses", "actions:\nCLICK (500, 250)", None, ()),
    ("tags alone", "actions:\nCLICK <point>500 250</point>", None, ()),
    ("the base model's box", "actions:\nCLICK <|box_start|>(490,240),(510,260)<|box_end|>", None, ("box_centre",)),
    ("a box", "actions:\nCLICK <point>[[490,240,510,260]]</point>", None, ("box_centre",)),
]  # fmt: skip


@pytest.mark.parametrize(("reply", "thought", "notes"), [row[1:] for row in WHERE], ids=[row[0] for row in WHERE])
def test_the_action_that_counts(reply: str, thought: str | None, notes: tuple[str, ...]) -> None:
    assert ADAPTER.parse(reply, PHONE) == ParsedReply(AT, thought, notes)


SAID = [
    ("LONG_PRESS <point>[[108,272]]</point>", LongPress(Point(0.108, 0.272))),
    ("TYPE [Shanghai]", Type("Shanghai")),
    ("TYPE []", Type("")),
    ("TYPE [ two  blanks ]", Type(" two  blanks ")),
    ("TYPE [CLICK here]", Type("CLICK here")),
    ("TYPE [a [b] c]", Type("a [b] c")),
    ("TYPE [a] b]", Type("a] b")),
    ("TYPE [one\ntwo]", Type("one\ntwo")),
    ("TYPE [actions:\nWAIT]", Type("actions:\nWAIT")),
    ("OPEN_APP [Google Chrome]", Open("Google Chrome")),
    ("SCROLL [UP]", Swipe(Point(0.5, 0.75), Point(0.5, 0.25))),
    ("SCROLL [DOWN]", Swipe(Point(0.5, 0.25), Point(0.5, 0.75))),
    ("SCROLL [LEFT]", Swipe(Point(0.75, 0.5), Point(0.25, 0.5))),
    ("SCROLL [RIGHT]", Swipe(Point(0.25, 0.5), Point(0.75, 0.5))),
    ("PRESS_BACK", SystemButton("Back")),
    ("PRESS_HOME", SystemButton("Home")),
    ("PRESS_RECENT", SystemButton("Menu")),
    ("ENTER", SystemButton("Enter")),
    ("WAIT", Wait()),
    ("COMPLETE", Terminate("success")),
    ("IMPOSSIBLE", Terminate("failure")),
]


@pytest.mark.parametrize(("line", "action"), SAID, ids=[row[0] for row in SAID])
def test_every_word(line: str, action: Action) -> None:
    assert ADAPTER.parse(f"thoughts:\nwhy\nactions:\n{line}", PHONE) == ParsedReply(action, "why")


def test_the_table_above_has_every_word() -> None:
    assert {line.split()[0] for line, _ in SAID} | {"CLICK"} == set(WORDS)


def test_a_direction_without_brackets_is_noted() -> None:
    assert ADAPTER.parse("actions:\nSCROLL down", PHONE) == ParsedReply(
        Swipe(Point(0.5, 0.25), Point(0.5, 0.75)), None, ("no_brackets",)
    )


@pytest.mark.parametrize(
    ("reply", "reason", "named"),
    [
        ("", "empty_reply", "empty"),
        ("thoughts:\nOpen the app.", "no_action", "actions:"),
        ("I would CLICK there", "no_action", "CLICK"),
        ("actions:", "truncated", "behind `actions:`"),
        ("actions:\n[x]", "no_action", "[x]"),
        ("actions:\nSWIPE [UP]", "unknown_action", "SWIPE"),
        ("actions:\nDOUBLE_CLICK <point>[[1,2]]</point>", "unknown_action", "DOUBLE_CLICK"),
        ("actions:\nPRESS_HO", "truncated", "PRESS_HO"),
        ("actions:\nClick on the blue button.", "missing_argument", "blue button"),
        ("actions:\nCLICK", "truncated", "CLICK"),
        ("actions:\nCLICK <point>[[500,2", "truncated", "CLICK"),
        ("actions:\nCLICK <point>[[x-axis, y-axis]]</point>", "placeholder", "x-axis"),
        ("actions:\nCLICK <point>[[1,2,3]]</point>", "bad_argument", "1,2,3"),
        ("actions:\nCLICK <point>[[99999999999,2]]</point>", "bad_argument", "bounds"),
        ("actions:\nTYPE", "truncated", "TYPE"),
        ("actions:\nTYPE hello", "missing_argument", "hello"),
        ("actions:\nTYPE [hello", "truncated", "TYPE"),
        ("actions:\nTYPE [a [b] c", "truncated", "behind its last bracket"),
        ("actions:\nTYPE [a [b]", "truncated", "too many"),
        ("actions:\nOPEN_APP", "truncated", "OPEN_APP"),
        ("actions:\nSCROLL", "truncated", "SCROLL"),
        ("actions:\nSCROLL [U", "truncated", "SCROLL"),
        ("actions:\nSCROLL [SIDEWAYS]", "bad_argument", "SIDEWAYS"),
        ("actions:\nSCROLL [UP/DOWN/LEFT/RIGHT]", "placeholder", "UP/DOWN"),
        ("actions:\nSCROLL [direction]", "placeholder", "direction"),
        ("actions:\nTYPE [" + "x" * 20_001 + "]", "bad_argument", "20001"),
    ],
)
def test_what_is_refused_names_why(reply: str, reason: str, named: str) -> None:
    parsed = ADAPTER.parse(reply, PHONE)
    assert isinstance(parsed, ParseFailure), parsed
    assert (parsed.reason, named in parsed.detail) == (reason, True), parsed
    assert len(parsed.detail) < 300


def test_numbers_are_thousandths_whatever_the_screen() -> None:
    for size in (PHONE, Size(2560, 1600), Size(320, 640)):
        assert ADAPTER.sent_size(size) == PER_MILLE
        assert ADAPTER.parse("actions:\nCLICK <point>[[500,250]]</point>", size, Size(7, 7)) == ParsedReply(AT)


def test_a_reply_has_the_published_shape() -> None:
    assert ADAPTER.format(AT, PHONE, "Tap it.") == "thoughts:\nTap it.\nactions:\nCLICK <point>[[500,250]]</point>"
    assert ADAPTER.format(Swipe(Point(0.5, 0.8), Point(0.6, 0.2)), PHONE) == "actions:\nSCROLL [UP]"


@pytest.mark.parametrize(
    "action",
    [
        Key("volume_up"),
        Answer("42"),
        Swipe(Point(0.5, 0.5), Point(0.5, 0.5)),
        Type("an [open bracket"),
        Type("closed ] before"),
        Open("x]\nWAIT\n[y"),
    ],
    ids=str,
)
def test_what_cannot_be_said(action: Action) -> None:
    assert not ADAPTER.can_express(action)


PIECES = st.sampled_from([*"[]() \nab", "WAIT", "\nCLICK <point>", "\nTYPE [", "]\nCOMPLETE\n["])


@given(text=st.lists(PIECES, max_size=12).map("".join))
@settings(deadline=None)
def test_a_text_that_is_not_ambiguous_is_read_as_it_was_typed(text: str) -> None:
    found = find_bracketed(f"actions:\nTYPE [{text}]")
    if not ambiguous(text):
        assert found.action(PER_MILLE) == Type(text)
        assert not found.notes


@given(
    thought=st.lists(st.sampled_from(["actions:", "Action：", "WAIT", "\n", " ", "**", "x", "thoughts:"]), max_size=12)
)
@settings(deadline=None)
def test_a_thought_cannot_pose_as_the_action(thought: list[str]) -> None:
    found = find_bracketed(f"thoughts:\n{safe_thought(''.join(thought))}\nactions:\nPRESS_HOME")
    assert (found.word, found.notes) == ("PRESS_HOME", {})


N = MAX_REPLY
HOSTILE = {
    "headers": "actions:\n" * (N // 9),
    "actions": "actions:\n" + "WAIT\n" * (N // 5 - 9),
    "opening brackets": "actions:\nTYPE " + "[" * (N - 20),
    "closing brackets": "actions:\nTYPE [" + "]" * (N - 20),
    "brackets in pairs": "actions:\nTYPE [" + "[]" * (N // 2 - 20) + "]",
    "a long text": "actions:\nTYPE [" + "x" * (N - 20) + "]",
    "spaces behind a text": "actions:\nTYPE [x]" + " " * (N - 20) + "x",
    "dots behind a text": "actions:\nTYPE [x]" + "." * (N - 20) + "x",
    "lines": "actions:\nTYPE [" + "\n" * (N - 20),
    "lines with blanks": "actions:\nTYPE [" + "\n       " * (N // 8 - 20),
    "waits with blanks": "actions:\nTYPE [" + "\nWAIT    " * (N // 9 - 20),
    "numbers": "actions:\nCLICK [[" + "1," * (N // 2 - 20) + "]]",
    "pairs": "actions:\nCLICK " + "(1,2)," * (N // 6 - 20),
    "tags": "actions:\nCLICK " + "<point>" * (N // 7 - 20),
    "spaces": " " * (N - 1) + "x",
    "hashes": "#" * N,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_texts_cost_no_time(text: str) -> None:
    assert len(text) <= MAX_REPLY
    start = time.process_time()
    parsed = ADAPTER.parse(text, PHONE)
    assert time.process_time() - start < 1.0
    assert isinstance(parsed, ParsedReply) or len(parsed.detail) < 500


def test_one_user_turn_space_screen_task_and_what_was_thought() -> None:
    size = Size(540, 1200)
    replies = [
        ADAPTER.format(SystemButton("Home"), size, "Go home\nfirst."),
        "no idea",
        ADAPTER.format(Type("a b"), size),
        ADAPTER.format(Wait(), size, "x" * 1000),
    ]
    screens = [blank(540, 1200, shade=shade) for shade in range(5)]
    turns = [Turn(s, r) for s, r in zip(screens, replies, strict=False)] + [Turn(screens[4])]
    (message,) = ADAPTER.render("the goal", turns, 1)
    space, screen, task = message.parts
    assert message.role == "user"
    assert screen == Image(screens[4])
    assert isinstance(task, Text)
    assert task.text.splitlines() == [
        "",
        "The task: the goal",
        "Done so far:",
        "Step 1: Go home first.",
        "Step 2: a reply without a readable action",
        "Step 3: TYPE [a b]",
        "Step 4: " + "x" * MAX_TOLD,
    ]
    assert isinstance(space, Text)
    for word in WORDS:
        assert f"\n{word} " in space.text


def test_earlier_screens_stand_before_the_current_one_each_under_its_own_line() -> None:
    screens = [blank(540, 1200, shade=shade) for shade in range(3)]
    turns = [Turn(screens[0], "x"), Turn(screens[1], "y"), Turn(screens[2])]
    parts = ADAPTER.render("the goal", turns, 2)[0].parts
    assert parts[1:5] == (Text("\nbefore step 2:"), Image(screens[1]), Text("\nnow:"), Image(screens[2]))
