"""Tasks in Clock. Time passes only by `wait`, so the seconds that a timer or stopwatch shows are part of what must be reached."""

from __future__ import annotations

import random
from typing import ClassVar

from emulator.pocket.apps.clock import CITIES, LABELS, PRESETS, REPEATS, Alarm, ClockApp, ClockData, Stopwatch, Timer
from emulator.pocket.state import PhoneState
from emulator.pocket.tasks.base import Params, Plan, Template, answered
from emulator.pocket.tasks.expert import Expert, Hold, Hop, hop
from emulator.pocket.tasks.matching import ANY, said

ALARMS, TIMER, STOPWATCH, WORLD = (hop(page, page) for page in ("alarms", "timer", "stopwatch", "world"))
NEW_LABELS = (
    "Choir",
    "Ferry",
    "Laundry",
    "Oven",
    "Pills",
    "Plants",
    "Post",
    "Rowing",
    "Soup",
    "Stretch",
    "Tea",
    "Train",
)
"""What no alarm is called from the beginning."""
WAITS = (5, 6, 8, 10, 12, 15, 18, 20, 24, 25, 30, 35, 40, 45, 50, 55)
"""Seconds to wait."""


def clock(state: PhoneState) -> ClockData:
    data: ClockData = state.apps["clock"]
    return data


def alarm(state: PhoneState, time: str) -> Alarm:
    """The alarm at HH:MM. Raises `LookupError` if there is none."""
    for candidate in clock(state).alarms:
        if candidate.time == time:
            return candidate
    raise LookupError(f"no alarm at {time}")


def free_time(rng: random.Random, state: PhoneState) -> str:
    """A time at which there is no alarm; not the one that new alarms start with."""
    taken = {alarm.time for alarm in clock(state).alarms} | {"07:00"}
    times = [f"{hour:02d}:{minute:02d}" for hour in range(24) for minute in range(0, 60, 5)]
    return rng.choice([time for time in times if time not in taken])


def edit(state: PhoneState, time: str) -> Hop:
    """From the list of alarms to the editor of one."""
    id = alarm(state, time).id
    return hop("alarm", f"alarm.{id}", alarm=id)


def set_alarm(x: Expert, time: str, repeat: str = "", label: str = "") -> Plan:
    """In the editor: choose what is given, from the top to the bottom of the page, and save."""
    hour, minute = time.split(":")
    if x.fields.get("hour") != hour:
        yield from x.tap(f"hour.{hour}")
    if x.fields.get("minute") != minute:
        yield from x.tap(f"minute.{minute}")
    if repeat and x.fields.get("repeat") != repeat:
        yield from x.tap(f"repeat.{repeat}")
    if label:
        yield from x.type("label", label)
    yield from x.tap("save")


class InClock(Template):
    apps: ClassVar[tuple[str, ...]] = ("clock",)


