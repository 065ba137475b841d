"""Tasks in Music."""

from __future__ import annotations

import random
from typing import ClassVar

from emulator.pocket.apps.songs import MusicData, Playlist, Song
from emulator.pocket.state import PhoneState
from emulator.pocket.tasks.base import Params, Plan, Template
from emulator.pocket.tasks.dialogs import give_name
from emulator.pocket.tasks.expert import Expert, Hold, hop
from emulator.pocket.tasks.matching import ANY, said

NAMES = ("Autumn", "Bath", "Car wash", "Cooking", "Evening", "Garden", "Gym", "Holiday", "Picnic", "Reading", "Studio", "Sunday", "Train", "Winter")  # fmt: skip


def music(state: PhoneState) -> MusicData:
    found = state.apps["music"]
    assert isinstance(found, MusicData)
    return found


def song(state: PhoneState, title: str) -> Song:
    """The song with this title. Raises `LookupError` if there is none."""
    for candidate in music(state).songs:
        if candidate.title == title:
            return candidate
    raise LookupError(f"no song {title!r}")


def playlist(state: PhoneState, name: str) -> Playlist:
    """The playlist with this name. Raises `LookupError` if there is none."""
    for candidate in music(state).lists:
        if said(name) == candidate.name:
            return candidate
    raise LookupError(f"no playlist {name!r}")


def titles(state: PhoneState) -> list[str]:
    return [found.title for found in music(state).songs]


def lists(state: PhoneState) -> list[str]:
    return [found.name for found in music(state).lists]


def show_tab(x: Expert, tab: str) -> Plan:
    """Be on the first page with this tab."""
    yield from x.go("music")
    if x.fields.get("tab", "songs") != tab:
        yield from x.tap(f"tab.{tab}")


def show_list(x: Expert, id: str) -> Plan:
    """Be on a playlist's page."""
    second = x.state.nav.stacks.get("music", [])[1:2]
    if not any(page.name == "list" and page.args["list"] == id for page in second):
        yield from show_tab(x, "lists")
    yield from x.go("music", hop("list", f"list.{id}", list=id))


def show_player(x: Expert) -> Plan:
    """Be in the player, from whatever page has the bar."""
    if x.app == "music" and "bar" in x.nodes:
        yield from x.tap("bar")
    elif not x.at("music", "player"):
        yield from x.go("music", hop("player", "bar"))


class InMusic(Template):
    apps: ClassVar[tuple[str, ...]] = ("music",)


