"""Messages: conversations to read, write, pin, mute, mark and delete, and single messages to forward or delete."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

from emulator.pocket.app import App, Ctx
from emulator.pocket.apps.contacts import ContactsData, dial, name_of, tidy_number
from emulator.pocket.widgets import (
    Avatar,
    Block,
    Bubble,
    Button,
    Composer,
    Dialog,
    Empty,
    Fab,
    Glyph,
    Group,
    IconButton,
    MenuItem,
    Overlay,
    Page,
    Row,
    Sheet,
    Text,
)
from emulator.pocket.world import World

TALKS: tuple[tuple[str, ...], ...] = (
    ("< Are you at the station?", "> Yes, platform 6", "< Good. I bring tea", "> Thanks!"),
    ("> Did you water the fern?", "< Just now", "> And the cactus?", "< It can wait"),
    ("< The film starts at 8", "> Save me a seat", "< Row 5 as always"),
    ("> I found your scarf", "< Where was it?", "> Under the sofa"),
    ("< Can you call me later?", "> After lunch", "< Perfect"),
    ("< Happy birthday!", "> Thank you so much", "< See you at the party"),
    ("> The keys are in the blue pot", "< Got them"),
    ("< Soup is on the stove", "> I am hungry already"),
    ("> Is the shop still open?", "< Until six", "> Then I hurry"),
    ("< We won 3 to 1", "> What a game", "< You missed the best goal"),
    ("> Can I borrow the ladder?", "< Of course", "< It is in the shed"),
    ("< The meeting moved to Tuesday", "> Same room?", "< Room 12 now"),
    ("> Bring your swim suit", "< And a towel?", "> Two towels"),
    ("< The bus is late again", "> No hurry", "< Ten more minutes"),
)
"""Short conversations: `<` came in, `>` was sent."""
SERVICES = {
    "Parcel": ("< Your parcel is on its way", "< It arrives at 14:30"),
    "Library": ("< Your book is ready", "< Please return it by 2 April"),
    "Dentist": ("< Your visit is on 19 March", "> I will be there"),
    "Gas Works": ("< Please read your meter",),
}
"""Senders that have a name instead of a number."""


@dataclass(slots=True)
class Message:
    """`mine` was sent, else it came in. `when` is "Today" or a short weekday."""

    id: str
    text: str
    mine: bool
    when: str
    time: str


@dataclass(slots=True)
class Thread:
    """A conversation with one address: a phone number, or a service's name."""

    address: str
    messages: list[Message] = field(default_factory=list)
    unread: int = 0
    pinned: bool = False
    muted: bool = False


@dataclass(slots=True)
class MessagesData:
    """The conversations, the latest first."""

    threads: list[Thread] = field(default_factory=list)

    def thread(self, address: str) -> Thread | None:
        """The conversation with this address, if there is one."""
        return next((thread for thread in self.threads if thread.address == address), None)

    def get(self, address: str) -> Thread:
        """The conversation with this address. Raises `StopIteration` if there is none."""
        return next(thread for thread in self.threads if thread.address == address)

    def message(self, id: str) -> tuple[Thread, Message]:
        """A message and its conversation. Raises `StopIteration` if there is none."""
        return next((thread, message) for thread in self.threads for message in thread.messages if message.id == id)


Messages = Ctx[MessagesData]


