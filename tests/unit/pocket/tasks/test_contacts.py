"""Contacts' tasks: what is nearly right is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from emulator.pocket.tasks import PocketSession, start
from emulator.pocket.tasks.contacts import contacts, person
from sopbench.actions import Wait
from tests.unit.pocket.driving import tap
from tests.unit.pocket.tasks.near import both, misled


def other_name(session: PocketSession, *, starred: bool) -> str:
    """Somebody else, starred or not."""
    people = contacts(session.before).contacts
    return next(c.name for c in people if c.starred == starred and c.name not in session.params.values())


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("contacts.add", {"number": "555-0300"}),
        ("contacts.add", {"name": "Nora Bergh"}),
        ("contacts.add_to_group", {"group": "Friend"}),
        ("contacts.new_number", {"number": "555-0300"}),
        ("contacts.new_name", {"new": "Nora"}),
        ("contacts.call", {"seconds": 11}),
        ("contacts.call_back", {"seconds": 9}),
    ],
)
def test_a_wrong_value_is_no_solution(name: str, wrong: dict[str, Any]) -> None:
    for session in both(name, 3):
        assert misled(session, **wrong) == 0


@pytest.mark.parametrize(
    ("name", "starred"),
    [("contacts.star", False), ("contacts.unstar", True), ("contacts.delete", False), ("contacts.call", False)],
)
def test_the_same_for_somebody_else_is_no_solution(name: str, starred: bool) -> None:
    for session in both(name, 2):
        assert misled(session, name=other_name(session, starred=starred)) == 0


def test_another_entry_of_the_calls_is_no_solution() -> None:
    for session in both("contacts.remove_call", 4):
        calls = contacts(session.before).calls
        owners = [contacts(session.before).owner(call.number) for call in calls]
        other = next(owner.name for owner in owners if owner and owner.name != session.params["name"])
        assert misled(session, name=other) == 0


def test_starring_one_person_too_many_is_no_solution() -> None:
    session = start("contacts.star", 6)
    session.solve()
    assert session.score() == 1
    person(session.phone.state, other_name(session, starred=False)).starred = True
    assert session.score() == 0


def test_a_call_that_goes_on_is_not_ended() -> None:
    session = start("contacts.call", 1)
    while not contacts(session.phone.state).live:
        move = session.move()
        assert move is not None
        session.phone.act(move.action)
    session.phone.act(Wait(session.params["seconds"]))
    assert contacts(session.phone.state).calls[0].seconds == session.params["seconds"]
    assert session.score() == 0
    tap(session.phone, "end")
    assert session.score() == 1


def test_swapping_half_of_the_stars_is_no_solution() -> None:
    for session in both("contacts.swap_stars", 3):
        while not person(session.phone.state, session.params["star"]).starred:
            move = session.move()
            assert move is not None
            session.phone.act(move.action)
        assert session.score() == 0


@pytest.mark.parametrize(("fact", "kept"), [("phone number", "phone"), ("email address", "email"), ("group", "group")])
def test_answers_are_compared_without_case_and_hyphens(fact: str, kept: str) -> None:
    session = next(s for s in (start("contacts.ask", seed) for seed in range(40)) if s.params["fact"] == fact)
    answer = str(getattr(person(session.before, session.params["name"]), kept))
    for said, score in ((answer.upper(), 1), (answer.replace("-", ""), 1), (f"{answer}9", 0), ("", 0)):
        session.phone.state.answers = [said]
        assert session.score() == score, said
