"""Files: folders to walk through, files to look at, rename, move, star and delete."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import partial

from emulator.pocket.app import App, Ctx
from emulator.pocket.widgets import (
    Art,
    Block,
    Button,
    Choice,
    Dialog,
    Empty,
    Fab,
    Glyph,
    Group,
    IconButton,
    MenuItem,
    Overlay,
    Page,
    Picture,
    Row,
    Sheet,
    Tabs,
    Text,
)
from emulator.pocket.world import World

ROOT = ""
"""The id of the folder that holds everything; the pages call it Home."""

KINDS = {
    "txt": ("Text", "note", "#C4820E"),
    "pdf": ("PDF", "file", "#C7485A"),
    "xlsx": ("Sheet", "list", "#2E8B57"),
    "jpg": ("Photo", "image", "#3A7FC4"),
    "png": ("Image", "image", "#6A58C9"),
    "mp3": ("Audio", "music", "#B0479B"),
    "mp4": ("Video", "video", "#D9662B"),
    "zip": ("Archive", "archive", "#6D7F3C"),
}
"""Ending: what it is called, icon, colour. Anything else is a plain file."""

SORTS = {"name": "Name", "date": "Date", "size": "Size"}

POOL: dict[str, tuple[str, ...]] = {
    "": ("Scan.pdf", "Todo.txt", "Readme.txt", "Backup.zip", "Draft.txt"),
    "Documents": ("Budget.xlsx", "Resume.pdf", "Lease.pdf", "Letter.txt", "Manual.pdf", "Passport.pdf", "Taxes.xlsx", "Recipes.txt"),
    "Downloads": ("Ticket.pdf", "Map.png", "Fonts.zip", "Menu.pdf", "Form.pdf", "Podcast.mp3", "Trailer.mp4", "Guide.pdf"),
    "Pictures": ("Beach.jpg", "Garden.jpg", "Birthday.jpg", "Snow.jpg", "Harbour.jpg", "Market.jpg", "Sketch.png", "Sunset.jpg"),
    "Trips": ("Rome.jpg", "Oslo.jpg", "Alps.jpg", "Ferry.mp4", "Route.png"),
    "Work": ("Report.pdf", "Slides.pdf", "Minutes.txt", "Invoice.pdf", "Contract.pdf", "Logo.png", "Hours.xlsx", "Agenda.txt"),
    "Archive": ("Offer.pdf", "Photos.zip", "Sales.xlsx", "Memo.txt"),
    "Sounds": ("Rain.mp3", "Bells.mp3", "Waves.mp3", "Ringtone.mp3", "Speech.mp3"),
}  # fmt: skip
"""Folders and what may lie in them. No name occurs twice; none is longer than twelve letters."""

INSIDE = {"Trips": "Pictures", "Archive": "Work"}
"""Folders that lie in another one."""

TEXTS = {
    "Todo.txt": "Call the plumber. Return the drill. Water the ferns.",
    "Readme.txt": "Photos go to Pictures, everything for the office to Work.",
    "Draft.txt": "Dear neighbours, on Saturday we will make some noise.",
    "Letter.txt": "Dear Sir or Madam, the heating has been cold since Monday.",
    "Recipes.txt": "Lentil soup: onion, carrots, red lentils, cumin, lemon.",
    "Minutes.txt": "Present: all. Decided: new chairs, no new desks.",
    "Agenda.txt": "1. Numbers of the quarter. 2. Summer party. 3. Parking.",
    "Memo.txt": "The side door stays locked after six in the evening.",
}

TYPICAL = {"txt": 1, "pdf": 240, "xlsx": 60, "jpg": 1800, "png": 420, "mp3": 3900, "mp4": 14000, "zip": 8200}
"""Typical sizes in KB."""


@dataclass(slots=True)
class Item:
    """A file or folder. `size` is in KB, `day` an ISO date, `parent` the id of the folder that it lies in."""

    id: str
    name: str
    parent: str
    day: str
    folder: bool = False
    size: int = 0
    starred: bool = False
    text: str = ""

    @property
    def kind(self) -> tuple[str, str, str]:
        """What it is called, its icon and colour."""
        if self.folder:
            return "Folder", "folder", "#C8922A"
        return KINDS.get(self.name.rpartition(".")[2].lower(), ("File", "file", "#6B7080"))


@dataclass(slots=True)
class FilesData:
    """Everything on the phone's disk, and how lists are sorted."""

    items: list[Item] = field(default_factory=list)
    sort: str = "name"

    def get(self, id: str) -> Item:
        """The item with this id. Raises `StopIteration` if there is none."""
        return next(item for item in self.items if item.id == id)

    def named(self, name: str) -> Item:
        """The first item with this name. Raises `StopIteration` if there is none."""
        return next(item for item in self.items if item.name == name)

    def title(self, id: str) -> str:
        """The name of a folder; "Home" of the root."""
        return "Home" if id == ROOT else self.get(id).name

    def inside(self, folder: str) -> list[Item]:
        """What lies in a folder, sorted."""
        return self.sorted([item for item in self.items if item.parent == folder])

    def sorted(self, items: list[Item]) -> list[Item]:
        """Folders first; by name, by date (the newest first) or by size (the largest first)."""
        named = sorted(items, key=lambda item: item.name.casefold())
        if self.sort == "date":
            named.sort(key=lambda item: item.day, reverse=True)
        elif self.sort == "size":
            named.sort(key=lambda item: -item.size)
        return sorted(named, key=lambda item: not item.folder)

    def below(self, id: str) -> list[Item]:
        """Everything in a folder, however deep."""
        found: list[Item] = []
        for item in self.items:
            if item.parent == id:
                found += [item, *self.below(item.id)]
        return found

    def free(self, name: str, parent: str, but: str = "") -> bool:
        """Whether a folder has no other item of this name (upper and lower case are the same)."""
        taken = [item for item in self.items if item.parent == parent and item.name.casefold() == name.casefold()]
        return all(item.id == but for item in taken)