# ---- alarms
class AddAlarm(InClock):
    name = "clock.add_alarm"
    goals = (
        "Set an alarm for {time}{in_app}",
        "Add a new alarm at {time}{in_app}",
        "Create an alarm{in_app} that rings at {time}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"time": free_time(rng, state)}

    def want(self, state: PhoneState, p: Params) -> None:
        clock(state).alarms.append(Alarm(ANY, p["time"]))

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from x.go("clock", ALARMS, hop("alarm", "new"))
        yield from set_alarm(x, p["time"])


class AddRepeated(InClock):
    name = "clock.add_repeated"
    goals = (
        "Set an alarm{in_app} for {time}, repeated {repeat}, with the label “{label}”",
        "Add an alarm at {time}{in_app} that rings {repeat} and is called “{label}”",
        "Create the alarm “{label}”{in_app}: at {time}, {repeat}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"time": free_time(rng, state), "repeat": rng.choice(REPEATS[1:]), "label": rng.choice(NEW_LABELS)}

    def words(self, p: Params) -> Params:
        spoken = {"Every day": "every day", "Weekdays": "on weekdays", "Weekends": "on weekends"}
        return p | {"repeat": spoken[p["repeat"]]}

    def want(self, state: PhoneState, p: Params) -> None:
        clock(state).alarms.append(Alarm(ANY, p["time"], said(p["label"]), p["repeat"]))

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from x.go("clock", ALARMS, hop("alarm", "new"))
        yield from set_alarm(x, p["time"], p["repeat"], p["label"])


class OfAnAlarm(InClock):
    """Base of tasks about one alarm, named by its time (all times differ)."""

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"time": rng.choice([alarm.time for alarm in clock(state).alarms])}


class Switch(OfAnAlarm):
    name = "clock.switch_alarm"
    goals = (
        "Turn {to} the alarm at {time}{in_app}",
        "Switch the alarm at {time}{in_app} {to}",
        "The alarm at {time}{in_app} should be {to}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return super().parameters(rng, state) | {"on": rng.random() < 0.5}

    def words(self, p: Params) -> Params:
        return p | {"to": "on" if p["on"] else "off"}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        alarm(state, p["time"]).on = not p["on"]

    def want(self, state: PhoneState, p: Params) -> None:
        alarm(state, p["time"]).on = p["on"]

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from x.go("clock", ALARMS)
        yield from x.tap(f"alarm.{alarm(x.state, p['time']).id}.on")


class MoveAlarm(OfAnAlarm):
    name = "clock.move_alarm"
    goals = (
        "Change the alarm at {time}{in_app} to {new}",
        "Move the alarm of {time}{in_app} to {new}",
        "The alarm that rings at {time}{in_app} should ring at {new} instead",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return super().parameters(rng, state) | {"new": free_time(rng, state)}

    def want(self, state: PhoneState, p: Params) -> None:
        found = alarm(state, p["time"])
        found.time, found.on = p["new"], True

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from x.go("clock", ALARMS, edit(x.state, p["time"]))
        yield from set_alarm(x, p["new"])


class DeleteAlarm(OfAnAlarm):
    name = "clock.delete_alarm"
    goals = (
        "Delete the alarm at {time}{in_app}",
        "Press and hold the alarm at {time}{in_app} and delete it",
        "Remove the alarm of {time}{in_app} for good",
    )

    def want(self, state: PhoneState, p: Params) -> None:
        clock(state).alarms.remove(alarm(state, p["time"]))

    def plan(self, x: Expert, p: Params) -> Plan:
        id = alarm(x.state, p["time"]).id
        yield from x.go("clock", ALARMS)
        yield from x.tap(Hold(f"alarm.{id}"), "sheet.delete", "delete.ok", about={"alarm": id})


class Label(OfAnAlarm):
    name = "clock.label_alarm"
    goals = (
        "Give the alarm at {time}{in_app} the label “{label}”",
        "Change the label of the alarm at {time}{in_app} to “{label}”",
        "The alarm at {time}{in_app} should be called “{label}”",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return super().parameters(rng, state) | {"label": rng.choice(NEW_LABELS)}

    def want(self, state: PhoneState, p: Params) -> None:
        found = alarm(state, p["time"])
        found.label, found.on = said(p["label"]), True

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from x.go("clock", ALARMS, edit(x.state, p["time"]))
        yield from set_alarm(x, p["time"], label=p["label"])


class AskAlarm(InClock):
    """A question; labels differ, and so do times."""

    name = "clock.ask_alarm"
    goals = (
        "At what time is the alarm “{label}” set? Look{in_app} and answer with the time",
        "Look up the alarm called “{label}”{in_app} and answer with its time",
        "Tell me for what time the alarm “{label}”{in_app} is set",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"label": rng.choice(LABELS)}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        alarms = clock(state).alarms
        if all(alarm.label != p["label"] for alarm in alarms):
            rng.choice(alarms).label = p["label"]

    @staticmethod
    def _alarm(state: PhoneState, p: Params) -> Alarm:
        for found in clock(state).alarms:
            if found.label == p["label"]:
                return found
        raise LookupError(f"no alarm {p['label']!r}")

    def check(self, before: PhoneState, state: PhoneState, p: Params) -> float:
        time = self._alarm(before, p).time
        return float(answered(before, state, time, time.removeprefix("0")))

    def plan(self, x: Expert, p: Params) -> Plan:
        found = self._alarm(x.state, p)
        if not x.saw(f"alarm.{found.id}.subtitle"):
            yield from x.go("clock", ALARMS)
            yield from x.show(f"alarm.{found.id}.subtitle")
        yield x.answer(found.time)


class SwapAlarms(InClock):
    name = "clock.swap_alarms"
    heldout = True
    goals = (
        "Turn the alarm at {on} on and the alarm at {off} off{in_app}",
        "Switch two alarms{in_app}: {on} on, {off} off",
        "The alarm at {on}{in_app} should ring, the one at {off} should not: set both switches",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        on, off = rng.sample([alarm.time for alarm in clock(state).alarms], 2)
        return {"on": on, "off": off}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        alarm(state, p["on"]).on = False
        alarm(state, p["off"]).on = True

    def want(self, state: PhoneState, p: Params) -> None:
        alarm(state, p["on"]).on = True
        alarm(state, p["off"]).on = False

    def plan(self, x: Expert, p: Params) -> Plan:
        todo = alarm(x.state, p["off"] if alarm(x.state, p["on"]).on else p["on"])
        yield from x.go("clock", ALARMS)
        yield from x.tap(f"alarm.{todo.id}.on")


# ---- timer
class StartTimer(InClock):
    name = "clock.start_timer"
    goals = (
        "Start a timer of {length}{in_app}",
        "Set the timer{in_app} to {length} and start it",
        "Let the timer run{in_app}, set to {length}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"minutes": rng.choice(PRESETS) + rng.choice((0, 0, 1, 2)), "seconds": rng.choice((0, 0, 10, 20, 30))}

    def words(self, p: Params) -> Params:
        minutes = f"{p['minutes']} minute{'s' * (p['minutes'] > 1)}"
        return {"length": f"{minutes} and {p['seconds']} seconds" if p["seconds"] else minutes}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        clock(state).timer.set(60 * rng.choice([minutes for minutes in PRESETS if minutes != p["minutes"]]))

    def want(self, state: PhoneState, p: Params) -> None:
        total = 60 * p["minutes"] + p["seconds"]
        clock(state).timer = Timer(total, 1000 * total, "running")

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from x.go("clock", TIMER)
        yield from set_timer(x, p["minutes"], p["seconds"])


def set_timer(x: Expert, minutes: int, seconds: int = 0) -> Plan:
    """On the timer's page: the nearest preset if that is nearer than what is set, then steps, then start."""
    timer = clock(x.state).timer
    if timer.state != "ready":
        yield from x.tap("reset")
    now = timer.total // 60
    nearest = min(PRESETS, key=lambda preset: (abs(preset - minutes), preset))
    if abs(now - minutes) > abs(nearest - minutes):
        yield from x.tap(f"preset.{nearest}")
    if now != minutes:
        yield from x.tap("minutes.plus" if now < minutes else "minutes.minus")
    if timer.total % 60 != seconds:
        yield from x.tap("seconds.plus" if timer.total % 60 < seconds else "seconds.minus")
    yield from x.tap("start")


class PauseTimer(InClock):
    name = "clock.pause_timer"
    goals = (
        "Start a timer of {minutes} min{in_app}, wait {seconds} seconds and pause it",
        "Set the timer{in_app} to {minutes} min, let it run for {seconds} seconds, then pause it",
        "Let a timer of {minutes} min run for {seconds} seconds{in_app} and pause it then",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"minutes": rng.choice(PRESETS), "seconds": rng.choice(WAITS)}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        clock(state).timer.set(60 * rng.choice([minutes for minutes in PRESETS if minutes != p["minutes"]]))

    def want(self, state: PhoneState, p: Params) -> None:
        total = 60 * p["minutes"]
        clock(state).timer = Timer(total, 1000 * (total - p["seconds"]), "paused")

    def plan(self, x: Expert, p: Params) -> Plan:
        timer, total = clock(x.state).timer, 60 * p["minutes"]
        yield from x.go("clock", TIMER)
        passed = total - timer.left // 1000
        if timer.total != total or timer.state not in ("running", "paused") or passed > p["seconds"]:
            yield from set_timer(x, p["minutes"])
        elif timer.state == "paused":
            yield from x.tap("resume")
        if passed < p["seconds"]:
            yield x.wait(p["seconds"] - passed)
        yield from x.tap("pause")


class ResetTimer(InClock):
    name = "clock.reset_timer"
    goals = (
        "A timer of {minutes} minutes is running{in_app}: pause it and then reset it",
        "Pause the timer of {minutes} minutes{in_app}, then reset it to its full time",
        "Stop the running timer{in_app}: pause first, then reset it to {minutes} minutes",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"minutes": rng.randrange(2, 61)}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        total = 60 * p["minutes"]
        clock(state).timer = Timer(total, 1000 * (total - rng.randrange(5, 100)), "running")

    def want(self, state: PhoneState, p: Params) -> None:
        clock(state).timer.set(60 * p["minutes"])

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from x.go("clock", TIMER)
        yield from x.tap("pause" if clock(x.state).timer.state == "running" else "reset")


# ---- stopwatch
class RunStopwatch(InClock):
    name = "clock.run_stopwatch"
    goals = (
        "Start the stopwatch{in_app}, wait {seconds} seconds and stop it",
        "Let the stopwatch run for {seconds} seconds{in_app}, then stop it",
        "Measure {seconds} seconds with the stopwatch{in_app} and stop it",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"seconds": rng.choice(WAITS)}

    def want(self, state: PhoneState, p: Params) -> None:
        clock(state).stopwatch = Stopwatch(1000 * p["seconds"])

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from x.go("clock", STOPWATCH)
        yield from run_to(x, p["seconds"])
        yield from x.tap("stop")


def run_to(x: Expert, seconds: int) -> Plan:
    """On the stopwatch's page: let it run until it shows so many seconds. One that shows more is set to zero."""
    watch = clock(x.state).stopwatch
    if watch.elapsed > 1000 * seconds:
        yield from x.tap("stop" if watch.running else "reset")
    if not watch.running and watch.elapsed < 1000 * seconds:
        yield from x.tap("start")
    if watch.elapsed < 1000 * seconds:
        yield x.wait(seconds - watch.elapsed / 1000)


class Lap(InClock):
    name = "clock.lap"
    heldout = True
    goals = (
        "Start the stopwatch{in_app}, take a lap after {first} seconds and stop it after {second} seconds more",
        "Run the stopwatch{in_app}: {first} seconds, a lap, another {second} seconds, then stop",
        "Measure one lap of {first} seconds with the stopwatch{in_app}, let it go on for {second} seconds and stop it",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"first": rng.choice(WAITS), "second": rng.choice(WAITS)}

    def want(self, state: PhoneState, p: Params) -> None:
        first, second = 1000 * p["first"], 1000 * p["second"]
        clock(state).stopwatch = Stopwatch(first + second, laps=[first])

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from x.go("clock", STOPWATCH)
        watch, first = clock(x.state).stopwatch, 1000 * p["first"]
        if watch.laps not in ([], [first]) or (not watch.laps and watch.elapsed > first):
            yield from x.tap("stop" if watch.running else "reset")
        if not watch.laps:
            yield from run_to(x, p["first"])
            yield from x.tap("lap" if watch.running else "start")
        yield from run_to(x, p["first"] + p["second"])
        yield from x.tap("stop")


# ---- other cities
class AddCity(InClock):
    name = "clock.add_city"
    goals = (
        "Add {city} to the world time{in_app}",
        "Let the world time{in_app} show {city} as well",
        "Put {city} on the list of cities under world time{in_app}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"city": rng.choice([city for city in sorted(CITIES) if city not in clock(state).cities])}

    def want(self, state: PhoneState, p: Params) -> None:
        clock(state).cities.append(p["city"])

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from x.go("clock", WORLD, hop("cities", "new"))
        yield from x.tap(f"choose.{p['city']}")


class RemoveCity(InClock):
    name = "clock.remove_city"
    goals = (
        "Remove {city} from the world time{in_app}",
        "Press and hold {city} under world time{in_app} and remove it",
        "The world time{in_app} need not show {city} any more: remove it",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"city": rng.choice(clock(state).cities)}

    def want(self, state: PhoneState, p: Params) -> None:
        clock(state).cities.remove(p["city"])

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from x.go("clock", WORLD)
        yield from x.tap(Hold(f"city.{p['city']}"), "sheet.remove", about={"city": p["city"]})


class AskCity(InClock):
    """The hour of the day differs from phone to phone."""

    name = "clock.ask_city"
    goals = (
        "What time is it in {city}? Look at the world time{in_app} and answer",
        "Look up the time in {city}{in_app} and answer with it",
        "Answer with the time that the world time{in_app} shows for {city}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"city": rng.choice(clock(state).cities)}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        day = state.device.now[:10]
        state.device.now = f"{day}T{rng.randrange(24):02d}:{rng.randrange(60):02d}"

    @staticmethod
    def _time(state: PhoneState, p: Params) -> str:
        return ClockApp.time_in(state.device.time, p["city"])

    def check(self, before: PhoneState, state: PhoneState, p: Params) -> float:
        time = self._time(before, p)
        return float(answered(before, state, time, time.removeprefix("0")))

    def plan(self, x: Expert, p: Params) -> Plan:
        if not x.saw(f"city.{p['city']}.value"):
            yield from x.go("clock", WORLD)
            yield from x.show(f"city.{p['city']}.value")
        yield x.answer(self._time(x.state, p))


TEMPLATES: tuple[type[Template], ...] = (
    AddAlarm,
    AddRepeated,
    Switch,
    MoveAlarm,
    DeleteAlarm,
    Label,
    AskAlarm,
    SwapAlarms,
    StartTimer,
    PauseTimer,
    ResetTimer,
    RunStopwatch,
    Lap,
    AddCity,
    RemoveCity,
    AskCity,
)
