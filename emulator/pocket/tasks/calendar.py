"""Tasks in Calendar."""

from __future__ import annotations

import random
from datetime import date, timedelta
from typing import ClassVar

from emulator.pocket.apps.calendar import ALERTS, TIMES, CalendarData, Event
from emulator.pocket.state import PhoneState
from emulator.pocket.tasks.base import Params, Plan, Template, answered, same_stored
from emulator.pocket.tasks.expert import Expert, Hold, Hop, hop
from emulator.pocket.tasks.matching import ANY, said

TITLES = (
    "Barber", "Picnic", "Tax office", "Opera", "Ferry trip", "Name day", "Exam", "Parade", "Check-up", "Brunch", "Wedding", "Auction",
    "Sauna", "Moving day", "Jazz night", "Interview",
)  # fmt: skip
"""Titles that no event has from the beginning."""
PLACES = (
    "Pier 3", "Green Park", "Room 12", "Lake House", "Tea Room", "Old Mill", "Gate B", "Court 5", "Hill Farm", "Blue Door", "Dome", "Attic",
)  # fmt: skip
AHEAD = 60
"""Days from today within which new dates lie."""


def calendar(state: PhoneState) -> CalendarData:
    data: CalendarData = state.apps["calendar"]
    return data


def event(state: PhoneState, title: str, day: str = "") -> Event:
    """The event with this title (on this ISO date). Raises `LookupError` if there is none."""
    for candidate in calendar(state).events:
        if candidate.title == title and day in ("", candidate.day):
            return candidate
    raise LookupError(f"no event {title!r}")


def spoken(day: str) -> str:
    """19 March, of an ISO date."""
    found = date.fromisoformat(day)
    return f"{found.day} {found:%B}"


def some_day(rng: random.Random, state: PhoneState, *others: str) -> str:
    """An ISO date from tomorrow on, none of `others`."""
    today = state.device.time.date()
    days = [(today + timedelta(days=i)).isoformat() for i in range(1, AHEAD)]
    return rng.choice([day for day in days if day not in others])


def some_time(rng: random.Random, *others: str) -> str:
    return rng.choice([time for time in TIMES if time not in others])


# ---- finding the way
def turn_to(x: Expert, day: str, page: str) -> Plan:
    """Have the month of `day` shown, if a page with months (`main` or `pick_day`) is in front."""
    if not x.at("calendar", page):
        return
    shown = x.state.nav.stacks["calendar"][-1].args.get("month", x.state.device.now)[:7]
    if shown != day[:7]:
        yield from x.tap("month.next" if shown < day[:7] else "month.prev")


def to_day(day: str) -> Hop:
    return hop("day", f"month.{date.fromisoformat(day).day}", day=day)


def walk(x: Expert, day: str, *hops: Hop) -> Plan:
    """Be on the page that `hops` lead to from the page of a day."""
    yield from turn_to(x, day, "main")
    yield from x.go("calendar", to_day(day), *hops)


def search(x: Expert, title: str, *hops: Hop) -> Plan:
    """Be on the page that `hops` lead to from an event's page, found by searching for its title."""
    id = event(x.state, title).id
    found = hop("event", f"event.{id}", event=id, fill={"query": title})
    yield from x.go("calendar", hop("search", "search"), found, *hops)


def picking(x: Expert, page: str, id: str | None) -> bool:
    """Whether a picker is in front that was opened from the editor of this event (None: of a new one)."""
    if not x.at("calendar", page):
        return False
    below = x.state.nav.stacks["calendar"][-2]
    return below.name == "edit" and below.args.get("event") == id


def pick_day(x: Expert, day: str) -> Plan:
    """In the picker of dates: choose `day`, which leads back to the editor."""
    yield from turn_to(x, day, "pick_day")
    yield from x.tap(f"month.{date.fromisoformat(day).day}")


def pick_time(x: Expert, time: str) -> Plan:
    """In the picker of times: choose hour and minute, then set them."""
    hour, minute = time.split(":")
    if x.fields.get("hour") != hour:
        yield from x.tap(f"hour.{hour}")
    if x.fields.get("minute") != minute:
        yield from x.tap(f"minute.{minute}")
    yield from x.tap("set")


# ---- new events
class InCalendar(Template):
    apps: ClassVar[tuple[str, ...]] = ("calendar",)


