"""Tasks in Messages. That a conversation counts as read once it was opened is no part of any of them."""

from __future__ import annotations

import random
from abc import abstractmethod
from typing import ClassVar

from emulator.pocket.apps.contacts import Contact, name_of
from emulator.pocket.apps.messages import Message, MessagesData, Thread
from emulator.pocket.state import PhoneState
from emulator.pocket.tasks.base import Params, Plan, Template, answered
from emulator.pocket.tasks.contacts import contacts, new_name, new_number, person
from emulator.pocket.tasks.expert import Expert, Hold, Hop, hop
from emulator.pocket.tasks.matching import ANY, said

TEXTS = (
    "See you at seven", "I am on my way", "The table is booked", "Bring the red folder", "Call me tonight", "Thanks for the help",
    "I will be late", "Lunch at noon?", "The door is open", "Happy new home", "Take the tram", "No rain today", "Meet me at gate 4",
    "The cake is ready", "Train at 18:20", "I left the keys inside",
)  # fmt: skip
"""What is to be written; on no phone from the beginning."""


def messages(state: PhoneState) -> MessagesData:
    data: MessagesData = state.apps["messages"]
    return data


def chat(state: PhoneState, name: str) -> Thread:
    """The conversation with somebody, by the name that the list shows. Raises `LookupError` if there is none."""
    for thread in messages(state).threads:
        if name_of(state, thread.address) == name:
            return thread
    raise LookupError(f"no chat with {name!r}")


def to_chat(state: PhoneState, name: str) -> Hop:
    address = chat(state, name).address
    return hop("thread", f"thread.{address}", address=address)


def sent(state: PhoneState, address: str, text: str) -> None:
    """Make the state one in which `text` was sent: the conversation is the first then."""
    threads = messages(state).threads
    thread = messages(state).thread(address) or Thread(address)
    if thread in threads:
        threads.remove(thread)
    threads.insert(0, thread)
    thread.messages.append(Message(ANY, said(text), True, ANY, ANY))


def write(x: Expert, text: str) -> Plan:
    """Send `text` from the conversation in front."""
    yield from x.type("text", text)
    yield from x.tap("text.send")


class InMessages(Template):
    """Base of all: `end` makes the wanted state as `want` does elsewhere, what was read or not aside."""

    apps: ClassVar[tuple[str, ...]] = ("messages",)

    def want(self, state: PhoneState, p: Params) -> None:
        for thread in messages(state).threads:
            thread.unread = ANY
        self.end(state, p)

    @abstractmethod
    def end(self, state: PhoneState, p: Params) -> None:
        """Change the state at the start into the one at the end."""


class OfAChat(InMessages):
    """Base of tasks about one conversation: with a person or a service."""

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"name": rng.choice([name_of(state, thread.address) for thread in messages(state).threads])}


