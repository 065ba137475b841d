"""Tasks across apps: what is read in one is needed in another."""

from __future__ import annotations

import random
from datetime import date
from decimal import Decimal
from typing import Any

from emulator.pocket.apps.arithmetic import plain
from emulator.pocket.apps.calculator import Entry
from emulator.pocket.apps.calendar import CalendarData, Event
from emulator.pocket.apps.clock import Alarm, ClockData
from emulator.pocket.apps.contacts import Contact, name_of
from emulator.pocket.apps.messages import Message, Thread
from emulator.pocket.apps.notes import Note
from emulator.pocket.apps.shop_data import ShopData, money
from emulator.pocket.apps.songs import MusicData, Song
from emulator.pocket.state import PhoneState
from emulator.pocket.tasks.base import Params, Plan, Template
from emulator.pocket.tasks.contacts import contacts, new_name, new_number, person, to_person
from emulator.pocket.tasks.expert import Expert, Hop, hop
from emulator.pocket.tasks.matching import ANY, said
from emulator.pocket.tasks.messages import chat, messages, sent, to_chat, write
from emulator.pocket.tasks.notes import TITLES, note, to_note, write_note

PLANS = (
    "Lunch",
    "Dinner",
    "Picnic",
    "Cinema",
    "Rehearsal",
    "Check-up",
    "Flat viewing",
    "Quiz night",
    "Boat trip",
    "Parents day",
)
"""What people meet for; no event on a fresh phone is called so."""
QUARTERS = ("00", "15", "30", "45")


class Cross(Template):
    """Base of all: `end` makes the wanted state as `want` does elsewhere, what was read or not aside."""

    def want(self, state: PhoneState, p: Params) -> None:
        for thread in messages(state).threads:
            thread.unread = ANY
        self.end(state, p)

    def end(self, state: PhoneState, p: Params) -> None:
        raise NotImplementedError


# ---- notes and messages
class SendNote(Cross):
    name = "cross.send_note"
    apps = ("notes", "messages")
    goals = (
        "Read the note {title}{in_app} and send its text to {person} in Messages",
        "Look up what the note {title}{in_app} says, and write exactly that to {person} in Messages",
        "{person} wants to know what is in the note {title}. Send the whole text of that note as a message",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"title": rng.choice([n.title for n in state.apps["notes"].notes]), "person": friend(rng, state)}

    def end(self, state: PhoneState, p: Params) -> None:
        sent(state, chat(state, p["person"]).address, note(state, p["title"]).body)

    def plan(self, x: Expert, p: Params) -> Plan:
        found = note(x.state, p["title"])
        if not x.visited("notes", "note", note=found.id):
            yield from x.go("notes", to_note(x.state, p["title"]))
        yield from x.go("messages", to_chat(x.state, p["person"]))
        yield from write(x, found.body)


