"""Near misses in settings, notes and across apps: what looks like a solution and is none."""

from __future__ import annotations

from typing import Any

import pytest

from emulator.pocket.apps.notes import Note
from emulator.pocket.state import PhoneState
from emulator.pocket.tasks.cross import clock, event_called, music, shop, song_called
from emulator.pocket.tasks.messages import chat, messages, sent
from emulator.pocket.tasks.notes import note
from sopbench.actions import Answer
from tests.unit.pocket.tasks.doing import Change, Params, score_after, score_of_wanted, started


def _device(**values: Any) -> Change:
    def change(state: PhoneState, p: Params) -> None:
        for name, value in values.items():
            assert getattr(state.device, name) != value, "the change must change something"
            setattr(state.device, name, value)

    return change


def _other_network(state: PhoneState, p: Params) -> None:
    state.device.network = next(
        n for n in state.apps["settings"].networks if n not in (p["network"], state.device.network)
    )


def _network_but_wifi_off(state: PhoneState, p: Params) -> None:
    state.device.network, state.device.location = p["network"], p["location"]


def _only_bluetooth(state: PhoneState, p: Params) -> None:
    state.device.bluetooth = True


def _one_device(state: PhoneState, p: Params) -> None:
    state.device.bluetooth = True
    state.apps["settings"].devices[p["first"]] = True


def _all_devices(state: PhoneState, p: Params) -> None:
    state.apps["settings"].devices = dict.fromkeys(state.apps["settings"].devices, True)


def _old_stays(state: PhoneState, p: Params) -> None:
    state.apps["settings"].devices[p["new"]] = True


def _brightness_only(state: PhoneState, p: Params) -> None:
    state.device.brightness = p["brightness"]


def _level_beside(name: str) -> Change:
    def change(state: PhoneState, p: Params) -> None:
        setattr(state.device, name, (p[name] + 1) % 6)

    return change


def _radios_left_on(state: PhoneState, p: Params) -> None:
    state.device.wifi = True


def _other_pinned(state: PhoneState, p: Params) -> None:
    other = next(n for n in state.apps["notes"].notes if n.title != p["title"] and not n.pinned)
    other.pinned = True


def _other_deleted(state: PhoneState, p: Params) -> None:
    notes = state.apps["notes"].notes
    notes.remove(next(n for n in notes if n.title != p["title"]))


def _typo_in(*fields: str) -> Change:
    def change(state: PhoneState, p: Params) -> None:
        newest = state.apps["notes"].notes[0]
        for name in fields:
            setattr(newest, name, getattr(newest, name) + "x")

    return change


def _twice(state: PhoneState, p: Params) -> None:
    notes = state.apps["notes"].notes
    notes.insert(0, Note("n999", notes[0].title, notes[0].body, notes[0].day))


def _title_replaced_body(state: PhoneState, p: Params) -> None:
    found = note(state, p["title"])
    found.body = f"{p['line']}."


def _renamed_but_emptied(state: PhoneState, p: Params) -> None:
    note(state, p["new"]).body = ""


def _only_pinned(state: PhoneState, p: Params) -> None:
    note(state, p["pin"]).pinned = True


SETTINGS: list[tuple[str, Change]] = [
    ("settings.join", _device(bluetooth=True)),
    ("settings.join", _device(network="Nowhere")),
    ("settings.join_off", _device(wifi=False)),
    ("settings.pair", _all_devices),
    ("settings.pair", _device(bluetooth=False)),
    ("settings.look", _level_beside("brightness")),
    ("settings.sound", _level_beside("volume")),
    ("settings.language", _device(language="English")),
    ("settings.text_and_sleep", _device(sleep="an hour")),
    ("settings.location_and_sleep", _device(dark=True)),
    ("settings.flight", _radios_left_on),
]
NOTES: list[tuple[str, Change]] = [
    ("notes.pin", _other_pinned),
    ("notes.unpin", _other_pinned),
    ("notes.delete", _other_deleted),
    ("notes.write", _typo_in("title")),
    ("notes.write", _typo_in("body")),
    ("notes.write", _twice),
    ("notes.append", _other_deleted),
    ("notes.rename", _renamed_but_emptied),
    ("notes.copy", _typo_in("body")),
    ("notes.copy", _other_deleted),
]


