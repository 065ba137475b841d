"""The genuine android_world behind the bridge, on a simulated phone."""

from __future__ import annotations

import base64

import pytest
from attached import Attached

from sopbench.online.androidworld.actions import STROKES
from sopbench.online.androidworld.client import Bridge, BridgeFailed
from sopbench.online.androidworld.install import Installed
from sopbench.online.androidworld.pins import FAMILIES
from sopbench.online.androidworld.tasks import instance_seed, list_tasks
from sopbench.screen import Screen


def test_families_have_the_tasks_that_upstream_lists(installed: Installed) -> None:
    for family, count in FAMILIES.items():
        tasks = list_tasks(installed, family, 30, 1)
        assert len(tasks) == count
        assert [t.template for t in tasks] == sorted(t.template for t in tasks)
        assert all(t.seed == instance_seed(30, t.template, t.instance) for t in tasks)


def test_budgets_are_those_since_november_2024(installed: Installed) -> None:
    budgets = sorted(t.budget for t in list_tasks(installed, "android_world", 30, 1))
    assert (budgets[0], budgets[58], budgets[-1]) == (10, 12, 120)
    assert sum(budgets) / len(budgets) == 20.25


def test_the_same_list_every_time(installed: Installed) -> None:
    bridges = Bridge(installed.python), Bridge(installed.python)
    try:
        one, other = (b.ask("tasks", 120, family="android_world", task_seed=7, instances=2) for b in bridges)
    finally:
        for bridge in bridges:
            bridge.close()
    assert one == other
    assert len({t["goal"] for t in one["tasks"]}) > 150  # instances differ in their parameters


def test_an_episode_from_start_to_tear_down(attached: Attached) -> None:
    told = attached.start("SystemWifiTurnOff")
    assert told == {"goal": "Turn wifi off.", "budget": 10}
    screen = attached.bridge.ask("screen", 60, elements=True)
    assert Screen.from_bytes(base64.b64decode(screen["png"]), "screen").size == attached.phone.size()
    assert all(set(e) >= {"text", "box"} for e in screen["elements"])
    assert attached.bridge.ask("score", 60) == {"reward": 0.0}
    attached.phone.shell("svc", "wifi", "disable")
    assert attached.bridge.ask("score", 60) == {"reward": 1.0}
    assert attached.bridge.ask("tear_down", 60) == {}


def test_a_list_of_another_version_is_noticed(attached: Attached) -> None:
    with pytest.raises(BridgeFailed, match="other_goal") as caught:
        attached.bridge.ask(
            "start", 60, family="android_world", template="SystemWifiTurnOff", seed=1, goal="Turn wifi on."
        )
    assert caught.value.alive


def test_unknown_orders_and_tasks_are_answers(attached: Attached) -> None:
    for order, more in (("dance", {}), ("start", {"family": "android_world", "template": "No", "seed": 1})):
        with pytest.raises(BridgeFailed) as caught:
            attached.bridge.ask(order, 30, **more)
        assert caught.value.alive
    with pytest.raises(BridgeFailed, match="no_family"):
        attached.bridge.ask("tasks", 60, family="windows", task_seed=1, instances=1)


# ---- upstream's words, as they are carried out: what `sopbench.online.androidworld.actions` says of them


def test_typing_presses_enter_afterwards(attached: Attached) -> None:
    attached.start("ContactsAddContact")
    said = attached.act(action_type="input_text", text="hello")
    assert said[0].startswith("text hello")
    assert said[-1] == "keyevent KEYCODE_ENTER"


@pytest.mark.parametrize(("kind", "direction"), sorted(STROKES))
def test_strokes_go_where_our_table_says(attached: Attached, kind: str, direction: str) -> None:
    attached.start("ContactsAddContact")
    (said,) = attached.act(action_type=kind, direction=direction)
    x1, y1, x2, y2 = map(int, said.split()[1:5])
    begins, ends = STROKES[kind, direction]
    size = attached.phone.size()
    assert (x1, y1) == tuple(map(int, begins.to_pixels(size)))
    assert (x2, y2) == tuple(map(int, ends.to_pixels(size)))


def test_a_swipe_from_place_to_place_is_refused(attached: Attached) -> None:
    attached.start("ContactsAddContact")
    told = attached.bridge.ask("act", 60, action={"action_type": "swipe", "direction": [1, 2, 3, 4]})
    assert "scroll direction" in told["refused"]


def test_a_scroll_of_the_first_element_scrolls_the_screen(attached: Attached) -> None:
    attached.start("ContactsAddContact")
    whole = attached.act(action_type="scroll", direction="down")
    assert attached.act(action_type="scroll", direction="down", index=0) == whole


def test_keys_and_menu_are_no_words_of_upstreams(attached: Attached) -> None:
    attached.start("ContactsAddContact")
    told = attached.bridge.ask("act", 60, action={"action_type": "press_keyboard", "keycode": "KEYCODE_MENU"})
    assert "Invalid action type" in told["refused"]


def test_a_long_press_and_a_wait_take_a_second(attached: Attached) -> None:
    attached.start("ContactsAddContact")
    assert attached.act(action_type="long_press", x=100, y=200) == ["swipe 100 200 100 200 1000"]
    assert attached.act(action_type="wait") == []
