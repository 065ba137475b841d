"""Clock: alarms, a timer, a stopwatch and the time in other cities. Time passes only while somebody waits."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Literal

from emulator.pocket.app import App, Ctx
from emulator.pocket.widgets import (
    Block,
    Button,
    Buttons,
    Choice,
    Dialog,
    Empty,
    Fab,
    Glyph,
    Group,
    Hero,
    IconButton,
    MenuItem,
    Options,
    Overlay,
    Page,
    Progress,
    Row,
    Sheet,
    Stepper,
    Switch,
    SwitchRow,
)
from emulator.pocket.world import World

REPEATS = ("Once", "Every day", "Weekdays", "Weekends")
LABELS = ("Wake up", "Work", "Medicine", "Gym", "School run", "Bread", "Nap", "Call home", "Bins out", "Bus")
CITIES = {
    "Honolulu": -10, "Vancouver": -7, "Denver": -6, "Chicago": -5, "New York": -4, "Santiago": -3, "Reykjavik": 0, "London": 0,
    "Lisbon": 0, "Berlin": 1, "Oslo": 1, "Cairo": 2, "Helsinki": 2, "Nairobi": 3, "Dubai": 4, "Tashkent": 5, "Dhaka": 6,
    "Bangkok": 7, "Singapore": 8, "Tokyo": 9, "Sydney": 11, "Auckland": 13,
}  # fmt: skip
"""Hours ahead of Greenwich in the middle of March 2025; the phone itself is in London."""
PRESETS = (1, 3, 5, 10, 15, 30)
"""Minutes that a timer is set to with one touch."""
MAX_TIMER = 99 * 60 + 59


@dataclass(slots=True)
class Alarm:
    """`time` is HH:MM."""

    id: str
    time: str
    label: str = ""
    repeat: str = "Once"
    on: bool = True
    vibrate: bool = True


@dataclass(slots=True)
class Timer:
    """`total` seconds were set, `left` milliseconds remain."""

    total: int = 300
    left: int = 300_000
    state: Literal["ready", "running", "paused", "done"] = "ready"

    def set(self, seconds: int) -> None:
        self.total = min(max(seconds, 0), MAX_TIMER)
        self.left = self.total * 1000
        self.state = "ready"


@dataclass(slots=True)
class Stopwatch:
    """Milliseconds so far, and those at each lap."""

    elapsed: int = 0
    running: bool = False
    laps: list[int] = field(default_factory=list)


@dataclass(slots=True)
class ClockData:
    """Alarms in no order, cities in the order in which they were added."""

    alarms: list[Alarm] = field(default_factory=list)
    timer: Timer = field(default_factory=Timer)
    stopwatch: Stopwatch = field(default_factory=Stopwatch)
    cities: list[str] = field(default_factory=list)

    def get(self, id: str) -> Alarm:
        """The alarm with this id. Raises `StopIteration` if there is none."""
        return next(alarm for alarm in self.alarms if alarm.id == id)

    def ordered(self) -> list[Alarm]:
        """The alarms by time."""
        return sorted(self.alarms, key=lambda alarm: (alarm.time, alarm.id))


Clock = Ctx[ClockData]


def digits(milliseconds: int) -> str:
    """Minutes and seconds of a timer, which counts what has begun: 04:59."""
    seconds = -(-milliseconds // 1000)
    return f"{seconds // 60:02d}:{seconds % 60:02d}"


def tenths(milliseconds: int) -> str:
    """Minutes, seconds and tenths of a stopwatch: 01:05.3."""
    return f"{milliseconds // 60_000:02d}:{milliseconds // 1000 % 60:02d}.{milliseconds // 100 % 10}"


class ClockApp(App[ClockData]):
    """A first page that leads to four others."""

    name = "clock"
    title = "Clock"
    icon = "clock"
    accent = "#5B4FB5"
    aliases = ("alarm", "alarms", "timer", "stopwatch")

    def fresh(self, rng: random.Random, world: World) -> ClockData:
        times = rng.sample([f"{hour:02d}:{minute:02d}" for hour in range(5, 23) for minute in range(0, 60, 5)], 5)
        alarms = [
            Alarm(f"a{i}", time, label, rng.choice(REPEATS), rng.random() < 0.5)
            for i, (time, label) in enumerate(zip(times, rng.sample(LABELS, 5), strict=True))
        ]
        timer = Timer()
        timer.set(60 * rng.choice(PRESETS))
        return ClockData(alarms, timer, Stopwatch(), rng.sample(sorted(CITIES), 4))

    def tick(self, ctx: Clock, seconds: float) -> None:
        timer, watch, passed = ctx.data.timer, ctx.data.stopwatch, round(max(seconds, 0.0) * 1000)
        if watch.running:
            watch.elapsed += passed
        if timer.state == "running":
            timer.left = max(0, timer.left - passed)
            if timer.left == 0:
                timer.state = "done"
                ctx.toast("Time is up")

    # ---- pages
    def page_main(self, ctx: Clock) -> Page:
        data, now = ctx.data, ctx.device.time
        on = sum(alarm.on for alarm in data.alarms)
        timer = {"ready": "Ready", "done": "Done"}.get(data.timer.state, digits(data.timer.left))
        watch = digits(data.stopwatch.elapsed // 1000 * 1000) if data.stopwatch.elapsed else "Ready"
        return Page(
            "Clock",
            [
                Hero(f"{now:%H:%M}", f"{now:%A} {now.day} {now:%B}", "now"),
                Group([
                    Row("alarms", "Alarms", value=f"{on} on" if on else "Off", leading=Glyph("alarm"), chevron=True, on_tap=partial(ctx.push, "alarms")),
                    Row("timer", "Timer", value=timer, leading=Glyph("timer", "#C7702B"), chevron=True, on_tap=partial(ctx.push, "timer")),
                    Row("stopwatch", "Stopwatch", value=watch, leading=Glyph("stopwatch", "#2A93A8"), chevron=True, on_tap=partial(ctx.push, "stopwatch")),
                    Row("world", "World time", leading=Glyph("globe", "#2E9E6B"), chevron=True, on_tap=partial(ctx.push, "world")),
                ]),
            ],
        )  # fmt: skip

    def page_alarms(self, ctx: Clock) -> Page:
        rows = [
            Row(
                f"alarm.{alarm.id}",
                alarm.time,
                alarm.label,
                alarm.repeat,
                trailing=Switch(f"alarm.{alarm.id}.on", alarm.on, partial(self._flip, ctx, alarm.id), alarm.time),
                on_tap=partial(self._edit, ctx, alarm.id),
                on_long=partial(ctx.open, "actions", {"alarm": alarm.id}),
                strong=alarm.on,
                tall=True,
            )
            for alarm in ctx.data.ordered()
        ]
        nothing = Empty("alarm", "No alarms", "Add one to be woken or reminded.")
        return Page("Alarms", [Group(rows) if rows else nothing], fab=Fab("new", "New alarm", partial(self._new, ctx)))

    def page_alarm(self, ctx: Clock) -> Page:
        """A new alarm, or the one in the page's `alarm` argument."""
        hour, minute = ctx.value("hour"), ctx.value("minute")
        hours = {f"{h:02d}": f"{h:02d}" for h in range(24)}
        minutes = {f"{m:02d}": f"{m:02d}" for m in range(0, 60, 5)}
        vibrate = ctx.value("vibrate") == "yes"
        id = ctx.page.args.get("alarm")
        menu = (
            []
            if id is None
            else [MenuItem("menu.delete", "Delete", partial(ctx.open, "delete", {"alarm": id}), "trash", danger=True)]
        )
        return Page(
            "New alarm" if id is None else "Edit alarm",
            [
                Hero(f"{hour}:{minute}", self._wait_until(ctx, hour, minute), "picked"),
                Options("hour", hours, frozenset({hour}), partial(ctx.set_value, "hour"), "Hour", 6),
                Options("minute", minutes, frozenset({minute}), partial(ctx.set_value, "minute"), "Minute", 6),
                Options("repeat", {name: name for name in REPEATS}, frozenset({ctx.value("repeat")}), partial(ctx.set_value, "repeat"), "Repeat", 2),
                ctx.field("label", "Label"),
                SwitchRow("vibrate", "Vibrate", vibrate, partial(ctx.set_value, "vibrate", "no" if vibrate else "yes")),
            ],
            actions=[IconButton("save", "check", "Save", partial(self._save, ctx))],
            menu=menu,
        )  # fmt: skip

    def page_timer(self, ctx: Clock) -> Page:
        timer = ctx.data.timer
        captions = {"ready": "Ready", "running": "Running", "paused": "Paused", "done": "Time is up"}
        hero = Hero(digits(timer.left), captions[timer.state], "left")
        if timer.state != "ready":
            gone = 100 - timer.left // 10 // max(timer.total, 1)
            action = {
                "running": Button("pause", "Pause", partial(self._timer, ctx, "paused"), icon="pause"),
                "paused": Button("resume", "Resume", partial(self._timer, ctx, "running"), icon="play"),
                "done": Button("again", "Again", partial(self._again, ctx), icon="repeat"),
            }[timer.state]
            reset = Button("reset", "Reset", partial(timer.set, timer.total), "tonal")
            progress = Progress(min(max(gone, 0), 100), "00:00", digits(timer.total * 1000))
            return Page("Timer", [hero, progress, Buttons([reset, action])])
        minutes, seconds = divmod(timer.total, 60)
        presets = {str(m): str(m) for m in PRESETS}
        chosen = frozenset({str(minutes)} if seconds == 0 else ())
        start = partial(self._timer, ctx, "running") if timer.total else None
        return Page(
            "Timer",
            [
                hero,
                Options("preset", presets, chosen, partial(self._preset, ctx), "Minutes", 6),
                Group([
                    Stepper("minutes", "Minutes", f"{minutes}", self._by(ctx, -60), self._by(ctx, 60)),
                    Stepper("seconds", "Seconds", f"{seconds}", self._by(ctx, -10), self._by(ctx, 10)),
                ]),
                Button("start", "Start", start, icon="play"),
            ],
        )  # fmt: skip

    def page_stopwatch(self, ctx: Clock) -> Page:
        watch = ctx.data.stopwatch
        blocks: list[Block] = [Hero(tenths(watch.elapsed), "Running" if watch.running else "", "elapsed")]
        if watch.running:
            lap = Button("lap", "Lap", partial(watch.laps.append, watch.elapsed), "tonal", "plus")
            blocks.append(Buttons([lap, Button("stop", "Stop", partial(self._run, ctx, on=False), icon="stop")]))
        else:
            start = Button("start", "Start", partial(self._run, ctx, on=True), icon="play")
            reset = Button("reset", "Reset", partial(self._zero, ctx), "tonal", "undo")
            blocks.append(Buttons([reset, start]) if watch.elapsed or watch.laps else start)
        laps = [
            Row(f"lap.{i}", f"Lap {i}", value=tenths(at), leading=Glyph("stopwatch"))
            for i, at in enumerate(watch.laps, 1)
        ]
        if laps:
            blocks.append(Group(laps[::-1], "Laps"))
        return Page("Stopwatch", blocks)

    def page_world(self, ctx: Clock) -> Page:
        rows = [
            Row(
                f"city.{city}",
                city,
                self._ahead(CITIES[city]),
                self.time_in(ctx.device.time, city),
                Glyph("globe"),
                on_long=partial(ctx.open, "city", {"city": city}),
            )
            for city in ctx.data.cities
        ]
        nothing = Empty("globe", "No cities", "Add one to see its time.")
        return Page(
            "World time", [Group(rows) if rows else nothing], fab=Fab("new", "Add city", partial(ctx.push, "cities"))
        )

    def page_cities(self, ctx: Clock) -> Page:
        """Touching a city adds or removes it."""
        rows = [
            Choice(f"choose.{city}", city, city in ctx.data.cities, partial(self._choose, ctx, city), "box", self.time_in(ctx.device.time, city))
            for city in sorted(CITIES)
        ]  # fmt: skip
        return Page("Add city", [Group(rows)])

    # ---- overlays
    def overlay_actions(self, ctx: Clock) -> Overlay:
        alarm = ctx.data.get(ctx.arg("alarm"))
        return Sheet(
            f"{alarm.time} {alarm.label}".strip(),
            [
                MenuItem("sheet.edit", "Edit", partial(self._edit, ctx, alarm.id), "edit"),
                MenuItem("sheet.delete", "Delete", partial(ctx.open, "delete", {"alarm": alarm.id}), "trash", danger=True),
            ],
        )  # fmt: skip

    def overlay_delete(self, ctx: Clock) -> Overlay:
        alarm = ctx.data.get(ctx.arg("alarm"))
        return Dialog(
            "Delete alarm?",
            f"The alarm at {alarm.time} will be gone.",
            buttons=[
                Button("delete.cancel", "Cancel", ctx.close, "tonal"),
                Button("delete.ok", "Delete", partial(self._delete, ctx, alarm.id), "danger"),
            ],
        )

    def overlay_city(self, ctx: Clock) -> Overlay:
        city = ctx.arg("city")
        return Sheet(city, [MenuItem("sheet.remove", "Remove", partial(self._choose, ctx, city), "trash", danger=True)])

    # ---- times
    @staticmethod
    def time_in(now: datetime, city: str) -> str:
        """HH:MM in a city when the phone's clock says `now`."""
        return f"{now + timedelta(hours=CITIES[city]):%H:%M}"

    @staticmethod
    def _ahead(hours: int) -> str:
        if hours == 0:
            return "Same time as here"
        return f"{abs(hours)} hour{'s' * (abs(hours) > 1)} {'ahead' if hours > 0 else 'behind'}"

    @staticmethod
    def _wait_until(ctx: Clock, hour: str, minute: str) -> str:
        """How long it is from now to a time of the day."""
        now = ctx.device.time
        ahead = (int(hour) * 60 + int(minute) - now.hour * 60 - now.minute) % (24 * 60)
        return f"In {ahead // 60} h {ahead % 60} min"

    # ---- changes: alarms
    @staticmethod
    def _new(ctx: Clock) -> None:
        ctx.push("alarm", fields={"hour": "07", "minute": "00", "repeat": "Once", "vibrate": "yes"})

    @staticmethod
    def _edit(ctx: Clock, id: str) -> None:
        alarm = ctx.data.get(id)
        hour, minute = alarm.time.split(":")
        vibrate = "yes" if alarm.vibrate else "no"
        fields = {"hour": hour, "minute": minute, "repeat": alarm.repeat, "label": alarm.label, "vibrate": vibrate}
        ctx.push("alarm", {"alarm": id}, fields)

    @staticmethod
    def _save(ctx: Clock) -> None:
        """What is saved is switched on, as on other phones."""
        time, label = f"{ctx.value('hour')}:{ctx.value('minute')}", ctx.value("label").strip()
        repeat, vibrate = ctx.value("repeat"), ctx.value("vibrate") == "yes"
        data, id = ctx.data, ctx.page.args.get("alarm")
        ctx.pop()
        if id is None:
            data.alarms.append(Alarm(ctx.new_id("a"), time, label, repeat, vibrate=vibrate))
        else:
            alarm = data.get(id)
            alarm.time, alarm.label, alarm.repeat, alarm.vibrate, alarm.on = time, label, repeat, vibrate, True
        ctx.toast(f"Alarm at {time}")

    @staticmethod
    def _flip(ctx: Clock, id: str) -> None:
        alarm = ctx.data.get(id)
        alarm.on = not alarm.on

    @staticmethod
    def _delete(ctx: Clock, id: str) -> None:
        ctx.data.alarms.remove(ctx.data.get(id))
        ctx.forget("alarm", id)
        ctx.toast("Alarm deleted")

    # ---- changes: timer and stopwatch
    @staticmethod
    def _preset(ctx: Clock, minutes: str) -> None:
        ctx.data.timer.set(60 * int(minutes))

    @staticmethod
    def _by(ctx: Clock, seconds: int) -> partial[None] | None:
        """A handler that changes the timer's length, None where it would leave its range."""
        wanted = ctx.data.timer.total + seconds
        return partial(ctx.data.timer.set, wanted) if 0 <= wanted <= MAX_TIMER else None

    @staticmethod
    def _timer(ctx: Clock, state: Literal["running", "paused"]) -> None:
        ctx.data.timer.state = state

    @staticmethod
    def _again(ctx: Clock) -> None:
        ctx.data.timer.set(ctx.data.timer.total)
        ctx.data.timer.state = "running"

    @staticmethod
    def _run(ctx: Clock, *, on: bool) -> None:
        ctx.data.stopwatch.running = on

    @staticmethod
    def _zero(ctx: Clock) -> None:
        ctx.data.stopwatch = Stopwatch()

    # ---- changes: cities
    @staticmethod
    def _choose(ctx: Clock, city: str) -> None:
        cities = ctx.data.cities
        if city in cities:
            cities.remove(city)
        else:
            cities.append(city)
        ctx.toast(f"{city} {'added' if city in cities else 'removed'}")