Files = Ctx[FilesData]


def size_text(kilobytes: int) -> str:
    """A size as people read it."""
    return f"{kilobytes} KB" if kilobytes < 1000 else f"{kilobytes // 1000}.{kilobytes % 1000 // 100} MB"


def day_text(day: str) -> str:
    """`2025-03-02` as "2 March"."""
    when = date.fromisoformat(day)
    return f"{when.day} {when:%B}"


class FilesApp(App[FilesData]):
    """One page a folder, one a file; a long press brings the actions on either."""

    name = "files"
    title = "Files"
    icon = "folder"
    accent = "#2F7F8C"
    aliases = ("file", "file manager", "my files", "documents")

    def fresh(self, rng: random.Random, world: World) -> FilesData:
        items: list[Item] = []
        folders = {"": ROOT}
        for name in POOL:
            if name:
                folders[name] = f"f{len(folders)}"
                parent = folders[INSIDE.get(name, "")]
                items.append(Item(folders[name], name, parent, _day(rng), folder=True))
        for folder, names in POOL.items():
            count = len(names) - (3 if len(names) > 5 else 2)
            for name in sorted(rng.sample(names, count)):
                typical = TYPICAL[name.rpartition(".")[2]]
                size = max(1, typical * rng.randint(60, 160) // 100)
                text = TEXTS.get(name, "")
                items.append(Item(f"d{len(items)}", name, folders[folder], _day(rng), size=size, text=text))
        for item in rng.sample([item for item in items if not item.folder], 2):
            item.starred = True
        return FilesData(items)

    # ---- pages
    def page_main(self, ctx: Files) -> Page:
        tab = ctx.value("tab", "browse")
        tabs = Tabs("tab", {"browse": "Browse", "starred": "Starred"}, tab, partial(ctx.set_value, "tab"))
        if tab == "browse":
            return self._folder(ctx, ROOT, "Files", tabs)
        starred = ctx.data.sorted([item for item in ctx.data.items if item.starred])
        nothing = Empty("star", "Nothing starred", "Star a file to find it again here.")
        return Page("Files", self._rows(ctx, starred) or [nothing], actions=self._actions(ctx), tabs=tabs)

    def page_folder(self, ctx: Files) -> Page:
        folder = ctx.data.get(ctx.arg("folder"))
        return self._folder(ctx, folder.id, folder.name, None)

    def _folder(self, ctx: Files, id: str, title: str, tabs: Tabs | None) -> Page:
        """A folder's page. Only the first one has the search: "Downloads" has no room for it on a large display."""
        actions = self._actions(ctx)
        rows = self._rows(ctx, ctx.data.inside(id))
        nothing = Empty("folder", "Empty folder", "Move files here, or make a new folder.")
        return Page(
            title,
            rows or [nothing],
            actions=actions if id == ROOT else actions[1:],
            tabs=tabs,
            fab=Fab("new", "New folder", partial(self._ask_new, ctx, id)),
        )

    def page_search(self, ctx: Files) -> Page:
        query = ctx.field("query", hint="Search files", kind="search")
        wanted = query.value.strip().casefold()
        if not wanted:
            return Page("Search", [query])
        found = ctx.data.sorted([item for item in ctx.data.items if wanted in item.name.casefold()])
        return Page("Search", [query, *(self._rows(ctx, found) or [Empty("search", "Nothing found")])])

    def page_file(self, ctx: Files) -> Page:
        item = ctx.data.get(ctx.arg("item"))
        kind, icon, hue = item.kind
        top: Block = Picture(Art(icon, hue), item.name) if not item.text else Text(item.text, id="text", card=True)
        details = Group(
            [
                *([Row("detail.name", "Name", value=item.name)] if item.text else []),
                Row("detail.type", "Type", value=kind),
                Row("detail.size", "Size", value=size_text(item.size)),
                Row("detail.day", "Changed", value=day_text(item.day)),
                Row("detail.folder", "Folder", value=ctx.data.title(item.parent)),
            ],
            "Details",
        )
        star = IconButton(
            "star",
            "star_full" if item.starred else "star",
            "Unstar" if item.starred else "Star",
            partial(self._star, ctx, item.id),
            active=item.starred,
        )
        return Page(item.name, [top, details], actions=[star], menu=self._item_menu(ctx, item, "menu"))

    def page_move(self, ctx: Files) -> Page:
        """The folders of the folder `at`, without the one that is being moved."""
        item, at = ctx.data.get(ctx.arg("item")), ctx.arg("at")
        folders = [other for other in ctx.data.inside(at) if other.folder and other.id != item.id]
        rows = [
            Row(
                f"to.{folder.id}",
                folder.name,
                leading=self._glyph(folder),
                chevron=True,
                on_tap=partial(ctx.push, "move", {"item": item.id, "at": folder.id}),
            )
            for folder in folders
        ]
        return Page(
            "Move to" if at == ROOT else ctx.data.title(at),
            [Group(rows, item.name)] if rows else [Empty("folder", "No folders in here")],
            fab=Fab("here", "Move here", partial(self._move, ctx, item.id, at), "move"),
        )

    # ---- overlays
    def overlay_actions(self, ctx: Files) -> Overlay:
        item = ctx.data.get(ctx.arg("item"))
        star = MenuItem("sheet.star", "Unstar" if item.starred else "Star", partial(self._star, ctx, item.id), "star")
        return Sheet(item.name, [*([] if item.folder else [star]), *self._item_menu(ctx, item, "sheet")])

    def overlay_sort(self, ctx: Files) -> Overlay:
        rows = [
            Choice(f"sort.{key}", label, key == ctx.data.sort, partial(self._sort, ctx, key))
            for key, label in SORTS.items()
        ]
        return Dialog("Sort by", blocks=rows, buttons=[Button("sort.cancel", "Cancel", ctx.close, "tonal")])

    def overlay_rename(self, ctx: Files) -> Overlay:
        id = ctx.arg("item")
        done = partial(self._rename, ctx, id)
        return _name_dialog(ctx, "Rename", "rename", "Rename", done)

    def overlay_new(self, ctx: Files) -> Overlay:
        parent = ctx.arg("parent")
        return _name_dialog(ctx, "New folder", "create", "Create", partial(self._create, ctx, parent))

    def overlay_delete(self, ctx: Files) -> Overlay:
        item = ctx.data.get(ctx.arg("item"))
        count = len(ctx.data.below(item.id))
        contents = f" and the {count} things in it" if count > 1 else " and the file in it" if count else ""
        return Dialog(
            "Delete folder?" if item.folder else "Delete file?",
            f"{item.name}{contents} will be gone for good.",
            buttons=[
                Button("delete.cancel", "Cancel", ctx.close, "tonal"),
                Button("delete.ok", "Delete", partial(self._delete, ctx, item.id), "danger"),
            ],
        )

    # ---- parts
    @staticmethod
    def _glyph(item: Item) -> Glyph:
        _, icon, hue = item.kind
        return Glyph(icon, hue)

    def _rows(self, ctx: Files, items: Sequence[Item]) -> list[Block]:
        rows = []
        for item in items:
            count = len([other for other in ctx.data.items if other.parent == item.id])
            page, arg = ("folder", "folder") if item.folder else ("file", "item")
            star = IconButton(f"{item.id}.star", "star_full", "Unstar", partial(self._star, ctx, item.id), active=True)
            rows.append(
                Row(
                    f"item.{item.id}",
                    item.name,
                    "" if item.folder else f"{size_text(item.size)} · {day_text(item.day)}",
                    value=str(count) if item.folder else "",
                    leading=self._glyph(item),
                    chevron=item.folder,
                    trailing=star if item.starred else None,
                    on_tap=partial(ctx.push, page, {arg: item.id}),
                    on_long=partial(ctx.open, "actions", {"item": item.id}),
                )
            )
        return [Group(rows)] if rows else []

    @staticmethod
    def _actions(ctx: Files) -> list[IconButton]:
        def search() -> None:
            ctx.push("search")
            ctx.focus("query")

        return [
            IconButton("search", "search", "Search", search),
            IconButton("sort", "sort", "Sort", partial(ctx.open, "sort")),
        ]

    def _item_menu(self, ctx: Files, item: Item, prefix: str) -> list[MenuItem]:
        args = {"item": item.id}
        return [
            MenuItem(f"{prefix}.rename", "Rename", partial(self._ask_name, ctx, item), "edit"),
            MenuItem(f"{prefix}.move", "Move", partial(ctx.push, "move", args | {"at": ROOT}), "move"),
            MenuItem(f"{prefix}.delete", "Delete", partial(ctx.open, "delete", args), "trash", danger=True),
        ]

    # ---- changes
    @staticmethod
    def _ask_name(ctx: Files, item: Item) -> None:
        ctx.open("rename", {"item": item.id}, {"name": item.name})
        ctx.focus("name")

    @staticmethod
    def _ask_new(ctx: Files, parent: str) -> None:
        ctx.open("new", {"parent": parent}, {"name": ""})
        ctx.focus("name")

    @staticmethod
    def _sort(ctx: Files, key: str) -> None:
        ctx.data.sort = key
        ctx.close()

    @staticmethod
    def _star(ctx: Files, id: str) -> None:
        item = ctx.data.get(id)
        item.starred = not item.starred
        ctx.toast("Starred" if item.starred else "Star removed")

    @staticmethod
    def _accept(ctx: Files, parent: str, but: str = "") -> str | None:
        """The name that was typed if it can be used; else None and a toast that says why."""
        ctx.close()
        name = ctx.value("name").strip()
        if not name:
            ctx.toast("A name is needed")
        elif not ctx.data.free(name, parent, but):
            ctx.toast("Name is taken")
        else:
            return name
        return None

    def _rename(self, ctx: Files, id: str) -> None:
        item = ctx.data.get(id)
        name = self._accept(ctx, item.parent, id)
        if name is not None:
            item.name = name
            ctx.toast("Renamed")

    def _create(self, ctx: Files, parent: str) -> None:
        name = self._accept(ctx, parent)
        if name is not None:
            day = ctx.device.time.date().isoformat()
            ctx.data.items.append(Item(ctx.new_id("f"), name, parent, day, folder=True))
            ctx.toast("Folder created")

    @staticmethod
    def _move(ctx: Files, id: str, at: str) -> None:
        item = ctx.data.get(id)
        if item.parent == at:
            ctx.toast("Already here")
        elif not ctx.data.free(item.name, at):
            ctx.toast("Name is taken")
        else:
            item.parent = at
            while ctx.page.name == "move":
                ctx.pop()
            ctx.toast(f"Moved to {ctx.data.title(at)}")

    @staticmethod
    def _delete(ctx: Files, id: str) -> None:
        gone = {id, *(item.id for item in ctx.data.below(id))}
        ctx.data.items = [item for item in ctx.data.items if item.id not in gone]
        if ctx.page.name == "file":
            ctx.pop()
        ctx.toast("Deleted")


def _day(rng: random.Random) -> str:
    """A day of January to mid-March of the phone's year."""
    return date.fromordinal(date(2025, 1, 2).toordinal() + rng.randrange(70)).isoformat()


def _name_dialog(ctx: Files, title: str, id: str, label: str, done: partial[None]) -> Dialog:
    """A dialog with one field, `name`; Enter does what the button does."""
    return Dialog(
        title,
        blocks=[ctx.field("name", "Name", on_submit=done)],
        buttons=[Button(f"{id}.cancel", "Cancel", ctx.close, "tonal"), Button(f"{id}.ok", label, done)],
    )
