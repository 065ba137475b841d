"""AndroidWorld's JSONAction: names, pixels, directions, and what it cannot be read as."""

from __future__ import annotations

import pytest

from sopbench.actions import (
    Action,
    Answer,
    Click,
    Key,
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
from sopbench.adapters.json_action import JsonAction
from sopbench.errors import CannotExpress
from sopbench.geometry import Point, Size
from tests.unit.adapters.screens import blank

PHONE = Size(1080, 2400)
ADAPTER = JsonAction()
MIDDLE = Click(Point(0.5, 0.5))


def read(reply: str) -> ParsedReply:
    parsed = ADAPTER.parse(reply, PHONE)
    assert isinstance(parsed, ParsedReply), parsed
    return parsed


@pytest.mark.parametrize(
    ("reply", "action"),
    [
        ('{"action_type": "click", "x": 540, "y": 1200}', MIDDLE),
        ('{"action_type": "click", "x": 540, "y": 1200, "index": null}', MIDDLE),
        ('{"action_type": "long_press", "x": 540, "y": 1200}', LongPress(Point(0.5, 0.5), 1.0)),
        ('{"action_type": "input_text", "text": "a \\"b\\""}', Type('a "b"')),
        ('{"action_type": "input_text", "text": "a", "x": 540, "y": 1200}', Type("a")),
        ('{"action_type": "keyboard_enter"}', SystemButton("Enter")),
        ('{"action_type": "navigate_home"}', SystemButton("Home")),
        ('{"action_type": "navigate_back"}', SystemButton("Back")),
        ('{"action_type": "open_app", "app_name": "Maps"}', Open("Maps")),
        ('{"action_type": "wait"}', Wait(1.0)),
        ('{"action_type": "answer", "text": "42"}', Answer("42")),
        ('{"action_type": "status", "goal_status": "complete"}', Terminate("success")),
        ('{"action_type": "status", "goal_status": "task_complete"}', Terminate("success")),
        ('{"action_type": "status", "goal_status": "infeasible"}', Terminate("failure")),
    ],
)
def test_the_actions_of_android_world(reply: str, action: Action) -> None:
    assert read(f"Reason: why\nAction: {reply}") == ParsedReply(action, "why")


@pytest.mark.parametrize(
    ("name", "word", "finger"),
    [
        # The content's side that comes into view: android_world/env/actuation.py starts in the middle and draws to the opposite edge.
        ("scroll", "down", "up"),
        ("scroll", "up", "down"),
        ("scroll", "right", "left"),
        ("scroll", "left", "right"),
        # The finger's where it is vertical; where it is horizontal the code draws from the named edge to the other.
        ("swipe", "down", "down"),
        ("swipe", "up", "up"),
        ("swipe", "left", "right"),
        ("swipe", "right", "left"),
    ],
)
def test_directions_become_the_finger_s_path(name: str, word: str, finger: str) -> None:
    action = read(f'Action: {{"action_type": "{name}", "direction": "{word}"}}').action
    assert isinstance(action, Swipe)
    assert swipe_direction(action.start, action.end, PHONE) == finger


@pytest.mark.parametrize("direction", ["up", "down", "left", "right"])
def test_a_swipe_is_said_as_a_scroll_to_the_other_side(direction: str) -> None:
    dx, dy = {"up": (0, -1), "down": (0, 1), "left": (-1, 0), "right": (1, 0)}[direction]
    words = ADAPTER.format(Swipe(Point(0.5, 0.5), Point(0.5 + dx * 0.3, 0.5 + dy * 0.3)), PHONE)
    opposite = {"up": "down", "down": "up", "left": "right", "right": "left"}[direction]
    assert words == f'Action: {{"action_type": "scroll", "direction": "{opposite}"}}'


@pytest.mark.parametrize(
    ("reply", "action", "notes"),
    [
        ("Action: {'action_type': 'click', 'x': 540, 'y': 1200}", MIDDLE, ("single_quotes",)),
        ('Action: {"action_type": "click", "x": "540", "y": "1200"}', MIDDLE, ("number_as_text",)),
        ('Action: {"action_type": "Click", "x": 540, "y": 1200}', MIDDLE, ("action_name_case",)),
        ('Action: {"action_type": "long-press", "x": 540, "y": 1200}', LongPress(Point(0.5, 0.5), 1.0), ("action_name_case",)),
        ('Action: {"action_type": "type", "text": "a"}', Type("a"), ("foreign_name",)),
        ('Action: {"action_type": "input_text", "text": "a", "index": 3}', Type("a"), ("index_left_aside",)),
        ('Action: {"action_type": "input_text", "text": 0042}', Type("0042"), ("text_from_number",)),
        ('```json\n{"action_type": "wait"}\n```', Wait(1.0), ("code_fence", "no_label")),
        ('<think>a</think>{"action_type": "wait"}', Wait(1.0), ("no_label",)),
    ],
)  # fmt: skip
def test_what_is_repaired_is_noted(reply: str, action: Action, notes: tuple[str, ...]) -> None:
    assert (read(reply).action, read(reply).notes) == (action, notes)


def test_a_scroll_within_an_element_keeps_its_direction() -> None:
    parsed = read('Action: {"action_type": "scroll", "direction": "down", "index": 4}')
    assert parsed.notes == ("index_left_aside",)
    assert parsed.action == read('Action: {"action_type": "scroll", "direction": "down"}').action


@pytest.mark.parametrize(
    ("reply", "reason", "named"),
    [
        ('{"action_type": "click", "index": 5}', "bad_argument", "index"),
        ('{"action_type": "click", "index": 5, "x": 540, "y": 1200}', "bad_argument", "index"),
        ('{"action_type": "long_press", "index": "5"}', "bad_argument", "index"),
        ('{"action_type": "click"}', "missing_argument", "x"),
        ('{"action_type": "click", "x": 540}', "missing_argument", "y"),
        ('{"action_type": "click", "x": x, "y": y}', "placeholder", "x"),
        ('{"action_type": "click", "x": "<x>", "y": 5}', "placeholder", "x"),
        ('{"action_type": "click", "x": [1, 2], "y": 5}', "bad_argument", "x"),
        ('{"action_type": "double_tap", "x": 540, "y": 1200}', "unknown_action", "double_tap"),
        ('{"action_type": "unknown"}', "unknown_action", "unknown"),
        ('{"action_type": "left_double"}', "unknown_action", "left_double"),
        ('{"action_type": "<click>"}', "placeholder", "<click>"),
        ('{"action_type": 7}', "unknown_action", "7"),
        ('{"action_type": null}', "no_action", "action_type"),
        ('{"action_type": "scroll"}', "missing_argument", "direction"),
        ('{"action_type": "scroll", "direction": "north"}', "bad_argument", "north"),
        ('{"action_type": "swipe", "direction": "<up, down>"}', "placeholder", "direction"),
        ('{"action_type": "input_text"}', "missing_argument", "text"),
        ('{"action_type": "open_app"}', "missing_argument", "app_name"),
        ('{"action_type": "status", "goal_status": "maybe"}', "bad_argument", "maybe"),
        ('{"action_type": "press_keyboard", "keycode": "KEYCODE_A"}', "unknown_action", "press_keyboard"),
        ('{"action": "click", "coordinate": [1, 2]}', "no_action", "action_type"),
    ],
)
def test_what_is_no_action_is_named(reply: str, reason: str, named: str) -> None:
    parsed = ADAPTER.parse(f"Action: {reply}", PHONE)
    assert isinstance(parsed, ParseFailure)
    assert parsed.reason == reason
    assert named in parsed.detail


@pytest.mark.parametrize(
    "action",
    [Key("volume_up"), SystemButton("Menu"), Swipe(Point(0.5, 0.5), Point(0.5, 0.5))],
)
def test_what_the_space_cannot_say(action: Action) -> None:
    assert not ADAPTER.can_express(action)
    with pytest.raises(CannotExpress, match="json_action"):
        ADAPTER.format(action, PHONE)


def test_a_reply_has_the_form_of_android_world_s_own_agents() -> None:
    assert ADAPTER.format(MIDDLE, PHONE, "It is in the middle.") == (
        'Reason: It is in the middle.\nAction: {"action_type": "click", "x": 540, "y": 1200}'
    )


def test_the_request_states_the_screen_s_size_and_the_model_s_own_steps() -> None:
    replies = [ADAPTER.format(SystemButton("Home"), PHONE, "secret reason"), "no idea"]
    screens = [blank(1080, 2400, shade) for shade in range(3)]
    turns = [Turn(s, r) for s, r in zip(screens, replies, strict=False)] + [Turn(screens[2])]
    system, user = ADAPTER.render("the goal", turns, 1)
    (told,) = system.parts
    assert isinstance(told, Text)
    assert told.text.count("1080x2400") == 1
    text, image = user.parts
    assert image == Image(screens[2])
    assert isinstance(text, Text)
    assert text.text.splitlines() == [
        "The task: the goal",
        "What you have done so far:",
        'Step 1: {"action_type": "navigate_home"}',
        "Step 2: a reply without a readable action",
    ]


def test_the_prompt_shows_actions_that_the_adapter_reads() -> None:
    (system,) = ADAPTER.render("goal", [Turn(blank(540, 1200))], 1)[0].parts
    assert isinstance(system, Text)
    shown = [line.split("  ")[0] for line in system.text.splitlines() if line.startswith("{")]
    kinds = {read("Action: " + line.replace("...,", "1,").replace(": ...}", ": 2}")).action.kind for line in shown}
    assert kinds == ADAPTER.expresses
