"""Messages: conversations are read, written, found, pinned, muted, marked, forwarded and deleted by touch, on both displays."""

from __future__ import annotations

import copy

import pytest

from emulator.pocket.apps.contacts import name_of
from emulator.pocket.apps.messages import Message, MessagesData, Thread
from emulator.pocket.phone import Phone
from emulator.pocket.themes import Display
from sopbench.actions import Open, SystemButton, Type
from tests.unit.pocket.checks import wander
from tests.unit.pocket.driving import has, hold, node, swipe, tap

DISPLAYS: tuple[Display, ...] = ("regular", "large")


@pytest.fixture(params=DISPLAYS)
def phone(request: pytest.FixtureRequest) -> Phone:
    phone = Phone(request.param, seed=11)
    phone.act(Open("messages"))
    return phone


def data(phone: Phone) -> MessagesData:
    found = phone.state.apps["messages"]
    assert isinstance(found, MessagesData)
    return found


def rows(phone: Phone) -> list[str]:
    return [item.text for item in phone.ui() if item.role == "row"]


def bubbles(phone: Phone) -> list[str]:
    return [item.text for item in phone.ui() if item.role == "bubble"]


def with_person(phone: Phone) -> Thread:
    """The latest conversation with somebody who has a number."""
    return next(thread for thread in data(phone).threads if thread.address.startswith("555"))


@pytest.mark.parametrize("seed", range(6))
def test_a_new_phone_has_conversations(seed: int) -> None:
    found = Phone(seed=seed).state.apps["messages"]
    assert len({thread.address for thread in found.threads}) == len(found.threads) == 9
    assert all(thread.messages for thread in found.threads)
    assert sum(thread.unread for thread in found.threads) == 2
    ids = [message.id for thread in found.threads for message in thread.messages]
    assert len(ids) == len(set(ids))


def test_the_list_names_whom_each_conversation_is_with(phone: Phone) -> None:
    names = rows(phone)
    while swipe(phone, 0, -0.3).done:
        names += [name for name in rows(phone) if name not in names]
    assert names == [name_of(phone.state, thread.address) for thread in data(phone).threads]


def test_opening_a_conversation_marks_it_as_read(phone: Phone) -> None:
    thread = data(phone).threads[0]
    thread.unread = 2
    tap(phone, f"thread.{thread.address}")
    assert thread.unread == 0
    assert node(phone, "page.title").text == name_of(phone.state, thread.address)
    assert bubbles(phone)[-1] == thread.messages[-1].text


@pytest.mark.parametrize("way", ["button", "enter"])
def test_what_is_typed_is_sent_and_stands_last(phone: Phone, way: str) -> None:
    thread = data(phone).threads[3]
    count = len(thread.messages)
    tap(phone, f"thread.{thread.address}")
    tap(phone, "text")
    phone.act(Type("See you at noon"))
    if way == "button":
        tap(phone, "text.send")
    else:
        phone.act(SystemButton("Enter"))
    assert len(thread.messages) == count + 1
    sent = thread.messages[-1]
    assert (sent.text, sent.mine, sent.when, sent.time) == ("See you at noon", True, "Today", "09:41")
    assert bubbles(phone)[-1] == "See you at noon"
    assert not has(phone, "key.a")
    assert data(phone).threads[0] is thread
    assert phone.state.nav.stacks["messages"][-1].fields["text"] == ""


def test_an_empty_message_is_not_sent(phone: Phone) -> None:
    thread = data(phone).threads[0]
    tap(phone, f"thread.{thread.address}")
    before = copy.deepcopy(data(phone))
    tap(phone, "text")
    phone.act(Type("   "))
    tap(phone, "text.send")
    assert data(phone) == before


def test_a_long_conversation_starts_at_its_end(phone: Phone) -> None:
    thread = with_person(phone)
    thread.messages += [Message(f"x{i}", f"Line {i}", i % 2 == 0, "Today", "09:00") for i in range(30)]
    tap(phone, f"thread.{thread.address}")
    assert "Line 29" in bubbles(phone)
    while not has(phone, f"message.{thread.messages[0].id}"):
        assert swipe(phone, 0, 0.3).done
    tap(phone, "text")
    phone.act(Type("Last"))
    tap(phone, "text.send")
    assert bubbles(phone)[-1] == "Last"


def test_a_new_chat_with_a_contact_begins_with_the_first_message(phone: Phone) -> None:
    known = {thread.address for thread in data(phone).threads}
    person = next(p for p in phone.state.apps["contacts"].shown() if p.phone not in known)
    tap(phone, "new")
    tap(phone, "to")
    phone.act(Type(person.name[:6]))
    tap(phone, f"to.{person.id}")
    assert has(phone, "empty")
    assert data(phone).thread(person.phone) is None
    tap(phone, "text")
    phone.act(Type("Hello"))
    tap(phone, "text.send")
    assert [message.text for message in data(phone).threads[0].messages] == ["Hello"]
    assert data(phone).threads[0].address == person.phone
    tap(phone, "page.back")
    assert phone.foreground == ("messages", "main")


def test_a_new_chat_with_a_number_that_nobody_has(phone: Phone) -> None:
    tap(phone, "new")
    tap(phone, "to")
    phone.act(Type("5550000"))
    tap(phone, "to.number")
    assert node(phone, "page.title").text == "555-0000"
    tap(phone, "page.more")
    tap(phone, "menu.add")
    assert phone.foreground == ("contacts", "edit")
    assert node(phone, "phone").text == "555-0000"