class KeepMessage(Cross):
    name = "cross.keep_message"
    apps = ("messages", "notes")
    goals = (
        "Read the last message from {person}{in_app} and keep it as a note titled “{title}” in Notes",
        "Write a note called “{title}” in Notes with exactly what {person} wrote last{in_app}",
        "Copy the last message of {person}{in_app} into a new note in Notes, with the title “{title}”",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        codes = ("locker", "gate", "garage", "cellar", "bike lock", "alarm")
        text = f"The code of the {rng.choice(codes)} is {rng.randrange(1000, 10000)}"
        return {"person": friend(rng, state), "title": rng.choice(TITLES), "text": text}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        receive(state, p["person"], p["text"])

    def end(self, state: PhoneState, p: Params) -> None:
        state.apps["notes"].notes.insert(0, Note(ANY, said(p["title"]), said(p["text"]), ANY))

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from read_chat(x, p["person"])
        yield from write_note(x, p["title"], p["text"])


# ---- messages, calendar, clock
class MessageToEvent(Cross):
    name = "cross.message_to_event"
    apps = ("messages", "calendar")
    goals = (
        "{person} wrote when the {plan} is. Read it{in_app} and put an event “{plan}” on that day at that time into the Calendar",
        "Find out from the last message of {person}{in_app} when the {plan} takes place, and add it to the Calendar as “{plan}”",
        "Add an event titled “{plan}” to the Calendar, on the day and at the time that {person} names in the last message{in_app}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        today = state.device.time
        hour = rng.choice([h for h in range(8, 21) if h != 9])
        return {
            "person": friend(rng, state),
            "plan": rng.choice(PLANS),
            "day": date(today.year, today.month, rng.randrange(today.day + 1, 32)).isoformat(),
            "time": f"{hour:02d}:{rng.choice(QUARTERS)}",
        }

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        day = date.fromisoformat(p["day"])
        receive(state, p["person"], f"{p['plan']} is on {day.day} {day:%B} at {p['time']}")

    def end(self, state: PhoneState, p: Params) -> None:
        calendar(state).events.append(Event(ANY, said(p["plan"]), p["day"], p["time"]))

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from read_chat(x, p["person"])
        yield from add_event(x, p["plan"], p["day"], p["time"])


class MessageToAlarm(Cross):
    name = "cross.message_to_alarm"
    apps = ("messages", "clock")
    goals = (
        "{person} wrote at what time you should get up. Read it{in_app} and set a new alarm in the Clock for that time",
        "Set an alarm in the Clock for the time that {person} names in the last message{in_app}",
        "Look at the last message from {person}{in_app}, then add an alarm for the time in it in the Clock",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        time = f"{rng.choice([4, 5, 6, 8, 9, 10]):02d}:{rng.randrange(5, 60, 5):02d}"
        return {"person": friend(rng, state), "time": time}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        why = rng.choice(("The boat leaves early", "We start with breakfast", "The road will be full"))
        receive(state, p["person"], f"{why}, so get up at {p['time']}")

    def end(self, state: PhoneState, p: Params) -> None:
        clock(state).alarms.append(Alarm(ANY, p["time"]))

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from read_chat(x, p["person"])
        yield from add_alarm(x, p["time"])


class EventToAlarm(Cross):
    name = "cross.event_to_alarm"
    apps = ("calendar", "clock")
    heldout = True
    goals = (
        "Look up{in_app} at what time {event} begins and set a new alarm in the Clock for exactly that time",
        "Set an alarm in the Clock for the time at which {event} begins according to the calendar",
        "When does {event} start{in_app}? Add an alarm for that time in the Clock",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"event": some_event(rng, state)}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        event = event_called(state, p["event"])
        move_ahead(event, state, rng)
        event.time = f"{rng.choice([8, 9, 10, 11, 13, 14]):02d}:{rng.choice(QUARTERS[1:])}"

    def end(self, state: PhoneState, p: Params) -> None:
        clock(state).alarms.append(Alarm(ANY, event_called(state, p["event"]).time))

    def plan(self, x: Expert, p: Params) -> Plan:
        found = event_called(x.state, p["event"])
        if not x.visited("calendar", "event", event=found.id):
            yield from x.go("calendar", hop("event", f"event.{found.id}", event=found.id))
        yield from add_alarm(x, found.time)


class EventToMessage(Cross):
    name = "cross.event_to_message"
    apps = ("calendar", "messages")
    goals = (
        "Look up{in_app} where {event} takes place and send the name of the place to {person} in Messages",
        "{person} asks where {event} is. Find the place in the Calendar and send just that as a message",
        "Send {person} the place of the event {event} as it stands in the Calendar, in a message",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"event": some_event(rng, state), "person": friend(rng, state)}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        move_ahead(event_called(state, p["event"]), state, rng)

    def end(self, state: PhoneState, p: Params) -> None:
        sent(state, chat(state, p["person"]).address, event_called(state, p["event"]).place)

    def plan(self, x: Expert, p: Params) -> Plan:
        found = event_called(x.state, p["event"])
        if not x.visited("calendar", "event", event=found.id):
            yield from x.go("calendar", hop("event", f"event.{found.id}", event=found.id))
        yield from x.go("messages", to_chat(x.state, p["person"]))
        yield from write(x, found.place)


# ---- contacts
class SaveSender(Cross):
    name = "cross.save_sender"
    apps = ("messages", "contacts")
    goals = (
        "A number that is not in the contacts has written “{text}”{in_app}. Add the sender to the contacts as {person}",
        "Somebody unknown wrote “{text}”{in_app}: save that number as the contact {person}, from the chat's menu",
        "Find the chat{in_app} with the message “{text}” and add its number to the contacts under the name {person}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        texts = (
            "Hi, I have a new number",
            "It was nice to meet you",
            "Here is my number",
            "Write to me here from now on",
        )
        return {"person": new_name(rng, state), "number": new_number(rng), "text": rng.choice(texts)}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        state.serial += 1
        message = Message(f"m{state.serial}", p["text"], False, "Today", "08:50")
        messages(state).threads.insert(rng.randrange(4), Thread(p["number"], [message]))

    def end(self, state: PhoneState, p: Params) -> None:
        contacts(state).contacts.append(Contact(ANY, said(p["person"]), p["number"]))

    def plan(self, x: Expert, p: Params) -> Plan:
        if not (x.at("contacts", "edit") and x.value("phone") == p["number"]):
            yield from x.go("messages", hop("thread", f"thread.{p['number']}", address=p["number"]))
            yield from x.tap("page.more", "menu.add")
            return
        yield from x.type("name", p["person"])
        yield from x.tap("save")


class NumberFromMessage(Cross):
    name = "cross.number_from_message"
    apps = ("messages", "contacts")
    goals = (
        "{sender} has sent the number of {person}. Read it{in_app} and add {person} with this number in Contacts",
        "Save {person} as a new contact in Contacts, with the number from the last message of {sender}{in_app}",
        "Look up the phone number in the last message from {sender}{in_app} and store it in Contacts under the name {person}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"sender": friend(rng, state), "person": new_name(rng, state), "number": new_number(rng)}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        receive(state, p["sender"], f"The number of {p['person']} is {p['number']}")

    def end(self, state: PhoneState, p: Params) -> None:
        contacts(state).contacts.append(Contact(ANY, said(p["person"]), p["number"]))

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from read_chat(x, p["sender"])
        yield from x.go("contacts", hop("edit", "new"))
        if "contact" in x.state.nav.stacks["contacts"][-1].args:
            yield x.press("Back")
        yield from x.type("name", p["person"])
        yield from x.type("phone", p["number"])
        yield from x.tap("save")


class NumberToNote(Cross):
    name = "cross.number_to_note"
    apps = ("contacts", "notes")
    goals = (
        "Look up the number of {person}{in_app} and write it into a new note titled “{title}” in Notes",
        "Make a note called “{title}” in Notes whose text is the phone number of {person} from the contacts",
        "Find the phone number of {person}{in_app}; then note it down in Notes, under the title “{title}”",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        names = [contact.name for contact in contacts(state).contacts]
        return {"person": rng.choice(names), "title": rng.choice(TITLES)}

    def end(self, state: PhoneState, p: Params) -> None:
        number = person(state, p["person"]).phone
        state.apps["notes"].notes.insert(0, Note(ANY, said(p["title"]), said(number), ANY))

    def plan(self, x: Expert, p: Params) -> Plan:
        found = person(x.state, p["person"])
        if not x.visited("contacts", "contact", contact=found.id):
            yield from x.go("contacts", to_person(x.state, p["person"]))
        yield from write_note(x, p["title"], found.phone)


# ---- shop and calculator
class SumPrices(Cross):
    name = "cross.sum_prices"
    apps = ("shop", "calculator")
    goals = (
        "Look up what {first} and {second} cost{in_app}, and add the two prices up in the Calculator",
        "What do {first} and {second} cost together? Open both{in_app} to see their prices and work out the sum with the Calculator",
        "Open {first} and then {second}{in_app}; calculate the sum of their prices with the Calculator",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        first, second = rng.sample([product.name for product in front(state) if product.price < 100], 2)
        return {"first": first, "second": second}

    def check(self, before: PhoneState, state: PhoneState, p: Params) -> float:
        """The last calculation has the sum as its result; what stands on the display does not matter."""
        made = state.apps["calculator"].history[:1]
        prices = [shop(before).named(p[key]).price for key in ("first", "second")]
        terms = "".join(made[0].text.split()).split("+") if made else []
        if sorted(terms) != sorted(str(price) for price in prices):
            return 0.0
        return super().check(before, state, p)

    def end(self, state: PhoneState, p: Params) -> None:
        data: Any = state.apps["calculator"]
        total = sum(shop(state).named(p[key]).price for key in ("first", "second"))
        data.history.insert(0, Entry(ANY, ANY, plain(Decimal(total))))
        data.tokens = data.done = data.last = data.problem = ANY

    def plan(self, x: Expert, p: Params) -> Plan:
        products = [shop(x.state).named(p[key]) for key in ("first", "second")]
        for product in products:
            if not x.visited("shop", "product", product=product.id):
                yield from x.go("shop", to_product(x.state, product.name))
                return
        yield from x.go("calculator")
        yield from work_out(x, [str(products[0].price), "+", str(products[1].price)])


class BuyFromNote(Cross):
    name = "cross.buy_from_note"
    apps = ("notes", "shop")
    goals = (
        "Read the note {title}{in_app} and put what it says into the cart of the Shop, in this order",
        "The note {title}{in_app} says what to buy: add these two things to the cart in the Shop, one of each, in the order of the note",
        "Do the shopping of the note {title}{in_app}: add both things to the cart in the Shop, one after the other",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        taken = {line.product for line in shop(state).cart}
        names = [product.name for product in front(state) if product.id not in taken and not product.sizes]
        first, second = rng.sample(names, 2)
        return {"title": rng.choice([n.title for n in state.apps["notes"].notes]), "first": first, "second": second}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        note(state, p["title"]).body = f"Buy in the shop: {p['first']}, then {p['second']}."

    def end(self, state: PhoneState, p: Params) -> None:
        for key in ("first", "second"):
            shop(state).add(shop(state).named(p[key]).id, 1, "")

    def plan(self, x: Expert, p: Params) -> Plan:
        if not x.visited("notes", "note", note=note(x.state, p["title"]).id):
            yield from x.go("notes", to_note(x.state, p["title"]))
        data = shop(x.state)
        in_cart = {line.product for line in data.cart}
        todo = p["second"] if data.named(p["first"]).id in in_cart else p["first"]
        yield from x.go("shop", to_product(x.state, todo))
        yield from x.tap("add")


class PriceToMessage(Cross):
    name = "cross.price_to_message"
    apps = ("shop", "messages")
    heldout = True
    goals = (
        "Look up the price of {product}{in_app} and send it to {person} in Messages, written like $12",
        "{person} asks what {product} costs. Open it in the Shop and send just the price, such as $12, as a message",
        "Send {person} the price of {product} from the Shop in a message, with the dollar sign and nothing else",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"product": rng.choice(front(state)).name, "person": friend(rng, state)}

    def end(self, state: PhoneState, p: Params) -> None:
        sent(state, chat(state, p["person"]).address, money(shop(state).named(p["product"]).price))

    def plan(self, x: Expert, p: Params) -> Plan:
        product = shop(x.state).named(p["product"])
        if not x.visited("shop", "product", product=product.id):
            yield from x.go("shop", to_product(x.state, product.name))
        yield from x.go("messages", to_chat(x.state, p["person"]))
        yield from write(x, money(product.price))


# ---- music and settings
class LikeSong(Cross):
    name = "cross.like_song"
    apps = ("messages", "music")
    goals = (
        "{person} recommends a song in the last message. Read it{in_app} and like that song in Music",
        "Find out which song {person} praises{in_app}, and give it a like in Music",
        "Look at the last message from {person}{in_app}; search the song it names in Music and like it",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"person": friend(rng, state), "song": rng.choice(music(state).songs).title}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        song_called(state, p["song"]).liked = False
        words = rng.choice(("You must hear {}", "My song of the week: {}", "I love {}, you too?"))
        receive(state, p["person"], words.format(p["song"]))

    def end(self, state: PhoneState, p: Params) -> None:
        song_called(state, p["song"]).liked = True

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from read_chat(x, p["person"])
        song = song_called(x.state, p["song"]).id
        yield from x.go("music", hop("search", "search"))
        yield from x.type("query", p["song"])
        yield from x.tap(f"song.{song}.more", "sheet.like", about={"song": song})


class NetworkFromNote(Cross):
    name = "cross.network_from_note"
    apps = ("notes", "settings")
    heldout = True
    goals = (
        "Read the note {title}{in_app} to learn which Wi-Fi to use, and join it in Settings",
        "The note {title}{in_app} names a Wi-Fi network. Connect to that network in Settings",
        "Connect the phone to the wireless network from the note {title}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        networks = [name for name in state.apps["settings"].networks if name != state.device.network]
        return {"title": rng.choice([n.title for n in state.apps["notes"].notes]), "network": rng.choice(networks)}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        note(state, p["title"]).body = f"Wi-Fi at the new place: {p['network']}."

    def end(self, state: PhoneState, p: Params) -> None:
        state.device.network = p["network"]

    def plan(self, x: Expert, p: Params) -> Plan:
        if not x.visited("notes", "note", note=note(x.state, p["title"]).id):
            yield from x.go("notes", to_note(x.state, p["title"]))
        yield from x.go("settings", hop("wifi", "wifi"))
        yield from x.tap(f"network.{p['network']}", "join.ok", about={"network": p["network"]})


# ---- what is on the phone
def friend(rng: random.Random, state: PhoneState) -> str:
    """Somebody with whom there is a conversation, by name."""
    names = [name_of(state, thread.address) for thread in messages(state).threads if thread.address[0].isdigit()]
    return rng.choice(names)


def receive(state: PhoneState, name: str, text: str) -> None:
    """Let somebody have written `text` this morning."""
    thread = chat(state, name)
    state.serial += 1
    thread.messages.append(Message(f"m{state.serial}", text, False, "Today", "09:12"))
    thread.unread = 1
    messages(state).threads.remove(thread)
    messages(state).threads.insert(0, thread)


def calendar(state: PhoneState) -> CalendarData:
    data: CalendarData = state.apps["calendar"]
    return data


def event_called(state: PhoneState, title: str) -> Event:
    """The event with this title. Raises `LookupError` if there is none."""
    for event in calendar(state).events:
        if event.title == title:
            return event
    raise LookupError(f"no event {title!r}")


def some_event(rng: random.Random, state: PhoneState) -> str:
    """The title of an event that has a place."""
    return rng.choice([event.title for event in calendar(state).events if event.place])


def move_ahead(event: Event, state: PhoneState, rng: random.Random) -> None:
    """Put an event among those that the calendar's first page lists: later in this month."""
    today = state.device.time
    event.day = date(today.year, today.month, rng.randrange(today.day + 1, 29)).isoformat()


def clock(state: PhoneState) -> ClockData:
    data: ClockData = state.apps["clock"]
    return data


def shop(state: PhoneState) -> ShopData:
    data: ShopData = state.apps["shop"]
    return data


def front(state: PhoneState) -> list[Any]:
    """The products that the shop shows first."""
    return shop(state).listed("all", "popular")[:8]


def music(state: PhoneState) -> MusicData:
    data: MusicData = state.apps["music"]
    return data


def song_called(state: PhoneState, title: str) -> Song:
    """The song with this title. Raises `LookupError` if there is none."""
    for song in music(state).songs:
        if song.title == title:
            return song
    raise LookupError(f"no song {title!r}")


# ---- parts of plans
def read_chat(x: Expert, name: str) -> Plan:
    """Have seen the end of a conversation in this episode."""
    if not x.visited("messages", "thread", address=chat(x.state, name).address):
        yield from x.go("messages", to_chat(x.state, name))


def to_product(state: PhoneState, name: str) -> Hop:
    id = shop(state).named(name).id
    return hop("product", f"item.{id}", product=id)


def add_event(x: Expert, title: str, day: str, time: str) -> Plan:
    """A new event from the month's page on; `day` is an ISO date of this month."""
    hour, minute = time.split(":")
    if x.at("calendar", "pick_time"):
        yield from pick_time(x, hour, minute, "set")
        return
    yield from x.go("calendar", hop("day", f"month.{date.fromisoformat(day).day}", day=day), hop("edit", "new"))
    if x.fields.get("day") != day:
        yield x.press("Back")
    yield from x.type("title", title)
    if x.fields.get("time") != time:
        yield from x.tap("time")
    yield from x.tap("save")


def add_alarm(x: Expert, time: str) -> Plan:
    """A new alarm, otherwise as new alarms are."""
    hour, minute = time.split(":")
    yield from x.go("clock", hop("alarms", "alarms"), hop("alarm", "new"))
    if "alarm" in x.state.nav.stacks["clock"][-1].args:
        yield x.press("Back")
    yield from pick_time(x, hour, minute, "save")


def pick_time(x: Expert, hour: str, minute: str, done: str) -> Plan:
    """Choose a time on a page of hours and minutes, then tap `done`."""
    if x.fields.get("hour") != hour:
        yield from x.tap(f"hour.{hour}")
    if x.fields.get("minute") != minute:
        yield from x.tap(f"minute.{minute}")
    yield from x.tap(done)


KEYS = {"+": "key_plus", "-": "key_minus", "*": "key_multiply", "/": "key_divide", ".": "key_point"}


def work_out(x: Expert, tokens: list[str]) -> Plan:
    """Enter a calculation on the calculator's keys, clearing what stands there, and press equals."""
    data = x.data("calculator")
    text, entered = "".join(tokens), "" if data.done else "".join(data.tokens)
    if entered == text:
        yield from x.tap("key_equals")
    elif text.startswith(entered):
        char = text[len(entered)]
        yield from x.tap(KEYS.get(char, f"key_{char}"))
    else:
        yield from x.tap("key_clear")


TEMPLATES: tuple[type[Template], ...] = (
    SendNote,
    KeepMessage,
    MessageToEvent,
    MessageToAlarm,
    EventToAlarm,
    EventToMessage,
    SaveSender,
    NumberFromMessage,
    NumberToNote,
    SumPrices,
    BuyFromNote,
    PriceToMessage,
    LikeSong,
    NetworkFromNote,
)
