"""Contacts: people can be found, read, called, starred, written, changed and deleted by touch, on both displays."""

from __future__ import annotations

import copy

import pytest

from emulator.pocket.app import Ctx
from emulator.pocket.apps.contacts import Contact, ContactsData, dial, name_of, tidy_number
from emulator.pocket.phone import Phone
from emulator.pocket.themes import Display
from sopbench.actions import Open, SystemButton, Type, Wait
from tests.unit.pocket.checks import wander
from tests.unit.pocket.driving import has, hold, node, swipe, tap

DISPLAYS: tuple[Display, ...] = ("regular", "large")


@pytest.fixture(params=DISPLAYS)
def phone(request: pytest.FixtureRequest) -> Phone:
    phone = Phone(request.param, seed=11)
    phone.act(Open("contacts"))
    return phone


def data(phone: Phone) -> ContactsData:
    found = phone.state.apps["contacts"]
    assert isinstance(found, ContactsData)
    return found


def find(phone: Phone, id: str) -> None:
    while not has(phone, id):
        assert swipe(phone, 0, -0.3).done, f"no {id} on this page"


def write(phone: Phone, id: str, text: str) -> None:
    """Replace a field's text and close the keyboard."""
    tap(phone, id)
    if has(phone, f"{id}.clear"):
        tap(phone, f"{id}.clear")
    phone.act(Type(text))
    phone.act(SystemButton("Back"))


def rows(phone: Phone) -> list[str]:
    return [item.text for item in phone.ui() if item.role == "row"]


def some(phone: Phone, place: int = 2) -> Contact:
    """The contact at this place of the list."""
    return data(phone).shown()[place]


@pytest.mark.parametrize("seed", range(6))
def test_a_new_phone_knows_people_and_calls(seed: int) -> None:
    found = data(Phone(seed=seed))
    assert len({contact.phone for contact in found.contacts}) == len(found.contacts) == 14
    assert sum(contact.starred for contact in found.contacts) == 3
    assert len(found.calls) == 6
    assert all(found.owner(call.number) for call in found.calls)
    assert all((call.seconds == 0) == (call.kind == "missed") for call in found.calls)


def test_everybody_is_listed_by_name(phone: Phone) -> None:
    names = rows(phone)
    while swipe(phone, 0, -0.3).done:
        names += [name for name in rows(phone) if name not in names]
    assert names == sorted(contact.name for contact in data(phone).contacts)


def test_looking_around_changes_nothing_that_is_stored(phone: Phone) -> None:
    before = copy.deepcopy(phone.state.stored())
    for tab in ("starred", "recent", "all"):
        tap(phone, f"tab.{tab}")
    tap(phone, f"contact.{some(phone).id}")
    tap(phone, "page.more")
    tap(phone, "menu.edit")
    write(phone, "name", "Somebody else")
    tap(phone, "page.back")
    assert phone.foreground == ("contacts", "contact")
    assert phone.state.stored() == before


def test_a_contact_shows_its_facts(phone: Phone) -> None:
    contact = some(phone)
    tap(phone, f"contact.{contact.id}")
    texts = {item.text for item in phone.ui()}
    assert {contact.name, contact.phone, contact.email, contact.group} <= texts


def test_the_tabs_show_the_starred_and_the_calls(phone: Phone) -> None:
    swipe(phone, -0.4, 0)
    assert rows(phone) == [contact.name for contact in data(phone).shown(starred=True)]
    swipe(phone, -0.4, 0)
    assert rows(phone) == [name_of(phone.state, call.number) for call in data(phone).calls]


@pytest.mark.parametrize("query", ["name", "number"])
def test_search_looks_at_names_and_numbers(phone: Phone, query: str) -> None:
    contact = some(phone, 9)
    tap(phone, "search")
    phone.act(Type(contact.name.lower() if query == "name" else contact.phone))
    assert rows(phone) == [contact.name]
    phone.act(Type("zzz"))
    assert node(phone, "empty").text == "Nobody found"


def test_a_contact_is_added(phone: Phone) -> None:
    count = len(data(phone).contacts)
    tap(phone, "new")
    write(phone, "name", "Aaron Quill")
    write(phone, "phone", "5550155")
    write(phone, "email", "aaron@mail.test")
    tap(phone, "group.Work")
    tap(phone, "save")
    new = data(phone).contacts[-1]
    assert (new.name, new.phone, new.email, new.group) == ("Aaron Quill", "555-0155", "aaron@mail.test", "Work")
    assert len(data(phone).contacts) == count + 1
    assert rows(phone)[0] == "Aaron Quill"


@pytest.mark.parametrize(("name", "number", "toast"), [("", "555", "Name missing"), ("Aaron", "", "Number missing")])
def test_a_contact_needs_a_name_and_a_number(phone: Phone, name: str, number: str, toast: str) -> None:
    before = copy.deepcopy(data(phone))
    tap(phone, "new")
    for id, text in (("name", name), ("phone", number)):
        tap(phone, id)
        phone.act(Type(text))
        phone.act(SystemButton("Back"))
    tap(phone, "save")
    assert node(phone, "toast").text == toast
    assert phone.foreground == ("contacts", "edit")
    assert data(phone) == before


