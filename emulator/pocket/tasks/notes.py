"""Tasks in Notes."""

from __future__ import annotations

import random
from typing import Any

from emulator.pocket.apps.notes import POOL, Note
from emulator.pocket.state import PhoneState
from emulator.pocket.tasks.base import Params, Plan, Template, answered
from emulator.pocket.tasks.expert import Expert, Hold, Hop, hop
from emulator.pocket.tasks.matching import ANY, said

TITLES = (
    "Birthday",
    "Paint shop",
    "Names",
    "Ferry",
    "Call list",
    "Ladder",
    "Museum",
    "Neighbour",
    "Spices",
    "Tax",
    "Tyres",
    "Vet",
)
TEXTS = (
    "Ask for two blue tiles", "Bring back on Friday", "Costs 35 with the case", "Key hangs at the door", "Meet at the fountain", "Needs four screws",
    "Only before noon", "Paid until June", "Room 12 on the left", "Send a photo first", "Size 42 or larger", "Two more chairs",
)  # fmt: skip
LINES = (
    "Half a melon",
    "Ring the bell twice",
    "Not on Sundays",
    "Ask Ivan first",
    "Nine is enough",
    "See page 27",
    "Sent on Monday",
    "Try the green one",
)


def note(state: PhoneState, title: str) -> Note:
    """The note with this title. Raises `LookupError` if there is none."""
    notes: list[Note] = state.apps["notes"].notes
    for candidate in notes:
        if candidate.title == title:
            return candidate
    raise LookupError(f"no note {title!r}")


def to_note(state: PhoneState, title: str) -> Hop:
    id = note(state, title).id
    return hop("note", f"note.{id}", note=id)


def to_edit(state: PhoneState, title: str) -> Hop:
    return hop("edit", "edit", note=note(state, title).id)


class OfANote(Template):
    """Base of tasks about one of the notes on the phone."""

    apps = ("notes",)

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"title": rng.choice([n.title for n in state.apps["notes"].notes])}


class Pin(OfANote):
    name = "notes.pin"
    goals = (
        "Pin the note {title}{in_app}",
        "Keep the note called {title} on top{in_app} by pinning it",
        "Press and hold the note {title}{in_app} and pin it",
    )

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        note(state, p["title"]).pinned = False

    def want(self, state: PhoneState, p: Params) -> None:
        note(state, p["title"]).pinned = True

    def plan(self, x: Expert, p: Params) -> Plan:
        id = note(x.state, p["title"]).id
        yield from x.go("notes")
        yield from x.tap(Hold(f"note.{id}"), "sheet.pin", about={"note": id})


class Unpin(OfANote):
    name = "notes.unpin"
    goals = (
        "Open the note {title}{in_app} and unpin it from its menu",
        "Unpin the note {title}{in_app}",
        "The note {title}{in_app} need not stay on top any more: unpin it",
    )

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        note(state, p["title"]).pinned = True

    def want(self, state: PhoneState, p: Params) -> None:
        note(state, p["title"]).pinned = False

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from x.go("notes", to_note(x.state, p["title"]))
        yield from x.tap("page.more", "menu.pin")


class Delete(OfANote):
    name = "notes.delete"
    goals = (
        "Delete the note {title}{in_app}",
        "Remove the note called {title}{in_app} for good",
        "Get rid of the note {title}{in_app}",
    )

    def want(self, state: PhoneState, p: Params) -> None:
        state.apps["notes"].notes.remove(note(state, p["title"]))

    def plan(self, x: Expert, p: Params) -> Plan:
        id = note(x.state, p["title"]).id
        yield from x.go("notes", to_note(x.state, p["title"]))
        yield from x.tap("page.more", "menu.delete", "delete.ok", about={"note": id})


class Write(Template):
    name = "notes.write"
    apps = ("notes",)
    goals = (
        "Write a new note{in_app} with the title “{title}” and the text “{text}”",
        "Make a note{in_app} titled “{title}” that says “{text}”",
        "Note down “{text}”{in_app}, in a new note called “{title}”",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"title": rng.choice(TITLES), "text": rng.choice(TEXTS)}

    def want(self, state: PhoneState, p: Params) -> None:
        state.apps["notes"].notes.insert(0, Note(ANY, said(p["title"]), said(p["text"]), ANY))

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from write_note(x, p["title"], p["text"])