class Add(InCalendar):
    name = "calendar.add"
    goals = (
        "Add an event “{title}”{in_app} on {date} at {time}",
        "Plan “{title}” for {date}, {time}{in_app}",
        "Create the event “{title}”{in_app}: date {date}, time {time}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"title": rng.choice(TITLES), "day": some_day(rng, state), "time": some_time(rng, "09:00")}

    def words(self, p: Params) -> Params:
        return p | {"date": spoken(p["day"])}

    def want(self, state: PhoneState, p: Params) -> None:
        calendar(state).events.append(Event(ANY, said(p["title"]), p["day"], p["time"]))

    def plan(self, x: Expert, p: Params) -> Plan:
        if picking(x, "pick_time", None):
            yield from pick_time(x, p["time"])
        yield from walk(x, p["day"], hop("edit", "new"))
        yield from x.type("title", p["title"])
        yield from x.tap("save" if x.fields.get("time") == p["time"] else "time")


class AddToday(InCalendar):
    """Nothing is said about the time, so any will do."""

    name = "calendar.add_today"
    goals = (
        "Add an event for today{in_app}: “{title}” at the place “{place}”",
        "Create the event “{title}” for today{in_app} and set its place to “{place}”",
        "There is “{title}” at “{place}” today: make an event of it{in_app}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"title": rng.choice(TITLES), "place": rng.choice(PLACES)}

    def want(self, state: PhoneState, p: Params) -> None:
        today = state.device.now[:10]
        calendar(state).events.append(Event(ANY, said(p["title"]), today, ANY, said(p["place"])))

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from x.go("calendar", hop("edit", "new"))
        yield from x.type("title", p["title"])
        yield from x.type("place", p["place"])
        yield from x.tap("save")


class AddWithAll(InCalendar):
    name = "calendar.add_with_all"
    heldout = True
    goals = (
        "Add the event “{title}” at “{place}” on {date}{in_app}, with an alert {alert} before",
        "Plan “{title}” for {date}{in_app}: place “{place}”, alert {alert} before",
        "Create an event{in_app} on {date} with the title “{title}”, the place “{place}” and an alert {alert} before it",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        facts = {"title": rng.choice(TITLES), "place": rng.choice(PLACES)}
        return facts | {"day": some_day(rng, state), "alert": rng.choice(ALERTS[1:])}

    def words(self, p: Params) -> Params:
        return p | {"date": spoken(p["day"])}

    def want(self, state: PhoneState, p: Params) -> None:
        new = Event(ANY, said(p["title"]), p["day"], ANY, said(p["place"]), p["alert"])
        calendar(state).events.append(new)

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from walk(x, p["day"], hop("edit", "new"))
        yield from x.type("title", p["title"])
        yield from x.type("place", p["place"])
        yield from x.tap("save" if x.fields.get("alert") == p["alert"] else f"alert.{p['alert']}")


# ---- events that are there
class OfAnEvent(InCalendar):
    """Base of tasks about one event, named by its title (all titles differ)."""

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"title": rng.choice([event.title for event in calendar(state).events])}


class OnADay(OfAnEvent):
    """Base of tasks about an event whose date is told, so that it is found in the month."""

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        found = rng.choice(calendar(state).events)
        return {"title": found.title, "day": found.day}

    def words(self, p: Params) -> Params:
        said = {"date": spoken(p["day"])}
        return p | said | ({"new_date": spoken(p["new_day"])} if "new_day" in p else {})


class Delete(OnADay):
    name = "calendar.delete"
    goals = (
        "Delete the event {title} on {date}{in_app}",
        "Go to {date}{in_app}, press and hold {title} and delete it",
        "The event {title} on {date} is cancelled: remove it{in_app}",
    )

    def want(self, state: PhoneState, p: Params) -> None:
        calendar(state).events.remove(event(state, p["title"], p["day"]))

    def plan(self, x: Expert, p: Params) -> Plan:
        id = event(x.state, p["title"], p["day"]).id
        yield from walk(x, p["day"])
        yield from x.tap(Hold(f"event.{id}"), "sheet.delete", "delete.ok", about={"event": id})


class FindAndDelete(OfAnEvent):
    name = "calendar.find_delete"
    goals = (
        "Search{in_app} for the event {title} and delete it",
        "Find {title} with the search{in_app} and delete this event",
        "Use the search{in_app} to find {title}, then delete the event from its menu",
    )

    def want(self, state: PhoneState, p: Params) -> None:
        calendar(state).events.remove(event(state, p["title"]))

    def plan(self, x: Expert, p: Params) -> Plan:
        id = event(x.state, p["title"]).id
        yield from search(x, p["title"])
        yield from x.tap("page.more", "menu.delete", "delete.ok", about={"event": id})


class Move(OnADay):
    name = "calendar.move"
    goals = (
        "Move the event {title} on {date}{in_app} to {new_date}",
        "The event {title} is not on {date} but on {new_date}: correct its date{in_app}",
        "Change the date of {title}{in_app} from {date} to {new_date}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        p = super().parameters(rng, state)
        return p | {"new_day": some_day(rng, state, p["day"])}

    def want(self, state: PhoneState, p: Params) -> None:
        event(state, p["title"]).day = p["new_day"]

    def plan(self, x: Expert, p: Params) -> Plan:
        id = event(x.state, p["title"], p["day"]).id
        if picking(x, "pick_day", id):
            yield from pick_day(x, p["new_day"])
        yield from walk(x, p["day"], hop("event", f"event.{id}", event=id), hop("edit", "edit", event=id))
        yield from x.tap("save" if x.fields.get("day") == p["new_day"] else "day")


class Copy(OnADay):
    name = "calendar.copy"
    goals = (
        "Copy the event {title} on {date}{in_app} to {new_date}",
        "Press and hold {title} on {date}{in_app} and copy it to {new_date}",
        "The event {title} on {date} takes place on {new_date} again: make a copy of it{in_app} for that date",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        p = super().parameters(rng, state)
        return p | {"new_day": some_day(rng, state, p["day"])}

    def want(self, state: PhoneState, p: Params) -> None:
        old = event(state, p["title"])
        calendar(state).events.append(Event(ANY, old.title, p["new_day"], old.time, old.place, old.alert))

    def plan(self, x: Expert, p: Params) -> Plan:
        id = event(x.state, p["title"], p["day"]).id
        if picking(x, "pick_day", None):
            yield from pick_day(x, p["new_day"])
        if x.at("calendar", "edit") and x.fields.get("title") == p["title"] and "event" not in self._args(x):
            yield from x.tap("save" if x.fields.get("day") == p["new_day"] else "day")
        yield from walk(x, p["day"])
        yield from x.tap(Hold(f"event.{id}"), "sheet.copy", about={"event": id})

    @staticmethod
    def _args(x: Expert) -> dict[str, str]:
        return x.state.nav.stacks["calendar"][-1].args


class NewTime(OfAnEvent):
    name = "calendar.new_time"
    goals = (
        "Search{in_app} for {title} and change its time to {time}",
        "The event {title} begins at {time} now: find it by the search{in_app} and change the time",
        "Use the search{in_app} to find {title} and move it to {time} on the same day",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        p = super().parameters(rng, state)
        return p | {"time": some_time(rng, event(state, p["title"]).time)}

    def want(self, state: PhoneState, p: Params) -> None:
        event(state, p["title"]).time = p["time"]

    def plan(self, x: Expert, p: Params) -> Plan:
        id = event(x.state, p["title"]).id
        if picking(x, "pick_time", id):
            yield from pick_time(x, p["time"])
        yield from search(x, p["title"], hop("edit", "edit", event=id))
        yield from x.tap("save" if x.fields.get("time") == p["time"] else "time")


class NewPlace(OnADay):
    name = "calendar.new_place"
    goals = (
        "Set the place of the event {title} on {date}{in_app} to “{place}”",
        "On {date} there is {title}: change its place{in_app} to “{place}”",
        "The event {title} on {date} takes place at “{place}”: update it{in_app}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return super().parameters(rng, state) | {"place": rng.choice(PLACES)}

    def want(self, state: PhoneState, p: Params) -> None:
        event(state, p["title"]).place = said(p["place"])

    def plan(self, x: Expert, p: Params) -> Plan:
        id = event(x.state, p["title"], p["day"]).id
        yield from walk(x, p["day"], hop("event", f"event.{id}", event=id), hop("edit", "edit", event=id))
        yield from x.type("place", p["place"])
        yield from x.tap("save")


class Alert(OnADay):
    name = "calendar.alert"
    goals = (
        "Set the alert of the event {title} on {date}{in_app} to {alert}",
        "Press and hold {title} on {date}{in_app}, edit it and set the alert to {alert}",
        "Change the alert of {title}{in_app} on {date} to {alert}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return super().parameters(rng, state) | {"alert": rng.choice(ALERTS)}

    def words(self, p: Params) -> Params:
        return super().words(p) | {"alert": "none" if p["alert"] == "None" else f"{p['alert']} before"}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        event(state, p["title"]).alert = rng.choice([alert for alert in ALERTS if alert != p["alert"]])

    def want(self, state: PhoneState, p: Params) -> None:
        event(state, p["title"]).alert = p["alert"]

    def plan(self, x: Expert, p: Params) -> Plan:
        id = event(x.state, p["title"], p["day"]).id
        if not x.at("calendar", "edit", event=id):
            yield from walk(x, p["day"])
            yield from x.tap(Hold(f"event.{id}"), "sheet.edit", about={"event": id})
        yield from x.tap("save" if x.fields.get("alert") == p["alert"] else f"alert.{p['alert']}")


# ---- questions and views
class Ask(OfAnEvent):
    name = "calendar.ask"
    goals = (
        "Search{in_app} for {title} and answer: {question}",
        "Look up the event {title} with the search{in_app} and tell me: {question}",
        "Find {title} by the search{in_app} and answer the question: {question}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        found = rng.choice([event for event in calendar(state).events if event.place])
        return {"title": found.title, "question": rng.choice(sorted(self._answers(found)))}

    @staticmethod
    def _answers(found: Event) -> dict[str, tuple[str, ...]]:
        """Questions, and what counts as their answer; the first is the expert's."""
        hour, minute = found.time.split(":")
        return {
            "at what time does it begin?": (found.time, f"{int(hour)}:{minute}"),
            "where does it take place?": (found.place,),
        }

    def check(self, before: PhoneState, state: PhoneState, p: Params) -> float:
        return float(answered(before, state, *self._answers(event(before, p["title"]))[p["question"]]))

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from search(x, p["title"])
        yield x.answer(self._answers(event(x.state, p["title"]))[p["question"]][0])


class AskDay(InCalendar):
    name = "calendar.ask_day"
    goals = (
        "What is planned for {date}? Look{in_app} and answer with the title of the event",
        "Look up {date}{in_app} and answer with the title of the event on that day",
        "Tell me which event there is on {date}{in_app}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        days = [event.day for event in calendar(state).events]
        return {"day": rng.choice([day for day in days if days.count(day) == 1])}

    def words(self, p: Params) -> Params:
        return {"date": spoken(p["day"])}

    def check(self, before: PhoneState, state: PhoneState, p: Params) -> float:
        return float(answered(before, state, self._title(before, p)))

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from walk(x, p["day"])
        yield x.answer(self._title(x.state, p))

    @staticmethod
    def _title(state: PhoneState, p: Params) -> str:
        for found in calendar(state).events:
            if found.day == p["day"]:
                return found.title
        raise LookupError(f"nothing on {p['day']}")


class Show(InCalendar):
    """Nothing is stored: the page of a day must be in front at the end. Months are turned by swiping."""

    name = "calendar.show"
    goals = (
        "Swipe through the months{in_app} to {month} and open day {number}",
        "Swipe to {month}{in_app} and tap day {number}",
        "Turn the months{in_app} by swiping until {month} is there, then open day {number} of it",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        first = state.device.time.date().replace(day=1)
        months = [other for other in range(-4, 7) if other != 0]
        count = first.year * 12 + first.month - 1 + rng.choice(months)
        return {"day": date(count // 12, count % 12 + 1, rng.randrange(1, 29)).isoformat()}

    def words(self, p: Params) -> Params:
        day = date.fromisoformat(p["day"])
        return {"month": f"{day:%B %Y}", "number": day.day}

    def check(self, before: PhoneState, state: PhoneState, p: Params) -> float:
        nav = state.nav
        top = nav.stacks["calendar"][-1] if nav.app == "calendar" else None
        shown = top is not None and top.name == "day" and top.args["day"] == p["day"] and top.overlay is None
        return float(shown and same_stored(before, state))

    def plan(self, x: Expert, p: Params) -> Plan:
        if x.at("calendar", "main"):
            shown = x.state.nav.stacks["calendar"][-1].args.get("month", x.state.device.now)[:7]
            if shown != p["day"][:7]:
                yield x.turn("left" if shown < p["day"][:7] else "right")
        yield from x.go("calendar", to_day(p["day"]))


class ClearDay(InCalendar):
    name = "calendar.clear_day"
    heldout = True
    goals = (
        "Delete both events on {date}{in_app}",
        "Clear the day {date}{in_app}: delete the two events on it",
        "Keep {date} free{in_app} by deleting the two events of that day",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"day": some_day(rng, state)}

    def words(self, p: Params) -> Params:
        return {"date": spoken(p["day"])}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        """Exactly two events on that day, at different times."""
        events = calendar(state).events
        for other in events:
            if other.day == p["day"]:
                other.day = state.device.now[:10]
        one, two = rng.sample(events, 2)
        one.day = two.day = p["day"]
        two.time = some_time(rng, one.time)

    def want(self, state: PhoneState, p: Params) -> None:
        data = calendar(state)
        data.events = [event for event in data.events if event.day != p["day"]]

    def plan(self, x: Expert, p: Params) -> Plan:
        day = date.fromisoformat(p["day"])
        first = calendar(x.state).between(day, day)[0].id
        yield from walk(x, p["day"])
        yield from x.tap(Hold(f"event.{first}"), "sheet.delete", "delete.ok", about={"event": first})


TEMPLATES: tuple[type[Template], ...] = (
    Add,
    AddToday,
    AddWithAll,
    Delete,
    FindAndDelete,
    Move,
    Copy,
    NewTime,
    NewPlace,
    Alert,
    Ask,
    AskDay,
    Show,
    ClearDay,
)