@pytest.mark.parametrize("way", ["menu", "hold"])
def test_a_contact_is_changed(phone: Phone, way: str) -> None:
    contact = some(phone)
    if way == "menu":
        tap(phone, f"contact.{contact.id}")
        tap(phone, "page.more")
        tap(phone, "menu.edit")
    else:
        hold(phone, f"contact.{contact.id}")
        tap(phone, "sheet.edit")
    assert node(phone, "name").text == contact.name
    write(phone, "phone", "555-0001")
    group = next(name for name in ("Family", "Work") if name != contact.group)
    tap(phone, f"group.{group}")
    tap(phone, "save")
    assert (contact.phone, contact.group) == ("555-0001", group)


@pytest.mark.parametrize("way", ["menu", "hold"])
def test_a_contact_is_deleted_after_a_question(phone: Phone, way: str) -> None:
    contact = some(phone)
    for button in ("delete.cancel", "delete.ok"):
        if way == "hold":
            hold(phone, f"contact.{contact.id}")
            tap(phone, "sheet.delete")
        else:
            if phone.foreground[1] == "main":
                tap(phone, f"contact.{contact.id}")
            tap(phone, "page.more")
            tap(phone, "menu.delete")
        assert contact in data(phone).contacts
        tap(phone, button)
    assert contact not in data(phone).contacts
    assert phone.foreground == ("contacts", "main")


def test_a_deleted_contact_leaves_no_page_behind(phone: Phone) -> None:
    """The contact's page may lie further down the stack, under a conversation that led back to it."""
    contact = some(phone)
    tap(phone, f"contact.{contact.id}")
    tap(phone, "message")
    tap(phone, "page.more")
    tap(phone, "menu.contact")
    assert len(phone.state.nav.stacks["contacts"]) == 3
    tap(phone, "page.more")
    tap(phone, "menu.delete")
    tap(phone, "delete.ok")
    assert phone.foreground == ("contacts", "main")


def test_stars_come_and_go(phone: Phone) -> None:
    contact = next(contact for contact in data(phone).shown() if not contact.starred)
    hold(phone, f"contact.{contact.id}")
    tap(phone, "sheet.star")
    assert contact.starred
    tap(phone, f"contact.{contact.id}")
    assert node(phone, "star").checked
    tap(phone, "star")
    assert not contact.starred


def test_a_call_lasts_until_it_is_ended(phone: Phone) -> None:
    contact = some(phone)
    tap(phone, f"contact.{contact.id}")
    tap(phone, "call")
    phone.act(Wait(65))
    assert node(phone, "duration").text == "01:05"
    tap(phone, "end")
    phone.act(Wait(65))
    call = data(phone).calls[0]
    assert (call.number, call.kind, call.seconds) == (contact.phone, "out", 65)
    assert phone.foreground == ("contacts", "contact")


def test_a_bar_leads_back_to_the_call_that_goes_on(phone: Phone) -> None:
    hold(phone, f"contact.{some(phone).id}")
    tap(phone, "sheet.call")
    tap(phone, "page.back")
    assert node(phone, "live").text == some(phone).name
    tap(phone, "live")
    assert phone.foreground == ("contacts", "call")
    tap(phone, "page.back")
    tap(phone, "live.end")
    assert data(phone).live == ""
    assert not has(phone, "live")


def test_calling_again_while_talking_is_no_second_call(phone: Phone) -> None:
    ctx = Ctx[ContactsData](phone.state, "contacts")
    for _ in range(2):
        dial(ctx, some(phone).phone)
    assert len(data(phone).calls) == 7
    dial(ctx, some(phone, 3).phone)
    assert len(data(phone).calls) == 8


def test_an_entry_of_the_calls_asks_what_to_do(phone: Phone) -> None:
    tap(phone, "tab.recent")
    call = data(phone).calls[1]
    tap(phone, f"call.{call.id}")
    tap(phone, "sheet.contact")
    assert phone.foreground == ("contacts", "contact")
    tap(phone, "page.back")
    tap(phone, f"call.{call.id}")
    tap(phone, "sheet.remove")
    assert call not in data(phone).calls


def test_message_leads_to_the_conversation(phone: Phone) -> None:
    contact = some(phone)
    tap(phone, f"contact.{contact.id}")
    tap(phone, "message")
    assert phone.foreground == ("messages", "thread")
    assert node(phone, "page.title").text == contact.name


@pytest.mark.parametrize(
    ("typed", "kept"),
    [("5550123", "555-0123"), ("555-0123", "555-0123"), (" 555 0123 ", "555-0123"), ("112", "112"), ("x5550123", "x5550123")],
)  # fmt: skip
def test_numbers_are_written_alike(typed: str, kept: str) -> None:
    assert tidy_number(typed) == kept


def test_empty_lists_say_so(phone: Phone) -> None:
    data(phone).contacts.clear()
    data(phone).calls.clear()
    for tab, text in (("starred", "Nobody is starred"), ("recent", "No calls yet"), ("all", "No contacts yet")):
        tap(phone, f"tab.{tab}")
        assert node(phone, "empty").text == text


def test_wandering_breaks_nothing(phone: Phone) -> None:
    seen = wander(phone, "contacts", seed=5, steps=250)
    assert len({page for app, page, _ in seen if app == "contacts"}) >= 4
