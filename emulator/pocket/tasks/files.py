"""Tasks in Files."""

from __future__ import annotations

import random
from datetime import date, timedelta
from typing import ClassVar

from emulator.pocket.apps.files import ROOT, FilesData, Item, size_text
from emulator.pocket.state import PhoneState
from emulator.pocket.tasks.base import Params, Plan, Template, answered
from emulator.pocket.tasks.dialogs import give_name
from emulator.pocket.tasks.expert import Expert, Hold, Hop, hop
from emulator.pocket.tasks.matching import ANY, said

NAMES = (
    "Bills",
    "Camping",
    "Drafts",
    "Exams",
    "Family",
    "Garage",
    "Hobbies",
    "Music",
    "Old",
    "Printed",
    "Receipts",
    "School",
    "Travel",
    "Winter",
)
STEMS = ("Final", "Plan", "Copy", "First", "June", "Private", "Sample", "Signed", "Summary", "Version 2")  # fmt: skip


def disk(state: PhoneState) -> FilesData:
    found = state.apps["files"]
    assert isinstance(found, FilesData)
    return found


def item(state: PhoneState, name: str) -> Item:
    """The file or folder with this name; those that goals speak of are unique. Raises `LookupError` if there is none."""
    for candidate in disk(state).items:
        if candidate.name == name:
            return candidate
    raise LookupError(f"no file or folder {name!r}")


def files_in_folders(state: PhoneState) -> list[tuple[str, str]]:
    """(file, folder) by name, of all files that lie in a folder."""
    data = disk(state)
    return [(file.name, data.title(file.parent)) for file in data.items if not file.folder and file.parent != ROOT]


def folders(state: PhoneState) -> list[str]:
    return [found.name for found in disk(state).items if found.folder]


def place(state: PhoneState, folder: str) -> str:
    """A folder as a goal names it: with the folder around it, if there is one."""
    parent = item(state, folder).parent
    return f"{folder} inside {disk(state).title(parent)}" if parent != ROOT else folder


def way(state: PhoneState, id: str) -> list[Hop]:
    """The pages from the first one to a folder."""
    hops: list[Hop] = []
    while id != ROOT:
        hops.insert(0, hop("folder", f"item.{id}", folder=id))
        id = disk(state).get(id).parent
    return hops


def browse(x: Expert, *hops: Hop) -> Plan:
    """`go`, by way of the tab that shows folders."""
    yield from x.enter("files")
    if x.at("files", "main") and x.fields.get("tab", "browse") != "browse":
        yield from x.tap("tab.browse")
    yield from x.go("files", *hops)


def carry(x: Expert, id: str, target: str) -> Plan:
    """From a file's menu or sheet on: walk to the folder `target` and put the file there."""
    steps: list[str] = []
    at = target
    while at != ROOT:
        steps.insert(0, at)
        at = disk(x.state).get(at).parent
    here = [page.args["at"] for page in x.state.nav.stacks["files"] if page.name == "move"][1:]
    if here != steps[: len(here)]:
        yield x.press("Back")
    elif len(here) < len(steps):
        yield from x.tap(f"to.{steps[len(here)]}")
    else:
        yield from x.tap("here")


def moving(x: Expert, id: str) -> bool:
    """Whether the page that asks where to move this item is in front."""
    return x.at("files", "move", item=id)


class InFiles(Template):
    apps: ClassVar[tuple[str, ...]] = ("files",)


class OfAFile(InFiles):
    """Base of tasks about a file in a folder, named in the goal."""

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        file, folder = rng.choice(files_in_folders(state))
        return {"file": file, "folder": place(state, folder)}


class Star(OfAFile):
    name = "files.star"
    goals = (
        "Star the file {file} in the folder {folder}{in_app}",
        "Mark {file}, which lies in {folder}{in_app}, with a star",
        "Go to the folder {folder}{in_app} and give {file} a star",
    )

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        item(state, p["file"]).starred = False

    def want(self, state: PhoneState, p: Params) -> None:
        item(state, p["file"]).starred = True

    def plan(self, x: Expert, p: Params) -> Plan:
        file = item(x.state, p["file"])
        yield from browse(x, *way(x.state, file.parent))
        yield from x.tap(Hold(f"item.{file.id}"), "sheet.star", about={"item": file.id})


