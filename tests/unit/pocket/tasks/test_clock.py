"""Clock's tasks: what is nearly right is wrong, seconds included."""

from __future__ import annotations

from typing import Any

import pytest

from emulator.pocket.tasks import PocketSession, start
from emulator.pocket.tasks.clock import alarm, clock
from sopbench.actions import Answer, Wait
from tests.unit.pocket.tasks.near import both, misled


def other_time(session: PocketSession) -> str:
    """The time of an alarm that the goal does not speak of."""
    return next(a.time for a in clock(session.before).alarms if a.time not in session.params.values())


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("clock.add_alarm", {"time": "03:35"}),
        ("clock.add_repeated", {"repeat": "Once"}),
        ("clock.add_repeated", {"label": "Teas"}),
        ("clock.move_alarm", {"new": "07:00"}),
        ("clock.label_alarm", {"label": "Teas"}),
        ("clock.start_timer", {"seconds": 40}),
        ("clock.start_timer", {"minutes": 7}),
        ("clock.pause_timer", {"seconds": 7}),
        ("clock.run_stopwatch", {"seconds": 7}),
        ("clock.lap", {"first": 7}),
        ("clock.lap", {"second": 7}),
    ],
)
def test_a_wrong_value_is_no_solution(name: str, wrong: dict[str, Any]) -> None:
    for session in both(name, 3):
        assert misled(session, **wrong) == 0


@pytest.mark.parametrize("name", ["move_alarm", "delete_alarm", "label_alarm"])
def test_the_same_for_another_alarm_is_no_solution(name: str) -> None:
    for session in both(f"clock.{name}", 2):
        assert misled(session, time=other_time(session)) == 0


def test_switching_one_alarm_too_many_is_no_solution() -> None:
    for session in both("clock.switch_alarm", 2):
        session.solve()
        assert session.score() == 1
        other = alarm(session.phone.state, other_time(session))
        other.on = not other.on
        assert session.score() == 0


def test_one_switch_of_two_is_no_solution() -> None:
    for session in both("clock.swap_alarms", 2):
        while not alarm(session.phone.state, session.params["on"]).on:
            move = session.move()
            assert move is not None
            session.phone.act(move.action)
        assert session.score() == 0


@pytest.mark.parametrize("name", ["clock.start_timer", "clock.pause_timer"])
def test_a_timer_shows_the_right_second_only(name: str) -> None:
    session = start(name, 5)
    session.solve()
    assert session.score() == 1
    clock(session.phone.state).timer.state = "running"
    session.phone.state.finished = None
    session.phone.act(Wait(1))
    assert session.score() == 0


def test_an_expert_that_waited_too_long_begins_again() -> None:
    for name in ("clock.pause_timer", "clock.run_stopwatch", "clock.lap"):
        session = start(name, 4)
        while (move := session.move()) is not None and not isinstance(move.action, Wait):
            session.phone.act(move.action)
        session.phone.act(Wait(58))
        session.solve()
        assert session.score() == 1


def test_a_timer_that_is_only_paused_is_not_reset() -> None:
    session = start("clock.reset_timer", 4)
    while clock(session.phone.state).timer.state == "running":
        move = session.move()
        assert move is not None
        session.phone.act(move.action)
    assert session.score() == 0


@pytest.mark.parametrize("name", ["clock.add_city", "clock.remove_city"])
def test_another_city_is_no_solution(name: str) -> None:
    for session in both(name, 2):
        cities = clock(session.before).cities
        pool = cities if name == "clock.remove_city" else [c for c in ("Cairo", "Berlin", "Oslo", "Denver", "Dubai", "Tokyo") if c not in cities]  # fmt: skip
        assert misled(session, city=next(city for city in pool if city != session.params["city"])) == 0


@pytest.mark.parametrize("name", ["clock.ask_alarm", "clock.ask_city"])
def test_an_answer_must_be_the_right_time(name: str) -> None:
    session = start(name, 3)
    session.phone.act(Answer("25:00"))
    assert session.score() == 0
    session.solve()
    assert session.score() == 1
    session.phone.state.answers = [f"{session.phone.state.answers[-1]}0"]
    assert session.score() == 0
