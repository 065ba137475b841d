"""The action space and its JSON form, and what hostile JSON can do to it: nothing."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sopbench.actions import (
    ACTION_KINDS,
    BUTTONS,
    MAX_TEXT,
    STATUSES,
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
    from_released,
    swipe_direction,
    to_released,
)
from sopbench.errors import ActionError
from sopbench.geometry import Point, Size

SCREEN = Size(1080, 2400)
MID = Point(0.5, 0.5)

sizes = st.builds(Size, st.integers(1, 5_000), st.integers(1, 5_000))
points = st.builds(Point, st.floats(-10, 10), st.floats(-10, 10))
texts = st.text(max_size=50) | st.just("\ud800")
actions = st.one_of(
    st.builds(Click, points),
    st.builds(LongPress, points, st.floats(0, 1e6)),
    st.builds(Swipe, points, points),
    st.builds(Type, texts),
    st.builds(Open, texts),
    st.builds(Answer, texts),
    st.builds(Key, texts),
    st.builds(Wait, st.floats(0, 1e6)),
    st.builds(SystemButton, st.sampled_from(BUTTONS)),
    st.builds(Terminate, st.sampled_from(STATUSES)),
)


@pytest.mark.parametrize(
    ("released", "action"),
    [
        ({"action": "click", "coordinate": [540, 1200]}, Click(MID)),
        ({"action": "long_press", "coordinate": [540, 1200], "time": 1}, LongPress(MID, 1.0)),
        ({"action": "swipe", "coordinate": [540, 1200], "coordinate2": [0, 0]}, Swipe(MID, Point(0, 0))),
        ({"action": "type", "text": "it's ok"}, Type("it's ok")),
        ({"action": "open", "text": "Maps"}, Open("Maps")),
        ({"action": "key", "text": "volume_up"}, Key("volume_up")),
        ({"action": "answer", "text": "42"}, Answer("42")),
        ({"action": "wait", "time": 2}, Wait(2.0)),
        ({"action": "system_button", "button": "Back"}, SystemButton("Back")),
        ({"action": "terminate", "status": "success"}, Terminate("success")),
    ],
)
def test_the_released_form_of_each_action(released, action):
    assert from_released(released, SCREEN) == action
    assert to_released(action, SCREEN) == released
    assert all(type(v) is int for v in to_released(action, SCREEN).get("coordinate", [0]))


def test_the_table_above_knows_every_kind():
    assert set(ACTION_KINDS) == {"click", "long_press", "swipe", "type", "open", "key", "answer", "wait", "system_button", "terminate"}  # fmt: skip


def test_what_is_optional_or_extra_or_spelt_otherwise_is_taken():
    assert from_released({"action": "wait"}, SCREEN) == Wait()
    assert from_released({"action": "long_press", "coordinate": [540, 1200], "time": None}, SCREEN) == LongPress(MID)
    assert from_released({"action": "system_button", "button": " back "}, SCREEN) == SystemButton("Back")
    assert from_released({"action": "terminate", "status": "Success"}, SCREEN) == Terminate("success")
    assert from_released({"action": "click", "coordinate": (540, 1200), "bbox": [1]}, SCREEN) == Click(MID)


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ({}, "unknown_action"),
        ({"action": None}, "unknown_action"),
        ({"action": ["click"]}, "unknown_action"),
        ({"action": "Click"}, "unknown_action"),
        ({"action": "scroll" * 1000}, "unknown_action"),
        ({"action": "click"}, "missing_argument"),
        ({"action": "click", "coordinate": None}, "missing_argument"),
        ({"action": "click", "coordinate": "[1, 2]"}, "bad_argument"),
        ({"action": "click", "coordinate": [1]}, "bad_argument"),
        ({"action": "click", "coordinate": [1, 2, 3]}, "bad_argument"),
        ({"action": "click", "coordinate": ["1", "2"]}, "bad_argument"),
        ({"action": "click", "coordinate": [True, 2]}, "bad_argument"),
        ({"action": "click", "coordinate": [math.nan, 2]}, "bad_argument"),
        ({"action": "click", "coordinate": [math.inf, 2]}, "bad_argument"),
        ({"action": "click", "coordinate": [10**400, 2]}, "bad_argument"),
        ({"action": "click", "coordinate": [1e300, 2]}, "bad_argument"),
        ({"action": "click", "coordinate": {"x": 1, "y": 2}}, "bad_argument"),
        ({"action": "swipe", "coordinate": [1, 2]}, "missing_argument"),
        ({"action": "type"}, "missing_argument"),
        ({"action": "type", "text": 5}, "bad_argument"),
        ({"action": "type", "text": "x" * (MAX_TEXT + 1)}, "bad_argument"),
        ({"action": "wait", "time": -1}, "bad_argument"),
        ({"action": "wait", "time": "2"}, "bad_argument"),
        ({"action": "wait", "time": math.nan}, "bad_argument"),
        ({"action": "wait", "time": 10**400}, "bad_argument"),
        ({"action": "system_button", "button": "Recent"}, "bad_argument"),
        ({"action": "system_button", "button": 3}, "bad_argument"),
        ({"action": "system_button"}, "missing_argument"),
        ({"action": "terminate", "status": "done"}, "bad_argument"),
    ],
)
def test_what_is_no_action_has_a_named_reason(bad, reason):
    with pytest.raises(ActionError) as caught:
        from_released(bad, SCREEN)
    assert caught.value.reason == reason
    assert len(str(caught.value)) < 400


@given(actions, sizes)
def test_the_released_form_survives_json_and_comes_back_as_the_same_action(action, size):
    back = from_released(json.loads(json.dumps(to_released(action, size))), size)
    assert type(back) is type(action)
    assert to_released(back, size) == to_released(action, size)
    for one, other in zip(_points(action), _points(back), strict=True):
        assert math.isclose(one.x, other.x, abs_tol=1e-6)
        assert math.isclose(one.y, other.y, abs_tol=1e-6)
    if not _points(action):
        assert back == action


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
names = st.sampled_from(["coordinate", "coordinate2", "text", "button", "time", "status"])


@given(st.sampled_from(ACTION_KINDS) | json_values, st.dictionaries(names, json_values), sizes)
def test_no_json_raises_anything_but_an_action_error(kind, arguments, size):
    try:
        action = from_released({"action": kind, **arguments}, size)
    except ActionError as error:
        reason = error.reason
    else:
        reason = None
        assert action.kind == kind
    assert reason in {None, "unknown_action", "missing_argument", "bad_argument"}


def test_deeply_nested_arguments_are_refused_in_few_words():
    deep = json.loads("[" * 900 + "]" * 900)
    with pytest.raises(ActionError) as caught:
        from_released({"action": "click", "coordinate": deep}, SCREEN)
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("start", "end", "direction"),
    [
        ((540, 1800), (540, 600), "up"),
        ((540, 600), (540, 1800), "down"),
        ((800, 1200), (200, 1200), "left"),
        ((200, 1200), (800, 1200), "right"),
        ((300, 1000), (700, 1500), "down"),  # 400 right, 500 down: pixels decide, not shares of the sides
        ((300, 1000), (700, 1300), "right"),
        ((540, 900), (540, 900), None),
    ],
)
def test_the_direction_of_a_swipe_is_the_fingers_by_the_dominant_axis(start, end, direction):
    assert swipe_direction(Point.from_pixels(*start, SCREEN), Point.from_pixels(*end, SCREEN), SCREEN) == direction


@given(points, points)
def test_swiping_back_goes_the_opposite_way(start, end):
    opposite = {"up": "down", "down": "up", "left": "right", "right": "left", None: None}
    assert swipe_direction(end, start, SCREEN) == opposite[swipe_direction(start, end, SCREEN)]


def _points(action):
    return [value for value in (getattr(action, name, None) for name in ("point", "start", "end")) if value is not None]
