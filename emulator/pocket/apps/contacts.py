"""Contacts: people to find, star, change and call, and the calls that were made."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any, Literal

from emulator.pocket.app import App, Ctx
from emulator.pocket.state import PhoneState
from emulator.pocket.widgets import (
    Avatar,
    Block,
    Button,
    Controls,
    Dialog,
    Empty,
    Fab,
    Glyph,
    Group,
    Hero,
    IconButton,
    MenuItem,
    MiniBar,
    Options,
    Overlay,
    Page,
    Picture,
    Row,
    Sheet,
    Tabs,
)
from emulator.pocket.world import World

GROUPS = ("Family", "Friend", "Work")
KINDS = {"out": "Outgoing", "in": "Incoming", "missed": "Missed"}
ICONS = {"out": "up", "in": "down", "missed": "close"}
HUES = {"out": "#3A8FC4", "in": "#2A9D73", "missed": "#C7485A"}


@dataclass(slots=True)
class Contact:
    id: str
    name: str
    phone: str
    email: str = ""
    group: str = "Friend"
    starred: bool = False


@dataclass(slots=True)
class Call:
    """A call of the log. `when` is a short text such as "Today" or "Wed"."""

    id: str
    number: str
    kind: Literal["out", "in", "missed"]
    when: str
    time: str
    seconds: int = 0


@dataclass(slots=True)
class ContactsData:
    """People in no order, calls with the latest first, and the id of the call that goes on now ("" for none)."""

    contacts: list[Contact] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    live: str = ""

    def get(self, id: str) -> Contact:
        """The contact with this id. Raises `StopIteration` if there is none."""
        return next(contact for contact in self.contacts if contact.id == id)

    def call(self, id: str) -> Call:
        """The call with this id. Raises `StopIteration` if there is none."""
        return next(call for call in self.calls if call.id == id)

    def owner(self, number: str) -> Contact | None:
        """Whom a number belongs to."""
        return next((contact for contact in self.contacts if contact.phone == number), None)

    def shown(self, query: str = "", *, starred: bool = False) -> list[Contact]:
        """Contacts by name whose name or number contains `query`, only the starred ones if so wished."""
        wanted = query.strip().casefold()
        found = [
            contact
            for contact in self.contacts
            if (wanted in contact.name.casefold() or wanted in contact.phone) and (contact.starred or not starred)
        ]
        return sorted(found, key=lambda contact: contact.name.casefold())


Contacts = Ctx[ContactsData]


def name_of(state: PhoneState, number: str) -> str:
    """Who has this number according to the contacts of a phone; the number itself if nobody has."""
    data = state.apps.get("contacts")
    owner = data.owner(number) if isinstance(data, ContactsData) else None
    return owner.name if owner else number


def dial(ctx: Ctx[Any], number: str) -> None:
    """Call a number, from any app: the call's page opens."""
    data: ContactsData = ctx.state.apps["contacts"]
    if not data.live or data.call(data.live).number != number:
        data.live = ctx.new_id("call")
        data.calls.insert(0, Call(data.live, number, "out", "Today", f"{ctx.device.time:%H:%M}"))
    ctx.launch("contacts", "call", {"call": data.live})


def tidy_number(text: str) -> str:
    """Seven digits are written 555-0123, as all numbers here; other text is kept as typed."""
    digits = "".join(char for char in text if char.isdigit())
    only_number = not text.strip().strip("0123456789- ")
    return f"{digits[:3]}-{digits[3:]}" if len(digits) == 7 and only_number else text.strip()


def clock(seconds: int) -> str:
    """Minutes and seconds, as of a call: 01:05."""
    return f"{seconds // 60:02d}:{seconds % 60:02d}"


