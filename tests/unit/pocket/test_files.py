"""Files: folders and files can be walked through, opened, found, sorted, starred, renamed, moved and deleted by touch."""

from __future__ import annotations

import copy

import pytest

from emulator.pocket.apps.files import FilesData, Item, day_text, size_text
from emulator.pocket.phone import Phone
from emulator.pocket.themes import Display
from sopbench.actions import Open, SystemButton, Type
from tests.unit.pocket.checks import wander
from tests.unit.pocket.driving import has, hold, node, swipe, tap

DISPLAYS: tuple[Display, ...] = ("regular", "large")


@pytest.fixture(params=DISPLAYS)
def phone(request: pytest.FixtureRequest) -> Phone:
    phone = Phone(request.param, seed=11)
    phone.act(Open("files"))
    return phone


def data(phone: Phone) -> FilesData:
    found = phone.state.apps["files"]
    assert isinstance(found, FilesData)
    return found


def rows(phone: Phone) -> list[str]:
    """Titles of the list, from its beginning to its end."""
    phone.state.nav.stacks["files"][-1].scroll = 0
    seen = [item.text for item in phone.ui() if item.role == "row"]
    while swipe(phone, 0, -0.2).done:
        seen += [item.text for item in phone.ui() if item.role == "row" and item.text not in seen]
    phone.state.nav.stacks["files"][-1].scroll = 0
    return seen


def find(phone: Phone, id: str) -> None:
    while not has(phone, id):
        assert swipe(phone, 0, -0.3).done, f"no {id} on this page"


def walk(phone: Phone, *names: str) -> Item:
    """Open folders, and at the end perhaps a file, by their names; returns the last one."""
    for name in names:
        item = data(phone).named(name)
        find(phone, f"item.{item.id}")
        tap(phone, f"item.{item.id}")
    return item


def some_file(phone: Phone, folder: str) -> Item:
    return next(item for item in data(phone).inside(data(phone).named(folder).id) if not item.folder)


@pytest.mark.parametrize("seed", range(6))
def test_a_new_phone_has_named_files_in_real_folders(seed: int) -> None:
    found = data(Phone(seed=seed))
    names = [item.name for item in found.items]
    folders = {item.id for item in found.items if item.folder}
    assert len(names) == len(set(names))
    assert all(item.parent in {"", *folders} for item in found.items)
    assert all(found.inside(folder) for folder in folders)
    assert sum(item.starred for item in found.items) == 2
    assert any(item.text for item in found.items)


def test_a_folder_lists_what_lies_in_it_folders_first(phone: Phone) -> None:
    home = [item.name for item in data(phone).items if item.parent == "" and item.folder]
    assert rows(phone)[: len(home)] == sorted(home)
    pictures = walk(phone, "Pictures")
    assert rows(phone) == [item.name for item in data(phone).inside(pictures.id)]
    assert rows(phone)[0] == "Trips"


def test_a_file_shows_what_is_known_of_it(phone: Phone) -> None:
    file = some_file(phone, "Downloads")
    walk(phone, "Downloads", file.name)
    texts = {item.text for item in phone.ui()}
    assert {file.name, size_text(file.size), day_text(file.day), "Downloads"} <= texts


def test_a_text_file_shows_its_text(phone: Phone) -> None:
    file = next(item for item in data(phone).items if item.text and item.parent == "")
    walk(phone, file.name)
    assert node(phone, "text").text == file.text
    assert node(phone, "detail.name.value").text == file.name


def test_back_goes_up_a_folder(phone: Phone) -> None:
    walk(phone, "Pictures", "Trips")
    phone.act(SystemButton("Back"))
    assert node(phone, "page.title").text == "Pictures"
    phone.act(SystemButton("Back"))
    assert node(phone, "page.title").text == "Files"


def test_looking_around_changes_nothing_that_is_stored(phone: Phone) -> None:
    before = copy.deepcopy(phone.state.stored())
    file = some_file(phone, "Work")
    tap(phone, "tab.starred")
    tap(phone, "tab.browse")
    walk(phone, "Work", file.name)
    for entry in ("menu.rename", "menu.move", "menu.delete"):
        tap(phone, "page.more")
        tap(phone, entry)
        while phone.state.nav.focus or phone.foreground[1] == "move" or has(phone, "dialog.title"):
            phone.act(SystemButton("Back"))
    assert phone.foreground == ("files", "file")
    assert phone.state.stored() == before


