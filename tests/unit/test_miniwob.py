"""MiniWoB++ (Chromium) without a browser: its tasks and seeds, what a page may say, how browsers are lent, how actions become touches and keys."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sopbench.actions import Action, Click, Key, LongPress, Swipe, SystemButton, Type
from sopbench.clients.builtin import Oracle, make_builtin
from sopbench.errors import UsageError
from sopbench.geometry import Point
from sopbench.online.base import EnvironmentFailed
from sopbench.online.miniwob import tasks as known
from sopbench.online.miniwob.browser import Browser
from sopbench.online.miniwob.environment import MAX_GOAL, told_by_page
from sopbench.online.miniwob.experts import experts
from sopbench.online.miniwob.fingers import KEYED_CHARACTERS, MAX_LINES, perform
from sopbench.online.miniwob.look import Element
from sopbench.online.miniwob.pool import Browsers
from sopbench.suites import DataSource, SuiteOptions, get_suite


def test_the_tasks_are_those_of_androidworlds_list_that_the_package_has() -> None:
    assert len(known.TASKS) == len(set(known.TASKS)) == 91
    assert not set(known.ABSENT) & set(known.TASKS)
    assert set(experts()) <= set(known.TASKS)
    assert known.BUDGET == 30


def test_a_seed_is_the_hash_of_task_seed_task_and_number() -> None:
    digest = int(hashlib.sha256(b"30_click-button_2").hexdigest(), 16)
    assert known.instance_seed(30, "click-button", 2) == digest % 2**32
    assert len({i.seed for i in known.instances(3)}) == 91 * 3


def test_every_task_has_its_page() -> None:
    try:
        folder = known.html_folder()
    except UsageError as error:
        pytest.skip(str(error))
    assert [t for t in known.TASKS if not (folder / "miniwob" / f"{t}.html").is_file()] == []
    assert len(known.html_sha256()) == 64


def test_a_missing_package_is_said_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "PACKAGE", "no_such_package_anywhere")
    with pytest.raises(UsageError, match=r"pip install 'sopbench\[online\]'"):
        get_suite("miniwob").load(DataSource())


def test_the_suite_loads_without_a_browser() -> None:
    try:
        loaded = get_suite("miniwob", SuiteOptions(instances=2, task_seed=5)).load(DataSource(), tasks=("click-tab*",))
    except UsageError as error:
        pytest.skip(str(error))
    assert loaded.ids[:2] == ["click-tab/0", "click-tab/1"]
    assert {t.facts["template"] for t in loaded.tasks} == {
        "click-tab",
        *(f"click-tab-2{e}" for e in ("", "-easy", "-hard", "-medium")),
    }
    other = get_suite("miniwob", SuiteOptions(instances=2, task_seed=6)).load(DataSource(), tasks=("click-tab*",))
    assert other.sha256 != loaded.sha256
    with pytest.raises(UsageError, match="was not opened"):
        get_suite("miniwob").environment(loaded.tasks[0])
    with pytest.raises(UsageError, match="does not take --family"):
        get_suite("miniwob", SuiteOptions(family="miniwob"))


def test_the_oracle_of_pages_is_the_oracle() -> None:
    policy = make_builtin("builtin:oracle-dom")
    assert isinstance(policy, Oracle)
    assert policy.model == "builtin:oracle-dom"


@given(st.text())
def test_what_a_page_says_is_one_bounded_line_of_plain_characters(text: str) -> None:
    told = told_by_page(text)
    assert len(told) <= MAX_GOAL
    assert told == " ".join(told.split())
    assert not any(
        ord(c) < 32 or 0x7F <= ord(c) < 0xA0 or 0xD800 <= ord(c) < 0xE000 or "\u202a" <= c <= "\u202e" for c in told
    )


class Recorded:
    """What a browser is asked, in place of one."""

    def __init__(self, scrolls: bool = True) -> None:
        self.scrolls = scrolls
        self.asked: list[tuple[str, Mapping[str, Any]]] = []
        self.last_touch: tuple[float, float, float] | None = None

    def cdp(self, method: str, /, **arguments: Any) -> dict[str, Any]:
        self.asked.append((method.partition(".")[2], arguments))
        return {}

    def call(self, function: str, *arguments: Any) -> bool:
        return self.scrolls


def asked(*actions: Action, scrolls: bool = True) -> list[tuple[str, Mapping[str, Any]]]:
    recorded = Recorded(scrolls)
    for action in actions:
        perform(cast(Browser, recorded), action)
    return recorded.asked


def test_a_click_is_a_finger_put_down_and_lifted_in_css_pixels() -> None:
    assert asked(Click(Point(0.5, 0.25))) == [
        ("dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": 108.0, "y": 120.0}]}),
        ("dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []}),
    ]


def test_a_swipe_moves_in_steps_and_ends_where_it_was_told() -> None:
    events = asked(Swipe(Point(0.5, 0.75), Point(0.25, 0.25)))
    kinds = [facts["type"] for _, facts in events]
    assert kinds[0] == "touchStart"
    assert kinds[-1] == "touchEnd"
    assert set(kinds[1:-1]) == {"touchMove"}
    assert events[-2][1]["touchPoints"] == [{"x": 54.0, "y": 120.0}]


def test_a_swipe_where_nothing_scrolls_is_a_drag() -> None:
    events = asked(Swipe(Point(0.5, 0.75), Point(0.25, 0.25)), scrolls=False)
    kinds = [facts["type"] for _, facts in events]
    assert kinds[:2] == ["mouseMoved", "mousePressed"]
    assert set(kinds[2:-1]) == {"mouseMoved"}
    assert (kinds[-1], events[-1][1]["x"], events[-1][1]["y"]) == ("mouseReleased", 54.0, 120.0)


@pytest.mark.parametrize("point", [Point(-0.1, 0.5), Point(0.5, 1.2), Point(7, 7)])
def test_a_touch_beside_the_screen_touches_nothing(point: Point) -> None:
    assert asked(Click(point), LongPress(point), Swipe(point, Point(0.5, 0.5))) == []


def test_short_plain_words_are_keys_and_all_others_are_put_in_at_once() -> None:
    assert [facts.get("text") for kind, facts in asked(Type("a b")) if facts["type"] == "keyDown"] == ["a", " ", "b"]
    assert asked(Type("Größe")) == [("insertText", {"text": "Größe"})]
    assert asked(Type("x" * (KEYED_CHARACTERS + 1))) == [("insertText", {"text": "x" * (KEYED_CHARACTERS + 1)})]
    assert asked(Type("\ud800")) == [("insertText", {"text": "?"})]


def test_a_line_break_is_the_enter_key() -> None:
    keys = [facts["key"] for kind, facts in asked(Type("a\n")) if facts["type"] != "keyUp"]
    assert keys == ["a", "Enter"]
    assert asked(Type("\n")) == asked(SystemButton("Enter")) == asked(Key("KEYCODE_ENTER"))


def test_a_text_of_many_lines_is_bounded() -> None:
    enters = [
        1 for kind, facts in asked(Type("\n" * 20_000)) if facts.get("key") == "Enter" and facts["type"] == "keyDown"
    ]
    assert len(enters) == MAX_LINES


class Stub:
    """A browser that does nothing."""

    def __init__(self, folder: Path) -> None:
        self.broken = False
        self.stopped = 0

    def stop(self) -> None:
        self.stopped += 1


def pool(slots: int, make: Any = Stub) -> Browsers:
    return Browsers(slots, Path(), make=make)


def test_a_browser_that_works_is_lent_again_and_a_broken_one_is_replaced() -> None:
    browsers = pool(1)
    first = browsers.lend()
    browsers.give_back(first)
    assert browsers.lend() is first
    first.broken = True
    browsers.give_back(first)
    second = browsers.lend()
    assert second is not first
    assert (cast(Stub, first).stopped, browsers.started) == (1, 2)


def test_who_waits_for_a_browser_gets_the_next_one() -> None:
    browsers = pool(1)
    first = browsers.lend()
    got: list[Browser] = []
    waiting = threading.Thread(target=lambda: got.append(browsers.lend(within=10)))
    waiting.start()
    browsers.give_back(first)
    waiting.join(10)
    assert got == [first]
    with pytest.raises(EnvironmentFailed, match="no browser was free within"):
        browsers.lend(within=0.01)


def test_a_browser_that_does_not_start_leaves_its_place_free() -> None:
    tries: list[int] = []

    def make(folder: Path) -> Stub:
        tries.append(1)
        if len(tries) == 1:
            raise EnvironmentFailed("browser_no_start", "not today")
        return Stub(folder)

    browsers = pool(1, make)
    with pytest.raises(EnvironmentFailed, match="not today"):
        browsers.lend()
    assert isinstance(browsers.lend(within=1), Stub)


def test_closing_stops_the_lent_ones_too_and_nothing_is_lent_any_more() -> None:
    browsers = pool(2)
    lent = browsers.lend()
    browsers.close()
    assert cast(Stub, lent).stopped == 1
    browsers.give_back(lent)
    assert cast(Stub, lent).stopped == 1
    with pytest.raises(EnvironmentFailed, match="closed already"):
        browsers.lend()


@pytest.mark.parametrize(
    ("colour", "rgb"),
    [("rgb(1, 2, 3)", (1, 2, 3)), ("rgba(0, 0, 0, 0)", (0, 0, 0)), ("", (0, 0, 0)), ("nonsense", (0, 0, 0))],
)
def test_a_colour_is_read_from_what_the_browser_computed(colour: str, rgb: tuple[int, int, int]) -> None:
    element = Element("div", "", (), "", "", False, False, False, (0, 0, 1, 1), None, None, colour, {"r": "3.5px"})
    assert element.rgb == rgb
    assert element.number("r") == 3.5
    assert element.number("cx") == 0
