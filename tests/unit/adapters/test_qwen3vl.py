"""Qwen3-VL and GUI-Owl 1.5: the tool call of Qwen2.5-VL in another frame, and screens as a conversation."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sopbench.actions import ACTION_KINDS, Action, Click, Open, Swipe, SystemButton, Type
from sopbench.adapters.base import Image, Message, ParsedReply, ParseFailure, Text, Turn
from sopbench.adapters.qwen3vl import MAX_TOLD, Qwen3VL
from sopbench.adapters.qwen25vl import Qwen25VL
from sopbench.geometry import PER_MILLE, Point, Size
from tests.unit.adapters.screens import blank

PHONE = Size(1080, 2400)
ADAPTER = Qwen3VL()
MIDDLE = Click(Point(0.5, 0.5))


def call(**arguments: Any) -> str:
    return f"<tool_call>\n{json.dumps({'name': 'mobile_use', 'arguments': arguments})}\n</tool_call>"


def test_a_reply_is_the_call_of_qwen25vl_in_thousandths() -> None:
    assert ADAPTER.format(MIDDLE, PHONE, "Tap it.") == "Tap it.\n" + call(action="click", coordinate=[500, 500])
    assert ADAPTER.sent_size(PHONE) == PER_MILLE


def test_field_case_20_the_same_reply_is_another_point_in_qwen25vl() -> None:
    reply = call(action="click", coordinate=[500, 500])
    assert ADAPTER.parse(reply, PHONE) == ADAPTER.parse(reply, PHONE, Size(1092, 2408)) == ParsedReply(MIDDLE)
    assert Qwen25VL().parse(reply, PHONE) == ParsedReply(Click(Point(500 / 1092, 500 / 2408)))


@pytest.mark.parametrize(
    ("reply", "thought"),
    [
        ("Action: Tap it.\n{call}", "Action: Tap it."),
        ("Thought: It is there.\nAction: Tap it.\n{call}", "Thought: It is there.\nAction: Tap it."),
        ("<think>\nIt is there.\n</think>\n\nAction: Tap it.\n{call}", "It is there."),
        ("<thinking>It is there.</thinking>{call}<conclusion>Tapped.</conclusion>", "It is there."),
    ],
)
def test_forms_of_a_reply(reply: str, thought: str) -> None:
    said = reply.replace("{call}", call(action="click", coordinate=[500, 500]))
    assert ADAPTER.parse(said, PHONE) == ParsedReply(MIDDLE, thought)


@pytest.mark.parametrize(
    ("arguments", "action", "alias"),
    [
        ({"action": "tap", "coordinate": [500, 500]}, MIDDLE, "tap"),
        ({"action": "open_app", "text": "Maps"}, Open("Maps"), "open_app"),
        ({"action": "scroll", "coordinate": [500, 800], "coordinate2": [500, 200]}, Swipe(Point(0.5, 0.8), Point(0.5, 0.2)), "scroll"),
    ],
)  # fmt: skip
def test_names_that_the_publisher_s_harness_understands(arguments: dict[str, Any], action: Action, alias: str) -> None:
    assert ADAPTER.parse(call(**arguments), PHONE) == ParsedReply(action, None, (f"action_alias:{alias}",))
    assert isinstance(Qwen25VL().parse(call(**arguments), PHONE), ParseFailure), "they are this family's alone"


@pytest.mark.parametrize(
    ("arguments", "reason", "named"),
    [
        ({"action": "interact", "text": "log in"}, "unknown_action", "interact"),
        ({"action": "left_click", "coordinate": [1, 2]}, "unknown_action", "left_click"),
        ({"action": "scroll", "direction": "up"}, "missing_argument", "coordinate"),
    ],
)
def test_what_is_refused_names_why(arguments: dict[str, Any], reason: str, named: str) -> None:
    parsed = ADAPTER.parse(call(**arguments), PHONE)
    assert isinstance(parsed, ParseFailure)
    assert (parsed.reason, named in parsed.detail) == (reason, True)


def shape(messages: tuple[Message, ...]) -> list[str]:
    return [m.role[0] + "".join("i" if isinstance(part, Image) else "t" for part in m.parts) for m in messages]


REPLIES = [
    "Action: Go to the\nhome screen.\n" + call(action="system_button", button="Home"),
    "no idea",
    ADAPTER.format(Type("a\nb"), PHONE),
    "Thought: long\nAction: " + "x" * 1000 + "\n" + call(action="wait", time=2),
]
LINES = [
    "Step 1: Go to the home screen.",
    "Step 2: a reply without a readable action",
    'Step 3: {"action": "type", "text": "a\\nb"}',
    "Step 4: " + "x" * MAX_TOLD,
]


@pytest.mark.parametrize(
    ("images", "wanted", "told"),
    [
        (0, ["st", "ut"], 4),
        (1, ["st", "uti"], 4),
        (2, ["st", "uti", "at", "ui"], 3),
        (5, ["st", "uti", "at", "ui", "at", "ui", "at", "ui", "at", "ui"], 0),
    ],
)
def test_steps_whose_screen_is_not_kept_are_lines_and_the_others_a_conversation(
    images: int, wanted: list[str], told: int
) -> None:
    screens = [blank(540, 1200, shade=shade) for shade in range(5)]
    turns = [Turn(s, r) for s, r in zip(screens, REPLIES, strict=False)] + [Turn(screens[4])]
    messages = ADAPTER.render("the goal", turns, images)
    assert shape(messages) == wanted
    task = messages[1].parts[0]
    assert isinstance(task, Text)
    progress = ["What you have done so far:", *LINES[:told]] if told else ["What you have done so far: nothing yet"]
    assert task.text.splitlines() == ["The task: the goal", *progress]
    assert [m.parts for m in messages if m.role == "assistant"] == [(Text(reply),) for reply in REPLIES[told:]]


def test_the_tool_states_1000x1000_and_names_every_action() -> None:
    system = ADAPTER.render("the goal", [Turn(blank(540, 1200))], 1)[0].parts[0]
    assert isinstance(system, Text)
    assert system.text.count("1000x1000") == 1
    tool = json.loads(system.text.split("<tools>")[1].split("</tools>")[0])
    assert set(tool["function"]["parameters"]["properties"]["action"]["enum"]) == set(ACTION_KINDS)
    example = system.text.split("</tools>")[1]
    assert isinstance(ADAPTER.parse(example[example.index("Action:") :], PHONE), ParsedReply)


def test_the_family_can_say_every_button() -> None:
    assert all(ADAPTER.can_express(SystemButton(button)) for button in ("Back", "Home", "Menu", "Enter"))