@pytest.mark.parametrize(
    ("key", "rank"),
    [
        ("name", lambda item: item.name.casefold()),
        ("date", lambda item: [-int(part) for part in item.day.split("-")]),
        ("size", lambda item: -item.size),
    ],
)
def test_lists_are_sorted_as_wanted(phone: Phone, key: str, rank) -> None:  # type: ignore[no-untyped-def]
    tap(phone, "sort")
    tap(phone, f"sort.{key}")
    assert not has(phone, "dialog.title")
    folder = walk(phone, "Documents")
    ranks = [rank(data(phone).named(name)) for name in rows(phone)]
    assert ranks == sorted(ranks)
    assert len(ranks) == len(data(phone).inside(folder.id))
    tap(phone, "sort")
    assert node(phone, f"sort.{key}").checked


def test_search_looks_into_every_folder(phone: Phone) -> None:
    file = some_file(phone, "Trips")
    tap(phone, "search")
    phone.act(Type(file.name[:4].lower()))
    assert file.name in rows(phone)
    tap(phone, f"item.{file.id}")
    assert node(phone, "page.title").text == file.name
    phone.act(SystemButton("Back"))
    tap(phone, "query")
    phone.act(Type("zzz"))
    assert node(phone, "empty").text == "Nothing found"


@pytest.mark.parametrize("way", ["sheet", "menu", "row"])
def test_stars_come_and_go(phone: Phone, way: str) -> None:
    file = next(item for item in data(phone).inside(data(phone).named("Sounds").id) if not item.starred)
    walk(phone, "Sounds")
    if way == "menu":
        tap(phone, f"item.{file.id}")
        tap(phone, "star")
        assert node(phone, "star").checked
    else:
        hold(phone, f"item.{file.id}")
        tap(phone, "sheet.star")
    assert file.starred
    phone.act(SystemButton("Home"))
    phone.state.nav.stacks.clear()
    phone.act(Open("files"))
    tap(phone, "tab.starred")
    assert file.name in rows(phone)
    tap(phone, f"{file.id}.star")
    assert not file.starred
    assert file.name not in rows(phone)


@pytest.mark.parametrize("way", ["sheet", "menu"])
@pytest.mark.parametrize("end", ["button", "enter"])
def test_a_file_is_renamed(phone: Phone, way: str, end: str) -> None:
    file = some_file(phone, "Documents")
    walk(phone, "Documents")
    if way == "menu":
        tap(phone, f"item.{file.id}")
        tap(phone, "page.more")
    else:
        hold(phone, f"item.{file.id}")
    tap(phone, f"{way}.rename")
    assert node(phone, "name").text == file.name
    tap(phone, "name.clear")
    phone.act(Type("Plan.pdf"))
    if end == "button":
        tap(phone, "rename.ok")
    else:
        phone.act(SystemButton("Enter"))
    assert file.name == "Plan.pdf"
    assert not has(phone, "dialog.title")


@pytest.mark.parametrize(
    ("name", "toast"), [("", "A name is needed"), ("   ", "A name is needed"), ("WORK", "Name is taken")]
)
def test_a_name_must_be_new_and_not_empty(phone: Phone, name: str, toast: str) -> None:
    before = copy.deepcopy(data(phone))
    for start in ("new", "rename"):
        if start == "new":
            tap(phone, "new")
        else:
            hold(phone, f"item.{data(phone).named('Pictures').id}")
            tap(phone, "sheet.rename")
            tap(phone, "name.clear")
        phone.act(Type(name))
        tap(phone, "create.ok" if start == "new" else "rename.ok")
        assert node(phone, "toast").text == toast
    assert data(phone) == before


def test_a_name_may_change_its_case(phone: Phone) -> None:
    folder = data(phone).named("Work")
    hold(phone, f"item.{folder.id}")
    tap(phone, "sheet.rename")
    tap(phone, "name.clear")
    phone.act(Type("work\n"))
    assert folder.name == "work"


