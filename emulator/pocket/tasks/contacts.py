"""Tasks in Contacts."""

from __future__ import annotations

import random
from typing import ClassVar

from emulator.pocket.apps.contacts import GROUPS, Call, Contact, ContactsData
from emulator.pocket.state import PhoneState
from emulator.pocket.tasks.base import Params, Plan, Template, answered
from emulator.pocket.tasks.expert import Expert, Hold, Hop, hop
from emulator.pocket.tasks.matching import ANY, said
from emulator.pocket.world import FAMILY, GIVEN

RINGS = (10, 15, 20, 30, 45, 60)
"""Seconds that calls last."""


def contacts(state: PhoneState) -> ContactsData:
    data: ContactsData = state.apps["contacts"]
    return data


def person(state: PhoneState, name: str) -> Contact:
    """The contact with this name. Raises `LookupError` if there is none."""
    for contact in contacts(state).contacts:
        if contact.name == name:
            return contact
    raise LookupError(f"no contact {name!r}")


def to_person(state: PhoneState, name: str) -> Hop:
    id = person(state, name).id
    return hop("contact", f"contact.{id}", contact=id)


def new_number(rng: random.Random) -> str:
    """A number that nobody on any phone has (the people's are 555-01xx)."""
    return f"555-02{rng.randrange(100):02d}"


def new_name(rng: random.Random, state: PhoneState) -> str:
    """A name whose first name nobody on the phone has."""
    known = {contact.name.split(" ")[0] for contact in contacts(state).contacts}
    first = rng.choice([name for name in GIVEN if name not in known])
    return f"{first} {rng.choice([name for name in FAMILY if len(first) + len(name) <= 11])}"


class InContacts(Template):
    apps: ClassVar[tuple[str, ...]] = ("contacts",)


class OfAPerson(InContacts):
    """Base of tasks about somebody who is on the phone."""

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"name": rng.choice([contact.name for contact in contacts(state).contacts])}