class ContactsApp(App[ContactsData]):
    """Three lists (everyone, the starred, the calls); a long press on an entry brings its actions."""

    name = "contacts"
    title = "Contacts"
    icon = "users"
    accent = "#0E8383"
    aliases = ("contact", "phone", "people", "dialer")

    def fresh(self, rng: random.Random, world: World) -> ContactsData:
        contacts = [
            Contact(f"c{i}", person.name, person.phone, person.email, rng.choice(GROUPS))
            for i, person in enumerate(world.people)
        ]
        for contact in rng.sample(contacts, 3):
            contact.starred = True
        calls = []
        for i, contact in enumerate(rng.sample(contacts, 6)):
            kind: Literal["out", "in", "missed"] = rng.choice(("out", "in", "missed"))
            day = world.now - timedelta(days=i)
            when = "Today" if i == 0 else f"{day:%a}"
            hour = rng.randrange(7, 9) if i == 0 else rng.randrange(8, 22)
            time = f"{hour:02d}:{rng.randrange(60):02d}"
            seconds = 0 if kind == "missed" else rng.randrange(20, 900)
            calls.append(Call(f"call{i}", contact.phone, kind, when, time, seconds))
        return ContactsData(contacts, calls)

    def tick(self, ctx: Contacts, seconds: float) -> None:
        if ctx.data.live:
            ctx.data.call(ctx.data.live).seconds += round(seconds)

    # ---- pages
    def page_main(self, ctx: Contacts) -> Page:
        tab = ctx.page.args.get("tab", "all")
        blocks: dict[str, list[Block]] = {
            "all": self._list(ctx, ctx.data.shown())
            or [Empty("users", "No contacts yet", "People whom you add are kept here.")],
            "starred": self._list(ctx, ctx.data.shown(starred=True))
            or [Empty("star", "Nobody is starred", "Star the people whom you call most.")],
            "recent": self._calls(ctx) or [Empty("history", "No calls yet", "Calls that you make are listed here.")],
        }
        return Page(
            "Contacts",
            blocks[tab],
            tabs=Tabs("tab", {"all": "All", "starred": "Starred", "recent": "Recent"}, tab, partial(self._turn, ctx)),
            actions=[IconButton("search", "search", "Search", partial(self._search, ctx))],
            fab=Fab("new", "New contact", partial(ctx.push, "edit")),
            footer=self._live(ctx),
        )

    def page_search(self, ctx: Contacts) -> Page:
        query = ctx.field("query", hint="Name or number", kind="search")
        found = self._list(ctx, ctx.data.shown(query.value)) if query.value.strip() else []
        nothing = [Empty("search", "Nobody found")] if query.value.strip() else []
        return Page("Search", [query, *(found or nothing)])

    def page_contact(self, ctx: Contacts) -> Page:
        contact = ctx.data.get(ctx.arg("contact"))
        about = [
            Row("phone", contact.phone, "Mobile", leading=Glyph("phone"), on_tap=partial(dial, ctx, contact.phone))
        ]
        if contact.email:
            about.append(Row("email", contact.email, "Email", leading=Glyph("mail")))
        last = next((call for call in ctx.data.calls if call.number == contact.phone), None)
        if last is not None:
            about.append(Row("last", "Last call", KINDS[last.kind], f"{last.when} {last.time}", Glyph("history")))
        star = "Unstar" if contact.starred else "Star"
        return Page(
            "Contact",
            [
                Picture(Avatar(contact.name), contact.name, contact.group),
                Controls([
                    IconButton("call", "phone", "Call", partial(dial, ctx, contact.phone), style="tonal"),
                    IconButton("message", "chat", "Message", partial(self._message, ctx, contact.phone), style="tonal"),
                ]),
                Group(about),
            ],
            actions=[
                IconButton(
                    "star", "star_full" if contact.starred else "star", star, partial(self._star, ctx, contact.id), active=contact.starred
                )
            ],
            menu=[
                MenuItem("menu.edit", "Edit", partial(self._edit, ctx, contact.id), "edit"),
                MenuItem("menu.delete", "Delete", partial(ctx.open, "delete", {"contact": contact.id}), "trash", danger=True),
            ],
        )  # fmt: skip

    def page_edit(self, ctx: Contacts) -> Page:
        """A new contact, or the one in the page's `contact` argument."""
        group = ctx.value("group", "Friend")
        return Page(
            "Edit contact" if "contact" in ctx.page.args else "New contact",
            [
                ctx.field("name", "Name"),
                ctx.field("phone", "Phone", kind="number"),
                ctx.field("email", "Email"),
                Options("group", {name: name for name in GROUPS}, frozenset({group}), partial(ctx.set_value, "group"), "Group", 3),
            ],
            actions=[IconButton("save", "check", "Save", partial(self._save, ctx))],
        )  # fmt: skip

    def page_call(self, ctx: Contacts) -> Page:
        call = ctx.data.call(ctx.arg("call"))
        live = call.id == ctx.data.live
        name = name_of(ctx.state, call.number)
        blocks: list[Block] = [
            Picture(Avatar(name), name, call.number if name != call.number else ""),
            Hero(clock(call.seconds), "On the line" if live else "Call ended", "duration"),
        ]
        if live:
            blocks.append(Button("end", "End call", partial(self._end, ctx), "danger", "phone"))
        else:
            blocks.append(Button("again", "Call again", partial(self._again, ctx, call.number), "tonal", "phone"))
        return Page("Call", blocks)

    # ---- overlays
    def overlay_actions(self, ctx: Contacts) -> Overlay:
        contact = ctx.data.get(ctx.arg("contact"))
        star = "Unstar" if contact.starred else "Star"
        return Sheet(
            contact.name,
            [
                MenuItem("sheet.call", "Call", partial(dial, ctx, contact.phone), "phone"),
                MenuItem("sheet.message", "Message", partial(self._message, ctx, contact.phone), "chat"),
                MenuItem("sheet.star", star, partial(self._star, ctx, contact.id), "star"),
                MenuItem("sheet.edit", "Edit", partial(self._edit, ctx, contact.id), "edit"),
                MenuItem("sheet.delete", "Delete", partial(ctx.open, "delete", {"contact": contact.id}), "trash", danger=True),
            ],
        )  # fmt: skip

    def overlay_delete(self, ctx: Contacts) -> Overlay:
        contact = ctx.data.get(ctx.arg("contact"))
        return Dialog(
            "Delete contact?",
            f"{contact.name} will be gone for good.",
            buttons=[
                Button("delete.cancel", "Cancel", ctx.close, "tonal"),
                Button("delete.ok", "Delete", partial(self._delete, ctx, contact.id), "danger"),
            ],
        )

    def overlay_call(self, ctx: Contacts) -> Overlay:
        """Actions on an entry of the list of calls."""
        call = ctx.data.call(ctx.arg("entry"))
        owner = ctx.data.owner(call.number)
        items = [
            MenuItem("sheet.call", "Call", partial(dial, ctx, call.number), "phone"),
            MenuItem("sheet.message", "Message", partial(self._message, ctx, call.number), "chat"),
        ]
        if owner is not None:
            items.append(
                MenuItem("sheet.contact", "Contact", partial(ctx.push, "contact", {"contact": owner.id}), "user")
            )
        items.append(MenuItem("sheet.remove", "Remove", partial(self._remove, ctx, call.id), "trash", danger=True))
        return Sheet(name_of(ctx.state, call.number), items)

    # ---- lists
    @staticmethod
    def _list(ctx: Contacts, contacts: list[Contact]) -> list[Block]:
        rows = [
            Row(
                f"contact.{contact.id}",
                contact.name,
                contact.group,
                leading=Avatar(contact.name),
                on_tap=partial(ctx.push, "contact", {"contact": contact.id}),
                on_long=partial(ctx.open, "actions", {"contact": contact.id}),
            )
            for contact in contacts
        ]
        return [Group(rows)] if rows else []

    @staticmethod
    def _calls(ctx: Contacts) -> list[Block]:
        """A touch brings the entry's actions, so that nobody is called by mistake."""
        rows = [
            Row(
                f"call.{call.id}",
                name_of(ctx.state, call.number),
                f"{KINDS[call.kind]}, {call.time}",
                call.when,
                Glyph(ICONS[call.kind], HUES[call.kind]),
                on_tap=partial(ctx.open, "call", {"entry": call.id}),
            )
            for call in ctx.data.calls
        ]
        return [Group(rows)] if rows else []

    def _live(self, ctx: Contacts) -> list[Block]:
        """A bar that leads back to the call that goes on."""
        if not ctx.data.live:
            return []
        call = ctx.data.call(ctx.data.live)
        end = IconButton("live.end", "close", "End call", partial(self._end, ctx))
        name = name_of(ctx.state, call.number)
        back = partial(ctx.push, "call", {"call": call.id})
        return [MiniBar("live", name, back, f"On the line, {clock(call.seconds)}", Glyph("phone"), [end])]

    # ---- changes
    @staticmethod
    def _turn(ctx: Contacts, tab: str) -> None:
        ctx.page.args["tab"] = tab
        ctx.page.scroll = None

    @staticmethod
    def _search(ctx: Contacts) -> None:
        ctx.push("search")
        ctx.focus("query")

    @staticmethod
    def _message(ctx: Contacts, number: str) -> None:
        ctx.launch("messages", "thread", {"address": number})

    @staticmethod
    def _star(ctx: Contacts, id: str) -> None:
        contact = ctx.data.get(id)
        contact.starred = not contact.starred
        ctx.toast("Starred" if contact.starred else "Unstarred")

    @staticmethod
    def _edit(ctx: Contacts, id: str) -> None:
        contact = ctx.data.get(id)
        fields = {"name": contact.name, "phone": contact.phone, "email": contact.email, "group": contact.group}
        ctx.push("edit", {"contact": id}, fields)

    @staticmethod
    def _save(ctx: Contacts) -> None:
        """A contact needs a name and a number."""
        name, phone = ctx.value("name").strip(), tidy_number(ctx.value("phone"))
        email, group = ctx.value("email").strip(), ctx.value("group", "Friend")
        if not name or not phone:
            ctx.toast("Number missing" if name else "Name missing")
            return
        data, id = ctx.data, ctx.page.args.get("contact")
        ctx.pop()
        if id is None:
            data.contacts.append(Contact(ctx.new_id("c"), name, phone, email, group))
        else:
            contact = data.get(id)
            contact.name, contact.phone, contact.email, contact.group = name, phone, email, group
        ctx.toast("Contact saved")

    @staticmethod
    def _delete(ctx: Contacts, id: str) -> None:
        ctx.data.contacts.remove(ctx.data.get(id))
        ctx.forget("contact", id)
        ctx.toast("Contact deleted")

    @staticmethod
    def _end(ctx: Contacts) -> None:
        call = ctx.data.live
        ctx.data.live = ""
        ctx.forget("call", call)
        ctx.toast("Call ended")

    @staticmethod
    def _again(ctx: Contacts, number: str) -> None:
        ctx.pop()
        dial(ctx, number)

    @staticmethod
    def _remove(ctx: Contacts, id: str) -> None:
        data = ctx.data
        data.calls.remove(data.call(id))
        if data.live == id:
            data.live = ""
        ctx.forget("call", id)
        ctx.toast("Call removed")
