"""The tiny model's language: short, one turn, told from the model's own replies."""

from __future__ import annotations

import pytest

from sopbench.actions import Answer, Click, LongPress, Swipe, Terminate, Type
from sopbench.adapters import get_adapter
from sopbench.adapters.base import Image, ParsedReply, Text, Turn
from sopbench.adapters.tiny import MAX_TOLD
from sopbench.geometry import Point, Size
from tests.unit.adapters.screens import blank

LARGE = Size(504, 1092)
TINY = get_adapter("tiny")


def asked(goal: str, *replies: str, images: int = 1) -> tuple[str, int]:
    """The text of the one message, and how many screens follow it."""
    turns = [*(Turn(blank(504, 1092), reply) for reply in replies), Turn(blank(504, 1092))]
    (message,) = TINY.render(goal, turns, images)
    assert message.role == "user"
    text, *screens = message.parts
    assert isinstance(text, Text)
    assert all(isinstance(part, Image) for part in screens)
    return text.text, len(screens)


@pytest.mark.parametrize(
    ("action", "said"),
    [
        (Click(Point(1 / 6, 3 / 13)), '<action>{"action": "click", "coordinate": [84, 252]}</action>'),
        (LongPress(Point(0.5, 0.5)), '<action>{"action": "long_press", "coordinate": [252, 546], "time": 2}</action>'),
        (
            Swipe(Point(0.5, 0.75), Point(0.5, 0.25)),
            '<action>{"action": "swipe", "coordinate": [252, 819], "coordinate2": [252, 273]}</action>',
        ),
        (Type("Tea"), '<action>{"action": "type", "text": "Tea"}</action>'),
        (Answer("9:30"), '<action>{"action": "answer", "text": "9:30"}</action>'),
        (Terminate("success"), '<action>{"action": "terminate", "status": "success"}</action>'),
    ],
)
def test_an_action_is_one_line_in_pixels_of_the_screenshot(action: object, said: str) -> None:
    assert TINY.format(action, LARGE) == said  # type: ignore[arg-type]  # the table holds actions


def test_a_thought_is_a_label_before_the_action() -> None:
    reply = TINY.format(Click(Point(0.5, 0.5)), LARGE, "Notes")
    assert reply.startswith("<think> Notes</think><action>{")
    parsed = TINY.parse(reply, LARGE)
    assert isinstance(parsed, ParsedReply)
    assert parsed.thought == "Notes"


def test_the_goal_stands_first_and_the_screen_last() -> None:
    assert asked("Delete the note Wishes.") == (" Delete the note Wishes.\n", 1)


def test_a_step_is_told_by_the_thought_of_the_models_own_reply() -> None:
    replies = [TINY.format(Click(Point(0.5, 0.5)), LARGE, thought) for thought in ("Notes", "hold Wishes")]
    assert asked("Pin it.", *replies)[0] == " Pin it.\n Notes\n hold Wishes\n"


def test_a_step_without_a_thought_is_told_by_its_action() -> None:
    reply = TINY.format(Click(Point(0.5, 0.5)), LARGE)
    assert asked("Pin it.", reply)[0] == ' Pin it.\n {"action": "click", "coordinate": [252, 546]}\n'


def test_a_step_that_nobody_can_read_is_told_as_such() -> None:
    assert asked("Pin it.", "no idea")[0] == " Pin it.\n ?\n"


def test_a_long_thought_cannot_fill_the_prompt_nor_begin_a_line_of_its_own() -> None:
    reply = TINY.format(Click(Point(0.5, 0.5)), LARGE, "a\n" * 5_000)
    lines = asked("Pin it.", reply)[0].splitlines()
    assert len(lines) == 2
    assert len(lines[1]) == 1 + MAX_TOLD


def test_earlier_screens_are_sent_where_they_are_asked_for() -> None:
    reply = TINY.format(Click(Point(0.5, 0.5)), LARGE, "Notes")
    assert asked("Pin it.", reply, reply, images=2)[1] == 2
    assert asked("Pin it.", reply, images=0)[1] == 0
