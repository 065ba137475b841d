"""Clock: alarms, timer, stopwatch and cities are set by touch, on both displays; only waiting makes time pass."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.pocket.apps.clock import MAX_TIMER, Alarm, ClockData, Timer, digits, tenths
from emulator.pocket.phone import Phone
from emulator.pocket.themes import Display
from sopbench.actions import Open, SystemButton, Type, Wait
from tests.unit.pocket.checks import wander
from tests.unit.pocket.driving import has, hold, node, swipe, tap

DISPLAYS: tuple[Display, ...] = ("regular", "large")
ALARMS = [
    Alarm("a0", "07:15", "Work", "Weekdays", True),
    Alarm("a1", "06:00", "", "Once", False),
    Alarm("a2", "22:30", "Medicine", "Every day", True, vibrate=False),
]


@pytest.fixture(params=DISPLAYS)
def phone(request: pytest.FixtureRequest) -> Phone:
    phone = Phone(request.param, seed=11)
    phone.state.apps["clock"] = ClockData(copy.deepcopy(ALARMS), cities=["Tokyo", "Denver"])
    phone.act(Open("clock"))
    return phone


def data(phone: Phone) -> ClockData:
    found = phone.state.apps["clock"]
    assert isinstance(found, ClockData)
    return found


def find(phone: Phone, id: str) -> None:
    while not has(phone, id):
        assert swipe(phone, 0, -0.3).done, f"no {id} on this page"


def touch(phone: Phone, *ids: str) -> None:
    """Touch one after the other, scrolling down where needed."""
    for id in ids:
        find(phone, id)
        tap(phone, id)


@pytest.mark.parametrize("seed", range(6))
def test_a_new_phone_has_alarms_and_cities(seed: int) -> None:
    found = Phone(seed=seed).state.apps["clock"]
    assert len({alarm.time for alarm in found.alarms}) == len(found.alarms) == 5
    assert len(set(found.cities)) == 4
    assert found.timer.state == "ready"
    assert found.timer.left == found.timer.total * 1000 > 0


def test_looking_around_changes_nothing_that_is_stored(phone: Phone) -> None:
    before = copy.deepcopy(phone.state.stored())
    for page in ("alarms", "timer", "stopwatch", "world"):
        tap(phone, page)
        assert phone.foreground == ("clock", page)
        tap(phone, "page.back")
    touch(phone, "alarms", "alarm.a0", "hour.03", "page.back")
    assert phone.state.stored() == before


def test_the_first_page_tells_what_is_going_on(phone: Phone) -> None:
    assert node(phone, "alarms.value").text == "2 on"
    data(phone).timer = Timer(90, 61_000, "running")
    assert node(phone, "timer.value").text == "01:01"
    for alarm in data(phone).alarms:
        alarm.on = False
    assert node(phone, "alarms.value").text == "Off"


def test_alarms_stand_in_order_of_time(phone: Phone) -> None:
    tap(phone, "alarms")
    assert [t.text for t in phone.ui() if t.role == "row"] == ["06:00", "07:15", "22:30"]


def test_the_switch_of_an_alarm_is_apart_from_its_row(phone: Phone) -> None:
    touch(phone, "alarms", "alarm.a0.on")
    assert not data(phone).get("a0").on
    assert phone.foreground == ("clock", "alarms")
    tap(phone, "alarm.a0.on")
    assert data(phone).alarms == ALARMS


def test_an_alarm_is_added(phone: Phone) -> None:
    touch(phone, "alarms", "new", "hour.05", "minute.45", "repeat.Weekends", "label")
    phone.act(Type("Bread"))
    phone.act(SystemButton("Back"))
    touch(phone, "vibrate")
    tap(phone, "save")
    new = data(phone).alarms[-1]
    assert (new.time, new.repeat, new.label, new.on, new.vibrate) == ("05:45", "Weekends", "Bread", True, False)
    assert node(phone, "toast").text == "Alarm at 05:45"
    assert has(phone, f"alarm.{new.id}")


@pytest.mark.parametrize("way", ["tap", "hold"])
def test_an_alarm_is_changed_and_then_on(phone: Phone, way: str) -> None:
    tap(phone, "alarms")
    if way == "tap":
        tap(phone, "alarm.a1")
    else:
        hold(phone, "alarm.a1")
        tap(phone, "sheet.edit")
    touch(phone, "hour.08", "minute.20", "save")
    assert data(phone).get("a1") == Alarm("a1", "08:20", "", "Once", True)
    assert len(data(phone).alarms) == len(ALARMS)


def test_the_editor_says_how_long_it_is_until_then(phone: Phone) -> None:
    touch(phone, "alarms", "new", "hour.09", "minute.30")
    swipe(phone, 0, 0.4)
    swipe(phone, 0, 0.4)
    assert node(phone, "picked").text == "09:30"
    assert node(phone, "picked.caption").text == "In 23 h 49 min"


@pytest.mark.parametrize("way", ["menu", "hold"])
def test_an_alarm_is_deleted_after_a_question(phone: Phone, way: str) -> None:
    tap(phone, "alarms")
    for button in ("delete.cancel", "delete.ok"):
        if way == "hold":
            hold(phone, "alarm.a0")
            tap(phone, "sheet.delete")
        else:
            if phone.foreground[1] == "alarms":
                tap(phone, "alarm.a0")
            tap(phone, "page.more")
            tap(phone, "menu.delete")
        assert len(data(phone).alarms) == len(ALARMS)
        tap(phone, button)
    assert data(phone).alarms == ALARMS[1:]
    assert phone.foreground == ("clock", "alarms")


def test_a_timer_is_set_by_presets_and_steps(phone: Phone) -> None:
    touch(phone, "timer", "preset.10", "minutes.plus", "minutes.plus", "seconds.plus", "minutes.minus")
    assert data(phone).timer == Timer(670, 670_000)
    assert node(phone, "left").text == "11:10"
    touch(phone, "seconds.minus", "seconds.minus")
    assert data(phone).timer.total == 650


def test_a_timer_stays_in_its_range(phone: Phone) -> None:
    data(phone).timer.set(50)
    tap(phone, "timer")
    assert not node(phone, "minutes.minus").clickable
    data(phone).timer.set(MAX_TIMER + 500)
    assert data(phone).timer.total == MAX_TIMER
    assert not node(phone, "minutes.plus").clickable
    data(phone).timer.set(0)
    find(phone, "start")
    assert not node(phone, "start").clickable


def test_a_timer_runs_only_while_somebody_waits(phone: Phone) -> None:
    touch(phone, "timer", "preset.3", "start")
    assert node(phone, "left").text == "03:00"
    phone.act(Wait(30))
    assert node(phone, "left").text == "02:30"
    tap(phone, "pause")
    phone.act(Wait(60))
    assert data(phone).timer == Timer(180, 150_000, "paused")
    tap(phone, "resume")
    phone.act(Open("notes"))
    phone.act(Wait(149))
    assert data(phone).timer.left == 1000
    phone.act(Wait(5))
    assert data(phone).timer == Timer(180, 0, "done")
    assert node(phone, "toast").text == "Time is up"


@pytest.mark.parametrize("when", ["running", "paused", "done"])
def test_reset_brings_the_whole_time_back(phone: Phone, when: str) -> None:
    touch(phone, "timer", "preset.1", "start")
    phone.act(Wait(61 if when == "done" else 10))
    if when == "paused":
        tap(phone, "pause")
    assert data(phone).timer.state == when
    tap(phone, "reset")
    assert data(phone).timer == Timer(60, 60_000)


def test_a_finished_timer_runs_again(phone: Phone) -> None:
    touch(phone, "timer", "preset.1", "start")
    phone.act(Wait(100))
    tap(phone, "again")
    assert data(phone).timer == Timer(60, 60_000, "running")


def test_a_stopwatch_counts_laps_and_stops(phone: Phone) -> None:
    touch(phone, "stopwatch", "start")
    phone.act(Wait(12.3))
    tap(phone, "lap")
    phone.act(Wait(50))
    tap(phone, "lap")
    tap(phone, "stop")
    phone.act(Wait(9))
    watch = data(phone).stopwatch
    assert (watch.elapsed, watch.running, watch.laps) == (62_300, False, [12_300, 62_300])
    assert node(phone, "elapsed").text == "01:02.3"
    assert [t.text for t in phone.ui() if t.role == "row"] == ["Lap 2", "Lap 1"]
    tap(phone, "reset")
    assert (watch := data(phone).stopwatch).elapsed == 0
    assert not watch.laps


def test_a_stopped_stopwatch_goes_on_where_it_was(phone: Phone) -> None:
    touch(phone, "stopwatch", "start")
    phone.act(Wait(2))
    touch(phone, "stop", "start")
    phone.act(Wait(3))
    assert data(phone).stopwatch.elapsed == 5000


def test_cities_show_their_time(phone: Phone) -> None:
    tap(phone, "world")
    assert node(phone, "city.Tokyo.value").text == "18:41"
    assert node(phone, "city.Denver.value").text == "03:41"


def test_a_city_is_added_from_a_long_list_and_removed_again(phone: Phone) -> None:
    touch(phone, "world", "new", "choose.Sydney")
    assert data(phone).cities == ["Tokyo", "Denver", "Sydney"]
    tap(phone, "page.back")
    hold(phone, "city.Tokyo")
    tap(phone, "sheet.remove")
    assert data(phone).cities == ["Denver", "Sydney"]


@given(st.integers(0, MAX_TIMER * 1000))
def test_digits_show_whole_seconds_that_have_begun(milliseconds: int) -> None:
    minutes, seconds = map(int, digits(milliseconds).split(":"))
    assert 0 <= (minutes * 60 + seconds) * 1000 - milliseconds < 1000
    assert seconds < 60


@given(st.integers(0, 5_999_999))
def test_tenths_are_cut_not_rounded(milliseconds: int) -> None:
    minutes, seconds = tenths(milliseconds).split(":")
    assert round((int(minutes) * 60 + float(seconds)) * 10) == milliseconds // 100


def test_wandering_breaks_nothing(phone: Phone) -> None:
    seen = wander(phone, "clock", seed=4, steps=300)
    assert len({page for app, page, _ in seen if app == "clock"}) >= 5