@pytest.mark.parametrize(("name", "change"), SETTINGS + NOTES)
def test_a_solution_with_something_wrong_in_it_is_none(name: str, change: Change) -> None:
    assert score_of_wanted(name, change) == 0


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("settings.join", _other_network),
        ("settings.join_off", _network_but_wifi_off),
        ("settings.pair", _only_bluetooth),
        ("settings.pair", _one_device),
        ("settings.swap_device", _old_stays),
        ("settings.look", _brightness_only),
        ("notes.append", _title_replaced_body),
        ("notes.swap_pins", _only_pinned),
    ],
)
def test_half_of_what_was_asked_for_is_nothing(name: str, change: Change) -> None:
    assert score_after(name, change) == 0


@pytest.mark.parametrize("right", [True, False])
def test_an_answer_counts_when_it_is_right(right: bool) -> None:
    session = started("settings.about")
    level = session.params["battery"]
    session.phone.act(Answer(f" {level}% " if right else f"{level + 1}%"))
    assert session.score() == float(right)


def test_only_the_last_answer_counts_and_only_on_an_unchanged_phone() -> None:
    session = started("notes.ask", seed=3)
    right = next(move.action for move in started("notes.ask", seed=3).solve() if isinstance(move.action, Answer))
    session.phone.act(right)
    assert session.score() == 1
    session.phone.act(Answer("somebody else"))
    assert session.score() == 0
    session.phone.act(right)
    assert session.score() == 1
    session.phone.state.apps["notes"].notes.pop()
    assert session.score() == 0


# ---- across apps
def _sent_to_another(state: PhoneState, p: Params) -> None:
    other = next(t.address for t in messages(state).threads if t is not chat(state, p["person"]))
    sent(state, other, note(state, p["title"]).body)


def _sent_half(state: PhoneState, p: Params) -> None:
    sent(state, chat(state, p["person"]).address, note(state, p["title"]).body[:-5])


def test_a_note_must_be_sent_whole_and_to_the_right_person() -> None:
    assert score_after("cross.send_note", _sent_to_another) == 0
    assert score_after("cross.send_note", _sent_half) == 0


def test_reading_a_message_is_no_change() -> None:
    def read_all(state: PhoneState, p: Params) -> None:
        for thread in messages(state).threads:
            thread.unread = 0

    assert score_of_wanted("cross.keep_message", read_all) == 1


@pytest.mark.parametrize(
    ("name", "value"), [("day", "2025-03-15"), ("time", "09:05"), ("title", "Something"), ("alert", "1 day")]
)
def test_an_event_needs_its_day_time_and_title(name: str, value: str) -> None:
    def change(state: PhoneState, p: Params) -> None:
        event = event_called(state, p["plan"])
        assert getattr(event, name) != value
        setattr(event, name, value)

    assert score_of_wanted("cross.message_to_event", change, seed=2) == 0


def test_an_alarm_needs_its_time_and_no_other_alarm_may_go() -> None:
    def later(state: PhoneState, p: Params) -> None:
        clock(state).alarms[-1].time = "23:55"

    def one_less(state: PhoneState, p: Params) -> None:
        del clock(state).alarms[0]

    assert score_of_wanted("cross.message_to_alarm", later) == 0
    assert score_of_wanted("cross.message_to_alarm", one_less) == 0


def test_a_sum_needs_both_prices() -> None:
    """The right result by other numbers is no sum of the prices."""
    session = started("cross.sum_prices")
    session.solve()
    assert session.score() == 1
    made = session.phone.state.apps["calculator"].history[0]
    first, second = (int(part) for part in made.text.replace(" ", "").split("+"))
    made.text = f"{second} + {first}"
    assert session.score() == 1
    made.text = f"{first + 1} + {second - 1}"
    assert session.score() == 0


def test_shopping_by_a_note_needs_both_things_once_in_its_order() -> None:
    def doubled(state: PhoneState, p: Params) -> None:
        shop(state).cart[-1].count = 2

    def turned(state: PhoneState, p: Params) -> None:
        shop(state).cart[-2:] = shop(state).cart[:-3:-1]

    def one(state: PhoneState, p: Params) -> None:
        del shop(state).cart[-1]

    for change in (doubled, turned, one):
        assert score_of_wanted("cross.buy_from_note", change) == 0


def test_a_like_for_another_song_is_none() -> None:
    def other(state: PhoneState, p: Params) -> None:
        song_called(state, p["song"]).liked = False
        next(song for song in music(state).songs if song.title != p["song"] and not song.liked).liked = True

    assert score_of_wanted("cross.like_song", other) == 0


def test_a_contact_needs_the_number_that_was_sent() -> None:
    def wrong(state: PhoneState, p: Params) -> None:
        state.apps["contacts"].contacts[-1].phone = "555-0299"

    for name in ("cross.save_sender", "cross.number_from_message"):
        assert score_of_wanted(name, wrong) == 0
