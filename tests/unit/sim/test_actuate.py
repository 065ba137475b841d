"""Actions sent as commands of the device's shell do to PocketPhone what they do to it in process."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.actuate import commands, key_code, pieces
from emulator.pocket.apps import all_apps
from emulator.pocket.phone import KEYS, Phone
from emulator.sim.device import SimDevice
from sopbench.actions import (
    BUTTONS,
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
)
from sopbench.geometry import Point, Size
from tests.unit.sim.machine import pocket

UNIT = st.floats(-0.2, 1.2, allow_nan=False)
POINTS = st.builds(Point, UNIT, UNIT)
TEXTS = st.text(max_size=40) | st.text("%s\n ab'\"$`\\;|&", max_size=20)
NAMES = st.sampled_from([name for app in all_apps() for name in (app.name, app.title, *app.aliases)])
ACTIONS = st.one_of(
    st.builds(Click, POINTS),
    st.builds(LongPress, POINTS, st.floats(0, 20)),
    st.builds(Swipe, POINTS, POINTS),
    POINTS.map(lambda point: Swipe(point, point)),
    st.builds(Type, TEXTS),
    st.builds(Open, NAMES | st.text(max_size=12)),
    st.builds(SystemButton, st.sampled_from(BUTTONS)),
    st.builds(Key, st.sampled_from(sorted(KEYS)) | st.text(max_size=12)),
    st.builds(Wait, st.integers(0, 5000).map(lambda ms: ms / 1000)),
)
DEVICE = SimDevice("names")


def near(action: Action, phone: Phone, place: float) -> Action:
    """The same action on something that is there: a random tap on a phone mostly hits nothing."""
    nodes = [node for node in phone.ui() if node.clickable]
    if not nodes or not isinstance(action, Click | LongPress):
        return action
    centre = nodes[int(place * len(nodes)) % len(nodes)].centre
    point = Point.from_pixels(centre.x, centre.y, phone.size)
    return Click(point) if isinstance(action, Click) else LongPress(point, action.seconds)


@settings(max_examples=60)
@given(
    st.lists(st.tuples(ACTIONS, st.floats(0, 1, exclude_max=True), st.booleans()), min_size=1, max_size=12),
    st.integers(0, 3),
    st.sampled_from(["regular", "large"]),
)
def test_same_actions_same_state(steps: list[tuple[Action, float, bool]], seed: int, display: str) -> None:
    machine, screen = pocket(display, seed)
    twin = Phone("large" if display == "large" else "regular", seed=seed)
    for action, place, anywhere in steps:
        if isinstance(action, Type):
            action = Type(action.text.replace("\0", ""))
        action = action if anywhere else near(action, twin, place)
        twin.act(action)
        for line in commands(action, screen.size, DEVICE.package_of):
            machine.run(line)
        assert screen.phone.state.to_json() == twin.state.to_json(), action


@given(TEXTS)
def test_pieces_join_to_the_text(text: str) -> None:
    cut = list(pieces(text))
    assert "".join(cut) == text.replace("\0", "")
    assert all("%s" not in piece for piece in cut)
    assert all(not piece.endswith("\n") for piece in cut[:-1] if piece.strip("\n"))


def test_long_texts_come_in_pieces() -> None:
    assert [len(piece) for piece in pieces("a" * 2500)] == [1000, 1000, 500]
    assert list(pieces("a" * 999 + "\n" + "b")) == ["a" * 999, "\nb"]
    assert list(pieces("")) == [""]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("volume_up", "KEYCODE_VOLUME_UP"),
        ("KEYCODE_BACK", "KEYCODE_BACK"),
        ("4", "4"),
        ("; reboot", "0"),
        ("--longpress", "0"),
        ("", "0"),
        ("ä", "0"),
    ],
)
def test_keys(code: str, expected: str) -> None:
    assert key_code(code) == expected


def test_command_lines() -> None:
    size = Size(1000, 2000)

    def lines(action: Action) -> list[str]:
        return commands(action, size, {"Notes": "org.example.notes"}.get)

    assert lines(Click(Point(0.5, 0.25))) == ["input tap 500 500"]
    assert lines(LongPress(Point(0.5, 0.25), 2)) == ["input swipe 500 500 500 500 2000"]
    assert lines(LongPress(Point(0, 0), 1e6)) == ["input swipe 0 0 0 0 10000"]
    assert lines(Swipe(Point(0, 0.5), Point(1, 0.5))) == ["input swipe 0 1000 1000 1000 300"]
    assert lines(Type("it's")) == ["input text 'it'\\''s'"]
    assert lines(Open("Notes")) == ["monkey -p org.example.notes -c android.intent.category.LAUNCHER 1"]
    assert lines(Open("-c")) == ["monkey -p '?-c' -c android.intent.category.LAUNCHER 1"]
    assert lines(Wait(1.5)) == ["sleep 1.5"]
    assert lines(Answer("x")) == lines(Terminate("success")) == []
