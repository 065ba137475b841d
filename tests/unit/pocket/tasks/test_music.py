"""Music's tasks: what is nearly right is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from emulator.pocket.apps.songs import Playlist
from emulator.pocket.state import PhoneState
from emulator.pocket.tasks import PocketSession, start
from emulator.pocket.tasks.music import lists, music, playlist, song, titles
from sopbench.actions import Open, Wait
from tests.unit.pocket.driving import tap
from tests.unit.pocket.tasks.doing import score_of_wanted
from tests.unit.pocket.tasks.near import both, misled


def another_song(session: PocketSession, liked: bool = False) -> str:
    """A song that could be meant and is not."""
    data = music(session.before)
    taken = [id for found in data.lists for id in found.songs] if "list" in session.params else []
    free = [
        found.title
        for found in data.songs
        if found.title != session.params["title"]
        and found.liked == liked
        and found.id not in taken[:6]
        and found.id != data.now
    ]
    return free[0]


@pytest.mark.parametrize("name", ["music.like", "music.play", "music.add", "music.new_list_with", "music.rename_add"])
def test_another_song_is_no_solution(name: str) -> None:
    for session in both(name, 3):
        if "list" in session.params:
            inside = playlist(session.before, session.params["list"]).songs
            wrong = next(
                t
                for t in titles(session.before)
                if t != session.params["title"] and song(session.before, t).id not in inside
            )
        else:
            wrong = another_song(session)
        assert misled(session, title=wrong) == 0


def test_another_liked_song_is_not_unliked_instead() -> None:
    for session in both("music.unlike", 3):
        assert misled(session, title=another_song(session, liked=True)) == 0


def test_another_song_of_the_artist_is_no_solution() -> None:
    for session in both("music.search_like", 3):
        same = [
            found.title
            for found in music(session.before).songs
            if found.artist == session.params["artist"] and found.title != session.params["title"]
        ]
        for state in (session.before, session.phone.state):
            song(state, same[0]).liked = False
        assert misled(session, title=same[0]) == 0


@pytest.mark.parametrize("name", ["music.add", "music.remove", "music.play_mixed"])
def test_another_playlist_is_no_solution(name: str) -> None:
    for session in both(name, 3):
        other = next(other for other in lists(session.before) if other != session.params["list"])
        if "title" in session.params:
            id = song(session.before, session.params["title"]).id
            for state in (session.before, session.phone.state):
                songs = playlist(state, other).songs
                songs[:] = [found for found in songs if found != id] + ([id] if name == "music.remove" else [])
        assert misled(session, list=other) == 0


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("music.new_list", {"name": "Autum"}),
        ("music.new_list_with", {"name": "Autum"}),
        ("music.rename_add", {"new": "Autum"}),
    ],
)
def test_a_typo_is_no_solution(name: str, wrong: dict[str, Any]) -> None:
    for session in both(name, 3):
        assert misled(session, **wrong) == 0


def test_another_volume_is_no_solution() -> None:
    for session in both("music.play", 3):
        level = next(k for k in range(6) if k not in (session.params["volume"], session.before.device.volume))
        assert misled(session, volume=level) == 0


def test_repeating_one_is_not_repeating_all() -> None:
    for session in both("music.play_mixed", 3):
        assert misled(session, repeat="one" if session.params["repeat"] == "all" else "all") == 0


def test_one_song_too_far_is_no_solution() -> None:
    for session in both("music.skip_like", 3):
        count = session.params["count"] - 1
        for state in (session.before, session.phone.state):
            data = music(state)
            order = list(data.order())
            data.get(order[order.index(data.now) + count]).liked = False
        assert misled(session, count=count) == 0


def test_skipping_is_not_waiting() -> None:
    for session in both("music.wait", 3):
        phone = session.phone
        phone.act(Open("music"))
        tap(phone, "bar.next")
        tap(phone, "bar.play")
        assert not music(phone.state).playing
        assert session.score() == 0


@pytest.mark.parametrize(("seconds", "score"), [(1, 0), (13, 1), (90, 1), (900, 0)])
def test_waiting_must_reach_the_next_song_and_no_further(seconds: int, score: int) -> None:
    for session in both("music.wait", 3):
        phone = session.phone
        phone.act(Open("music"))
        phone.act(Wait(seconds))
        assert session.score() == 0
        tap(phone, "bar.play")
        assert session.score() == score


def test_the_expert_waits_as_long_as_the_player_says() -> None:
    waits = set()
    for seed in range(5, 12):
        moves = start("music.wait", seed).solve()
        waits |= {move.action.seconds for move in moves if isinstance(move.action, Wait)}
    assert len(waits) > 2
    assert all(3 < seconds <= 13 for seconds in waits)


def test_another_playlist_is_not_deleted_instead() -> None:
    for session in both("music.delete_list", 3):
        assert misled(session, name=next(name for name in lists(session.before) if name != session.params["name"])) == 0


def test_the_song_must_leave_the_old_playlist() -> None:
    def keep(state: PhoneState, p: dict[str, Any]) -> None:
        playlist(state, p["old"]).songs.append(song(state, p["title"]).id)

    assert score_of_wanted("music.move_between", keep) == 0


def like_more(state: PhoneState, p: dict[str, Any]) -> None:
    found = next(found for found in music(state).songs if found.title != p.get("title"))
    found.liked = not found.liked


def list_more(state: PhoneState, p: dict[str, Any]) -> None:
    music(state).lists.append(Playlist("l999", "More"))


def shuffle_more(state: PhoneState, p: dict[str, Any]) -> None:
    music(state).shuffle = not music(state).shuffle


@pytest.mark.parametrize("change", [like_more, list_more, shuffle_more])
@pytest.mark.parametrize(
    "name",
    ["music.like", "music.unlike", "music.play", "music.add", "music.remove", "music.new_list", "music.new_list_with",
     "music.delete_list", "music.search_like", "music.play_mixed", "music.skip_like", "music.rename_add", "music.move_between"],
)  # fmt: skip
def test_something_more_is_no_solution(name: str, change: Callable[[PhoneState, dict[str, Any]], None]) -> None:
    assert score_of_wanted(name, change) == 0
