"""OS-Genesis: two lines, AndroidWorld's manner, and the two frames that its sources disagree about."""

from __future__ import annotations

import pytest

from sopbench.actions import (
    Action,
    Answer,
    Click,
    LongPress,
    Open,
    Swipe,
    SystemButton,
    Terminate,
    Type,
    Wait,
    swipe_direction,
)
from sopbench.adapters.base import Image, ParsedReply, ParseFailure, Text, Turn
from sopbench.adapters.os_genesis import OsGenesis, OsGenesisPixels
from sopbench.geometry import PER_MILLE, Point, Size
from tests.unit.adapters.screens import blank

PHONE = Size(1080, 2400)
PER_MILLES, PIXELS = OsGenesis(), OsGenesisPixels()
MIDDLE = Click(Point(0.5, 0.5))


def read(reply: str, adapter: OsGenesis = PER_MILLES) -> ParsedReply:
    parsed = adapter.parse(reply, PHONE)
    assert isinstance(parsed, ParsedReply), parsed
    return parsed


@pytest.mark.parametrize(
    ("reply", "action"),
    [
        ('{"action_type":"click","x":500,"y":500}', MIDDLE),
        ('{"action_type":"click","x":499.5,"y":48.0}', Click(Point(0.4995, 0.048))),
        ('{"action_type":"long_press","x":500,"y":500}', LongPress(Point(0.5, 0.5), 1.0)),
        ('{"action_type":"type","text":"hello"}', Type("hello")),
        ('{"action_type":"type","text":"hello","x":500,"y":500}', Type("hello")),
        ('{"action_type":"navigate_back"}', SystemButton("Back")),
        ('{"action_type":"navigate_home"}', SystemButton("Home")),
        ('{"action_type":"keyboard_enter"}', SystemButton("Enter")),
        ('{"action_type":"open_app","app_name":"Maps"}', Open("Maps")),
        ('{"action_type":"wait"}', Wait(1.0)),
        ('{"action_type":"answer","text":"42"}', Answer("42")),
        ('{"action_type":"status","goal_status":"successful"}', Terminate("success")),
        ('{"action_type":"status","goal_status":"infeasible"}', Terminate("failure")),
    ],
)
@pytest.mark.parametrize("label", ["action: ", "Action: ", "actions:\n"])
def test_what_the_family_emits(reply: str, action: Action, label: str) -> None:
    assert read(f"Low-level thought: why\n{label}{reply}") == ParsedReply(action, "why")


@pytest.mark.parametrize("word", ["up", "down", "left", "right"])
@pytest.mark.parametrize("label", ["action", "Action"])
def test_field_case_17_a_scroll_is_a_swipe_of_the_finger_to_the_other_side(word: str, label: str) -> None:
    action = read(f'Low-level thought: x\n{label}: {{"action_type":"scroll","direction":"{word}"}}').action
    assert isinstance(action, Swipe)
    finger = {"up": "down", "down": "up", "left": "right", "right": "left"}[word]
    assert swipe_direction(action.start, action.end, PHONE) == finger


def test_the_frame_is_part_of_the_name() -> None:
    reply = 'action: {"action_type":"click","x":540,"y":1200}'
    assert read(reply).action == Click(Point(0.54, 1.2))
    assert read(reply, PIXELS).action == MIDDLE
    assert (PER_MILLES.sent_size(PHONE), PIXELS.sent_size(PHONE)) == (PER_MILLE, PHONE)
    assert PER_MILLES.format(MIDDLE, PHONE) == 'action: {"action_type":"click","x":500,"y":500}'
    assert PIXELS.format(MIDDLE, PHONE) == reply


def test_the_publisher_s_own_sample_means_pixels() -> None:
    """The kind of sample in `genesis_utils.py`: a button near the lower edge of 1080x2400."""
    reply = 'Low-level thought: Click it.\naction: {"action_type":"click","x":539.5,"y":2148.0}'
    assert read(reply, PIXELS).action == Click(Point(539.5 / 1080, 0.895))


@pytest.mark.parametrize(
    ("reply", "action", "note"),
    [
        ('action: {"action_type":"dismiss","x":500,"y":500}', MIDDLE, "dismiss_is_click"),
        ('action: {"action_type":"input_text","text":"a"}', Type("a"), "foreign_name"),
        ('{"action_type":"wait"}', Wait(1.0), "no_label"),
    ],
)
def test_what_is_repaired_is_noted(reply: str, action: Action, note: str) -> None:
    assert (read(reply).action, read(reply).notes) == (action, (note,))


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ('action: {"action_type":"get_text","x":500,"y":500}', "unknown_action"),
        ('action: {"action_type":"double_tap","x":500,"y":500}', "unknown_action"),
        ('action: {"action_type":"click","index":3}', "bad_argument"),
        ('action: {"action_type":"scroll"}', "missing_argument"),
        ('Low-level thought: x\naction: {"action_type":"click","x":50', "truncated"),
        ("Low-level thought: I will scroll down.", "no_action"),
        ("Sorry, I can't help with that", "no_action"),
    ],
)
def test_what_is_no_action(reply: str, reason: str) -> None:
    parsed = PER_MILLES.parse(reply, PHONE)
    assert isinstance(parsed, ParseFailure)
    assert parsed.reason == reason


def test_one_user_turn_shows_the_screen_and_then_tells_task_and_steps() -> None:
    size = Size(540, 1200)
    screens = [blank(540, 1200, shade) for shade in range(4)]
    replies = [
        PER_MILLES.format(SystemButton("Home"), size, "Go home\nfirst."),
        "no idea",
        PER_MILLES.format(MIDDLE, size),
    ]
    turns = [Turn(s, r) for s, r in zip(screens, replies, strict=False)] + [Turn(screens[3])]
    (message,) = PER_MILLES.render("the goal", turns, 1)
    image, text = message.parts
    assert image == Image(screens[3])
    assert isinstance(text, Text)
    lines = text.text.splitlines()
    assert lines[2:7] == [
        "The task: the goal",
        "What you have done so far:",
        'Step 1: Go home first. action: {"action_type":"navigate_home"}',
        "Step 2: a reply without a readable action",
        'Step 3: action: {"action_type":"click","x":500,"y":500}',
    ]


def test_the_prompt_says_what_the_numbers_are() -> None:
    turns = [Turn(blank(540, 1200))]
    told = {}
    for adapter in (PER_MILLES, PIXELS):
        text = adapter.render("goal", turns, 1)[0].parts[-1]
        assert isinstance(text, Text)
        told[adapter.name] = text.text
    assert "from 0 to 1000" in told["os_genesis"]
    assert "540x1200" in told["os_genesis_pixels"]
    assert "540x1200" not in told["os_genesis"]


def test_the_prompt_shows_actions_that_the_adapter_reads() -> None:
    text = PER_MILLES.render("goal", [Turn(blank(540, 1200))], 1)[0].parts[-1]
    assert isinstance(text, Text)
    behind = text.text.split("The actions are:")[1]
    shown = [
        part
        for line in behind.splitlines()
        if line.startswith("{")
        for part in line.split("  ")
        if part.startswith("{")
    ]
    kinds = {read("action: " + part.replace(":...,", ":1,").replace(":...}", ":2}")).action.kind for part in shown}
    assert kinds == PER_MILLES.expresses
