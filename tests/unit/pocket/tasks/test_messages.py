"""Messages' tasks: what is nearly right is wrong, and reading is no change."""

from __future__ import annotations

from typing import Any

import pytest

from emulator.pocket.apps.contacts import name_of
from emulator.pocket.tasks import PocketSession, start
from emulator.pocket.tasks.contacts import contacts
from emulator.pocket.tasks.messages import chat, messages
from sopbench.actions import Open, SystemButton, Type
from tests.unit.pocket.driving import tap
from tests.unit.pocket.tasks.near import both, misled


def other_chat(session: PocketSession) -> str:
    """The name of a conversation that the goal does not speak of."""
    names = [name_of(session.before, thread.address) for thread in messages(session.before).threads]
    return next(name for name in names if name not in session.params.values())


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("messages.reply", {"text": "See you at eight"}),
        ("messages.new_chat", {"text": "See you at eight"}),
        ("messages.to_number", {"number": "555-0300"}),
        ("messages.to_number", {"text": "Hello"}),
        ("messages.search_reply", {"text": "Hello"}),
        ("messages.save_sender", {"name": "Nora Bergh"}),
    ],
)
def test_a_wrong_value_is_no_solution(name: str, wrong: dict[str, Any]) -> None:
    for session in both(name, 3):
        assert misled(session, **wrong) == 0


@pytest.mark.parametrize("name", ["reply", "pin", "mute", "delete"])
def test_the_same_with_another_chat_is_no_solution(name: str) -> None:
    for session in both(f"messages.{name}", 2):
        assert misled(session, name=other_chat(session)) == 0


@pytest.mark.parametrize("name", ["delete_message", "forward"])
def test_another_message_of_the_same_chat_is_no_solution(name: str) -> None:
    for session in both(f"messages.{name}", 4):
        texts = [message.text for message in chat(session.before, session.params["name"]).messages]
        assert misled(session, text=next(text for text in texts if text != session.params["text"])) == 0


def test_forwarding_to_somebody_else_is_no_solution() -> None:
    session = start("messages.forward", 5)
    people = [contact.name for contact in contacts(session.before).contacts]
    assert misled(session, to=next(name for name in people if name not in session.params.values())) == 0


def test_reading_other_chats_on_the_way_is_no_harm() -> None:
    session = start("messages.reply", 1)
    session.phone.act(Open("messages"))
    for thread in messages(session.phone.state).threads[:3]:
        thread.unread = 1
        tap(session.phone, f"thread.{thread.address}")
        session.phone.act(SystemButton("Back"))
    session.solve()
    assert session.score() == 1


def test_writing_one_message_too_many_is_no_solution() -> None:
    session = start("messages.reply", 1)
    session.solve()
    assert session.score() == 1
    session.phone.state.finished = None
    tap(session.phone, "text")
    session.phone.act(Type("And bye"))
    tap(session.phone, "text.send")
    assert session.score() == 0


def test_a_draft_is_not_sent() -> None:
    session = start("messages.reply", 1)
    while (move := session.move()) is not None and not isinstance(move.action, Type):
        session.phone.act(move.action)
    session.phone.act(Type(session.params["text"]))
    assert session.score() == 0


def test_capitals_and_spaces_of_what_was_typed_do_not_matter() -> None:
    session = start("messages.reply", 1)
    session.solve()
    sent = messages(session.phone.state).threads[0].messages[-1]
    sent.text = f"{sent.text.upper()} "
    assert session.score() == 1
    sent.text = f"{sent.text}!"
    assert session.score() == 0


def test_marking_as_unread_is_undone_by_opening() -> None:
    session = start("messages.mark_unread", 2)
    session.solve()
    session.phone.state.finished = None
    tap(session.phone, f"thread.{chat(session.before, session.params['name']).address}")
    assert session.score() == 0


@pytest.mark.parametrize(("name", "first"), [("pin_and_mute", "pin"), ("delete_two", "one")])
def test_half_of_it_is_no_solution(name: str, first: str) -> None:
    for session in both(f"messages.{name}", 3):
        thread = chat(session.before, session.params[first])
        changed = False
        while not changed:
            move = session.move()
            assert move is not None
            session.phone.act(move.action)
            now = messages(session.phone.state).thread(thread.address)
            changed = now is None or now.pinned
        assert session.score() == 0
