"""What holds for every profile and every pair of actions."""

from __future__ import annotations

import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sopbench.actions import (
    BUTTONS,
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
    to_released,
)
from sopbench.geometry import PER_MILLE, Box, Point, Size, smart_resize
from sopbench.scoring import PROFILES, get_profile
from sopbench.scoring.base import judge_case
from sopbench.screen import Screen
from sopbench.trajectory import Step

sizes = st.builds(Size, st.integers(60, 3000), st.integers(60, 3000))
anything = st.floats(-1e3, 1e3) | st.floats(-0.2, 1.2) | st.sampled_from([0.0, -0.0, 0.04, 1.0, 5e-324])
points = st.builds(Point, anything, anything)
texts = st.text(st.characters(), max_size=30) | st.sampled_from(["", " ", "\ud800", "İ", "ß", "Maps", "Google Maps"])
seconds = st.floats(0, 1e6)
actions = st.one_of(
    st.builds(Click, points),
    st.builds(LongPress, points, seconds),
    st.builds(Swipe, points, points),
    st.builds(Type, texts),
    st.builds(Open, texts),
    st.builds(Answer, texts),
    st.builds(Key, texts),
    st.builds(Wait, seconds),
    st.builds(SystemButton, st.sampled_from(BUTTONS)),
    st.builds(Terminate, st.sampled_from(STATUSES)),
)
coordinates = st.integers(-100, 3000) | st.floats(-1e6, 1e6)
boxes = st.lists(st.builds(Box, coordinates, coordinates, coordinates, coordinates), max_size=4).map(tuple)


def step_of(gold, size, targets=()):
    return Step(to_released(gold, size), Screen.from_bytes(b"", "none"), targets)


@pytest.mark.parametrize("name", PROFILES)
@given(pred=actions, gold=actions, size=sizes, targets=boxes)
def test_judging_never_raises_and_gives_only_declared_reasons(name, pred, gold, size, targets):
    profile = get_profile(name)
    verdict = profile.judge(pred, step_of(gold, size, targets), size)
    assert verdict.reason in (None, *profile.reasons)
    assert (verdict.reason is None) == verdict.match
    assert verdict.type_match or not verdict.match
    assert profile.judge(pred, step_of(gold, size, targets), size) == verdict


@pytest.mark.parametrize("name", PROFILES)
@given(gold=actions, size=sizes, targets=boxes)
def test_every_gold_matches_itself(name, gold, size, targets):
    step = step_of(gold, size, targets)
    verdict = get_profile(name).judge(step.action(size), step, size)
    assert (verdict.type_match, verdict.match, verdict.reason) == (True, True, None)


on_screen = st.floats(0, 1)
on_screen_points = st.builds(Point, on_screen, on_screen)


@pytest.mark.parametrize("name", PROFILES)
@given(st.data(), sizes)
def test_every_gold_matches_itself_through_the_rounding_of_any_adapter(name, data, size):
    """The gold point may lie on the very edge of its smallest box; the prediction comes as whole pixels of the resized image, or as per-mille."""
    size = Size(size.width, max(60, min(size.height, size.width * 3)))
    gold = data.draw(
        st.builds(Click, on_screen_points)
        | st.builds(LongPress, on_screen_points)
        | st.builds(Swipe, on_screen_points, on_screen_points)
    )
    step = step_of(gold, size)
    if not isinstance(gold, Swipe):
        x, y = step.content["coordinate"]
        corner = data.draw(st.sampled_from([(1, 1), (1, -1), (-1, 1), (-1, -1)]))
        x2, y2 = x + corner[0] * data.draw(st.integers(1, 300)), y + corner[1] * data.draw(st.integers(1, 300))
        box = Box(min(x, x2), min(y, y2), max(x, x2), max(y, y2))
        step = Step(step.content, step.screen, (Box(0, 0, size.width, size.height), box))
    for grid in (smart_resize(size), PER_MILLE, size):
        said = {
            key: [round(v * side / own) for v, side, own in zip(value, grid.as_list(), size.as_list(), strict=True)]
            if key.startswith("coordinate")
            else value
            for key, value in step.content.items()
        }
        verdict = get_profile(name).judge(from_released(said, grid), step, size)
        assert verdict.match, (grid, said, step.content, step.boxes, verdict)


@given(pred=actions, gold=actions, size=sizes, targets=boxes)
def test_boxes_only_ever_add_matches(pred, gold, size, targets):
    step = step_of(gold, size, targets)
    released, boxed = (get_profile(name).judge(pred, step, size) for name in ("uis1-released", "uis1-boxes"))
    assert boxed.match or not released.match
    assert boxed.type_match or not released.type_match
    if not targets:
        assert boxed == released


@given(pred=actions, gold=actions, size=sizes, targets=boxes)
def test_released_does_not_look_at_boxes(pred, gold, size, targets):
    profile = get_profile("uis1-released")
    assert profile.judge(pred, step_of(gold, size, targets), size) == profile.judge(pred, step_of(gold, size), size)


# An oracle of `uis1-released`, written from the table of the design page, on plain JSON and with no code of ours.


def released_by_the_table(pred, gold, sent, screen):
    """(type_match, match)"""

    def close():
        px, py = pred["coordinate"][0] / sent[0], pred["coordinate"][1] / sent[1]
        gx, gy = gold["coordinate"][0] / screen[0], gold["coordinate"][1] / screen[1]
        distance = math.dist((px, py), (gx, gy))
        assume(abs(distance - 0.04) > 1e-12)  # the last bit is the differential test's business
        return distance <= 0.04

    def text():
        said, due = pred["text"].lower().strip(), gold["text"].lower().strip()
        return said in due or due in said

    rules = {
        "click": close,
        "long_press": close,
        "swipe": lambda: True,
        "wait": lambda: True,
        "type": text,
        "open": text,
        "system_button": lambda: pred["button"].lower() == gold["button"].lower(),
    }
    if pred["action"] != gold["action"]:
        return False, False
    return True, rules[gold["action"]]()


pixel = st.integers(-50, 2500) | st.floats(-50, 2500)
pairs = st.tuples(pixel, pixel).map(list)
golds = st.one_of(
    st.builds(lambda p: {"action": "click", "coordinate": p}, pairs),
    st.builds(lambda p: {"action": "long_press", "coordinate": p, "time": 2}, pairs),
    st.builds(lambda p, q: {"action": "swipe", "coordinate": p, "coordinate2": q}, pairs, pairs),
    st.builds(lambda t: {"action": "type", "text": t}, texts),
    st.builds(lambda t: {"action": "open", "text": t}, texts),
    st.builds(lambda b: {"action": "system_button", "button": b}, st.sampled_from(BUTTONS)),
    st.just({"action": "wait"}),
)


@settings(max_examples=400)
@given(data=st.data(), gold=golds, screen=sizes, sent=sizes)
def test_released_agrees_with_an_oracle_written_from_the_table(data, gold, screen, sent):
    pred = data.draw(golds)
    if "coordinate" in gold and "coordinate" in pred and data.draw(st.booleans()):  # else hardly any would be near
        pred["coordinate"] = [
            g / own * other + data.draw(st.floats(-0.05, 0.05)) * other
            for g, own, other in zip(gold["coordinate"], screen.as_list(), sent.as_list(), strict=True)
        ]
    case = {"screen": screen.as_list(), "sent": sent.as_list(), "pred": pred, "gold": gold}
    verdict = judge_case(get_profile("uis1-released"), case)
    assert (verdict.type_match, verdict.match) == released_by_the_table(pred, gold, sent.as_list(), screen.as_list())