def test_two_contacts_with_one_number_can_both_be_chosen(phone: Phone) -> None:
    one, two = phone.state.apps["contacts"].shown()[:2]
    two.phone = one.phone
    tap(phone, "new")
    assert has(phone, f"to.{one.id}")
    assert has(phone, f"to.{two.id}")


def test_search_looks_at_names_and_texts(phone: Phone) -> None:
    thread = with_person(phone)
    thread.messages[0].text = "The quince jam is ready"
    tap(phone, "search")
    phone.act(Type("QUINCE"))
    assert rows(phone) == [name_of(phone.state, thread.address)]
    tap(phone, "query.clear")
    phone.act(Type(name_of(phone.state, thread.address)))
    assert name_of(phone.state, thread.address) in rows(phone)
    phone.act(Type("zzz"))
    assert node(phone, "empty").text == "Nothing found"


def test_pinned_conversations_stand_first(phone: Phone) -> None:
    thread = data(phone).threads[4]
    hold(phone, f"thread.{thread.address}")
    tap(phone, "sheet.pin")
    assert thread.pinned
    assert rows(phone)[0] == name_of(phone.state, thread.address)
    hold(phone, f"thread.{thread.address}")
    tap(phone, "sheet.pin")
    assert not thread.pinned


def test_a_conversation_is_muted_from_the_list_and_from_its_menu(phone: Phone) -> None:
    thread = data(phone).threads[0]
    hold(phone, f"thread.{thread.address}")
    tap(phone, "sheet.mute")
    assert thread.muted
    tap(phone, f"thread.{thread.address}")
    phone.act(SystemButton("Menu"))
    assert node(phone, "menu.mute").text == "Unmute"
    tap(phone, "menu.mute")
    assert not thread.muted


def test_a_conversation_is_marked_as_unread_and_read(phone: Phone) -> None:
    thread = next(thread for thread in data(phone).threads[:6] if not thread.unread)
    for left in (1, 0):
        hold(phone, f"thread.{thread.address}")
        tap(phone, "sheet.unread")
        assert thread.unread == left


@pytest.mark.parametrize("way", ["menu", "hold"])
def test_a_conversation_is_deleted_after_a_question(phone: Phone, way: str) -> None:
    thread = data(phone).threads[1]
    for button in ("delete.cancel", "delete.ok"):
        if way == "hold":
            hold(phone, f"thread.{thread.address}")
            tap(phone, "sheet.delete")
        else:
            if phone.foreground[1] == "main":
                tap(phone, f"thread.{thread.address}")
            tap(phone, "page.more")
            tap(phone, "menu.delete")
        assert thread in data(phone).threads
        tap(phone, button)
    assert thread not in data(phone).threads
    assert phone.foreground == ("messages", "main")


def test_a_message_is_forwarded_as_a_draft(phone: Phone) -> None:
    thread = with_person(phone)
    message = thread.messages[-1]
    person = next(p for p in phone.state.apps["contacts"].shown() if p.phone != thread.address)
    tap(phone, f"thread.{thread.address}")
    hold(phone, f"message.{message.id}")
    tap(phone, "sheet.forward")
    before = copy.deepcopy(phone.state.stored())
    tap(phone, f"to.{person.id}")
    assert node(phone, "text").text == message.text
    data(phone).threads[0].unread = before["apps"]["messages"]["threads"][0]["unread"]
    tap(phone, "text.send")
    first = data(phone).threads[0]
    assert (first.address, first.messages[-1].text, first.messages[-1].mine) == (person.phone, message.text, True)


def test_one_message_is_deleted_after_a_question(phone: Phone) -> None:
    thread = with_person(phone)
    message = thread.messages[-1]
    count = len(thread.messages)
    tap(phone, f"thread.{thread.address}")
    for button in ("remove.cancel", "remove.ok"):
        hold(phone, f"message.{message.id}")
        tap(phone, "sheet.remove")
        assert len(thread.messages) == count
        tap(phone, button)
    assert message not in thread.messages
    assert len(thread.messages) == count - 1


def test_a_conversation_goes_with_its_last_message(phone: Phone) -> None:
    thread = with_person(phone)
    del thread.messages[1:]
    tap(phone, f"thread.{thread.address}")
    hold(phone, f"message.{thread.messages[0].id}")
    tap(phone, "sheet.remove")
    tap(phone, "remove.ok")
    assert thread not in data(phone).threads
    assert has(phone, "empty")
    tap(phone, "page.back")
    assert f"thread.{thread.address}" not in [item.id for item in phone.ui()]


def test_a_renamed_contact_renames_the_conversation(phone: Phone) -> None:
    thread = with_person(phone)
    phone.state.apps["contacts"].owner(thread.address).name = "Captain"
    assert node(phone, f"thread.{thread.address}").text == "Captain"


def test_the_menu_calls_the_person(phone: Phone) -> None:
    thread = with_person(phone)
    tap(phone, f"thread.{thread.address}")
    tap(phone, "page.more")
    tap(phone, "menu.call")
    assert phone.foreground == ("contacts", "call")
    assert phone.state.apps["contacts"].calls[0].number == thread.address


def test_a_service_cannot_be_called(phone: Phone) -> None:
    thread = next(thread for thread in data(phone).threads if not thread.address.startswith("555"))
    while not has(phone, f"thread.{thread.address}"):
        swipe(phone, 0, -0.3)
    tap(phone, f"thread.{thread.address}")
    tap(phone, "page.more")
    assert not has(phone, "menu.call")


def test_wandering_breaks_nothing(phone: Phone) -> None:
    seen = wander(phone, "messages", seed=3, steps=300)
    assert len({page for app, page, _ in seen if app == "messages"}) >= 4
