"""Qwen2.5-VL's mobile_use tool: frame, reply form, progress as text."""

from __future__ import annotations

import json

import pytest

from sopbench.actions import ACTION_KINDS, Click, SystemButton, Type
from sopbench.adapters.base import Image, ParsedReply, ParseFailure, Text, Turn
from sopbench.adapters.qwen25vl import Qwen25VL
from sopbench.geometry import Point, Size
from tests.unit.adapters.screens import blank

PHONE = Size(1080, 2400)
ADAPTER = Qwen25VL()
MIDDLE = Click(Point(0.5, 0.5))


def texts_of(turns: list[Turn], images: int = 1) -> list[str]:
    return [p.text for m in ADAPTER.render("the goal", turns, images) for p in m.parts if isinstance(p, Text)]


def test_a_reply_is_a_tool_call_behind_the_thought() -> None:
    assert ADAPTER.format(MIDDLE, PHONE, "The switch is in the middle.") == (
        "The switch is in the middle.\n<tool_call>\n"
        '{"name": "mobile_use", "arguments": {"action": "click", "coordinate": [546, 1204]}}\n</tool_call>'
    )


@pytest.mark.parametrize(
    ("reply", "thought", "notes"),
    [
        ('<tool_call>\n{"name": "mobile_use", "arguments": {"action": "click", "coordinate": [546, 1204]}}\n</tool_call>', None, ()),
        ('Tap it.\n<tool_call>{"name": "mobile_use", "arguments": {"action": "click", "coordinate": [546, 1204]}}</tool_call>', "Tap it.", ()),
        ('<thinking>why</thinking><tool_call>{"name": "mobile_use", "arguments": {"action": "click", "coordinate": [546, 1204]}}</tool_call><conclusion>Tapped.</conclusion>', "why", ()),
        ('<tool_call>{"name": "mobile_use", "arguments": {"action": "click", "coordinate": [546, 1204]}\n</tool_call>', None, ("missing_brace",)),
        ('<tool_call>{"name": "mobile_use", "arguments": {"action": "click", "coordinate": [546, 1204]}}}\n</tool_call>', None, ("extra_brace",)),
        ('{"name": "mobile_use", "arguments": {"action": "click", "coordinate": [546, 1204]}}', None, ("no_tag",)),
        ('```json\n{"name": "mobile_use", "arguments": {"action": "click", "coordinate": [546, 1204]}}\n```', None, ("code_fence", "no_tag")),
        ('tool_call>\n{"name": "mobile_use", "arguments": {"action": "click", "coordinate": [546, 1204]}}\n</tool_call>', "tool_call>", ("no_tag",)),
        ('⚗\n{"name": "mobile_use", "arguments": {"action": "click", "coordinate": [546, 1204]}}\n⚗', "⚗", ("no_tag",)),
        ("<tool_call>{'name': 'mobile_use', 'arguments': {'action': 'click', 'coordinate': [546, 1204],}}</tool_call>", None, ("single_quotes", "trailing_comma")),
        ('<tool_call>{"action": "click", "coordinate": [546, 1204]}</tool_call>', None, ()),
    ],
)  # fmt: skip
def test_what_such_models_emit(reply: str, thought: str | None, notes: tuple[str, ...]) -> None:
    parsed = ADAPTER.parse(reply, PHONE)
    assert isinstance(parsed, ParsedReply), parsed
    assert (parsed.action, parsed.thought, set(parsed.notes)) == (MIDDLE, thought, set(notes))


def test_the_same_numbers_mean_the_same_point_as_under_uis1_below_ten_megapixels() -> None:
    from sopbench.adapters.uis1 import UiS1

    assert ADAPTER.sent_size(PHONE) == UiS1().sent_size(PHONE) == Size(1092, 2408)
    assert ADAPTER.sent_size(Size(3000, 4000)) == Size(2996, 4004)
    assert UiS1().sent_size(Size(3000, 4000)) == Size(2716, 3640)


@pytest.mark.parametrize(("screen", "stated"), [((1080, 2400), "1092x2408"), ((504, 1092), "504x1092")])
def test_the_tool_states_the_size_of_the_current_screen(screen: tuple[int, int], stated: str) -> None:
    turns = [Turn(blank(540, 1200), "x"), Turn(blank(*screen))]
    system = texts_of(turns)[0]
    assert system.count(stated) == 1
    assert "532x1204" not in system


def test_the_tool_is_a_json_schema_that_names_every_action() -> None:
    system = texts_of([Turn(blank(540, 1200))])[0]
    tool = json.loads(system.split("<tools>")[1].split("</tools>")[0])
    assert tool["function"]["name"] == "mobile_use"
    assert set(tool["function"]["parameters"]["properties"]["action"]["enum"]) == set(ACTION_KINDS)
    example = system.split("<tool_call>")[1].split("</tool_call>")[0]
    assert isinstance(ADAPTER.parse(f"<tool_call>{example}</tool_call>", PHONE), ParsedReply)


def test_one_user_turn_tells_goal_progress_and_shows_the_screen() -> None:
    size = Size(540, 1200)
    replies = [
        ADAPTER.format(SystemButton("Home"), size, "Go home first."),
        "no idea",
        ADAPTER.format(Type("a\nb"), size),
    ]
    screens = [blank(540, 1200, shade=shade) for shade in range(4)]
    turns = [Turn(s, r) for s, r in zip(screens, replies, strict=False)] + [Turn(screens[3])]
    messages = ADAPTER.render("the goal", turns, 1)
    assert [m.role for m in messages] == ["system", "user"]
    text, image = messages[1].parts
    assert isinstance(text, Text)
    assert text.text.splitlines() == [
        "The task: the goal",
        "What you have done so far:",
        'Step 1: {"action": "system_button", "button": "Home"}',
        "Step 2: a reply without a readable action",
        'Step 3: {"action": "type", "text": "a\\nb"}',
    ]
    assert image == Image(screens[3])


def test_the_history_keeps_the_pixels_in_which_the_model_spoke() -> None:
    reply = ADAPTER.format(Click(Point(0.25, 0.75)), PHONE)
    told = texts_of([Turn(blank(1080, 2400), reply), Turn(blank(1080, 2400))])[1]
    assert 'Step 1: {"action": "click", "coordinate": [273, 1806]}' in told


def test_earlier_screens_stand_before_the_current_one_each_under_its_own_line() -> None:
    screens = [blank(540, 1200, shade=shade) for shade in range(3)]
    turns = [Turn(screens[0], "x"), Turn(screens[1], "y"), Turn(screens[2])]
    parts = ADAPTER.render("the goal", turns, 2)[1].parts
    assert parts[1:] == (
        Text("\nThe screen before step 2:"),
        Image(screens[1]),
        Text("\nThe screen now:"),
        Image(screens[2]),
    )


def test_computer_use_is_another_language() -> None:
    reply = (
        '<tool_call>{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [1, 2]}}</tool_call>'
    )
    parsed = ADAPTER.parse(reply, PHONE)
    assert isinstance(parsed, ParseFailure)
    assert (parsed.reason, "left_click" in parsed.detail) == ("unknown_action", True)
