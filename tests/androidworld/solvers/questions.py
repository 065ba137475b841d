"""Tasks that ask something: the apps' databases are read through adb, and the answer is said.

Android_world's phone is in UTC and its week begins on Monday, October 9 2023; next week on the 16th.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Final

from tests.androidworld.solvers.rows import EVENTS
from tests.androidworld.solvers.work import DAY, NotDone, Solver, Work, day_of, literal, time_of

TASKS: Final = "/data/data/org.tasks/databases/database"
TRACKS: Final = "/data/data/de.dennisguse.opentracks/databases/database.db"
JOPLIN: Final = "/data/data/net.cozic.joplin/databases/joplin.sqlite"
THIS_WEEK: Final = day_of("October 9 2023")
NEXT_WEEK: Final = day_of("October 16 2023")


def _events(work: Work, where: str, limit: int = 100) -> list[str]:
    found = work.sql(EVENTS.database, f"SELECT title FROM events WHERE {where} ORDER BY start_ts LIMIT {limit}")
    return [title for (title,) in found]


def _say(work: Work, words: list[str]) -> None:
    if not words:
        raise NotDone("the phone has nothing that answers this")
    work.answer(", ".join(words))


def _within(column: str, begin: int, end: int, unit: int = 1) -> str:
    """From one time up to another, exclusive."""
    return f"{column} >= {begin * unit} AND {column} < {end * unit}"


def _on(work: Work, column: str, unit: int = 1) -> str:
    day = day_of(work.params["date"])
    return _within(column, day, day + DAY, unit)


# ---- the calendar
def events_on_date(work: Work) -> None:
    _say(work, _events(work, _on(work, "start_ts")))


def event_at_time(work: Work) -> None:
    begin = day_of(work.params["date"]) + time_of(work.params["time"])
    _say(work, _events(work, f"start_ts = {begin}"))


def first_after(work: Work) -> None:
    begin = day_of(work.params["date"]) + time_of(work.params["time"])
    _say(work, _events(work, f"start_ts >= {begin}", 1))


def events_in_range(work: Work) -> None:
    day = day_of(work.params["date"])
    begin, end = day + time_of(work.params["start_time"]), day + time_of("8pm")
    _say(work, _events(work, f"start_ts >= {begin} AND start_ts <= {end}"))


def events_next_week(work: Work) -> None:
    _say(work, _events(work, _within("start_ts", NEXT_WEEK, NEXT_WEEK + 7 * DAY)))


def next_event(work: Work) -> None:
    _say(work, _events(work, f"start_ts > {work.now}", 1))


def location(work: Work) -> None:
    title = literal(work.params["title"])
    _say(work, [place for (place,) in work.sql(EVENTS.database, f"SELECT location FROM events WHERE title = {title}")])


def next_with_person(work: Work) -> None:
    person = literal(f"%{work.params['person']}%")
    found = work.sql(
        EVENTS.database, f"SELECT min(start_ts) FROM events WHERE title LIKE {person} AND start_ts > {work.now}"
    )
    _say(work, [f"{datetime.fromtimestamp(int(found[0][0]), UTC):%B %d %Y %H:%M}"])


# ---- tasks
def _tasks(work: Work, where: str) -> list[str]:
    return [title for (title,) in work.sql(TASKS, f"SELECT title FROM tasks WHERE {where} ORDER BY dueDate")]


def due_on_date(work: Work) -> None:
    _say(work, _tasks(work, _on(work, "dueDate", 1000)))


def high_priority(work: Work) -> None:
    """The app's highest of four is 0."""
    _say(work, _tasks(work, "importance = 0"))


def high_priority_on_date(work: Work) -> None:
    _say(work, _tasks(work, f"importance = 0 AND {_on(work, 'dueDate', 1000)}"))


def due_next_week(work: Work) -> None:
    _say(work, [str(len(_tasks(work, _within("dueDate", NEXT_WEEK, NEXT_WEEK + 7 * DAY, 1000))))])


def completed_for_date(work: Work) -> None:
    _say(work, _tasks(work, f"completed > 0 AND {_on(work, 'dueDate', 1000)}"))


def incomplete_by_date(work: Work) -> None:
    end = (day_of(work.params["date"]) + DAY) * 1000
    _say(work, _tasks(work, f"completed = 0 AND dueDate > 0 AND dueDate < {end}"))


# ---- sports
def _tracks(work: Work, column: str, where: str) -> list[str]:
    return [value for (value,) in work.sql(TRACKS, f"SELECT {column} FROM tracks WHERE {where} ORDER BY starttime")]