class Unstar(OfAFile):
    name = "files.unstar"
    goals = (
        "Go to the starred files{in_app} and take the star off {file}",
        "Remove the star from {file} on the tab Starred{in_app}",
        "The file {file} need not be among the starred ones{in_app} any more: take its star away there",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"file": rng.choice(files_in_folders(state))[0]}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        for name, _ in rng.sample(files_in_folders(state), 4):
            item(state, name).starred = True
        item(state, p["file"]).starred = True

    def want(self, state: PhoneState, p: Params) -> None:
        item(state, p["file"]).starred = False

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from x.go("files")
        if x.fields.get("tab", "browse") != "starred":
            yield from x.tap("tab.starred")
        yield from x.tap(f"{item(x.state, p['file']).id}.star")


class Rename(OfAFile):
    name = "files.rename"
    goals = (
        "Rename the file {file} in the folder {folder}{in_app} to “{new}”",
        "Change the name of {file} in {folder}{in_app} to “{new}”",
        "The file {file} in the folder {folder}{in_app} should be called “{new}”",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        p = super().parameters(rng, state)
        return p | {"new": f"{rng.choice(STEMS)}.{p['file'].rpartition('.')[2]}"}

    def want(self, state: PhoneState, p: Params) -> None:
        item(state, p["file"]).name = said(p["new"])

    def plan(self, x: Expert, p: Params) -> Plan:
        file = item(x.state, p["file"])
        yield from browse(x, *way(x.state, file.parent))
        chain = (Hold(f"item.{file.id}"), "sheet.rename")
        yield from give_name(x, "rename", {"item": file.id}, p["new"], *chain)


class Move(OfAFile):
    name = "files.move"
    goals = (
        "Move the file {file} from the folder {folder} to the folder {to}{in_app}",
        "Put {file}, which is in {folder}{in_app}, into the folder {to}",
        "The file {file} in {folder}{in_app} belongs into {to}: move it there",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        p = super().parameters(rng, state)
        home = disk(state).title(item(state, p["file"]).parent)
        target = rng.choice([name for name in folders(state) if name != home])
        return p | {"to": place(state, target)}

    def want(self, state: PhoneState, p: Params) -> None:
        item(state, p["file"]).parent = item(state, p["to"].split(" inside ")[0]).id

    def plan(self, x: Expert, p: Params) -> Plan:
        file = item(x.state, p["file"])
        if moving(x, file.id):
            yield from carry(x, file.id, item(x.state, p["to"].split(" inside ")[0]).id)
            return
        yield from browse(x, *way(x.state, file.parent))
        yield from x.tap(Hold(f"item.{file.id}"), "sheet.move", about={"item": file.id})


class Delete(OfAFile):
    name = "files.delete"
    goals = (
        "Delete the file {file} in the folder {folder}{in_app}",
        "Open {file} in the folder {folder}{in_app} and delete it from its menu",
        "The file {file} in {folder}{in_app} is not needed any more: delete it",
    )

    def want(self, state: PhoneState, p: Params) -> None:
        disk(state).items.remove(item(state, p["file"]))

    def plan(self, x: Expert, p: Params) -> Plan:
        file = item(x.state, p["file"])
        yield from browse(x, *way(x.state, file.parent), hop("file", f"item.{file.id}", item=file.id))
        yield from x.tap("page.more", "menu.delete", "delete.ok", about={"item": file.id})


class DeleteFolder(InFiles):
    """The folder is an additional one, with a file in it or without."""

    name = "files.delete_folder"
    goals = (
        "Delete the folder {name} in {folder}{in_app} and all that is in it",
        "Press and hold the folder {name} in {folder}{in_app} and delete it",
        "Remove the folder {name}, which lies in {folder}{in_app}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {
            "name": rng.choice(NAMES),
            "folder": rng.choice([name for name in folders(state) if item(state, name).parent == ROOT]),
        }

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        items = disk(state).items
        items.append(Item("x1", p["name"], item(state, p["folder"]).id, "2025-03-01", folder=True))
        if rng.random() < 0.6:
            items.append(Item("x2", "Page 1.jpg", "x1", "2025-03-01", size=900))

    def want(self, state: PhoneState, p: Params) -> None:
        disk(state).items = [found for found in disk(state).items if found.id not in ("x1", "x2")]

    def plan(self, x: Expert, p: Params) -> Plan:
        folder = item(x.state, p["name"])
        yield from browse(x, *way(x.state, folder.parent))
        yield from x.tap(Hold(f"item.{folder.id}"), "sheet.delete", "delete.ok", about={"item": folder.id})


class NewFolder(InFiles):
    name = "files.new_folder"
    goals = (
        "Create a folder “{name}” inside the folder {folder}{in_app}",
        "Make a new folder called “{name}” in {folder}{in_app}",
        "The folder {folder}{in_app} needs a folder “{name}” in it: make one",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        folder = rng.choice([name for name in folders(state) if item(state, name).parent == ROOT])
        return {"name": rng.choice(NAMES), "folder": folder}

    def want(self, state: PhoneState, p: Params) -> None:
        parent = item(state, p["folder"]).id
        disk(state).items.append(Item(ANY, said(p["name"]), parent, ANY, folder=True))

    def plan(self, x: Expert, p: Params) -> Plan:
        parent = item(x.state, p["folder"]).id
        yield from browse(x, *way(x.state, parent))
        yield from give_name(x, "new", {"parent": parent}, p["name"], "new")


class SortAndDelete(InFiles):
    """Which file it is shows once the list is sorted; the sorting stays."""

    name = "files.sort_delete"
    goals = (
        "Sort the files by {key}{in_app} and delete the {extreme} file in the folder {folder}",
        "Delete the {extreme} file of the folder {folder}{in_app}; sort the files by {key} to find it",
        "Let Files sort by {key}, then delete the {extreme} file that lies in {folder}{in_app}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"key": rng.choice(("date", "size")), "folder": place(state, rng.choice(folders(state)))}

    def words(self, p: Params) -> Params:
        return p | {"extreme": {"date": "newest", "size": "largest"}[p["key"]]}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        """One file must stand out."""
        parent = item(state, p["folder"].split(" inside ")[0]).id
        files = [file for file in disk(state).items if file.parent == parent and not file.folder]
        first = rng.choice(files)
        first.size = max(file.size for file in files) + 500
        newest = date.fromisoformat(max(file.day for file in files)) + timedelta(days=1)
        rng.choice(files).day = newest.isoformat()

    def want(self, state: PhoneState, p: Params) -> None:
        data = disk(state)
        data.sort = p["key"]
        data.items.remove(self._first(state, p))

    @staticmethod
    def _first(state: PhoneState, p: Params) -> Item:
        parent = item(state, p["folder"].split(" inside ")[0]).id
        files = [file for file in disk(state).items if file.parent == parent and not file.folder]
        return max(files, key=lambda file: file.day if p["key"] == "date" else f"{file.size:09d}")

    def plan(self, x: Expert, p: Params) -> Plan:
        parent = item(x.state, p["folder"].split(" inside ")[0]).id
        if disk(x.state).sort != p["key"]:
            yield from x.enter("files")
            yield from x.tap("sort", f"sort.{p['key']}")
        yield from browse(x, *way(x.state, parent))
        id = self._first(x.state, p).id
        yield from x.tap(Hold(f"item.{id}"), "sheet.delete", "delete.ok", about={"item": id})


class AskSize(OfAFile):
    name = "files.ask_size"
    goals = (
        "How large is the file {file} in the folder {folder}{in_app}? Answer with its size",
        "Look up the size of {file} in {folder}{in_app} and answer with it",
        "Find the file {file} in the folder {folder}{in_app} and tell me its size",
    )

    def check(self, before: PhoneState, state: PhoneState, p: Params) -> float:
        text = size_text(item(before, p["file"]).size)
        return float(answered(before, state, text, text.replace(" ", "")))

    def plan(self, x: Expert, p: Params) -> Plan:
        file = item(x.state, p["file"])
        if not x.saw("detail.size") or not x.visited("files", "file", item=file.id):
            yield from browse(x, *way(x.state, file.parent), hop("file", f"item.{file.id}", item=file.id))
            yield from x.show("detail.size")
        yield x.answer(size_text(file.size))


class FindAndMove(OfAFile):
    """Where the file lies is not said: it must be searched for."""

    name = "files.find_move"
    goals = (
        "Search for the file {file}{in_app} and move it to the folder {to}",
        "Find {file} with the search{in_app}, then move it to {to}",
        "Use the search{in_app} to find {file}, and put the file into the folder {to}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        file, folder = rng.choice(files_in_folders(state))
        targets = [name for name in folders(state) if name != folder and item(state, name).parent == ROOT]
        return {"file": file, "to": rng.choice(targets)}

    def want(self, state: PhoneState, p: Params) -> None:
        item(state, p["file"]).parent = item(state, p["to"]).id

    def plan(self, x: Expert, p: Params) -> Plan:
        file = item(x.state, p["file"])
        if moving(x, file.id):
            yield from carry(x, file.id, item(x.state, p["to"]).id)
            return
        found = hop("file", f"item.{file.id}", item=file.id, fill={"query": p["file"]})
        yield from x.go("files", hop("search", "search"), found)
        yield from x.tap("page.more", "menu.move")


class FindAndRename(OfAFile):
    name = "files.find_rename"
    heldout = True
    goals = (
        "Search for the file {file}{in_app} and rename it to “{new}”",
        "Find {file} with the search{in_app} and change its name to “{new}”",
        "Use the search{in_app} to find {file}; it should be called “{new}”",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        file = rng.choice(files_in_folders(state))[0]
        return {"file": file, "new": f"{rng.choice(STEMS)}.{file.rpartition('.')[2]}"}

    def want(self, state: PhoneState, p: Params) -> None:
        item(state, p["file"]).name = said(p["new"])

    def plan(self, x: Expert, p: Params) -> Plan:
        file = item(x.state, p["file"])
        found = hop("file", f"item.{file.id}", item=file.id, fill={"query": p["file"]})
        yield from x.go("files", hop("search", "search"), found)
        yield from give_name(x, "rename", {"item": file.id}, p["new"], "page.more", "menu.rename")


class FileAway(OfAFile):
    name = "files.file_away"
    heldout = True
    goals = (
        "Create a folder “{name}” on the first page{in_app} and move {file} from {folder} into it",
        "Make a new folder “{name}” beside the other folders{in_app}, then move the file {file} from {folder} there",
        "The file {file} in {folder}{in_app} should lie in a new folder “{name}” of the first page: make the folder and move the file",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return super().parameters(rng, state) | {"name": rng.choice(NAMES)}

    def want(self, state: PhoneState, p: Params) -> None:
        disk(state).items.append(Item(f"f{state.serial + 1}", said(p["name"]), ROOT, ANY, folder=True))
        item(state, p["file"]).parent = f"f{state.serial + 1}"

    def check(self, before: PhoneState, state: PhoneState, p: Params) -> float:
        """The new folder's id is not known beforehand; it is the one that has the name."""
        made = [found.id for found in disk(state).items if found.folder and said(p["name"]) == found.name]
        wanted = self.wanted(before, p)
        if made:
            disk(wanted).items[-1].id = item(wanted, p["file"]).parent = made[0]
        return float(wanted.device == state.device and wanted.apps == state.apps)

    def plan(self, x: Expert, p: Params) -> Plan:
        file = item(x.state, p["file"])
        made = [found for found in disk(x.state).items if found.folder and said(p["name"]) == found.name]
        if not made:
            yield from browse(x)
            yield from give_name(x, "new", {"parent": ROOT}, p["name"], "new")
        elif moving(x, file.id):
            yield from carry(x, file.id, made[0].id)
        else:
            yield from browse(x, *way(x.state, file.parent))
            yield from x.tap(Hold(f"item.{file.id}"), "sheet.move", about={"item": file.id})


TEMPLATES: tuple[type[Template], ...] = (
    Star,
    Unstar,
    Rename,
    Move,
    Delete,
    DeleteFolder,
    NewFolder,
    SortAndDelete,
    AskSize,
    FindAndMove,
    FindAndRename,
    FileAway,
)
