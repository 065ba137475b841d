"""Notes: a list to search, pin and delete from, and an editor."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from functools import partial

from emulator.pocket.app import App, Ctx
from emulator.pocket.widgets import (
    Block,
    Button,
    Card,
    Dialog,
    Empty,
    Fab,
    IconButton,
    MenuItem,
    Overlay,
    Page,
    Sheet,
    Text,
)
from emulator.pocket.world import World

POOL = {
    "Groceries": "Milk, eggs, rye bread, two lemons and a jar of olives.",
    "Book list": "Finish the lighthouse novel. Borrow the atlas of birds.",
    "Bike repair": "New brake pads at the front. Chain needs oil.",
    "Dinner plan": "Tomato soup on Monday, pasta on Tuesday, leftovers after.",
    "Packing": "Charger, rain jacket, tickets, toothbrush, a warm hat.",
    "Plants": "Water the fern every third day. The cactus can wait.",
    "Workout": "Ten minutes of rowing, then stretch. Rest on Sunday.",
    "Wishes": "A tea pot, hiking socks, a good lamp for the desk.",
    "Film night": "Nora wants a comedy, Paul wants a western.",
    "Meeting": "Ask about the budget. Bring the drawings.",
    "Recipe": "Two cups of flour, one of sugar, butter, a pinch of salt.",
    "Ideas": "A map of quiet places in town, drawn by hand.",
    "Door code": "Front door 4471, cellar 2090.",
    "Garden": "Sow peas in March, beans in May. Mend the fence.",
    "Train": "Leaves 8:12 from platform 6, back at 19:40.",
    "Paint": "Hall in soft green, kitchen in white. Buy two rollers.",
}
"""Titles of at most twelve letters, and texts."""


@dataclass(slots=True)
class Note:
    id: str
    title: str
    body: str
    day: str
    pinned: bool = False


@dataclass(slots=True)
class NotesData:
    """The notes, the newest first."""

    notes: list[Note] = field(default_factory=list)

    def get(self, id: str) -> Note:
        """The note with this id. Raises `StopIteration` if there is none."""
        return next(note for note in self.notes if note.id == id)

    def shown(self, query: str) -> list[Note]:
        """Notes whose title or text contains `query`, pinned ones first."""
        wanted = query.strip().casefold()
        found = [note for note in self.notes if wanted in note.title.casefold() or wanted in note.body.casefold()]
        return sorted(found, key=lambda note: not note.pinned)


Notes = Ctx[NotesData]


class NotesApp(App[NotesData]):
    """Titles and texts; a long press on a note brings its actions."""

    name = "notes"
    title = "Notes"
    icon = "note"
    accent = "#C4820E"
    aliases = ("note", "notepad", "keep")

    def fresh(self, rng: random.Random, world: World) -> NotesData:
        titles = rng.sample(sorted(POOL), 9)
        days = [f"{day} March" for day in sorted(rng.sample(range(1, 14), len(titles)), reverse=True)]
        notes = [
            Note(f"n{i}", title, POOL[title], day) for i, (title, day) in enumerate(zip(titles, days, strict=True))
        ]
        rng.choice(notes).pinned = True
        return NotesData(notes)

    # ---- pages
    def page_main(self, ctx: Notes) -> Page:
        return Page(
            "Notes",
            self._cards(ctx, "") or [Empty("note", "No notes yet", "What you write down is kept here.")],
            actions=[IconButton("search", "search", "Search", partial(self._search, ctx))],
            fab=Fab("new", "New note", partial(ctx.push, "edit")),
        )

    def page_search(self, ctx: Notes) -> Page:
        query = ctx.field("query", hint="Search notes", kind="search")
        found = self._cards(ctx, query.value) if query.value.strip() else []
        nothing = [Empty("search", "Nothing found")] if query.value.strip() else []
        return Page("Search", [query, *(found or nothing)])

    def page_note(self, ctx: Notes) -> Page:
        note = ctx.data.get(ctx.arg("note"))
        pin = ("Unpin", "Pin")[not note.pinned]
        return Page(
            note.title,
            [Text(note.body, id="body", card=True), Text(f"Written on {note.day}", "caption")],
            actions=[IconButton("edit", "edit", "Edit", partial(self._edit, ctx, note.id))],
            menu=[
                MenuItem("menu.pin", pin, partial(self._pin, ctx, note.id), "pin"),
                MenuItem("menu.delete", "Delete", partial(ctx.open, "delete", {"note": note.id}), "trash", danger=True),
            ],
        )

    def page_edit(self, ctx: Notes) -> Page:
        """A new note, or the one in the page's `note` argument."""
        fields: list[Block] = [ctx.field("title", "Title"), ctx.field("body", "Text", kind="multiline")]
        name = "Edit note" if "note" in ctx.page.args else "New note"
        return Page(name, fields, actions=[IconButton("save", "check", "Save", partial(self._save, ctx))])

    # ---- overlays
    def overlay_actions(self, ctx: Notes) -> Overlay:
        note = ctx.data.get(ctx.arg("note"))
        pin = ("Unpin", "Pin")[not note.pinned]
        return Sheet(
            note.title,
            [
                MenuItem("sheet.pin", pin, partial(self._pin, ctx, note.id), "pin"),
                MenuItem("sheet.edit", "Edit", partial(self._edit, ctx, note.id), "edit"),
                MenuItem(
                    "sheet.delete", "Delete", partial(ctx.open, "delete", {"note": note.id}), "trash", danger=True
                ),
            ],
        )

    def overlay_delete(self, ctx: Notes) -> Overlay:
        note = ctx.data.get(ctx.arg("note"))
        return Dialog(
            "Delete note?",
            f"{note.title} will be gone for good.",
            buttons=[
                Button("delete.cancel", "Cancel", ctx.close, "tonal"),
                Button("delete.ok", "Delete", partial(self._delete, ctx, note.id), "danger"),
            ],
        )

    # ---- changes
    def _cards(self, ctx: Notes, query: str) -> list[Block]:
        return [
            Card(
                f"note.{note.id}",
                note.title,
                note.body,
                partial(ctx.push, "note", {"note": note.id}),
                caption=note.day,
                mark="pin" if note.pinned else "",
                on_long=partial(ctx.open, "actions", {"note": note.id}),
            )
            for note in ctx.data.shown(query)
        ]

    @staticmethod
    def _search(ctx: Notes) -> None:
        ctx.push("search")
        ctx.focus("query")

    @staticmethod
    def _pin(ctx: Notes, id: str) -> None:
        note = ctx.data.get(id)
        note.pinned = not note.pinned
        ctx.toast("Pinned" if note.pinned else "Unpinned")

    @staticmethod
    def _edit(ctx: Notes, id: str) -> None:
        note = ctx.data.get(id)
        ctx.push("edit", {"note": id}, {"title": note.title, "body": note.body})

    @staticmethod
    def _save(ctx: Notes) -> None:
        """An empty title becomes "Untitled"; a note without any text is not kept."""
        title, body = ctx.value("title").strip(), ctx.value("body").strip()
        if not title and not body:
            ctx.toast("Nothing to save")
            return
        data, id = ctx.data, ctx.page.args.get("note")
        if id is None:
            day = f"{ctx.device.time.day} {ctx.device.time:%B}"
            data.notes.insert(0, Note(ctx.new_id("n"), title or "Untitled", body, day))
        else:
            note = data.get(id)
            note.title, note.body = title or "Untitled", body
        ctx.pop()
        ctx.toast("Note saved")

    @staticmethod
    def _delete(ctx: Notes, id: str) -> None:
        ctx.data.notes.remove(ctx.data.get(id))
        if ctx.page.name == "note":
            ctx.pop()
        ctx.toast("Note deleted")
