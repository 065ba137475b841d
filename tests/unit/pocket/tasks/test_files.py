"""Files' tasks: what is nearly right is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from emulator.pocket.apps.files import Item, size_text
from emulator.pocket.state import PhoneState
from emulator.pocket.tasks import PocketSession
from emulator.pocket.tasks.files import disk, files_in_folders, folders, item
from sopbench.actions import Answer
from tests.unit.pocket.driving import tap
from tests.unit.pocket.tasks.doing import score_after, score_of_wanted
from tests.unit.pocket.tasks.near import both, misled


def another_file(session: PocketSession) -> dict[str, str]:
    """A file that the goal does not speak of, as the goal would name it."""
    state = session.before
    for file, folder in files_in_folders(state):
        if file != session.params["file"] and not item(state, file).starred:
            parent = item(state, folder).parent
            place = folder if not parent else f"{folder} inside {disk(state).title(parent)}"
            return {"file": file, "folder": place} if "folder" in session.params else {"file": file}
    raise AssertionError("one file only")


@pytest.mark.parametrize(
    "name", ["files.star", "files.delete", "files.move", "files.rename", "files.find_rename", "files.file_away"]
)
def test_another_file_is_no_solution(name: str) -> None:
    for session in both(name, 3):
        wrong = another_file(session)
        if "to" in session.params and session.params["to"] in wrong["folder"]:
            wrong |= {"to": next(name for name in folders(session.before) if name not in wrong["folder"])}
        assert misled(session, **wrong) == 0


def test_the_star_of_another_file_is_no_solution() -> None:
    for session in both("files.unstar", 3):
        starred = [found.name for found in disk(session.before).items if found.starred]
        assert misled(session, file=next(name for name in starred if name != session.params["file"])) == 0


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("files.rename", {"new": "Finale.pdf"}),
        ("files.find_rename", {"new": "Finale.pdf"}),
        ("files.new_folder", {"name": "Bils"}),
        ("files.file_away", {"name": "Bils"}),
    ],
)
def test_a_typo_is_no_solution(name: str, wrong: dict[str, Any]) -> None:
    for session in both(name, 3):
        assert misled(session, **wrong) == 0


@pytest.mark.parametrize("name", ["files.move", "files.find_move", "files.new_folder"])
def test_another_folder_is_no_solution(name: str) -> None:
    for session in both(name, 4):
        key = "folder" if name == "files.new_folder" else "to"
        home = item(session.before, session.params["file"]).parent if "file" in session.params else ""
        free = [
            found.name
            for found in disk(session.before).items
            if found.folder and not found.parent and found.id != home and found.name != session.params[key]
        ]
        assert misled(session, **{key: free[0]}) == 0


def test_the_newest_file_is_not_the_largest() -> None:
    for seed in range(8):
        for session in both("files.sort_delete", seed):
            key = {"date": "size", "size": "date"}[session.params["key"]]
            assert misled(session, key=key) == 0


def test_deleting_without_sorting_is_no_solution() -> None:
    assert score_of_wanted("files.sort_delete", lambda state, p: setattr(disk(state), "sort", "name")) == 0


def test_a_folder_that_lost_only_its_contents_is_not_deleted() -> None:
    def empty(state: PhoneState, p: dict[str, Any]) -> None:
        items = disk(state).items
        items[:] = [found for found in items if found.id != "x2"]

    assert score_after("files.delete_folder", empty) == 0


def change_sort(state: PhoneState, p: dict[str, Any]) -> None:
    disk(state).sort = "date" if disk(state).sort != "date" else "name"


def star_more(state: PhoneState, p: dict[str, Any]) -> None:
    found = next(found for found in disk(state).items if not found.folder and not found.starred)
    found.starred = True


def delete_more(state: PhoneState, p: dict[str, Any]) -> None:
    disk(state).items.remove(
        next(found for found in disk(state).items if not found.folder and found.name != p.get("file"))
    )


@pytest.mark.parametrize("change", [change_sort, star_more, delete_more])
@pytest.mark.parametrize(
    "name",
    ["files.star", "files.unstar", "files.rename", "files.move", "files.delete", "files.delete_folder", "files.new_folder", "files.find_move"],
)  # fmt: skip
def test_something_more_is_no_solution(name: str, change: Callable[[PhoneState, dict[str, Any]], None]) -> None:
    assert score_of_wanted(name, change) == 0


@pytest.mark.parametrize(
    ("answer", "score"), [("{size}", 1), ("{close}", 1), ("it is {size}", 0), ("1.7 GB", 0), ("", 0)]
)
def test_a_size_is_answered_with_its_unit(answer: str, score: int) -> None:
    for session in both("files.ask_size", 2):
        size = size_text(item(session.before, session.params["file"]).size)
        session.phone.act(Answer(answer.format(size=size, close=size.replace(" ", "").lower())))
        assert session.score() == score


def test_a_right_answer_after_damage_is_no_solution() -> None:
    for session in both("files.ask_size", 2):
        session.solve()
        assert session.score() == 1
        session.phone.state.finished = None
        tap(session.phone, "star")
        assert session.score() == 0


def test_a_name_in_small_letters_counts() -> None:
    for session in both("files.new_folder", 5):
        parent = item(session.before, session.params["folder"]).id
        made = Item("f777", session.params["name"].lower(), parent, "2025-03-14", folder=True)
        disk(session.phone.state).items.append(made)
        assert session.score() == 1