class Reply(OfAChat):
    name = "messages.reply"
    goals = (
        "Write “{text}” in the chat with {name}{in_app}",
        "Send {name} the message “{text}”{in_app}, in the chat that is there already",
        "Reply “{text}” to {name}{in_app}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return super().parameters(rng, state) | {"text": rng.choice(TEXTS)}

    def end(self, state: PhoneState, p: Params) -> None:
        sent(state, chat(state, p["name"]).address, p["text"])

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from x.go("messages", to_chat(x.state, p["name"]))
        yield from write(x, p["text"])


class NewChat(InMessages):
    """With a contact to whom nothing was written yet, found by scrolling."""

    name = "messages.new_chat"
    goals = (
        "Start a new chat{in_app} with {name} and send “{text}”",
        "Begin a new chat with {name}{in_app} by writing “{text}”",
        "There is no chat with {name} yet: start one{in_app} with the message “{text}”",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        known = {thread.address for thread in messages(state).threads}
        names = [contact.name for contact in contacts(state).contacts if contact.phone not in known]
        return {"name": rng.choice(names), "text": rng.choice(TEXTS)}

    def end(self, state: PhoneState, p: Params) -> None:
        sent(state, person(state, p["name"]).phone, p["text"])

    def plan(self, x: Expert, p: Params) -> Plan:
        someone = person(x.state, p["name"])
        if not x.at("messages", "thread", address=someone.phone):
            yield from x.go("messages", hop("new", "new"))
            yield from x.tap(f"to.{someone.id}")
        yield from write(x, p["text"])


class ToNumber(InMessages):
    name = "messages.to_number"
    goals = (
        "Send “{text}” to the number {number}{in_app}",
        "Write to {number}{in_app}, a number that is not in the contacts: “{text}”",
        "Start a new chat{in_app} with the number {number} and send “{text}”",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"number": new_number(rng), "text": rng.choice(TEXTS)}

    def end(self, state: PhoneState, p: Params) -> None:
        sent(state, p["number"], p["text"])

    def plan(self, x: Expert, p: Params) -> Plan:
        if not x.at("messages", "thread", address=p["number"]):
            yield from x.go("messages", hop("new", "new"))
            yield from x.type("to", p["number"])
            yield from x.tap("to.number")
        yield from write(x, p["text"])


class Pin(OfAChat):
    name = "messages.pin"
    goals = (
        "Pin the chat with {name}{in_app}",
        "Press and hold the chat with {name}{in_app} and pin it",
        "Keep the chat with {name} on top{in_app} by pinning it",
    )

    def end(self, state: PhoneState, p: Params) -> None:
        chat(state, p["name"]).pinned = True

    def plan(self, x: Expert, p: Params) -> Plan:
        address = chat(x.state, p["name"]).address
        yield from x.go("messages")
        yield from x.tap(Hold(f"thread.{address}"), "sheet.pin", about={"thread": address})


class Mute(OfAChat):
    name = "messages.mute"
    goals = (
        "Open the chat with {name}{in_app} and mute it from the menu",
        "Mute the chat with {name}{in_app}",
        "Get some rest from {name}: open the chat{in_app} and mute it",
    )

    def end(self, state: PhoneState, p: Params) -> None:
        chat(state, p["name"]).muted = True

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from x.go("messages", to_chat(x.state, p["name"]))
        yield from x.tap("page.more", "menu.mute")


class Delete(OfAChat):
    name = "messages.delete"
    goals = (
        "Delete the chat with {name}{in_app}",
        "Press and hold the chat with {name}{in_app} and delete it",
        "Remove all messages with {name}{in_app}: delete the whole chat",
    )

    def end(self, state: PhoneState, p: Params) -> None:
        messages(state).threads.remove(chat(state, p["name"]))

    def plan(self, x: Expert, p: Params) -> Plan:
        address = chat(x.state, p["name"]).address
        yield from x.go("messages")
        yield from x.tap(Hold(f"thread.{address}"), "sheet.delete", "delete.ok", about={"thread": address})


class MarkUnread(OfAChat):
    """The one task in which it matters whether a conversation counts as read."""

    name = "messages.mark_unread"
    goals = (
        "Mark the chat with {name}{in_app} as unread",
        "Press and hold the chat with {name}{in_app} and mark it as unread",
        "Let the chat with {name}{in_app} count as unread again",
    )

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        chat(state, p["name"]).unread = 0

    def end(self, state: PhoneState, p: Params) -> None:
        chat(state, p["name"]).unread = 1

    def plan(self, x: Expert, p: Params) -> Plan:
        address = chat(x.state, p["name"]).address
        yield from x.go("messages")
        yield from x.tap(Hold(f"thread.{address}"), "sheet.unread", about={"thread": address})


class OfAMessage(InMessages):
    """Base of tasks about one message of a conversation that has several, no two of them alike."""

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        thread = rng.choice([thread for thread in messages(state).threads if len(thread.messages) > 1])
        return {"name": name_of(state, thread.address), "text": rng.choice(thread.messages).text}

    @staticmethod
    def _message(state: PhoneState, p: Params) -> Message:
        for message in chat(state, p["name"]).messages:
            if message.text == p["text"]:
                return message
        raise LookupError(f"no message {p['text']!r}")


class DeleteMessage(OfAMessage):
    name = "messages.delete_message"
    goals = (
        "Delete the message “{text}” from the chat with {name}{in_app}, and only that message",
        "In the chat with {name}{in_app}, press and hold “{text}” and delete it",
        "Remove the single message “{text}” from the chat with {name}{in_app}",
    )

    def end(self, state: PhoneState, p: Params) -> None:
        chat(state, p["name"]).messages.remove(self._message(state, p))

    def plan(self, x: Expert, p: Params) -> Plan:
        id = self._message(x.state, p).id
        yield from x.go("messages", to_chat(x.state, p["name"]))
        yield from x.tap(Hold(f"message.{id}"), "sheet.remove", "remove.ok", about={"message": id})


class Forward(OfAMessage):
    name = "messages.forward"
    goals = (
        "Forward the message “{text}” from the chat with {name}{in_app} to {to}",
        "In the chat with {name}{in_app}, press and hold “{text}” and forward it to {to}",
        "Let {to} know what {name} and you wrote: forward “{text}”{in_app}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        p = super().parameters(rng, state)
        return p | {"to": rng.choice([c.name for c in contacts(state).contacts if c.name != p["name"]])}

    def end(self, state: PhoneState, p: Params) -> None:
        sent(state, person(state, p["to"]).phone, p["text"])

    def plan(self, x: Expert, p: Params) -> Plan:
        message, someone = self._message(x.state, p), person(x.state, p["to"])
        if x.at("messages", "thread", address=someone.phone) and x.value("text") == p["text"]:
            yield from x.tap("text.send")
        if not x.at("messages", "forward", message=message.id):
            yield from x.go("messages", to_chat(x.state, p["name"]))
            yield from x.tap(Hold(f"message.{message.id}"), "sheet.forward", about={"message": message.id})
        yield from x.tap(f"to.{someone.id}")


class Ask(OfAChat):
    name = "messages.ask"
    goals = (
        "Read the last message in the chat with {name}{in_app} and answer with it",
        "Open the chat with {name}{in_app} and tell me what the last message says",
        "What is the last message in the chat with {name}? Look{in_app} and answer with its text",
    )

    def end(self, state: PhoneState, p: Params) -> None:
        """Nothing may change."""

    def check(self, before: PhoneState, state: PhoneState, p: Params) -> float:
        text = chat(before, p["name"]).messages[-1].text
        return float(answered(self.wanted(before, p), state, text, text.rstrip("?!.")))

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from x.go("messages", to_chat(x.state, p["name"]))
        yield x.answer(chat(x.state, p["name"]).messages[-1].text)


class SearchReply(InMessages):
    """The conversation is known by a word only, so it must be searched for."""

    name = "messages.search_reply"
    goals = (
        "Search{in_app} for “{word}” and write “{text}” in the chat that is found",
        "Find the chat{in_app} in which “{word}” was mentioned and send “{text}” there",
        "Use the search{in_app} to find who wrote about “{word}”, and reply “{text}”",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"word": rng.choice(_lone_words(state)), "text": rng.choice(TEXTS)}

    def end(self, state: PhoneState, p: Params) -> None:
        sent(state, _mentioning(state, p["word"])[0].address, p["text"])

    def plan(self, x: Expert, p: Params) -> Plan:
        found = _mentioning(x.state, p["word"])
        if not found:
            raise LookupError(f"no chat about {p['word']!r}")
        address = found[0].address
        thread = hop("thread", f"thread.{address}", address=address, fill={"query": p["word"]})
        yield from x.go("messages", hop("search", "search"), thread)
        yield from write(x, p["text"])


class SaveSender(InMessages):
    """Somebody wrote from a number that is not in the contacts yet; the menu of the conversation leads there."""

    name = "messages.save_sender"
    apps = ("messages", "contacts")
    goals = (
        "The number {number} belongs to {name}: open its chat{in_app} and add it to the contacts under that name",
        "Open the chat with {number}{in_app} and add the sender as the contact {name}",
        "Save whoever wrote from {number}{in_app} as a contact called {name}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"number": new_number(rng), "name": new_name(rng, state)}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        hello = Message("hello", "This is my new number", False, "Today", "08:55")
        messages(state).threads.insert(rng.randrange(3), Thread(p["number"], [hello], 1))

    def end(self, state: PhoneState, p: Params) -> None:
        contacts(state).contacts.append(Contact(ANY, said(p["name"]), p["number"]))

    def plan(self, x: Expert, p: Params) -> Plan:
        if x.at("contacts", "edit") and x.value("phone") == p["number"]:
            yield from x.type("name", p["name"])
            yield from x.tap("save")
        yield from x.go("messages", to_chat(x.state, p["number"]))
        yield from x.tap("page.more", "menu.add")


class PinAndMute(InMessages):
    name = "messages.pin_and_mute"
    heldout = True
    goals = (
        "Pin the chat with {pin}{in_app} and mute the chat with {mute}",
        "Do two things{in_app}: pin the chat with {pin}, then mute the one with {mute}",
        "Keep {pin} on top{in_app} by pinning that chat, and mute {mute}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        pin, mute = rng.sample([name_of(state, thread.address) for thread in messages(state).threads], 2)
        return {"pin": pin, "mute": mute}

    def end(self, state: PhoneState, p: Params) -> None:
        chat(state, p["pin"]).pinned = True
        chat(state, p["mute"]).muted = True

    def plan(self, x: Expert, p: Params) -> Plan:
        done = chat(x.state, p["pin"]).pinned
        address = chat(x.state, p["mute"] if done else p["pin"]).address
        yield from x.go("messages")
        yield from x.tap(Hold(f"thread.{address}"), "sheet.mute" if done else "sheet.pin", about={"thread": address})


class DeleteTwo(InMessages):
    name = "messages.delete_two"
    heldout = True
    goals = (
        "Delete the chats with {one} and {two}{in_app}",
        "Remove two chats{in_app}: the one with {one} and the one with {two}",
        "Clear up{in_app}: neither the chat with {one} nor the one with {two} is needed, delete both",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        one, two = rng.sample([name_of(state, thread.address) for thread in messages(state).threads], 2)
        return {"one": one, "two": two}

    def end(self, state: PhoneState, p: Params) -> None:
        for name in (p["one"], p["two"]):
            messages(state).threads.remove(chat(state, name))

    def plan(self, x: Expert, p: Params) -> Plan:
        left = [name_of(x.state, thread.address) for thread in messages(x.state).threads]
        address = chat(x.state, p["one"] if p["one"] in left else p["two"]).address
        yield from x.go("messages")
        yield from x.tap(Hold(f"thread.{address}"), "sheet.delete", "delete.ok", about={"thread": address})


def _mentioning(state: PhoneState, word: str) -> list[Thread]:
    """The conversations that the search finds."""
    wanted = word.casefold()
    return [
        thread
        for thread in messages(state).threads
        if wanted in name_of(state, thread.address).casefold()
        or any(wanted in message.text.casefold() for message in thread.messages)
    ]


def _lone_words(state: PhoneState) -> list[str]:
    """Words by which the search finds one conversation."""
    words = {
        word
        for thread in messages(state).threads
        for message in thread.messages
        for word in message.text.rstrip("?!.").split()
        if len(word) > 3 and word.isalpha()
    }
    return sorted(word for word in words if len(_mentioning(state, word)) == 1)


TEMPLATES: tuple[type[Template], ...] = (
    Reply,
    NewChat,
    ToNumber,
    Pin,
    Mute,
    Delete,
    MarkUnread,
    DeleteMessage,
    Forward,
    Ask,
    SearchReply,
    SaveSender,
    PinAndMute,
    DeleteTwo,
)