def _of_category(work: Work) -> str:
    return f"category = {literal(work.params['category'])}"


def _this_week(work: Work) -> str:
    return f"{_of_category(work)} AND {_within('starttime', THIS_WEEK, NEXT_WEEK, 1000)}"


def activities_on_date(work: Work) -> None:
    _say(work, _tracks(work, "category", _on(work, "starttime", 1000)))


def activities_this_week(work: Work) -> None:
    _say(work, _tracks(work, "count(*)", _this_week(work)))


def activity_duration(work: Work) -> None:
    _say(work, _tracks(work, "totaltime / 60000", f"{_of_category(work)} AND {_on(work, 'starttime', 1000)}"))


def longest_distance(work: Work) -> None:
    _say(work, _tracks(work, "CAST(round(max(totaldistance)) AS INTEGER)", _this_week(work)))


def total_distance(work: Work) -> None:
    begin, end = day_of(work.params["start_date"]), day_of(work.params["end_date"]) + DAY
    where = f"{_of_category(work)} AND {_within('starttime', begin, end, 1000)}"
    _say(work, _tracks(work, "CAST(round(sum(totaldistance)) AS INTEGER)", where))


def total_duration(work: Work) -> None:
    _say(work, _tracks(work, "sum(totaltime) / 60000", _this_week(work)))


# ---- notes
def _note(work: Work, column: str) -> str:
    """The device's sqlite3 prints a line break of a note as one: lines are joined again."""
    found = work.sql(JOPLIN, f"SELECT {column} FROM notes WHERE title = {literal(work.params['title'])}")
    return "\n".join(line for (line,) in found)


def is_todo(work: Work) -> None:
    _say(work, ["True" if _note(work, "is_todo") == "1" else "False"])


def todo_count(work: Work) -> None:
    folder = f"(SELECT id FROM folders WHERE title = {literal(work.params['folder'])})"
    _say(work, [work.sql(JOPLIN, f"SELECT count(*) FROM notes WHERE is_todo = 1 AND parent_id = {folder}")[0][0]])


def ingredient(work: Work) -> None:
    """`- 3/4 cup spirulina`"""
    wanted = work.params["ingredient"]
    for line in _note(work, "body").splitlines():
        found = re.fullmatch(rf"-\s*(\S+ \S+)\s+(?:of )?{re.escape(wanted)}\b.*", line.strip())
        if found:
            _say(work, [found[1]])
            return
    raise NotDone(f"the recipe has no line about {wanted!r}")


def attendees(work: Work) -> None:
    """`Attendees: 25`, whatever words are around the number."""
    body = _note(work, "body")
    found = re.search(r"(?i)(\d+)\s+(?:people|attendees|participants|individuals)|attend\w*\D{0,20}(\d+)", body)
    if found is None:
        raise NotDone(f"the note names no number of attendees: {body[:200]!r}")
    _say(work, [found[1] or found[2]])


QUESTIONS: Final[dict[str, Solver]] = {
    "NotesIsTodo": is_todo,
    "NotesMeetingAttendeeCount": attendees,
    "NotesRecipeIngredientCount": ingredient,
    "NotesTodoItemCount": todo_count,
    "SimpleCalendarAnyEventsOnDate": events_on_date,
    "SimpleCalendarEventOnDateAtTime": event_at_time,
    "SimpleCalendarEventsInNextWeek": events_next_week,
    "SimpleCalendarEventsInTimeRange": events_in_range,
    "SimpleCalendarEventsOnDate": events_on_date,
    "SimpleCalendarFirstEventAfterStartTime": first_after,
    "SimpleCalendarLocationOfEvent": location,
    "SimpleCalendarNextEvent": next_event,
    "SimpleCalendarNextMeetingWithPerson": next_with_person,
    "SportsTrackerActivitiesCountForWeek": activities_this_week,
    "SportsTrackerActivitiesOnDate": activities_on_date,
    "SportsTrackerActivityDuration": activity_duration,
    "SportsTrackerLongestDistanceActivity": longest_distance,
    "SportsTrackerTotalDistanceForCategoryOverInterval": total_distance,
    "SportsTrackerTotalDurationForCategoryThisWeek": total_duration,
    "TasksCompletedTasksForDate": completed_for_date,
    "TasksDueNextWeek": due_next_week,
    "TasksDueOnDate": due_on_date,
    "TasksHighPriorityTasks": high_priority,
    "TasksHighPriorityTasksDueOnDate": high_priority_on_date,
    "TasksIncompleteTasksOnDate": incomplete_by_date,
}