class Like(InMusic):
    name = "music.like"
    goals = (
        "Like the song {title}{in_app}",
        "Press and hold the song {title}{in_app} and like it",
        "Add {title} to the liked songs{in_app}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"title": rng.choice(titles(state))}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        song(state, p["title"]).liked = False

    def want(self, state: PhoneState, p: Params) -> None:
        song(state, p["title"]).liked = True

    def plan(self, x: Expert, p: Params) -> Plan:
        id = song(x.state, p["title"]).id
        yield from show_tab(x, "songs")
        yield from x.tap(Hold(f"song.{id}"), "sheet.like", about={"song": id})


class Unlike(InMusic):
    name = "music.unlike"
    goals = (
        "Show the liked songs{in_app} and take {title} off them",
        "Unlike the song {title} on the tab Liked{in_app}",
        "The song {title} should no longer be among the liked ones{in_app}: unlike it there",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"title": rng.choice(titles(state))}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        song(state, p["title"]).liked = True

    def want(self, state: PhoneState, p: Params) -> None:
        song(state, p["title"]).liked = False

    def plan(self, x: Expert, p: Params) -> Plan:
        id = song(x.state, p["title"]).id
        yield from show_tab(x, "liked")
        yield from x.tap(f"song.{id}.more", "sheet.like", about={"song": id})


class PlayLoud(InMusic):
    name = "music.play"
    goals = (
        "Play the song {title}{in_app} and set the volume to {percent}% in the player",
        "Start {title}{in_app}, then bring the volume in the player to {percent}%",
        "Let the song {title} play{in_app} at a volume of {percent}%",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        now = music(state).now
        return {
            "title": rng.choice([found.title for found in music(state).songs if found.id != now]),
            "volume": rng.randrange(6),
        }

    def words(self, p: Params) -> Params:
        return p | {"percent": p["volume"] * 20}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        state.device.volume = rng.choice([level for level in range(6) if level != p["volume"]])

    def want(self, state: PhoneState, p: Params) -> None:
        """Whatever list the song was started from; its other songs follow."""
        data = music(state)
        data.now, data.playing, data.position, data.queue = song(state, p["title"]).id, True, ANY, ANY
        state.device.volume = p["volume"]

    def plan(self, x: Expert, p: Params) -> Plan:
        data, id = music(x.state), song(x.state, p["title"]).id
        if data.now != id:
            yield from show_tab(x, "songs")
            yield from x.tap(f"song.{id}")
        yield from show_player(x)
        yield from x.tap(f"volume.{p['volume']}" if data.playing else "play")


class AddToList(InMusic):
    name = "music.add"
    goals = (
        "Put the song {title} on the playlist {list}{in_app}",
        "Add {title} to the playlist {list}{in_app}",
        "The playlist {list}{in_app} should have the song {title} on it: add it",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        name = rng.choice(lists(state))
        inside = playlist(state, name).songs
        return {
            "title": rng.choice([found.title for found in music(state).songs if found.id not in inside]),
            "list": name,
        }

    def want(self, state: PhoneState, p: Params) -> None:
        playlist(state, p["list"]).songs.append(song(state, p["title"]).id)

    def plan(self, x: Expert, p: Params) -> Plan:
        id = song(x.state, p["title"]).id
        yield from show_tab(x, "songs")
        into = f"into.{playlist(x.state, p['list']).id}"
        yield from x.tap(Hold(f"song.{id}"), "sheet.add", into, about={"song": id})


class TakeOff(InMusic):
    name = "music.remove"
    goals = (
        "Remove the song {title} from the playlist {list}{in_app}",
        "Open the playlist {list}{in_app} and take {title} off it",
        "The song {title} does not belong on the playlist {list}{in_app}: remove it there",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        name = rng.choice(lists(state))
        return {"title": music(state).get(rng.choice(playlist(state, name).songs)).title, "list": name}

    def want(self, state: PhoneState, p: Params) -> None:
        playlist(state, p["list"]).songs.remove(song(state, p["title"]).id)

    def plan(self, x: Expert, p: Params) -> Plan:
        id = song(x.state, p["title"]).id
        yield from show_list(x, playlist(x.state, p["list"]).id)
        yield from x.tap(f"song.{id}.more", "sheet.remove", about={"song": id})


class NewList(InMusic):
    name = "music.new_list"
    goals = (
        "Make a new playlist “{name}”{in_app}",
        "Create an empty playlist called “{name}”{in_app}",
        "Add a playlist “{name}” to the lists{in_app}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"name": rng.choice(NAMES)}

    def want(self, state: PhoneState, p: Params) -> None:
        music(state).lists.append(Playlist(ANY, said(p["name"])))

    def plan(self, x: Expert, p: Params) -> Plan:
        yield from show_tab(x, "lists")
        yield from give_name(x, "new", {"song": ""}, p["name"], "new")


class NewListWith(InMusic):
    name = "music.new_list_with"
    goals = (
        "Put the song {title} on a new playlist “{name}”{in_app}",
        "Press and hold {title}{in_app} and add it to a new list called “{name}”",
        "Make a new playlist “{name}” out of the song {title}{in_app}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"title": rng.choice(titles(state)), "name": rng.choice(NAMES)}

    def want(self, state: PhoneState, p: Params) -> None:
        music(state).lists.append(Playlist(ANY, said(p["name"]), [song(state, p["title"]).id]))

    def plan(self, x: Expert, p: Params) -> Plan:
        id = song(x.state, p["title"]).id
        yield from show_tab(x, "songs")
        yield from give_name(x, "new", {"song": id}, p["name"], Hold(f"song.{id}"), "sheet.add", "add.new")


class DeleteList(InMusic):
    """The playlist is an additional one."""

    name = "music.delete_list"
    goals = (
        "Delete the playlist {name}{in_app}",
        "Open the playlist {name}{in_app} and delete it from its menu",
        "Get rid of the playlist {name}{in_app}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"name": rng.choice(NAMES), "songs": rng.randint(0, 3)}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        data = music(state)
        songs = rng.sample([found.id for found in data.songs], p["songs"])
        data.lists.insert(rng.randint(0, len(data.lists)), Playlist("x1", p["name"], songs))

    def want(self, state: PhoneState, p: Params) -> None:
        music(state).lists.remove(playlist(state, p["name"]))

    def plan(self, x: Expert, p: Params) -> Plan:
        id = playlist(x.state, p["name"]).id
        yield from show_list(x, id)
        yield from x.tap("page.more", "menu.delete", "delete.ok", about={"list": id})


class SearchAndLike(InMusic):
    name = "music.search_like"
    goals = (
        "Search for {artist}{in_app} and like the song {title}",
        "Find the songs of {artist} with the search{in_app} and like {title} among them",
        "Use the search{in_app} to find the artist {artist}, then like the song {title}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        found = rng.choice(music(state).songs)
        return {"artist": found.artist, "title": found.title}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        song(state, p["title"]).liked = False

    def want(self, state: PhoneState, p: Params) -> None:
        song(state, p["title"]).liked = True

    def plan(self, x: Expert, p: Params) -> Plan:
        id = song(x.state, p["title"]).id
        yield from x.go("music", hop("search", "search"))
        if x.overlay is None:
            yield from x.type("query", p["artist"])
        yield from x.tap(f"song.{id}.more", "sheet.like", about={"song": id})


class PlayMixed(InMusic):
    name = "music.play_mixed"
    goals = (
        "Play the playlist {list} shuffled{in_app} and let {what} repeat",
        "Open the playlist {list}{in_app}, start it with Shuffle, and set the player to repeat {what}",
        "Shuffle the playlist {list}{in_app}; in the player, switch repeat to {what}",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"list": rng.choice(lists(state)), "repeat": rng.choice(("all", "one"))}

    def words(self, p: Params) -> Params:
        return p | {"what": {"all": "all songs", "one": "one song"}[p["repeat"]]}

    def want(self, state: PhoneState, p: Params) -> None:
        data = music(state)
        data.queue = list(playlist(state, p["list"]).songs)
        data.now, data.playing, data.position = data.queue[0], True, ANY
        data.shuffle, data.repeat = True, p["repeat"]

    def plan(self, x: Expert, p: Params) -> Plan:
        data, found = music(x.state), playlist(x.state, p["list"])
        if not (data.shuffle and data.playing and data.queue == found.songs and data.now == found.songs[0]):
            yield from show_list(x, found.id)
            yield from x.tap("mix")
        yield from show_player(x)
        yield from x.tap("repeat")


class SkipAndLike(InMusic):
    name = "music.skip_like"
    goals = (
        "Skip {count} songs ahead of {title}, which is on{in_app}, and like the song that comes then",
        "Open the player{in_app}, go {count} songs on from {title}, and like that song",
        "In the player{in_app}, press Next {count} times from {title} on; like the song you arrive at",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        count = rng.randint(2, 4)
        return {"title": rng.choice(titles(state)[:-count]), "count": count}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        data = music(state)
        data.play([found.id for found in data.songs], song(state, p["title"]).id)
        data.playing = False
        data.get(self._target(state, p)).liked = False

    @staticmethod
    def _target(state: PhoneState, p: Params) -> str:
        order = music(state).order()
        return order[order.index(song(state, p["title"]).id) + int(p["count"])]

    def want(self, state: PhoneState, p: Params) -> None:
        data = music(state)
        data.now = self._target(state, p)
        data.get(data.now).liked = True

    def plan(self, x: Expert, p: Params) -> Plan:
        data, target = music(x.state), self._target(x.state, p)
        order = data.order()
        yield from show_player(x)
        if data.now == target:
            yield from x.tap("like")
        else:
            yield from x.tap("next" if order.index(data.now) < order.index(target) else "prev")


class WaitForTheEnd(InMusic):
    """How long to wait stands in the player: what is left of the song, and a second more."""

    name = "music.wait"
    goals = (
        "The song {title} is playing{in_app}: wait until it is over, then pause the music",
        "Open the player{in_app}, wait for the end of {title}, and pause when the next song has begun",
        "Let the song {title} play to its end{in_app}; pause as soon as the next one has begun",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        return {"title": rng.choice(titles(state)[:-1])}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        data = music(state)
        data.play([found.id for found in data.songs], song(state, p["title"]).id)
        data.position = float(data.get(data.now).seconds - rng.randint(3, 12))

    def want(self, state: PhoneState, p: Params) -> None:
        data = music(state)
        data.now, data.playing, data.position = data.queue[data.queue.index(data.now) + 1], False, ANY

    def check(self, before: PhoneState, state: PhoneState, p: Params) -> float:
        """Skipping to the next song is no waiting: that begins at its start."""
        return super().check(before, state, p) if music(state).position > 0 else 0.0

    def plan(self, x: Expert, p: Params) -> Plan:
        data = music(x.state)
        now = data.get(data.now)
        yield from show_player(x)
        if now.title == p["title"] and data.playing:
            yield x.wait(now.seconds - int(data.position) + 1)
        yield from x.tap("play")


class RenameAndAdd(InMusic):
    name = "music.rename_add"
    heldout = True
    goals = (
        "Rename the playlist {list}{in_app} to “{new}” and put the song {title} on it",
        "The playlist {list}{in_app} should be called “{new}”, and have the song {title} on it as well",
        "Change the name of the playlist {list}{in_app} to “{new}”, then add {title} to it",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        name = rng.choice(lists(state))
        inside = playlist(state, name).songs
        free = [found.title for found in music(state).songs if found.id not in inside]
        return {"list": name, "new": rng.choice(NAMES), "title": rng.choice(free)}

    def want(self, state: PhoneState, p: Params) -> None:
        found = playlist(state, p["list"])
        found.name = said(p["new"])
        found.songs.append(song(state, p["title"]).id)

    def plan(self, x: Expert, p: Params) -> Plan:
        id = song(x.state, p["title"]).id
        renamed = any(said(p["new"]) == name for name in lists(x.state))
        list_id = playlist(x.state, p["new"] if renamed else p["list"]).id
        if not renamed:
            yield from show_list(x, list_id)
            yield from give_name(x, "rename", {"list": list_id}, p["new"], "page.more", "menu.rename")
            return
        yield from show_tab(x, "songs")
        yield from x.tap(Hold(f"song.{id}"), "sheet.add", f"into.{list_id}", about={"song": id})


class MoveBetween(InMusic):
    name = "music.move_between"
    heldout = True
    goals = (
        "Move the song {title} from the playlist {old} to the playlist {new}{in_app}",
        "Take {title} off the playlist {old}{in_app} and add it to {new}",
        "The song {title} belongs on the playlist {new}{in_app}, not on {old}: add it to the one and remove it from the other",
    )

    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        old, new = rng.sample(lists(state), 2)
        return {"title": music(state).get(rng.choice(playlist(state, old).songs)).title, "old": old, "new": new}

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:
        songs, id = playlist(state, p["new"]).songs, song(state, p["title"]).id
        if id in songs:
            songs.remove(id)

    def want(self, state: PhoneState, p: Params) -> None:
        id = song(state, p["title"]).id
        playlist(state, p["old"]).songs.remove(id)
        playlist(state, p["new"]).songs.append(id)

    def plan(self, x: Expert, p: Params) -> Plan:
        """Both from the old playlist's page, the adding first: afterwards the song is no longer there."""
        id, old, new = song(x.state, p["title"]).id, playlist(x.state, p["old"]), playlist(x.state, p["new"])
        yield from show_list(x, old.id)
        if id not in new.songs:
            yield from x.tap(f"song.{id}.more", "sheet.add", f"into.{new.id}", about={"song": id})
        else:
            yield from x.tap(f"song.{id}.more", "sheet.remove", about={"song": id})


TEMPLATES: tuple[type[Template], ...] = (
    Like,
    Unlike,
    PlayLoud,
    AddToList,
    TakeOff,
    NewList,
    NewListWith,
    DeleteList,
    SearchAndLike,
    PlayMixed,
    SkipAndLike,
    WaitForTheEnd,
    RenameAndAdd,
    MoveBetween,
)
