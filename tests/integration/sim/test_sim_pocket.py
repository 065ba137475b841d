"""PocketPhone's tasks through the genuine adb are PocketPhone's tasks in process."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from conftest import inside

from emulator.sim import SimDevice
from sopbench.actions import Answer, Key, Open, SystemButton, Terminate, Type
from sopbench.online.base import EnvironmentFailed, OnlineTask
from sopbench.online.pocket import PocketEnvironment
from sopbench.online.pocket_adb import AdbPocketEnvironment, PocketPhones
from sopbench.suites.pocket import PocketOnlineSuite

TEMPLATES = [
    "settings.join",
    "notes.find_pin",
    "messages.reply",
    "calendar.ask",
    "clock.start_timer",
    "cross.price_to_message",
]


@pytest.fixture(scope="module")
def lent(adb: Path) -> Iterator[PocketPhones]:
    def make(display: str) -> SimDevice:
        return SimDevice(
            f"pocket-{display}", "pocket-large" if display == "large" else "pocket", in_process=True, adb=adb
        )

    with PocketPhones(make) as phones:
        yield phones


@pytest.mark.parametrize("template", TEMPLATES)
@pytest.mark.parametrize("display", ["regular", "large"])
def test_the_expert_sees_and_reaches_the_same(lent: PocketPhones, template: str, display: str) -> None:
    near, far = PocketEnvironment(template, 5, display), AdbPocketEnvironment(lent, template, 5, display)
    try:
        assert near.reset().read() == far.reset().read()
        assert far.told == near.session.goal
        assert near.score() == far.score() == 0
        while (action := near.expert()) is not None:
            assert far.expert() == action
            assert near.act(action).sha256 == far.act(action).sha256, action
        assert near.score() == far.score() == 1
        assert json.loads(near.session.phone.state.to_json()) == far.state()
    finally:
        far.close()


def test_awkward_actions_end_in_the_same_state(lent: PocketPhones) -> None:
    actions = [
        Open("notes"), Type("nowhere"), Open("no such app; reboot"), Key("$(id)"), Key("volume_up"), SystemButton("Menu"), SystemButton("Back"),
        Answer('the "answer"\n is äöü 😀 `id`'), Open("Contacts"), Key("search"), Type("'; rm -rf /\n"), Terminate("failure"), Open("clock"),
    ]  # fmt: skip
    near, far = PocketEnvironment("notes.unpin", 1), AdbPocketEnvironment(lent, "notes.unpin", 1)
    try:
        near.reset()
        far.reset()
        for action in actions:
            near.perform(action)
            far.perform(action)
            assert json.loads(near.session.phone.state.to_json()) == far.state(), action
    finally:
        far.close()


def test_suite_tasks_find_their_environment(lent: PocketPhones) -> None:
    facts = {"template": "notes.unpin", "seed": 2, "display": "regular"}
    task = OnlineTask("notes.unpin-2", "a goal", 9, facts)
    far = lent.environment(task)
    near = PocketOnlineSuite().environment(task)
    try:
        assert far.reset().read() == near.reset().read()
    finally:
        far.close()


def test_phones_are_handed_on_and_as_many_as_are_needed_at_once(lent: PocketPhones) -> None:
    one, two = (AdbPocketEnvironment(lent, "notes.unpin", seed) for seed in (1, 2))
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda environment: environment.reset(), (one, two)))
    assert one.device is not two.device
    first = one.device
    one.close()
    three = AdbPocketEnvironment(lent, "notes.unpin", 3)
    three.reset()
    assert three.device is first
    for environment in (two, three):
        environment.close()


def test_a_phone_that_breaks_is_an_infrastructure_failure_and_is_not_lent_again(lent: PocketPhones) -> None:
    environment = AdbPocketEnvironment(lent, "notes.unpin", 1)
    environment.reset()
    device = environment.device
    assert isinstance(device, SimDevice)
    inside(device).stop()
    with pytest.raises(EnvironmentFailed) as error:
        environment.act(Open("notes"))
    assert error.value.kind == "died"
    environment.close()
    after = AdbPocketEnvironment(lent, "notes.unpin", 1)
    after.reset()
    assert after.device is not device
    assert after.score() == 0
    after.close()


def test_an_unknown_template_is_refused(lent: PocketPhones) -> None:
    environment = AdbPocketEnvironment(lent, "no.such", 1)
    with pytest.raises(EnvironmentFailed, match="no task template"):
        environment.reset()
    environment.close()
