"""Calendar: months, days and events."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import partial

from emulator.pocket.app import App, Ctx
from emulator.pocket.widgets import (
    Block,
    Button,
    Dialog,
    Empty,
    Fab,
    Glyph,
    Group,
    Hero,
    IconButton,
    MenuItem,
    Month,
    Options,
    Overlay,
    Page,
    Row,
    Sheet,
    Text,
)
from emulator.pocket.world import World

PLACES = {
    "Dentist": "Mill Street 4", "Team lunch": "Cafe Luna", "Yoga": "Old Gym", "Choir": "Town Hall", "Haircut": "Corner Salon",
    "Book club": "Library", "Piano lesson": "Music School", "Vet visit": "Animal Clinic", "Car service": "Garage North",
    "Film night": "Cinema Rex", "Swimming": "West Pool", "Board games": "", "Museum": "Art House", "Baking class": "Orchid Kitchen",
    "Flu shot": "Health Centre", "Run club": "River Gate", "Concert": "Harbour Hall", "House tour": "Maple Road 9",
    "Rent due": "", "Job talk": "Station Tower", "Plant market": "Market Square", "Chess": "Cafe Luna", "Pottery": "Clay Barn",
}  # fmt: skip
"""Titles of at most twelve letters, and where it is."""
PERSONAL = {"Call": "", "Meet": "Cafe Luna", "Visit": ""}
"""First words of events with somebody."""
ALERTS = ("None", "10 min", "1 hour", "1 day")
TIMES = tuple(f"{hour:02d}:{minute:02d}" for hour in range(8, 21) for minute in (0, 15, 30, 45))
NEW = {"time": "09:00", "alert": "None"}
"""What a new event starts with."""


@dataclass(slots=True)
class Event:
    """`day` is an ISO date, `time` HH:MM."""

    id: str
    title: str
    day: str
    time: str
    place: str = ""
    alert: str = "None"

    @property
    def date(self) -> date:
        return date.fromisoformat(self.day)


@dataclass(slots=True)
class CalendarData:
    """The events, in no order."""

    events: list[Event] = field(default_factory=list)

    def get(self, id: str) -> Event:
        """The event with this id. Raises `StopIteration` if there is none."""
        return next(event for event in self.events if event.id == id)

    def between(self, first: date, last: date) -> list[Event]:
        """Events of the days from `first` to `last`, in order."""
        found = [event for event in self.events if first <= event.date <= last]
        return sorted(found, key=lambda event: (event.day, event.time, event.id))

    def found(self, query: str) -> list[Event]:
        """Events whose title or place contains `query`, in order."""
        wanted = query.strip().casefold()
        every = self.between(date.min, date.max)
        return [event for event in every if wanted in event.title.casefold() or wanted in event.place.casefold()]


Calendar = Ctx[CalendarData]


def short(day: date) -> str:
    """Wed 19 Mar."""
    return f"{day:%a} {day.day} {day:%b}"


def long(day: date) -> str:
    """Wednesday 19 March."""
    return f"{day:%A} {day.day} {day:%B}"


class CalendarApp(App[CalendarData]):
    """A month, a day, an event, and an editor with pages for date and time."""

    name = "calendar"
    title = "Calendar"
    icon = "calendar"
    accent = "#BE3F4B"
    aliases = ("agenda", "events", "schedule")

    def fresh(self, rng: random.Random, world: World) -> CalendarData:
        titles = dict(rng.sample(sorted(PLACES.items()), 12))
        friends = [person.first for person in world.people if len(person.first) <= 6]
        for word, first in zip(rng.sample(sorted(PERSONAL), 2), rng.sample(friends, 2), strict=True):
            titles[f"{word} {first}"] = PERSONAL[word]
        today = world.now.date()
        events = []
        for i, (title, place) in enumerate(titles.items()):
            day = today + timedelta(days=rng.randrange(-10, 46))
            events.append(Event(f"e{i}", title, day.isoformat(), rng.choice(TIMES), place, rng.choice(ALERTS)))
        return CalendarData(events)

    # ---- pages
    def page_main(self, ctx: Calendar) -> Page:
        today, first = ctx.device.time.date(), self._month(ctx)
        last = self._shift(first, 1) - timedelta(days=1)
        start = max(first, today) if first <= today <= last else first
        events = ctx.data.between(first, last)
        ahead = [event for event in events if event.date >= start]
        month = Month(
            "month",
            first.year,
            first.month,
            lambda day: ctx.push("day", {"day": first.replace(day=day).isoformat()}),
            partial(self._turn, ctx, -1),
            partial(self._turn, ctx, 1),
            today=today.day if first <= today <= last else 0,
            marked=frozenset(event.date.day for event in events),
        )
        title = "Coming up" if start == today else f"In {first:%B}"
        return Page(
            "Calendar",
            [month, *([Group(self._rows(ctx, ahead, dated=True), title)] if ahead else [])],
            actions=[
                IconButton("today", "calendar", "Today", partial(self._today, ctx)),
                IconButton("search", "search", "Search", partial(self._search, ctx)),
            ],
            fab=Fab("new", "New event", partial(self._new, ctx, today.isoformat())),
            on_swipe=lambda way: self._turn(ctx, 1 if way == "left" else -1),
        )

    def page_search(self, ctx: Calendar) -> Page:
        query = ctx.field("query", hint="Title or place", kind="search")
        found = ctx.data.found(query.value) if query.value.strip() else []
        blocks: list[Block] = [query]
        if found:
            blocks.append(Group(self._rows(ctx, found, dated=True)))
        elif query.value.strip():
            blocks.append(Empty("search", "Nothing found"))
        return Page("Search", blocks)

    def page_day(self, ctx: Calendar) -> Page:
        day = date.fromisoformat(ctx.arg("day"))
        events = ctx.data.between(day, day)
        nothing = Empty("calendar", "Nothing planned", f"{long(day)} is free.")
        return Page(
            short(day),
            [Group(self._rows(ctx, events, dated=False)) if events else nothing],
            fab=Fab("new", "New event", partial(self._new, ctx, day.isoformat())),
            on_swipe=partial(self._next_day, ctx),
        )

    def page_event(self, ctx: Calendar) -> Page:
        event = ctx.data.get(ctx.arg("event"))
        rows = [
            Row("date", "Date", value=short(event.date), leading=Glyph("calendar")),
            Row("time", "Time", value=event.time, leading=Glyph("clock")),
            Row("alert", "Alert", value=event.alert, leading=Glyph("bell")),
        ]
        if event.place:
            rows.insert(2, Row("place", "Place", value=event.place, leading=Glyph("location")))
        return Page(
            "Event",
            [Text(event.title, "title", id="title"), Group(rows)],
            actions=[IconButton("edit", "edit", "Edit", partial(self._edit, ctx, event.id))],
            menu=[
                MenuItem("menu.copy", "Copy", partial(self._copy, ctx, event.id), "copy"),
                MenuItem("menu.delete", "Delete", partial(ctx.open, "delete", {"event": event.id}), "trash", danger=True),
            ],
        )  # fmt: skip

    def page_edit(self, ctx: Calendar) -> Page:
        """A new event, or the one in the page's `event` argument. Date, time and alert wait in the page's fields as well."""
        day = date.fromisoformat(ctx.value("day"))
        pick_day = partial(ctx.push, "pick_day", {"day": day.isoformat(), "month": day.isoformat()})
        return Page(
            "Edit event" if "event" in ctx.page.args else "New event",
            [
                ctx.field("title", "Title"),
                ctx.field("place", "Place"),
                Group([
                    Row("day", "Date", value=short(day), leading=Glyph("calendar"), chevron=True, on_tap=pick_day),
                    Row("time", "Time", value=ctx.value("time"), leading=Glyph("clock"), chevron=True, on_tap=partial(self._pick_time, ctx)),
                ]),
                Options("alert", {name: name for name in ALERTS}, frozenset({ctx.value("alert")}), partial(ctx.set_value, "alert"), "Alert before"),
            ],
            actions=[IconButton("save", "check", "Save", partial(self._save, ctx))],
        )  # fmt: skip

    def page_pick_day(self, ctx: Calendar) -> Page:
        chosen, first = date.fromisoformat(ctx.arg("day")), self._month(ctx)
        same = (chosen.year, chosen.month) == (first.year, first.month)
        month = Month(
            "month",
            first.year,
            first.month,
            lambda day: self._picked(ctx, "day", first.replace(day=day).isoformat()),
            partial(self._turn, ctx, -1),
            partial(self._turn, ctx, 1),
            chosen=chosen.day if same else 0,
        )
        return Page("Pick a day", [month], on_swipe=lambda way: self._turn(ctx, 1 if way == "left" else -1))

    def page_pick_time(self, ctx: Calendar) -> Page:
        hour, minute = ctx.value("hour"), ctx.value("minute")
        hours = {f"{h:02d}": f"{h:02d}" for h in range(24)}
        minutes = {f"{m:02d}": f"{m:02d}" for m in range(0, 60, 5)}
        return Page(
            "Pick a time",
            [
                Hero(f"{hour}:{minute}", id="picked"),
                Options("hour", hours, frozenset({hour}), partial(ctx.set_value, "hour"), "Hour", 6),
                Options("minute", minutes, frozenset({minute}), partial(ctx.set_value, "minute"), "Minute", 6),
            ],
            actions=[IconButton("set", "check", "Set", partial(self._picked, ctx, "time", f"{hour}:{minute}"))],
        )

    # ---- overlays
    def overlay_actions(self, ctx: Calendar) -> Overlay:
        event = ctx.data.get(ctx.arg("event"))
        return Sheet(
            event.title,
            [
                MenuItem("sheet.edit", "Edit", partial(self._edit, ctx, event.id), "edit"),
                MenuItem("sheet.copy", "Copy", partial(self._copy, ctx, event.id), "copy"),
                MenuItem("sheet.delete", "Delete", partial(ctx.open, "delete", {"event": event.id}), "trash", danger=True),
            ],
        )  # fmt: skip

    def overlay_delete(self, ctx: Calendar) -> Overlay:
        event = ctx.data.get(ctx.arg("event"))
        return Dialog(
            "Delete event?",
            f"{event.title} on {event.date.day} {event.date:%B} will be gone.",
            buttons=[
                Button("delete.cancel", "Cancel", ctx.close, "tonal"),
                Button("delete.ok", "Delete", partial(self._delete, ctx, event.id), "danger"),
            ],
        )

    # ---- parts of pages
    @staticmethod
    def _rows(ctx: Calendar, events: list[Event], *, dated: bool) -> list[Row]:
        rows = []
        for event in events:
            day = f"{event.date.day} {event.date:%b}"
            rows.append(
                Row(
                    f"event.{event.id}",
                    event.title,
                    (f"{event.date:%A}, {event.time}" if dated else event.place),
                    day if dated else event.time,
                    Glyph("calendar" if dated else "clock"),
                    on_tap=partial(ctx.push, "event", {"event": event.id}),
                    on_long=partial(ctx.open, "actions", {"event": event.id}),
                )
            )
        return rows

    @staticmethod
    def _month(ctx: Calendar) -> date:
        """The first of the month that the page shows."""
        shown = ctx.page.args.get("month")
        return (date.fromisoformat(shown) if shown else ctx.device.time.date()).replace(day=1)

    @staticmethod
    def _shift(first: date, months: int) -> date:
        """The first of the month that is `months` later."""
        count = first.year * 12 + first.month - 1 + months
        return date(count // 12, count % 12 + 1, 1)

    # ---- moving about
    def _turn(self, ctx: Calendar, months: int) -> None:
        ctx.page.args["month"] = self._shift(self._month(ctx), months).isoformat()
        ctx.page.scroll = None

    @staticmethod
    def _today(ctx: Calendar) -> None:
        ctx.page.args.pop("month", None)
        ctx.page.scroll = None

    @staticmethod
    def _search(ctx: Calendar) -> None:
        ctx.push("search")
        ctx.focus("query")

    @staticmethod
    def _next_day(ctx: Calendar, way: str) -> None:
        day = date.fromisoformat(ctx.page.args["day"]) + timedelta(days=1 if way == "left" else -1)
        ctx.page.args["day"] = day.isoformat()

    @staticmethod
    def _pick_time(ctx: Calendar) -> None:
        hour, minute = ctx.value("time").split(":")
        ctx.push("pick_time", fields={"hour": hour, "minute": minute})

    @staticmethod
    def _picked(ctx: Calendar, name: str, value: str) -> None:
        """Back to the editor with what was picked."""
        ctx.pop()
        ctx.set_value(name, value)

    # ---- changes
    @staticmethod
    def _new(ctx: Calendar, day: str) -> None:
        ctx.push("edit", fields={"day": day, **NEW})

    @staticmethod
    def _fields(event: Event) -> dict[str, str]:
        return {"title": event.title, "place": event.place, "day": event.day, "time": event.time, "alert": event.alert}

    def _edit(self, ctx: Calendar, id: str) -> None:
        ctx.push("edit", {"event": id}, self._fields(ctx.data.get(id)))

    def _copy(self, ctx: Calendar, id: str) -> None:
        """A new event that starts with the same words, date and time."""
        ctx.push("edit", fields=self._fields(ctx.data.get(id)))

    @staticmethod
    def _save(ctx: Calendar) -> None:
        """An event needs a title."""
        title, place = ctx.value("title").strip(), ctx.value("place").strip()
        day, time, alert = ctx.value("day"), ctx.value("time"), ctx.value("alert")
        if not title:
            ctx.toast("Title missing")
            return
        data, id = ctx.data, ctx.page.args.get("event")
        ctx.pop()
        if id is None:
            data.events.append(Event(ctx.new_id("e"), title, day, time, place, alert))
        else:
            event = data.get(id)
            event.title, event.day, event.time, event.place, event.alert = title, day, time, place, alert
        ctx.toast("Event saved")

    @staticmethod
    def _delete(ctx: Calendar, id: str) -> None:
        ctx.data.events.remove(ctx.data.get(id))
        ctx.forget("event", id)
        ctx.toast("Event deleted")
