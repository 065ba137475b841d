"""Calendar: months, days and events; events are added, changed, copied and deleted by touch, on both displays."""

from __future__ import annotations

import copy
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.pocket.apps.calendar import CalendarApp, CalendarData, Event
from emulator.pocket.phone import Phone
from emulator.pocket.themes import Display
from sopbench.actions import Open, SystemButton, Type
from tests.unit.pocket.checks import wander
from tests.unit.pocket.driving import has, hold, node, swipe, tap

DISPLAYS: tuple[Display, ...] = ("regular", "large")
EVENTS = [
    Event("e0", "Dentist", "2025-03-19", "10:15", "Mill Street 4", "1 hour"),
    Event("e1", "Choir", "2025-03-19", "09:30"),
    Event("e2", "Swimming", "2025-03-03", "18:00", "West Pool"),
    Event("e3", "Concert", "2025-04-02", "20:00", "Harbour Hall"),
]


@pytest.fixture(params=DISPLAYS)
def phone(request: pytest.FixtureRequest) -> Phone:
    phone = Phone(request.param, seed=11)
    phone.state.apps["calendar"] = CalendarData(copy.deepcopy(EVENTS))
    phone.act(Open("calendar"))
    return phone


def data(phone: Phone) -> CalendarData:
    found = phone.state.apps["calendar"]
    assert isinstance(found, CalendarData)
    return found


def find(phone: Phone, id: str) -> None:
    while not has(phone, id):
        assert swipe(phone, 0, -0.3).done, f"no {id} on this page"


def write(phone: Phone, id: str, text: str) -> None:
    tap(phone, id)
    if has(phone, f"{id}.clear"):
        tap(phone, f"{id}.clear")
    phone.act(Type(text))
    phone.act(SystemButton("Back"))


def rows(phone: Phone) -> list[str]:
    """Titles of the events on this page, scrolling down."""
    found = [item.text for item in phone.ui() if item.id.startswith("event.") and item.role == "row"]
    while swipe(phone, 0, -0.3).done:
        found += [t.text for t in phone.ui() if t.id.startswith("event.") and t.role == "row" and t.text not in found]
    return found


@pytest.mark.parametrize("seed", range(6))
def test_a_new_phone_has_events_around_today(seed: int) -> None:
    found = Phone(seed=seed).state.apps["calendar"].events
    assert len({event.title for event in found}) == len(found) == 14
    assert all(date(2025, 3, 4) <= event.date <= date(2025, 4, 28) for event in found)
    assert all(len(event.title) <= 12 for event in found)


def test_the_month_shows_what_is_still_to_come(phone: Phone) -> None:
    assert has(phone, "month.3")
    assert rows(phone) == ["Choir", "Dentist"]


def test_looking_around_changes_nothing_that_is_stored(phone: Phone) -> None:
    before = copy.deepcopy(phone.state.stored())
    tap(phone, "month.next")
    tap(phone, "month.2")
    tap(phone, "event.e3")
    tap(phone, "edit")
    write(phone, "title", "Other")
    tap(phone, "time")
    tap(phone, "hour.23")
    tap(phone, "set")
    assert node(phone, "time.value").text == "23:00"
    tap(phone, "page.back")
    assert phone.foreground == ("calendar", "event")
    assert phone.state.stored() == before


@pytest.mark.parametrize("way", ["buttons", "swipes"])
def test_months_turn_both_ways_and_today_leads_back(phone: Phone, way: str) -> None:
    def title() -> str:
        return node(phone, "month.title").text[:3]

    for expected in ("Apr", "May"):
        tap(phone, "month.next") if way == "buttons" else swipe(phone, -0.4, 0)
        assert title() == expected
    for expected in ("Apr", "Mar", "Feb", "Jan", "Dec"):
        tap(phone, "month.prev") if way == "buttons" else swipe(phone, 0.4, 0)
        assert title() == expected
    tap(phone, "today")
    assert title() == "Mar"


def test_another_month_lists_its_events(phone: Phone) -> None:
    tap(phone, "month.next")
    assert rows(phone) == ["Concert"]


def test_a_day_lists_its_events_in_order_and_days_are_swiped(phone: Phone) -> None:
    tap(phone, "month.19")
    assert rows(phone) == ["Choir", "Dentist"]
    swipe(phone, -0.4, 0)
    assert node(phone, "page.title").text == "Thu 20 Mar"
    assert has(phone, "empty")
    swipe(phone, 0.4, 0)
    assert has(phone, "event.e0")


def test_an_event_shows_its_facts(phone: Phone) -> None:
    tap(phone, "month.19")
    tap(phone, "event.e0")
    assert node(phone, "title").text == "Dentist"
    shown = {id: node(phone, f"{id}.value").text for id in ("date", "time", "place", "alert")}
    assert shown == {"date": "Wed 19 Mar", "time": "10:15", "place": "Mill Street 4", "alert": "1 hour"}