class MessagesApp(App[MessagesData]):
    """The list of conversations, one conversation, and a list of people to write to."""

    name = "messages"
    title = "Messages"
    icon = "chat"
    accent = "#2F8446"
    aliases = ("message", "sms", "texts", "chat")

    def fresh(self, rng: random.Random, world: World) -> MessagesData:
        talks = rng.sample(TALKS, 7)
        partners: list[tuple[str, tuple[str, ...]]] = [
            (person.phone, talk) for person, talk in zip(rng.sample(world.people, 7), talks, strict=True)
        ]
        partners += [(name, SERVICES[name]) for name in rng.sample(sorted(SERVICES), 2)]
        rng.shuffle(partners)
        threads, serial = [], 0
        for i, (address, lines) in enumerate(partners):
            when = "Today" if i < 2 else f"{world.now - timedelta(days=i - 1):%a}"
            minute = (rng.randrange(7, 9) if i < 2 else rng.randrange(8, 21)) * 60 + rng.randrange(40)
            messages = []
            for line in lines:
                messages.append(
                    Message(f"m{serial}", line[2:], line[0] == ">", when, f"{minute // 60:02d}:{minute % 60:02d}")
                )
                serial, minute = serial + 1, minute + rng.randrange(1, 5)
            threads.append(Thread(address, messages))
        for thread in rng.sample([thread for thread in threads if not thread.messages[-1].mine], 2):
            thread.unread = 1
        return MessagesData(threads)

    # ---- pages
    def page_main(self, ctx: Messages) -> Page:
        threads = ctx.data.threads
        pinned = self._rows(ctx, [thread for thread in threads if thread.pinned])
        others = self._rows(ctx, [thread for thread in threads if not thread.pinned])
        blocks: list[Block] = [Group(pinned, "Pinned")] if pinned else []
        if others:
            blocks.append(Group(others, "Others" if pinned else ""))
        return Page(
            "Messages",
            blocks or [Empty("chat", "No messages yet", "Write to somebody to begin.")],
            actions=[IconButton("search", "search", "Search", partial(self._search, ctx))],
            fab=Fab("new", "New chat", partial(self._new, ctx)),
        )

    def page_search(self, ctx: Messages) -> Page:
        query = ctx.field("query", hint="Search messages", kind="search")
        wanted = query.value.strip().casefold()
        if not wanted:
            return Page("Search", [query])
        found = self._rows(ctx, [thread for thread in ctx.data.threads if self._speaks(ctx, thread, wanted)])
        return Page("Search", [query, Group(found) if found else Empty("search", "Nothing found")])

    def page_thread(self, ctx: Messages) -> Page:
        """The conversation with the page's `address`, which need not have begun yet."""
        address = ctx.arg("address")
        thread = ctx.data.thread(address)
        blocks: list[Block] = []
        day = ""
        for message in thread.messages if thread else ():
            if message.when != day:
                day = message.when
                blocks.append(Text(day, "caption", "center", id=f"day.{message.id}"))
            blocks.append(
                Bubble(
                    f"message.{message.id}",
                    message.text,
                    message.mine,
                    message.time,
                    partial(ctx.open, "message", {"message": message.id}),
                )
            )
        name = name_of(ctx.state, address)
        number = address if name != address else ""
        return Page(
            name,
            blocks or [Empty("chat", "No messages yet", "Say hello.")],
            menu=self._menu(ctx, address, thread),
            footer=[Composer(ctx.field("text", hint="Message", on_submit=partial(self._send, ctx)), partial(self._send, ctx))],
            anchor="bottom",
            leading=Avatar(name),
            subtitle="Muted" if thread and thread.muted else number,
        )  # fmt: skip

    def page_new(self, ctx: Messages) -> Page:
        return self._people(ctx, "New chat", "")

    def page_forward(self, ctx: Messages) -> Page:
        _, message = ctx.data.message(ctx.arg("message"))
        return self._people(ctx, "Forward to", message.text)

    # ---- overlays
    def overlay_actions(self, ctx: Messages) -> Overlay:
        address = ctx.arg("thread")
        thread = ctx.data.get(address)
        pin, mute = "Unpin" if thread.pinned else "Pin", "Unmute" if thread.muted else "Mute"
        unread = "Mark read" if thread.unread else "Mark unread"
        return Sheet(
            name_of(ctx.state, address),
            [
                MenuItem("sheet.pin", pin, partial(self._pin, ctx, address), "pin"),
                MenuItem("sheet.mute", mute, partial(self._mute, ctx, address), "bell" if thread.muted else "mute"),
                MenuItem("sheet.unread", unread, partial(self._mark, ctx, address), "mail"),
                MenuItem("sheet.delete", "Delete", partial(ctx.open, "delete", {"thread": address}), "trash", danger=True),
            ],
        )  # fmt: skip

    def overlay_message(self, ctx: Messages) -> Overlay:
        id = ctx.arg("message")
        return Sheet(
            "Message",
            [
                MenuItem("sheet.forward", "Forward", partial(self._forward, ctx, id), "share"),
                MenuItem("sheet.remove", "Delete", partial(ctx.open, "remove", {"message": id}), "trash", danger=True),
            ],
        )

    def overlay_delete(self, ctx: Messages) -> Overlay:
        address = ctx.arg("thread")
        return Dialog(
            "Delete chat?",
            f"All messages with {name_of(ctx.state, address)} will be gone.",
            buttons=[
                Button("delete.cancel", "Cancel", ctx.close, "tonal"),
                Button("delete.ok", "Delete", partial(self._delete, ctx, address), "danger"),
            ],
        )

    def overlay_remove(self, ctx: Messages) -> Overlay:
        id = ctx.arg("message")
        return Dialog(
            "Delete message?",
            "Only this message will be gone.",
            buttons=[
                Button("remove.cancel", "Cancel", ctx.close, "tonal"),
                Button("remove.ok", "Delete", partial(self._remove, ctx, id), "danger"),
            ],
        )

    # ---- parts of pages
    @staticmethod
    def _rows(ctx: Messages, threads: list[Thread]) -> list[Row]:
        rows = []
        for thread in threads:
            name, last = name_of(ctx.state, thread.address), thread.messages[-1]
            rows.append(
                Row(
                    f"thread.{thread.address}",
                    name,
                    f"You: {last.text}" if last.mine else last.text,
                    last.time if last.when == "Today" else last.when,
                    Avatar(name),
                    on_tap=partial(MessagesApp._read, ctx, thread.address),
                    on_long=partial(ctx.open, "actions", {"thread": thread.address}),
                    badge=thread.unread,
                    strong=thread.unread > 0,
                )
            )
        return rows

    @staticmethod
    def _speaks(ctx: Messages, thread: Thread, wanted: str) -> bool:
        texts = [name_of(ctx.state, thread.address), *(message.text for message in thread.messages)]
        return any(wanted in text.casefold() for text in texts)

    def _menu(self, ctx: Messages, address: str, thread: Thread | None) -> list[MenuItem]:
        items = []
        contacts = ctx.state.apps.get("contacts")
        if isinstance(contacts, ContactsData) and address[:1].isdigit():
            owner = contacts.owner(address)
            items.append(MenuItem("menu.call", "Call", partial(dial, ctx, address), "phone"))
            if owner is not None:
                show = partial(ctx.launch, "contacts", "contact", {"contact": owner.id})
                items.append(MenuItem("menu.contact", "Contact", show, "user"))
            else:
                add = partial(ctx.launch, "contacts", "edit", None, {"phone": address})
                items.append(MenuItem("menu.add", "Add contact", add, "plus"))
        if thread is not None:
            mute = "Unmute" if thread.muted else "Mute"
            items += [
                MenuItem("menu.mute", mute, partial(self._mute, ctx, address), "bell" if thread.muted else "mute"),
                MenuItem("menu.delete", "Delete", partial(ctx.open, "delete", {"thread": address}), "trash", danger=True),
            ]  # fmt: skip
        return items

    def _people(self, ctx: Messages, title: str, text: str) -> Page:
        """Whom to write to: contacts that match what is typed, or the typed number itself. `text` goes into the draft."""
        query = ctx.field("to", hint="Name or number", kind="search")
        contacts = ctx.state.apps.get("contacts")
        people = contacts.shown(query.value) if isinstance(contacts, ContactsData) else []
        rows = [
            Row(f"to.{person.id}", person.name, person.phone, leading=Avatar(person.name), on_tap=partial(self._write, ctx, person.phone, text))
            for person in people
        ]  # fmt: skip
        number = tidy_number(query.value)
        if number[:1].isdigit() and all(person.phone != number for person in people):
            rows.append(
                Row("to.number", number, leading=Glyph("phone"), on_tap=partial(self._write, ctx, number, text))
            )
        return Page(title, [query, Group(rows) if rows else Empty("users", "Nobody found")])

    # ---- moving about
    @staticmethod
    def _search(ctx: Messages) -> None:
        ctx.push("search")
        ctx.focus("query")

    @staticmethod
    def _new(ctx: Messages) -> None:
        ctx.push("new")

    @staticmethod
    def _read(ctx: Messages, address: str) -> None:
        """Opening a conversation marks it as read."""
        ctx.data.get(address).unread = 0
        ctx.push("thread", {"address": address})

    @staticmethod
    def _write(ctx: Messages, address: str, text: str) -> None:
        """From the list of people to the conversation, which then lies right above the first page."""
        thread = ctx.data.thread(address)
        if thread is not None:
            thread.unread = 0
        ctx.root()
        ctx.push("thread", {"address": address}, {"text": text} if text else None)

    @staticmethod
    def _forward(ctx: Messages, id: str) -> None:
        ctx.push("forward", {"message": id})

    # ---- changes
    @staticmethod
    def _send(ctx: Messages) -> None:
        text = ctx.value("text").strip()
        if not text:
            return
        data, address = ctx.data, ctx.page.args["address"]
        thread = data.thread(address) or Thread(address)
        if thread in data.threads:
            data.threads.remove(thread)
        data.threads.insert(0, thread)
        thread.messages.append(Message(ctx.new_id("m"), text, True, "Today", f"{ctx.device.time:%H:%M}"))
        ctx.set_value("text", "")
        ctx.blur()
        ctx.page.scroll = None

    @staticmethod
    def _pin(ctx: Messages, address: str) -> None:
        thread = ctx.data.get(address)
        thread.pinned = not thread.pinned
        ctx.toast("Pinned" if thread.pinned else "Unpinned")

    @staticmethod
    def _mute(ctx: Messages, address: str) -> None:
        thread = ctx.data.get(address)
        thread.muted = not thread.muted
        ctx.toast("Muted" if thread.muted else "Unmuted")

    @staticmethod
    def _mark(ctx: Messages, address: str) -> None:
        thread = ctx.data.get(address)
        thread.unread = 0 if thread.unread else 1

    @staticmethod
    def _delete(ctx: Messages, address: str) -> None:
        ctx.data.threads.remove(ctx.data.get(address))
        ctx.forget("address", address)
        ctx.forget("thread", address)
        ctx.toast("Chat deleted")

    @staticmethod
    def _remove(ctx: Messages, id: str) -> None:
        """With its last message a conversation goes too."""
        thread, message = ctx.data.message(id)
        thread.messages.remove(message)
        ctx.forget("message", id)
        if not thread.messages:
            ctx.data.threads.remove(thread)
            ctx.forget("thread", thread.address)
        ctx.toast("Message deleted")