def test_a_new_folder_lies_where_it_was_made_and_is_empty(phone: Phone) -> None:
    parent = walk(phone, "Pictures")
    tap(phone, "new")
    phone.act(Type("Winter"))
    tap(phone, "create.ok")
    new = data(phone).named("Winter")
    assert (new.parent, new.folder, new.day) == (parent.id, True, "2025-03-14")
    tap(phone, f"item.{new.id}")
    assert node(phone, "empty").text == "Empty folder"
    tap(phone, "page.back")
    tap(phone, "new")
    assert node(phone, "name").text == "Name"


def test_a_file_is_moved_into_a_folder_of_a_folder(phone: Phone) -> None:
    file = some_file(phone, "Downloads")
    target = data(phone).named("Trips")
    walk(phone, "Downloads", file.name)
    tap(phone, "page.more")
    tap(phone, "menu.move")
    tap(phone, f"to.{data(phone).named('Pictures').id}")
    tap(phone, f"to.{target.id}")
    tap(phone, "here")
    assert file.parent == target.id
    assert phone.foreground == ("files", "file")
    assert node(phone, "toast").text == "Moved to Trips"


def test_moving_to_the_same_folder_or_onto_a_name_does_nothing(phone: Phone) -> None:
    file = some_file(phone, "Sounds")
    data(phone).items.append(Item("x", file.name.upper(), "", "2025-01-02"))
    walk(phone, "Sounds")
    before = copy.deepcopy(data(phone))
    hold(phone, f"item.{file.id}")
    tap(phone, "sheet.move")
    tap(phone, "here")
    assert node(phone, "toast").text == "Name is taken"
    tap(phone, f"to.{file.parent}")
    tap(phone, "here")
    assert node(phone, "toast").text == "Already here"
    assert data(phone) == before


def test_a_folder_cannot_be_moved_into_itself(phone: Phone) -> None:
    folder = data(phone).named("Pictures")
    hold(phone, f"item.{folder.id}")
    tap(phone, "sheet.move")
    assert not has(phone, f"to.{folder.id}")
    assert has(phone, f"to.{data(phone).named('Work').id}")


@pytest.mark.parametrize("way", ["sheet", "menu"])
def test_a_file_is_deleted_after_a_question(phone: Phone, way: str) -> None:
    file = some_file(phone, "Work")
    walk(phone, "Work")
    for button in ("delete.cancel", "delete.ok"):
        if way == "sheet":
            hold(phone, f"item.{file.id}")
        else:
            if phone.foreground[1] == "folder":
                tap(phone, f"item.{file.id}")
            tap(phone, "page.more")
        tap(phone, f"{way}.delete")
        assert file in data(phone).items
        tap(phone, button)
    assert file not in data(phone).items
    assert phone.foreground == ("files", "folder")


def test_a_folder_goes_with_all_that_is_in_it(phone: Phone) -> None:
    folder = data(phone).named("Work")
    inside = data(phone).below(folder.id)
    count = len(data(phone).items)
    assert data(phone).named("Archive") in inside
    hold(phone, f"item.{folder.id}")
    tap(phone, "sheet.delete")
    assert f"{len(inside)} things" in node(phone, "dialog.text").text
    tap(phone, "delete.ok")
    assert len(data(phone).items) == count - 1 - len(inside)


@pytest.mark.parametrize(("kilobytes", "text"), [(1, "1 KB"), (999, "999 KB"), (1000, "1.0 MB"), (12_345, "12.3 MB")])
def test_sizes_are_readable(kilobytes: int, text: str) -> None:
    assert size_text(kilobytes) == text


def test_nothing_starred_says_so(phone: Phone) -> None:
    for item in data(phone).items:
        item.starred = False
    tap(phone, "tab.starred")
    assert node(phone, "empty").text == "Nothing starred"


def test_wandering_breaks_nothing(phone: Phone) -> None:
    seen = wander(phone, "files", seed=3, steps=250)
    assert {"main", "folder", "file"} <= {page for app, page, _ in seen if app == "files"}
