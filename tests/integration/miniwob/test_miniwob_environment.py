"""What an episode of MiniWoB++ (Chromium) shows, takes and scores."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from sopbench.actions import Answer, Click, Key, LongPress, Open, Swipe, SystemButton, Terminate, Type, Wait
from sopbench.geometry import Point
from sopbench.online.miniwob.browser import SCREEN
from sopbench.online.miniwob.environment import MiniwobEnvironment
from sopbench.online.miniwob.look import Page
from sopbench.online.miniwob.tasks import Instance

pytestmark = pytest.mark.chromium

Played = Callable[..., MiniwobEnvironment]

TOUCHES = """() => { window.seen = [];
  for (const kind of ['touchstart', 'touchmove', 'touchend', 'click'])
    document.addEventListener(kind, (e) => seen.push([kind, e.pointerType || '', e.isTrusted]), true); }"""


def page(environment: MiniwobEnvironment) -> Page:
    return Page(environment.browser, environment.goal() or "", {})


@pytest.mark.parametrize("task", ["click-checkboxes-large", "click-shape", "enter-time", "terminal", "use-slider"])
def test_a_seed_gives_the_same_picture_and_goal_in_every_browser(played: Played, task: str) -> None:
    here, there, other = played(task), played(task), None
    assert here.browser.pid != there.browser.pid
    first, second = here.reset(), there.reset()
    assert first.size == SCREEN
    assert (first.sha256, here.goal()) == (second.sha256, there.goal())
    there.close()
    other = played(task, 1)
    assert other.reset().sha256 != first.sha256


def test_a_click_is_a_touch(played: Played) -> None:
    environment = played("click-button")
    environment.browser.call(TOUCHES)
    environment.act(Click(Point(0.5, 0.9)))
    assert environment.browser.call("() => seen") == [
        ["touchstart", "", True],
        ["touchend", "", True],
        ["click", "touch", True],
    ]


def test_two_quick_clicks_are_no_double_tap(played: Played) -> None:
    environment = played("click-button")
    environment.browser.call(
        "() => { window.many = []; document.addEventListener('click', (e) => many.push(e.detail)) }"
    )
    for _ in range(2):
        environment.perform(Click(Point(0.5, 0.9)))
    assert environment.browser.call("() => many") == [1, 1]


def test_a_swipe_scrolls_and_flings_nothing(played: Played) -> None:
    environment = played("scroll-text-2", 1)
    where = "() => document.getElementById('text-area').scrollTop"
    box = page(environment).find("#text-area")
    assert box is not None
    x, y = box.centre
    before = environment.browser.call(where)
    environment.perform(Swipe(Point(x / 216, (y + 15) / 480), Point(x / 216, (y - 15) / 480)))
    moved = environment.browser.call(where) - before
    assert 5 <= moved <= 30
    environment.perform(Wait(0.3))
    assert environment.browser.call(where) - before == moved


def test_typing_goes_where_the_focus_is_and_a_line_break_presses_enter(played: Played) -> None:
    environment = played("enter-text")
    field = page(environment).find("#tt")
    assert field is not None
    environment.perform(Type("lost"))
    environment.browser.call(
        "() => { window.entered = 0; document.addEventListener('keydown', (e) => { if (e.key === 'Enter') entered++ }) }"
    )
    click = page(environment).tap(field)
    assert click is not None
    environment.perform(click)
    environment.perform(Type("Größe (1) 取\n"))
    environment.perform(SystemButton("Enter"))
    environment.perform(Key("del"))
    seen = page(environment).find("#tt")
    assert seen is not None
    assert seen.value == "Größe (1) "
    assert environment.browser.call("() => entered") == 2


def test_actions_without_a_meaning_here_change_nothing(played: Played) -> None:
    environment = played("click-button")
    before = environment.act(Wait(0)).sha256
    for action in (
        Open("Chrome"),
        Answer("42"),
        Terminate("success"),
        SystemButton("Home"),
        SystemButton("Menu"),
        Key("volume_up"),
        Click(Point(1.5, -3)),
        Swipe(Point(-1, 0.5), Point(0.5, 0.5)),
        LongPress(Point(0.98, 0.98), 0),
    ):
        assert environment.act(action).sha256 == before, action
    assert environment.score() == 0
    assert environment.details() == {"raw_reward": 0.0, "episode_over": False}


def test_choices_of_a_list_are_shown_in_the_page(played: Played) -> None:
    environment = played("choose-list")
    closed = environment.act(Wait(0)).sha256
    tap = page(environment).press("#options")
    assert tap is not None
    opened = environment.act(tap)
    rows = page(environment).choices()
    assert opened.sha256 != closed
    assert len(rows) >= 3
    assert [r.text for r in rows if "on" in r.classes] == [rows[0].text]
    environment.perform(SystemButton("Back"))
    assert page(environment).choices() == []
    environment.perform(tap)
    wanted = page(environment).choices()[1]
    pick = page(environment).tap(wanted)
    assert pick is not None
    environment.perform(pick)
    select = page(environment).find("#options")
    assert select is not None
    assert [o.text for o in page(environment).options(select)] == [wanted.text]


def test_nothing_counts_after_the_end(played: Played) -> None:
    environment = played("click-test-2")
    wrong = page(environment).press("#area button", "TWO")
    right = page(environment).press("#area button", "ONE")
    assert wrong is not None
    assert right is not None
    environment.perform(wrong)
    assert environment.details() == {"raw_reward": -1.0, "episode_over": True}
    for action in (Click(Point(0.3, 0.2)), right):  # the cover says START; nothing starts
        environment.act(action)
    assert environment.score() == 0
    assert environment.details() == {"raw_reward": -1.0, "episode_over": True}
    environment.reset()
    environment.perform(right)
    assert environment.score() == 1


def test_the_episode_has_no_clock(played: Played) -> None:
    environment = played("click-test")
    timers = environment.browser.call(
        "() => [core.EPISODE_MAX_TIME > 1e8, document.getElementById('reward-display').offsetHeight]"
    )
    assert timers == [True, 0]


def test_pages_reach_no_network(played: Played) -> None:
    asked: list[str] = []

    class Listening(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Listening) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        environment = played("click-button")
        address = f"http://127.0.0.1:{server.server_port}/x"
        said = environment.browser.call(
            "(a) => fetch(a, { mode: 'no-cors' }).then(() => 'reached', () => 'blocked')", address
        )
        environment.browser.call(
            "(a) => new Promise((r) => { const i = new Image(); i.onload = i.onerror = r; i.src = a })", address
        )
        server.shutdown()
        thread.join()
    assert (said, asked) == ("blocked", [])


def test_an_agent_that_leaves_its_page_gets_nothing(played: Played) -> None:
    environment = played("click-button")
    environment.browser.call("() => { location.href = 'about:blank' }")
    environment.act(Wait(0.2))
    assert environment.score() == 0
    assert environment.done
    assert environment.reset().size == SCREEN


def test_the_instance_is_told_by_its_id() -> None:
    assert Instance("click-button", 3, 5).id == "click-button/3"
