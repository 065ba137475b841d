"""Calendar's tasks: what is nearly right is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from emulator.pocket.tasks import PocketSession, start
from emulator.pocket.tasks.calendar import calendar, event
from sopbench.actions import Answer, Open, SystemButton
from tests.unit.pocket.driving import swipe, tap
from tests.unit.pocket.tasks.near import both, misled


def other_event(session: PocketSession) -> dict[str, str]:
    """Title and day of an event that the goal does not speak of."""
    found = next(e for e in calendar(session.before).events if e.title != session.params["title"])
    return {"title": found.title, "day": found.day}


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("calendar.add", {"day": "2025-06-01"}),
        ("calendar.add", {"time": "07:35"}),
        ("calendar.add", {"title": "Pick nick"}),
        ("calendar.add_today", {"place": "Elsewhere"}),
        ("calendar.add_with_all", {"alert": "None"}),
        ("calendar.add_with_all", {"day": "2025-06-01"}),
        ("calendar.move", {"new_day": "2025-06-01"}),
        ("calendar.copy", {"new_day": "2025-06-01"}),
        ("calendar.new_time", {"time": "07:35"}),
        ("calendar.new_place", {"place": "Elsewhere"}),
    ],
)
def test_a_wrong_value_is_no_solution(name: str, wrong: dict[str, Any]) -> None:
    for session in both(name, 3):
        assert misled(session, **wrong) == 0


@pytest.mark.parametrize("name", ["delete", "move", "copy", "new_place"])
def test_the_same_for_another_event_is_no_solution(name: str) -> None:
    for session in both(f"calendar.{name}", 2):
        assert misled(session, **other_event(session)) == 0


@pytest.mark.parametrize("name", ["find_delete", "new_time"])
def test_the_same_for_another_event_that_is_searched_for_is_no_solution(name: str) -> None:
    for session in both(f"calendar.{name}", 2):
        assert misled(session, title=other_event(session)["title"]) == 0


def test_moving_is_not_copying_and_copying_not_moving() -> None:
    for name, twice in (("calendar.move", True), ("calendar.copy", False)):
        session = start(name, 4)
        session.solve()
        found = event(session.phone.state, session.params["title"], session.params["new_day"])
        events = calendar(session.phone.state).events
        if twice:
            events.append(event(session.before, session.params["title"]))
        else:
            events.remove(event(session.phone.state, session.params["title"], session.params["day"]))
        assert found in events
        assert session.score() == 0


def test_any_time_will_do_where_the_goal_names_none() -> None:
    session = start("calendar.add_today", 1)
    session.solve()
    calendar(session.phone.state).events[-1].time = "23:55"
    assert session.score() == 1
    calendar(session.phone.state).events[-1].alert = "1 day"
    assert session.score() == 0


def test_a_day_is_shown_only_while_it_is_in_front() -> None:
    for session in both("calendar.show", 3):
        session.solve()
        assert session.score() == 1
        session.phone.state.finished = None
        swipe(session.phone, 0.4, 0)
        assert session.score() == 0
        swipe(session.phone, -0.4, 0)
        assert session.score() == 1
        session.phone.act(SystemButton("Back"))
        assert session.score() == 0


@pytest.mark.parametrize("name", ["calendar.ask", "calendar.ask_day"])
def test_an_answer_must_be_right_and_nothing_changed(name: str) -> None:
    session = start(name, 2)
    session.phone.act(Answer("Nothing at all"))
    assert session.score() == 0
    session.solve()
    assert session.score() == 1
    calendar(session.phone.state).events.pop()
    assert session.score() == 0


def test_a_time_may_be_told_without_its_zero() -> None:
    asked = "at what time does it begin?"
    sessions = (start("calendar.ask", seed) for seed in range(80))
    session = next(
        s for s in sessions if s.params["question"] == asked and event(s.before, s.params["title"]).time.startswith("0")
    )
    session.phone.act(Answer(event(session.before, session.params["title"]).time[1:]))
    assert session.score() == 1


def test_one_of_two_events_is_not_both() -> None:
    for session in both("calendar.clear_day", 1):
        count = len(calendar(session.before).events)
        while len(calendar(session.phone.state).events) == count:
            move = session.move()
            assert move is not None
            session.phone.act(move.action)
        assert session.score() == 0
        session.solve()
        assert len(calendar(session.phone.state).events) == count - 2


def test_the_expert_leaves_the_picker_of_another_event() -> None:
    """Led into the wrong editor's picker of dates it goes back, and never saves there."""
    session = start("calendar.move", 2)
    other = next(e for e in calendar(session.before).events if e.title != session.params["title"])
    session.phone.act(Open("calendar"))
    tap(session.phone, "search")
    session.phone.state.nav.stacks["calendar"][-1].fields["query"] = other.title
    tap(session.phone, f"event.{other.id}")
    for id in ("edit", "day"):
        tap(session.phone, id)
    session.solve()
    assert session.score() == 1
