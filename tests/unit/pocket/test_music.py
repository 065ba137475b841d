"""Music: songs are played, skipped, liked, found and put on playlists by touch; time passes only by waiting."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.pocket.apps.songs import MusicData, Song
from emulator.pocket.phone import Phone, fresh_state
from emulator.pocket.themes import Display
from sopbench.actions import Open, SystemButton, Type, Wait
from tests.unit.pocket.checks import wander
from tests.unit.pocket.driving import has, hold, node, swipe, tap

DISPLAYS: tuple[Display, ...] = ("regular", "large")


@pytest.fixture(params=DISPLAYS)
def phone(request: pytest.FixtureRequest) -> Phone:
    phone = Phone(request.param, seed=11)
    phone.act(Open("music"))
    return phone


def data(phone: Phone) -> MusicData:
    found = phone.state.apps["music"]
    assert isinstance(found, MusicData)
    return found


def find(phone: Phone, id: str) -> None:
    while not has(phone, id):
        assert swipe(phone, 0, -0.2).done, f"no {id} on this page"


def rows(phone: Phone) -> list[str]:
    phone.state.nav.stacks["music"][-1].scroll = 0
    seen: list[str] = []
    while True:
        seen += [item.text for item in phone.ui() if item.role == "row" and item.text not in seen]
        if not swipe(phone, 0, -0.2).done:
            return seen


def play(phone: Phone, song: Song) -> None:
    find(phone, f"song.{song.id}")
    tap(phone, f"song.{song.id}")


@pytest.mark.parametrize("seed", range(6))
def test_a_new_phone_has_songs_of_six_artists_and_four_playlists(seed: int) -> None:
    found = data(Phone(seed=seed))
    assert len({song.title for song in found.songs}) == len(found.songs) == 18
    assert len({song.artist for song in found.songs}) == 6
    assert sum(song.liked for song in found.songs) == 4
    assert len({playlist.name for playlist in found.lists}) == 4
    assert all(len(set(playlist.songs)) == len(playlist.songs) >= 4 for playlist in found.lists)
    assert not found.playing
    assert 0 < found.position < found.get(found.now).seconds


def test_the_tabs_show_songs_playlists_and_liked_ones(phone: Phone) -> None:
    assert rows(phone) == sorted(song.title for song in data(phone).songs)
    swipe(phone, -0.4, 0)
    assert rows(phone) == [playlist.name for playlist in data(phone).lists]
    swipe(phone, -0.4, 0)
    assert rows(phone) == [song.title for song in data(phone).songs if song.liked]


def test_looking_around_changes_nothing_that_is_stored(phone: Phone) -> None:
    before = copy.deepcopy(phone.state.stored())
    tap(phone, "bar")
    tap(phone, "page.more")
    tap(phone, "menu.queue")
    tap(phone, "page.back")
    tap(phone, "page.more")
    tap(phone, "menu.artist")
    assert node(phone, "page.title").text == data(phone).get(data(phone).now).artist
    tap(phone, "page.back")
    tap(phone, "page.back")
    tap(phone, "tab.lists")
    tap(phone, f"list.{data(phone).lists[0].id}")
    phone.act(Wait(500))
    assert phone.state.stored() == before


def test_a_touch_plays_a_song_and_the_bar_tells_which(phone: Phone) -> None:
    song = data(phone).songs[3]
    play(phone, song)
    assert (data(phone).now, data(phone).playing, data(phone).position) == (song.id, True, 0.0)
    assert node(phone, "bar").text == song.title
    assert node(phone, "bar.play").text == "Pause"
    tap(phone, "bar.play")
    assert not data(phone).playing
    tap(phone, "bar.next")
    assert data(phone).now == data(phone).songs[4].id


def test_the_player_pauses_skips_and_goes_back(phone: Phone) -> None:
    songs = data(phone).songs
    play(phone, songs[2])
    tap(phone, "bar")
    tap(phone, "play")
    assert not data(phone).playing
    tap(phone, "play")
    assert data(phone).playing
    tap(phone, "next")
    tap(phone, "next")
    tap(phone, "prev")
    assert data(phone).now == songs[3].id
    assert songs[3].title in {item.text for item in phone.ui()}


def test_at_the_ends_of_the_queue_nothing_follows_unless_all_repeats(phone: Phone) -> None:
    songs = data(phone).songs
    play(phone, songs[-1])
    tap(phone, "bar")
    tap(phone, "next")
    assert node(phone, "toast").text == "No more songs"
    assert data(phone).now == songs[-1].id
    tap(phone, "repeat")
    tap(phone, "next")
    assert (data(phone).repeat, data(phone).now) == ("all", songs[0].id)
    tap(phone, "prev")
    assert data(phone).now == songs[-1].id


def test_repeat_goes_round_and_shuffle_mixes_the_queue(phone: Phone) -> None:
    tap(phone, "bar")
    modes = []
    for _ in range(3):
        tap(phone, "repeat")
        modes.append(data(phone).repeat)
    assert modes == ["all", "one", "off"]
    straight = list(data(phone).order())
    tap(phone, "shuffle")
    assert data(phone).shuffle
    assert sorted(data(phone).order()) == sorted(straight)
    assert list(data(phone).order()) != straight


def test_the_volume_is_the_phones(phone: Phone) -> None:
    tap(phone, "bar")
    tap(phone, "volume.5")
    assert phone.state.device.volume == 5


def test_waiting_plays_on_and_at_the_end_comes_the_next(phone: Phone) -> None:
    songs = data(phone).songs
    play(phone, songs[0])
    phone.act(Wait(10))
    assert data(phone).position == 10
    phone.act(Wait(songs[0].seconds - 10 + 3))
    assert (data(phone).now, data(phone).position) == (songs[1].id, 3)
    tap(phone, "bar")
    before = phone.png()
    phone.act(Wait(20))
    assert phone.png() != before


def test_the_last_song_ends_the_music_and_repeat_one_plays_it_again(phone: Phone) -> None:
    song = data(phone).songs[-1]
    play(phone, song)
    phone.act(Wait(song.seconds + 5))
    assert (data(phone).playing, data(phone).now, data(phone).position) == (False, song.id, 0.0)
    play(phone, song)
    data(phone).repeat = "one"
    phone.act(Wait(song.seconds + 5))
    assert (data(phone).playing, data(phone).now, data(phone).position) == (True, song.id, 5)


@given(st.floats(0, allow_nan=False), st.sampled_from(["off", "all", "one"]), st.booleans())
def test_any_wait_ends_inside_a_song(seconds: float, repeat: str, shuffle: bool) -> None:
    found: MusicData = fresh_state(2).apps["music"]
    found.play([song.id for song in found.songs], found.songs[5].id)
    found.repeat, found.shuffle = repeat, shuffle
    found.pass_time(seconds)
    assert 0 <= found.position < found.get(found.now).seconds


def test_the_queue_shows_what_follows_and_jumps(phone: Phone) -> None:
    songs = data(phone).songs
    play(phone, songs[0])
    tap(phone, "bar")
    tap(phone, "page.more")
    tap(phone, "menu.queue")
    assert rows(phone) == [song.title for song in songs[1:]]
    find(phone, f"queue.{songs[-1].id}")
    tap(phone, f"queue.{songs[-1].id}")
    assert data(phone).now == songs[-1].id
    assert node(phone, "empty").text == "Nothing follows"


def test_play_next_puts_a_song_behind_the_present_one(phone: Phone) -> None:
    songs = data(phone).songs
    play(phone, songs[0])
    find(phone, f"song.{songs[6].id}")
    hold(phone, f"song.{songs[6].id}")
    tap(phone, "sheet.next")
    assert data(phone).queue[:3] == [songs[0].id, songs[6].id, songs[1].id]
    assert len(data(phone).queue) == len(songs)


@pytest.mark.parametrize("way", ["hold", "more", "player"])
def test_songs_are_liked(phone: Phone, way: str) -> None:
    song = next(song for song in data(phone).songs if not song.liked)
    find(phone, f"song.{song.id}")
    if way == "player":
        tap(phone, f"song.{song.id}")
        tap(phone, "bar")
        tap(phone, "like")
        assert node(phone, "like").checked
    else:
        hold(phone, f"song.{song.id}") if way == "hold" else tap(phone, f"song.{song.id}.more")
        tap(phone, "sheet.like")
    assert song.liked
    assert sum(other.liked for other in data(phone).songs) == 5


@pytest.mark.parametrize("way", ["hold", "player"])
def test_a_song_goes_onto_a_playlist_once(phone: Phone, way: str) -> None:
    playlist = data(phone).lists[2]
    song = next(song for song in data(phone).songs if song.id not in playlist.songs)
    for toast in (f"Added to {playlist.name}", "Already in it"):
        if way == "player":
            data(phone).now = song.id
            if has(phone, "bar"):
                tap(phone, "bar")
            tap(phone, "page.more")
            tap(phone, "menu.add")
        else:
            find(phone, f"song.{song.id}")
            hold(phone, f"song.{song.id}")
            tap(phone, "sheet.add")
        tap(phone, f"into.{playlist.id}")
        assert node(phone, "toast").text == toast
    assert playlist.songs.count(song.id) == 1
    assert not has(phone, "dialog.title")


def test_a_song_goes_onto_a_new_playlist(phone: Phone) -> None:
    song = data(phone).songs[1]
    hold(phone, f"song.{song.id}")
    tap(phone, "sheet.add")
    tap(phone, "add.new")
    phone.act(Type("Night walk"))
    tap(phone, "create.ok")
    assert (data(phone).lists[-1].name, data(phone).lists[-1].songs) == ("Night walk", [song.id])


def test_a_playlist_is_made_renamed_and_deleted(phone: Phone) -> None:
    tap(phone, "tab.lists")
    tap(phone, "new")
    phone.act(Type("Picnic\n"))
    playlist = data(phone).lists[-1]
    assert (playlist.name, playlist.songs) == ("Picnic", [])
    tap(phone, f"list.{playlist.id}")
    assert not node(phone, "play").clickable
    assert node(phone, "empty").text == "No songs in it yet"
    tap(phone, "page.more")
    tap(phone, "menu.rename")
    tap(phone, "name.clear")
    phone.act(Type("Summer"))
    tap(phone, "rename.ok")
    assert playlist.name == "Summer"
    for button in ("delete.cancel", "delete.ok"):
        assert playlist in data(phone).lists
        tap(phone, "page.more")
        tap(phone, "menu.delete")
        tap(phone, button)
    assert playlist not in data(phone).lists
    assert phone.foreground == ("music", "main")


@pytest.mark.parametrize(("index", "toast"), [(None, "A name is needed"), (1, "Name is taken")])
def test_a_playlist_needs_a_name_of_its_own(phone: Phone, index: int | None, toast: str) -> None:
    before = copy.deepcopy(data(phone))
    tap(phone, "tab.lists")
    tap(phone, "new")
    phone.act(Type(" " if index is None else data(phone).lists[index].name.upper()))
    tap(phone, "create.ok")
    assert node(phone, "toast").text == toast
    assert data(phone) == before


def test_a_long_press_on_a_playlist_brings_its_actions(phone: Phone) -> None:
    playlist = data(phone).lists[1]
    tap(phone, "tab.lists")
    hold(phone, f"list.{playlist.id}")
    tap(phone, "sheet.play")
    assert (data(phone).queue, data(phone).now) == (playlist.songs, playlist.songs[0])
    hold(phone, f"list.{playlist.id}")
    tap(phone, "sheet.delete")
    tap(phone, "delete.ok")
    assert playlist not in data(phone).lists


def test_a_song_is_taken_off_a_playlist_and_stays_in_the_collection(phone: Phone) -> None:
    playlist = data(phone).lists[0]
    song = playlist.songs[1]
    tap(phone, "tab.lists")
    tap(phone, f"list.{playlist.id}")
    tap(phone, f"song.{song}.more")
    tap(phone, "sheet.remove")
    assert song not in playlist.songs
    assert data(phone).get(song)
    tap(phone, "page.back")
    tap(phone, "tab.songs")
    tap(phone, f"song.{data(phone).songs[0].id}.more")
    assert not has(phone, "sheet.remove")


def test_a_playlist_plays_in_order_or_mixed(phone: Phone) -> None:
    playlist = data(phone).lists[0]
    tap(phone, "tab.lists")
    tap(phone, f"list.{playlist.id}")
    tap(phone, "mix")
    assert (data(phone).shuffle, data(phone).playing) == (True, True)
    tap(phone, "play")
    assert (data(phone).shuffle, data(phone).queue) == (False, playlist.songs)
    data(phone).queue.pop()
    assert data(phone).queue != playlist.songs


def test_search_finds_titles_and_artists(phone: Phone) -> None:
    song = data(phone).songs[-1]
    tap(phone, "search")
    phone.act(Type(song.title.lower()))
    phone.act(SystemButton("Back"))
    assert rows(phone) == [song.title]
    tap(phone, "query")
    tap(phone, "query.clear")
    phone.act(Type(song.artist))
    phone.act(SystemButton("Back"))
    assert rows(phone) == [other.title for other in data(phone).songs if other.artist == song.artist]
    tap(phone, "query")
    phone.act(Type("zzz"))
    assert node(phone, "empty").text == "Nothing found"


def test_wandering_breaks_nothing(phone: Phone) -> None:
    seen = wander(phone, "music", seed=7, steps=300)
    assert len({page for app, page, _ in seen if app == "music"}) >= 5