def write_note(x: Expert, title: str, text: str) -> Plan:
    """A new note from Notes' first page on."""
    yield from x.go("notes", hop("edit", "new"))
    yield from x.type("title", title)
    yield from x.type("body", text)
    yield from x.tap("save")


class Append(OfANote):
    name = "notes.append"
    goals = (
        "Add the sentence “{line}.” at the end of the note {title}{in_app}",
        "In the note {title}{in_app}, add “{line}.” after what is already there",
        "Edit the note {title}{in_app}: its text should end with the additional sentence “{line}.”",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return super().parameters(rng, state) | {"line": rng.choice(LINES)}

    def want(self, state: PhoneState, p: Params) -> None:
        found = note(state, p["title"])
        found.body = said(f"{found.body} {p['line']}.")

    def plan(self, x: Expert, p: Params) -> Plan:
        found = note(x.state, p["title"])
        yield from x.go("notes", to_note(x.state, p["title"]), to_edit(x.state, p["title"]))
        yield from x.type("body", f"{found.body} {p['line']}.")
        yield from x.tap("save")


class Rename(OfANote):
    name = "notes.rename"
    goals = (
        "Rename the note {title}{in_app} to “{new}”",
        "Change the title of the note {title}{in_app} to “{new}”, its text stays",
        "The note {title}{in_app} should be called “{new}”",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return super().parameters(rng, state) | {"new": rng.choice(TITLES)}

    def want(self, state: PhoneState, p: Params) -> None:
        note(state, p["title"]).title = said(p["new"])

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from x.go("notes", to_note(x.state, p["title"]), to_edit(x.state, p["title"]))
        yield from x.type("title", p["new"])
        yield from x.tap("save")


class FindAndDelete(Template):
    """The note is known by a word of its text only, so it must be searched for."""

    name = "notes.find_delete"
    apps = ("notes",)
    goals = (
        "Search{in_app} for “{word}” and delete the note that is found",
        "Use the search{in_app} to find the note that mentions “{word}”, and delete it",
        "One note{in_app} has the word “{word}” in it: find it with the search and delete it",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"word": rng.choice(_lone_words(state))}

    def want(self, state: PhoneState, p: Params) -> None:
        state.apps["notes"].notes.remove(_with_word(state, p["word"]))

    def plan(self, x: Expert, p: Params) -> Plan:
        found = _with_word(x.state, p["word"])
        found_page = hop("note", f"note.{found.id}", note=found.id, fill={"query": p["word"]})
        yield from x.go("notes", hop("search", "search"), found_page)
        yield from x.tap("page.more", "menu.delete", "delete.ok", about={"note": found.id})


class FindAndPin(FindAndDelete):
    name = "notes.find_pin"
    heldout = True
    goals = (
        "Search{in_app} for “{word}” and pin the note that is found",
        "Use the search{in_app} to find the note that mentions “{word}”, and pin it",
        "One note{in_app} has the word “{word}” in it: find it with the search and pin it",
    )

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        _with_word(state, p["word"]).pinned = False

    def want(self, state: PhoneState, p: Params) -> None:
        _with_word(state, p["word"]).pinned = True

    def plan(self, x: Expert, p: Params) -> Plan:
        found = _with_word(x.state, p["word"])
        found_page = hop("note", f"note.{found.id}", note=found.id, fill={"query": p["word"]})
        yield from x.go("notes", hop("search", "search"), found_page)
        yield from x.tap("page.more", "menu.pin")


class Copy(OfANote):
    name = "notes.copy"
    goals = (
        "Make a new note{in_app} called “{new}” with the same text as the note {title}",
        "Copy the text of the note {title}{in_app} into a new note titled “{new}”",
        "Start a note “{new}”{in_app} and write into it exactly what the note {title} says",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return super().parameters(rng, state) | {"new": rng.choice(TITLES)}

    def want(self, state: PhoneState, p: Params) -> None:
        text = note(state, p["title"]).body
        state.apps["notes"].notes.insert(0, Note(ANY, said(p["new"]), said(text), ANY))

    def plan(self, x: Expert, p: Params) -> Plan:
        found = note(x.state, p["title"])
        if not x.visited("notes", "note", note=found.id):
            yield from x.go("notes", to_note(x.state, p["title"]))
        yield from write_note(x, p["new"], found.body)


class Ask(Template):
    """A question that the text of a note answers."""

    name = "notes.ask"
    apps = ("notes",)
    goals = (
        "Look into the note {title}{in_app} and answer: {question}",
        "Read the note {title}{in_app} and tell me: {question}",
        "According to the note {title}{in_app}, {question}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        title = rng.choice(sorted(QUESTIONS))
        return {"title": title, "question": rng.choice(sorted(QUESTIONS[title]))}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        notes: list[Note] = state.apps["notes"].notes
        if all(n.title != p["title"] for n in notes):
            old = rng.choice(notes)
            old.title, old.body = p["title"], POOL[p["title"]]

    def check(self, before: PhoneState, state: PhoneState, p: Params) -> float:
        return float(answered(before, state, QUESTIONS[p["title"]][p["question"]]))

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from x.go("notes", to_note(x.state, p["title"]))
        yield x.answer(QUESTIONS[p["title"]][p["question"]])


QUESTIONS = {
    "Door code": {"what is the code of the front door?": "4471", "what is the code of the cellar?": "2090"},
    "Train": {"from which platform does the train leave?": "6", "at what time does the train leave?": "8:12"},
    "Paint": {"which colour does the kitchen get?": "white", "how many rollers must be bought?": "two"},
    "Garden": {"in which month are the peas sown?": "March", "in which month are the beans sown?": "May"},
    "Film night": {"who wants a comedy?": "Nora", "who wants a western?": "Paul"},
    "Dinner plan": {"what is for dinner on Monday?": "tomato soup", "what is for dinner on Tuesday?": "pasta"},
}
"""Titles of notes, what can be asked about them, and the answers."""


class SwapPins(Template):
    name = "notes.swap_pins"
    apps = ("notes",)
    heldout = True
    goals = (
        "Pin the note {pin}{in_app} and unpin the note {unpin}",
        "Let the note {pin} take the place of {unpin} on top{in_app}: pin the one, unpin the other",
        "Pin {pin}{in_app}, then unpin {unpin}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        pin, unpin = rng.sample([n.title for n in state.apps["notes"].notes], 2)
        return {"pin": pin, "unpin": unpin}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        note(state, p["pin"]).pinned = False
        note(state, p["unpin"]).pinned = True

    def want(self, state: PhoneState, p: Params) -> None:
        note(state, p["pin"]).pinned = True
        note(state, p["unpin"]).pinned = False

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from x.go("notes")
        todo = p["unpin"] if note(x.state, p["pin"]).pinned else p["pin"]
        id = note(x.state, todo).id
        yield from x.tap(Hold(f"note.{id}"), "sheet.pin", about={"note": id})


def _words(found: Note) -> set[str]:
    return {word for word in found.body.replace(",", " ").replace(".", " ").split() if len(word) > 3 and word.isalpha()}


def _lone_words(state: PhoneState) -> list[str]:
    """Words by which the search finds one note."""
    data: Any = state.apps["notes"]
    return sorted({word for n in data.notes for word in _words(n) if len(data.shown(word)) == 1})


def _with_word(state: PhoneState, word: str) -> Note:
    found: list[Note] = state.apps["notes"].shown(word)
    if not found:
        raise LookupError(f"no note with {word!r}")
    return found[0]


TEMPLATES: tuple[type[Template], ...] = (
    Pin,
    Unpin,
    Delete,
    Write,
    Append,
    Rename,
    FindAndDelete,
    FindAndPin,
    Copy,
    Ask,
    SwapPins,
)
