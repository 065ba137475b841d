"""Settings and notes: every stored fact can be changed by touch and typing, on both displays."""

from __future__ import annotations

import copy

import pytest

from emulator.pocket.apps.notes import NotesData
from emulator.pocket.phone import Phone
from emulator.pocket.themes import Display
from sopbench.actions import Open, SystemButton, Type
from tests.unit.pocket.driving import has, hold, node, swipe, tap

DISPLAYS: tuple[Display, ...] = ("regular", "large")


@pytest.fixture(params=DISPLAYS)
def phone(request: pytest.FixtureRequest) -> Phone:
    return Phone(request.param, seed=11)


def find(phone: Phone, id: str) -> None:
    """Scroll down until the node is there."""
    while not has(phone, id):
        assert swipe(phone, 0, -0.3).done, f"no {id} on this page"


def notes(phone: Phone) -> NotesData:
    found = phone.state.apps["notes"]
    assert isinstance(found, NotesData)
    return found


def test_looking_around_changes_nothing_that_is_stored(phone: Phone) -> None:
    before = copy.deepcopy(phone.state.stored())
    phone.act(Open("settings"))
    for page in ("wifi", "bluetooth", "display", "sound", "language", "about"):
        find(phone, page)
        tap(phone, page)
        assert phone.foreground == ("settings", page)
        assert phone.png()
        tap(phone, "page.back")
    assert phone.state.stored() == before


def test_airplane_mode_takes_the_radios_with_it(phone: Phone) -> None:
    phone.act(Open("settings"))
    tap(phone, "airplane")
    device = phone.state.device
    assert (device.airplane, device.wifi, device.bluetooth) == (True, False, False)
    assert has(phone, "status.plane")
    tap(phone, "airplane")
    assert (device.airplane, device.wifi) == (False, True)


def test_joining_a_network_asks_first(phone: Phone) -> None:
    phone.act(Open("settings"))
    tap(phone, "wifi")
    other = next(name for name in phone.state.apps["settings"].networks if name != "Harbour")
    tap(phone, f"network.{other}")
    tap(phone, "join.cancel")
    assert phone.state.device.network == "Harbour"
    tap(phone, f"network.{other}")
    tap(phone, "join.ok")
    assert phone.state.device.network == other
    assert node(phone, f"network.{other}").checked


@pytest.mark.parametrize(
    ("path", "name", "value"),
    [
        (("dark",), "dark", True),
        (("location",), "location", False),
        (("wifi", "wifi.switch"), "wifi", False),
        (("bluetooth", "bluetooth.switch"), "bluetooth", True),
        (("display", "brightness.5"), "brightness", 5),
        (("display", "text_size", "text_size.Large"), "text_size", "Large"),
        (("display", "sleep", "sleep.Never"), "sleep", "Never"),
        (("sound", "volume.0"), "volume", 0),
        (("sound", "silent"), "silent", True),
        (("language", "language.Svenska"), "language", "Svenska"),
    ],
)
def test_each_setting_is_reached_by_touch(phone: Phone, path: tuple[str, ...], name: str, value: object) -> None:
    assert getattr(phone.state.device, name) != value
    phone.act(Open("settings"))
    for id in path:
        find(phone, id)
        tap(phone, id)
    assert getattr(phone.state.device, name) == value


def test_a_device_is_connected_only_while_bluetooth_is_on(phone: Phone) -> None:
    phone.act(Open("settings"))
    tap(phone, "bluetooth")
    name = next(iter(phone.state.apps["settings"].devices))
    assert not has(phone, f"device.{name}")
    tap(phone, "bluetooth.switch")
    tap(phone, f"device.{name}")
    assert phone.state.apps["settings"].devices[name]
    tap(phone, "bluetooth.switch")
    assert not any(phone.state.apps["settings"].devices.values())


def test_a_note_is_written_and_stands_first(phone: Phone) -> None:
    phone.act(Open("notes"))
    count = len(notes(phone).notes)
    tap(phone, "new")
    tap(phone, "title")
    phone.act(Type("Shed key"))
    phone.act(SystemButton("Back"))
    tap(phone, "body")
    phone.act(Type("Under the blue pot"))
    tap(phone, "save")
    new = notes(phone).notes[0]
    assert (len(notes(phone).notes), new.title, new.body) == (count + 1, "Shed key", "Under the blue pot")
    assert has(phone, f"note.{new.id}")


def test_an_empty_note_is_not_kept(phone: Phone) -> None:
    phone.act(Open("notes"))
    before = copy.deepcopy(notes(phone))
    tap(phone, "new")
    tap(phone, "save")
    assert notes(phone) == before
    assert phone.foreground == ("notes", "edit")


def test_leaving_the_editor_drops_what_was_typed(phone: Phone) -> None:
    phone.act(Open("notes"))
    before = copy.deepcopy(notes(phone))
    id = notes(phone).shown("")[0].id
    tap(phone, f"note.{id}")
    tap(phone, "edit")
    tap(phone, "title")
    phone.act(Type(" more"))
    tap(phone, "page.back")
    assert notes(phone) == before


def test_a_note_is_edited(phone: Phone) -> None:
    phone.act(Open("notes"))
    note = notes(phone).shown("")[0]
    tap(phone, f"note.{note.id}")
    tap(phone, "edit")
    tap(phone, "title")
    tap(phone, "title.clear")
    phone.act(Type("Renamed"))
    tap(phone, "save")
    assert note.title == "Renamed"
    assert node(phone, "page.title").text == "Renamed"


@pytest.mark.parametrize("way", ["menu", "hold"])
def test_a_note_is_deleted_after_a_question(phone: Phone, way: str) -> None:
    phone.act(Open("notes"))
    id = notes(phone).shown("")[1].id
    if way == "hold":
        hold(phone, f"note.{id}")
        tap(phone, "sheet.delete")
    else:
        tap(phone, f"note.{id}")
        tap(phone, "page.more")
        tap(phone, "menu.delete")
    assert id in [note.id for note in notes(phone).notes]
    tap(phone, "delete.ok")
    assert id not in [note.id for note in notes(phone).notes]
    assert phone.foreground == ("notes", "main")


def test_pinned_notes_stand_first(phone: Phone) -> None:
    phone.act(Open("notes"))
    second = notes(phone).shown("")[2]
    assert not second.pinned
    hold(phone, f"note.{second.id}")
    tap(phone, "sheet.pin")
    assert second.pinned
    assert second in notes(phone).shown("")[:2]


def test_search_looks_into_titles_and_texts(phone: Phone) -> None:
    phone.act(Open("notes"))
    wanted = notes(phone).notes[-1]
    word = wanted.body.split()[1].strip(",.")
    tap(phone, "search")
    phone.act(Type(word))
    shown = [item.id for item in phone.ui() if item.role == "card"]
    assert f"note.{wanted.id}" in shown
    assert len(shown) < len(notes(phone).notes)
    phone.act(Type("zzz"))
    assert node(phone, "empty").text == "Nothing found"