def test_an_event_is_added_on_a_day_with_time_and_alert(phone: Phone) -> None:
    tap(phone, "month.27")
    tap(phone, "new")
    write(phone, "title", "Paint the hall")
    write(phone, "place", "Home")
    tap(phone, "time")
    tap(phone, "hour.16")
    tap(phone, "minute.35")
    assert node(phone, "picked").text == "16:35"
    tap(phone, "set")
    tap(phone, "alert.10 min")
    tap(phone, "save")
    new = data(phone).events[-1]
    assert (new.title, new.place, new.day, new.time, new.alert) == ("Paint the hall", "Home", "2025-03-27", "16:35", "10 min")  # fmt: skip
    assert has(phone, f"event.{new.id}")


def test_a_date_is_picked_from_another_month(phone: Phone) -> None:
    tap(phone, "new")
    write(phone, "title", "Holiday")
    tap(phone, "day")
    swipe(phone, -0.4, 0)
    tap(phone, "month.next")
    tap(phone, "month.31")
    assert node(phone, "day.value").text == "Sat 31 May"
    tap(phone, "save")
    assert data(phone).events[-1].day == "2025-05-31"


def test_going_back_from_a_picker_keeps_the_draft(phone: Phone) -> None:
    tap(phone, "new")
    write(phone, "title", "Holiday")
    tap(phone, "time")
    tap(phone, "hour.23")
    tap(phone, "page.back")
    assert node(phone, "time.value").text == "09:00"
    assert node(phone, "title").text == "Holiday"


def test_an_event_needs_a_title(phone: Phone) -> None:
    before = copy.deepcopy(data(phone))
    tap(phone, "new")
    write(phone, "title", "  ")
    tap(phone, "save")
    assert node(phone, "toast").text == "Title missing"
    assert data(phone) == before


@pytest.mark.parametrize("way", ["page", "hold"])
def test_an_event_is_changed(phone: Phone, way: str) -> None:
    tap(phone, "month.19")
    if way == "page":
        tap(phone, "event.e0")
        tap(phone, "edit")
    else:
        hold(phone, "event.e0")
        tap(phone, "sheet.edit")
    write(phone, "title", "Dentist again")
    tap(phone, "day")
    tap(phone, "month.21")
    tap(phone, "save")
    event = data(phone).get("e0")
    assert (event.title, event.day, event.time, event.alert) == ("Dentist again", "2025-03-21", "10:15", "1 hour")
    assert len(data(phone).events) == len(EVENTS)


def test_a_copy_is_a_new_event(phone: Phone) -> None:
    tap(phone, "month.19")
    hold(phone, "event.e0")
    tap(phone, "sheet.copy")
    tap(phone, "day")
    tap(phone, "month.26")
    tap(phone, "save")
    new = data(phone).events[-1]
    assert (new.title, new.day, new.place) == ("Dentist", "2025-03-26", "Mill Street 4")
    assert data(phone).get("e0") == EVENTS[0]


@pytest.mark.parametrize("way", ["menu", "hold"])
def test_an_event_is_deleted_after_a_question(phone: Phone, way: str) -> None:
    tap(phone, "month.19")
    for button in ("delete.cancel", "delete.ok"):
        if way == "hold":
            hold(phone, "event.e0")
            tap(phone, "sheet.delete")
        else:
            if phone.foreground[1] == "day":
                tap(phone, "event.e0")
            tap(phone, "page.more")
            tap(phone, "menu.delete")
        assert len(data(phone).events) == len(EVENTS)
        tap(phone, button)
    assert data(phone).events == [EVENTS[1], EVENTS[2], EVENTS[3]]
    assert phone.foreground == ("calendar", "day")


def test_search_looks_at_titles_and_places(phone: Phone) -> None:
    tap(phone, "search")
    phone.act(Type("HARBOUR"))
    assert [t.text for t in phone.ui() if t.role == "row"] == ["Concert"]
    tap(phone, "query.clear")
    phone.act(Type("swim"))
    tap(phone, "event.e2")
    assert phone.foreground == ("calendar", "event")
    tap(phone, "page.back")
    tap(phone, "query")
    phone.act(Type("zzz"))
    assert node(phone, "empty").text == "Nothing found"


@given(st.dates(date(1970, 1, 1), date(2100, 1, 1)), st.integers(-30, 30))
def test_months_are_counted_across_years(day: date, months: int) -> None:
    first = day.replace(day=1)
    shifted = CalendarApp._shift(first, months)
    assert shifted.day == 1
    assert (shifted.year - first.year) * 12 + shifted.month - first.month == months


def test_wandering_breaks_nothing(phone: Phone) -> None:
    seen = wander(phone, "calendar", seed=2, steps=300)
    assert len({page for app, page, _ in seen if app == "calendar"}) >= 4