class Add(InContacts):
    name = "contacts.add"
    goals = (
        "Add {name} with the number {number} as a new contact{in_app}",
        "Create a contact{in_app} for {name}, phone {number}",
        "Save the number {number}{in_app} under the name {name}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"name": new_name(rng, state), "number": new_number(rng)}

    def want(self, state: PhoneState, p: Params) -> None:
        contacts(state).contacts.append(Contact(ANY, said(p["name"]), p["number"]))

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from x.go("contacts", hop("edit", "new"))
        yield from x.type("name", p["name"])
        yield from x.type("phone", p["number"])
        yield from x.tap("save")


class AddToGroup(InContacts):
    name = "contacts.add_to_group"
    goals = (
        "Add a contact{in_app}: {name}, number {number}, group {group}",
        "Create the contact {name} with the number {number}{in_app} and put it into the group {group}",
        "Save {name} ({number}) as a new contact of the group {group}{in_app}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        groups = [group for group in GROUPS if group != "Friend"]
        return {"name": new_name(rng, state), "number": new_number(rng), "group": rng.choice(groups)}

    def want(self, state: PhoneState, p: Params) -> None:
        contacts(state).contacts.append(Contact(ANY, said(p["name"]), p["number"], group=p["group"]))

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from x.go("contacts", hop("edit", "new"))
        yield from x.type("name", p["name"])
        yield from x.type("phone", p["number"])
        chosen = x.nodes.get(f"group.{p['group']}")
        if chosen is None or not chosen.checked:
            yield from x.tap(f"group.{p['group']}")
        yield from x.tap("save")


class Star(OfAPerson):
    name = "contacts.star"
    goals = (
        "Press and hold {name}{in_app} and star this contact",
        "Star the contact {name}{in_app}",
        "Mark {name} with a star{in_app}",
    )

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        person(state, p["name"]).starred = False

    def want(self, state: PhoneState, p: Params) -> None:
        person(state, p["name"]).starred = True

    def plan(self, x: Expert, p: Params) -> Plan:
        id = person(x.state, p["name"]).id
        yield from x.go("contacts")
        yield from x.tap(Hold(f"contact.{id}"), "sheet.star", about={"contact": id})


class Unstar(OfAPerson):
    """Through the list of the starred, where the person is easy to find."""

    name = "contacts.unstar"
    goals = (
        "Go to the starred people{in_app}, open {name} and take the star away",
        "Find {name} among the starred ones{in_app} and unstar this person",
        "Open {name} from the starred list{in_app} and remove the star",
    )

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        person(state, p["name"]).starred = True

    def want(self, state: PhoneState, p: Params) -> None:
        person(state, p["name"]).starred = False

    def plan(self, x: Expert, p: Params) -> Plan:
        if not x.at("contacts", "contact", contact=person(x.state, p["name"]).id):
            yield from tab(x, "starred")
            yield from x.go("contacts", to_person(x.state, p["name"]))
        yield from x.tap("star")


def tab(x: Expert, key: str) -> Plan:
    """Have the first page in front, with this tab."""
    yield from x.go("contacts")
    if x.state.nav.stacks["contacts"][-1].args.get("tab", "all") != key:
        yield from x.tap(f"tab.{key}")


class Delete(OfAPerson):
    name = "contacts.delete"
    goals = (
        "Delete the contact {name}{in_app}",
        "Remove {name}{in_app} for good",
        "Open {name}{in_app} and delete this contact",
    )

    def want(self, state: PhoneState, p: Params) -> None:
        contacts(state).contacts.remove(person(state, p["name"]))

    def plan(self, x: Expert, p: Params) -> Plan:
        id = person(x.state, p["name"]).id
        yield from x.go("contacts", to_person(x.state, p["name"]))
        yield from x.tap("page.more", "menu.delete", "delete.ok", about={"contact": id})


class NewNumber(OfAPerson):
    name = "contacts.new_number"
    goals = (
        "Change the phone number of {name}{in_app} to {number}",
        "The new number of {name} is {number}: update the contact{in_app}",
        "Edit the contact {name}{in_app} so that its number is {number}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return super().parameters(rng, state) | {"number": new_number(rng)}

    def want(self, state: PhoneState, p: Params) -> None:
        person(state, p["name"]).phone = p["number"]

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from to_edit(x, p["name"])
        yield from x.type("phone", p["number"])
        yield from x.tap("save")


def to_edit(x: Expert, name: str) -> Plan:
    """Have the editor of a contact in front, by the menu of the contact's page."""
    id = person(x.state, name).id
    yield from x.go("contacts", to_person(x.state, name), hop("edit", "page.more", "menu.edit", contact=id))


class NewName(OfAPerson):
    name = "contacts.new_name"
    goals = (
        "Rename the contact {name}{in_app} to {new}",
        "{name} is now called {new}: change the name of the contact{in_app}",
        "Edit the contact {name}{in_app}: the name should be {new}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        name = super().parameters(rng, state)["name"]
        first, last = name.split(" ")
        others = [family for family in FAMILY if len(first) + len(family) <= 11 and family != last]
        return {"name": name, "new": f"{first} {rng.choice(others)}"}

    def want(self, state: PhoneState, p: Params) -> None:
        person(state, p["name"]).name = said(p["new"])

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from to_edit(x, p["name"])
        yield from x.type("name", p["new"])
        yield from x.tap("save")


class Regroup(OfAPerson):
    name = "contacts.regroup"
    goals = (
        "Move {name} to the group {group}{in_app}",
        "Press and hold {name}{in_app}, edit the contact and choose the group {group}",
        "Put the contact {name}{in_app} into the group {group}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return super().parameters(rng, state) | {"group": rng.choice(GROUPS)}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        person(state, p["name"]).group = rng.choice([group for group in GROUPS if group != p["group"]])

    def want(self, state: PhoneState, p: Params) -> None:
        person(state, p["name"]).group = p["group"]

    def plan(self, x: Expert, p: Params) -> Plan:
        id = person(x.state, p["name"]).id
        if not x.at("contacts", "edit", contact=id):
            yield from x.go("contacts")
            yield from x.tap(Hold(f"contact.{id}"), "sheet.edit", about={"contact": id})
        chosen = x.nodes.get(f"group.{p['group']}")
        yield from x.tap("save" if chosen and chosen.checked else f"group.{p['group']}")


class Ask(OfAPerson):
    """A fact of a contact's page."""

    name = "contacts.ask"
    goals = (
        "Look up the {fact} of {name}{in_app} and answer with it",
        "Tell me the {fact} that is stored for {name}{in_app}",
        "What is the {fact} of {name}? Look at the contact{in_app} and answer",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return super().parameters(rng, state) | {"fact": rng.choice(("phone number", "email address", "group"))}

    @staticmethod
    def _fact(state: PhoneState, p: Params) -> str:
        contact = person(state, p["name"])
        return {"phone number": contact.phone, "email address": contact.email, "group": contact.group}[p["fact"]]

    def check(self, before: PhoneState, state: PhoneState, p: Params) -> float:
        fact = self._fact(before, p)
        return float(answered(before, state, fact, fact.replace("-", ""), fact.replace("-", " ")))

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from x.go("contacts", to_person(x.state, p["name"]))
        yield x.answer(self._fact(x.state, p))


class Ring(OfAPerson):
    """A call that is ended after some seconds: time passes only by waiting."""

    name = "contacts.call"
    goals = (
        "Call {name}{in_app}, wait {seconds} seconds and end the call",
        "Give {name} a call{in_app} that lasts {seconds} seconds, then hang up",
        "Ring {name}{in_app} for {seconds} seconds and then end the call",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return super().parameters(rng, state) | {"seconds": rng.choice(RINGS)}

    def want(self, state: PhoneState, p: Params) -> None:
        number = person(state, p["name"]).phone
        contacts(state).calls.insert(0, Call(ANY, number, "out", ANY, ANY, p["seconds"]))

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from finish_call(x, p["seconds"])
        yield from x.go("contacts", to_person(x.state, p["name"]), hop("call", "call"))


def finish_call(x: Expert, seconds: int) -> Plan:
    """Let the call that goes on last so long, then end it; nothing if there is none. Raises `LookupError` if it is too late."""
    data = contacts(x.state)
    if not data.live:
        return
    passed = data.call(data.live).seconds
    if passed > seconds:
        raise LookupError(f"the call has lasted {passed} seconds already")
    if passed < seconds:
        yield x.wait(seconds - passed)
    if x.at("contacts", "call", call=data.live):
        yield from x.tap("end")
    yield from x.go("contacts")
    yield from x.tap("live.end")


class Search(OfAPerson):
    """The person is known by the number only."""

    name = "contacts.search"
    goals = (
        "Search{in_app} for the number {number} and star the person whom it belongs to",
        "Find out{in_app} by the search whose number {number} is, and star this person",
        "Somebody{in_app} has the number {number}: search for it and star the contact",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"number": rng.choice([contact.phone for contact in contacts(state).contacts])}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        self._owner(state, p).starred = False

    def want(self, state: PhoneState, p: Params) -> None:
        self._owner(state, p).starred = True

    def plan(self, x: Expert, p: Params) -> Plan:
        id = self._owner(x.state, p).id
        found = hop("contact", f"contact.{id}", contact=id, fill={"query": p["number"]})
        yield from x.go("contacts", hop("search", "search"), found)
        yield from x.tap("star")

    @staticmethod
    def _owner(state: PhoneState, p: Params) -> Contact:
        owner = contacts(state).owner(p["number"])
        if owner is None:
            raise LookupError(f"nobody has {p['number']}")
        return owner


class RemoveCall(InContacts):
    name = "contacts.remove_call"
    goals = (
        "Remove the call with {name} from the recent calls{in_app}",
        "Go to the recent calls{in_app} and remove the entry of {name}",
        "Take {name} out of the list of recent calls{in_app}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"name": rng.choice(_callers(state))}

    def want(self, state: PhoneState, p: Params) -> None:
        contacts(state).calls.remove(_call_of(state, p["name"]))

    def plan(self, x: Expert, p: Params) -> Plan:
        call = _call_of(x.state, p["name"])
        yield from tab(x, "recent")
        yield from x.tap(f"call.{call.id}", "sheet.remove", about={"entry": call.id})


class CallBack(InContacts):
    """The list of calls and a call of a set length, together."""

    name = "contacts.call_back"
    heldout = True
    goals = (
        "Call {name} back from the recent calls{in_app} and end the call after {seconds} seconds",
        "Go to the recent calls{in_app}, call {name} and hang up after {seconds} seconds",
        "Find {name} in the recent calls{in_app}, call back and end it when {seconds} seconds have passed",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"name": rng.choice(_callers(state)), "seconds": rng.choice(RINGS)}

    def want(self, state: PhoneState, p: Params) -> None:
        number = person(state, p["name"]).phone
        contacts(state).calls.insert(0, Call(ANY, number, "out", ANY, ANY, p["seconds"]))

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from finish_call(x, p["seconds"])
        call = _call_of(x.state, p["name"])
        yield from tab(x, "recent")
        yield from x.tap(f"call.{call.id}", "sheet.call", about={"entry": call.id})


class SwapStars(InContacts):
    name = "contacts.swap_stars"
    heldout = True
    goals = (
        "Star {star}{in_app} and unstar {unstar}",
        "Give a star to {star}{in_app} and take it away from {unstar}",
        "Let {star} take the place of {unstar} in the starred list{in_app}: star the one, unstar the other",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        star, unstar = rng.sample([contact.name for contact in contacts(state).contacts], 2)
        return {"star": star, "unstar": unstar}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        person(state, p["star"]).starred = False
        person(state, p["unstar"]).starred = True

    def want(self, state: PhoneState, p: Params) -> None:
        person(state, p["star"]).starred = True
        person(state, p["unstar"]).starred = False

    def plan(self, x: Expert, p: Params) -> Plan:
        todo = person(x.state, p["unstar"] if person(x.state, p["star"]).starred else p["star"])
        yield from x.go("contacts")
        yield from x.tap(Hold(f"contact.{todo.id}"), "sheet.star", about={"contact": todo.id})


def _callers(state: PhoneState) -> list[str]:
    """Names in the list of calls (on a new phone everybody is in it once at most)."""
    owners = [contacts(state).owner(call.number) for call in contacts(state).calls]
    return [owner.name for owner in owners if owner is not None]


def _call_of(state: PhoneState, name: str) -> Call:
    number = person(state, name).phone
    for call in contacts(state).calls:
        if call.number == number:
            return call
    raise LookupError(f"no call with {name!r}")


TEMPLATES: tuple[type[Template], ...] = (
    Add,
    AddToGroup,
    Star,
    Unstar,
    Delete,
    NewNumber,
    NewName,
    Regroup,
    Ask,
    Ring,
    Search,
    RemoveCall,
    CallBack,
    SwapStars,
)
