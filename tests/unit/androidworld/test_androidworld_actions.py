"""Our actions in AndroidWorld's words."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sopbench.actions import Action, Answer, Click, Key, LongPress, Open, Swipe, SystemButton, Terminate, Type, Wait
from sopbench.geometry import Point, Size
from sopbench.online.androidworld.actions import Keys, OnDevice, Words, order_of, swipe_words

SIZE = Size(1080, 2400)
ONE_MAPPING: list[tuple[Action, dict[str, object]]] = [
    (Click(Point(0.5, 0.25)), {"action_type": "click", "x": 540, "y": 600}),
    (Click(Point(1.0, 1.0)), {"action_type": "click", "x": 1079, "y": 2399}),
    (LongPress(Point(0.5, 0.25), 5), {"action_type": "long_press", "x": 540, "y": 600}),
    (Type("two words"), {"action_type": "input_text", "text": "two words"}),
    (Open("Markor"), {"action_type": "open_app", "app_name": "Markor"}),
    (SystemButton("Back"), {"action_type": "navigate_back"}),
    (SystemButton("Home"), {"action_type": "navigate_home"}),
    (SystemButton("Enter"), {"action_type": "keyboard_enter"}),
    (Key("enter"), {"action_type": "keyboard_enter"}),
    (Key("KEYCODE_BACK"), {"action_type": "navigate_back"}),
    (Wait(30), {"action_type": "wait"}),
    (Answer("42"), {"action_type": "answer", "text": "42"}),
    (Terminate("success"), {"action_type": "status", "goal_status": "complete"}),
    (Terminate("failure"), {"action_type": "status", "goal_status": "infeasible"}),
]


@pytest.mark.parametrize(("action", "fields"), ONE_MAPPING)
def test_upstream_has_words_for_it(action: Action, fields: dict[str, object]) -> None:
    assert order_of(action, "upstream", SIZE) == Words(fields)


@pytest.mark.parametrize(
    ("start", "end", "stroke"),
    [
        ((0.5, 0.6), (0.5, 0.2), ("scroll", "down")),  # a finger that goes up moves the content on
        ((0.5, 0.4), (0.5, 0.9), ("scroll", "up")),
        ((0.6, 0.5), (0.1, 0.5), ("scroll", "right")),
        ((0.4, 0.5), (0.9, 0.5), ("scroll", "left")),
        ((0.5, 0.0), (0.5, 0.8), ("swipe", "down")),  # from the upper edge: the shade
        ((0.5, 1.0), (0.5, 0.2), ("swipe", "up")),
        ((0.0, 0.5), (0.9, 0.5), ("swipe", "left")),  # upstream's `left` is a finger that goes right
        ((1.0, 0.5), (0.1, 0.5), ("swipe", "right")),
    ],
)
def test_a_swipe_becomes_the_stroke_whose_ends_are_nearest(
    start: tuple[float, float], end: tuple[float, float], stroke: tuple[str, str]
) -> None:
    kind, direction = stroke
    action = Swipe(Point(*start), Point(*end))
    assert order_of(action, "upstream", SIZE) == Words({"action_type": kind, "direction": direction})


unit = st.floats(0, 1, allow_nan=False)


@given(unit, unit, unit, unit)
def test_no_stroke_goes_against_the_finger(x1: float, y1: float, x2: float, y2: float) -> None:
    from sopbench.online.androidworld.actions import STROKES

    order = order_of(Swipe(Point(x1, y1), Point(x2, y2)), "upstream", SIZE)
    if order is None:
        assert (x1, y1) == (x2, y2)
        return
    assert isinstance(order, Words)
    begins, ends = STROKES[order.fields["action_type"], order.fields["direction"]]
    along = (x2 - x1) * (ends.x - begins.x) + (y2 - y1) * (ends.y - begins.y)
    assert along > 0 or max(abs(x2 - x1), abs(y2 - y1)) < 1e-150  # so short that a product is none


@pytest.mark.parametrize("actuation", ["upstream", "mobile-agent"])
def test_keys_that_upstream_has_no_word_for_are_key_events(actuation: str) -> None:
    assert order_of(Key("volume_up"), actuation, SIZE) == Keys("KEYCODE_VOLUME_UP")
    assert order_of(SystemButton("Menu"), actuation, SIZE) == Keys("KEYCODE_MENU")
    assert order_of(Key("; reboot"), actuation, SIZE) == Keys("0")


def test_mobile_agent_swipes_from_place_to_place() -> None:
    action = Swipe(Point(0.1, 0.5), Point(0.9, 0.25))
    assert order_of(action, "mobile-agent", SIZE) == OnDevice(action)
    assert swipe_words(action, SIZE) == ("input", "swipe", "108", "1200", "972", "600", "500")
    press = LongPress(Point(0.5, 0.5), 3)
    assert order_of(press, "mobile-agent", SIZE) == OnDevice(press)
    assert order_of(Type("x"), "mobile-agent", SIZE) == order_of(Type("x"), "upstream", SIZE)
