"""Music: songs, playlists and liked songs; a player with a queue. Songs go on only while the `wait` action lets time pass."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial

from emulator.pocket.app import App, Ctx
from emulator.pocket.apps.songs import ALBUMS, HUES, LISTS, REPEATS, MusicData, Playlist, Song
from emulator.pocket.widgets import (
    Art,
    Block,
    Button,
    Buttons,
    Controls,
    Dialog,
    Empty,
    Fab,
    Glyph,
    Group,
    IconButton,
    Levels,
    MenuItem,
    MiniBar,
    Overlay,
    Page,
    Picture,
    Progress,
    Row,
    Sheet,
    Tabs,
)
from emulator.pocket.world import World

TABS = {"songs": "Songs", "lists": "Lists", "liked": "Liked"}

Music = Ctx[MusicData]


def clock(seconds: float) -> str:
    """Minutes and seconds."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


class MusicApp(App[MusicData]):
    """A touch on a song plays it; what plays stands in a bar at the bottom that leads to the player."""

    name = "music"
    title = "Music"
    icon = "music"
    accent = "#7A4FC0"
    aliases = ("songs", "music player", "spotify", "player")

    def fresh(self, rng: random.Random, world: World) -> MusicData:
        songs: list[Song] = []
        for artist, hue in zip(rng.sample(sorted(ALBUMS), 6), HUES, strict=False):
            titles = rng.sample(ALBUMS[artist], 3)
            songs += [Song("", title, artist, rng.randint(140, 320), hue) for title in titles]
        songs.sort(key=lambda song: song.title)
        for i, song in enumerate(songs):
            song.id = f"s{i}"
        ids = [song.id for song in songs]
        for song in rng.sample(songs, 4):
            song.liked = True
        names = rng.sample(LISTS, 4)
        lists = [Playlist(f"l{i}", name, rng.sample(ids, rng.randint(4, 6))) for i, name in enumerate(names)]
        data = MusicData(songs, lists)
        data.play(ids, rng.choice(ids[1:-1]))
        data.playing, data.position = False, float(rng.randint(15, 100))
        return data

    def tick(self, ctx: Music, seconds: float) -> None:
        ctx.data.pass_time(seconds)

    # ---- pages
    def page_main(self, ctx: Music) -> Page:
        tab, data = ctx.value("tab", "songs"), ctx.data
        if tab == "lists":
            blocks = self._list_rows(ctx)
        else:
            songs = [song for song in data.songs if tab == "songs" or song.liked]
            blocks = self._song_rows(ctx, songs, "")
        nothing = Empty("playlist", "No playlists") if tab == "lists" else Empty("heart", "No liked songs")
        return Page(
            "Music",
            blocks or [nothing],
            actions=[IconButton("search", "search", "Search", partial(self._search, ctx))],
            tabs=Tabs("tab", TABS, tab, partial(self._turn, ctx)),
            fab=Fab("new", "New playlist", partial(self._ask_new, ctx, "")) if tab == "lists" else None,
            footer=self._bar(ctx),
        )

    def page_search(self, ctx: Music) -> Page:
        query = ctx.field("query", hint="Songs and artists", kind="search")
        wanted = query.value.strip().casefold()
        if not wanted:
            return Page("Search", [query])
        songs = [song for song in ctx.data.songs if wanted in song.title.casefold() or wanted in song.artist.casefold()]
        found = self._song_rows(ctx, songs, "")
        bar = self._bar(ctx) if ctx.state.nav.focus is None else []  # the keyboard leaves no room for it
        return Page("Search", [query, *(found or [Empty("search", "Nothing found")])], footer=bar)

    def page_artist(self, ctx: Music) -> Page:
        artist = ctx.arg("artist")
        songs = [song for song in ctx.data.songs if song.artist == artist]
        return Page(artist, self._song_rows(ctx, songs, ""), footer=self._bar(ctx))

    def page_list(self, ctx: Music) -> Page:
        playlist = ctx.data.playlist(ctx.arg("list"))
        songs = [ctx.data.get(id) for id in playlist.songs]
        args = {"list": playlist.id}
        play = partial(self._play_all, ctx, playlist.id, False) if songs else None
        shuffle = partial(self._play_all, ctx, playlist.id, True) if songs else None
        return Page(
            playlist.name,
            [
                Buttons([Button("play", "Play", play, "filled", "play"), Button("mix", "Shuffle", shuffle, "tonal", "shuffle")]),
                *(self._song_rows(ctx, songs, playlist.id) or [Empty("playlist", "No songs in it yet")]),
            ],
            subtitle=f"{_count(len(songs))} · {sum(song.seconds for song in songs) // 60} min",
            menu=[
                MenuItem("menu.rename", "Rename", partial(self._ask_name, ctx, playlist), "edit"),
                MenuItem("menu.delete", "Delete", partial(ctx.open, "delete", args), "trash", danger=True),
            ],
            footer=self._bar(ctx),
        )  # fmt: skip

    def page_player(self, ctx: Music) -> Page:
        data, device = ctx.data, ctx.device
        song = data.get(data.now)
        heart = IconButton(
            "like",
            "heart_full" if song.liked else "heart",
            "Liked" if song.liked else "Like",
            partial(self._like, ctx, song.id),
            active=song.liked,
        )
        once = data.repeat == "one"
        controls = [
            IconButton("shuffle", "shuffle", "Shuffle", partial(self._shuffle, ctx), active=data.shuffle),
            IconButton("prev", "prev", "Previous", partial(self._step, ctx, -1)),
            self._play_button(ctx, "play", "filled"),
            IconButton("next", "next", "Next", partial(self._step, ctx, 1)),
            IconButton("repeat", "repeat", "Repeat one" if once else "Repeat", partial(self._repeat, ctx), active=data.repeat != "off", badge=int(once)),
        ]  # fmt: skip
        return Page(
            "Playing",
            [
                Picture(Art("music", song.hue), song.title, song.artist),
                Progress(int(data.position * 100 // song.seconds), clock(data.position), clock(song.seconds)),
                Controls(controls),
                Levels("volume", "Volume", device.volume, partial(self._volume, ctx), caption=f"{device.volume * 20}%"),
            ],
            actions=[heart],
            menu=[
                MenuItem("menu.add", "Add to list", partial(ctx.open, "add", {"song": song.id}), "playlist"),
                MenuItem("menu.artist", "Artist", partial(ctx.push, "artist", {"artist": song.artist}), "mic"),
                MenuItem("menu.queue", "Queue", partial(ctx.push, "queue"), "list"),
            ],
        )

    def page_queue(self, ctx: Music) -> Page:
        """What is still to come."""
        data = ctx.data
        order = data.order()
        place = order.index(data.now) + 1 if data.now in order else 0
        rows = [
            Row(f"queue.{song.id}", song.title, song.artist, leading=Art("music", song.hue), on_tap=partial(self._jump, ctx, song.id))
            for song in map(data.get, order[place:])
        ]  # fmt: skip
        return Page("Queue", [Group(rows)] if rows else [Empty("list", "Nothing follows")], footer=self._bar(ctx))

    # ---- overlays
    def overlay_song(self, ctx: Music) -> Overlay:
        song, inside = ctx.data.get(ctx.arg("song")), ctx.arg("list")
        remove = MenuItem("sheet.remove", "Remove", partial(self._take, ctx, inside, song.id), "close")
        return Sheet(
            song.title,
            [
                MenuItem("sheet.like", "Unlike" if song.liked else "Like", partial(self._like, ctx, song.id), "heart"),
                MenuItem("sheet.add", "Add to list", partial(ctx.open, "add", {"song": song.id}), "playlist"),
                MenuItem("sheet.next", "Play next", partial(self._play_next, ctx, song.id), "next"),
                MenuItem("sheet.artist", "Artist", partial(ctx.push, "artist", {"artist": song.artist}), "mic"),
                *([remove] if inside else []),
            ],
        )

    def overlay_list(self, ctx: Music) -> Overlay:
        playlist = ctx.data.playlist(ctx.arg("list"))
        args = {"list": playlist.id}
        play = partial(self._play_all, ctx, playlist.id, False)
        return Sheet(
            playlist.name,
            [
                *([MenuItem("sheet.play", "Play", play, "play")] if playlist.songs else []),
                MenuItem("sheet.rename", "Rename", partial(self._ask_name, ctx, playlist), "edit"),
                MenuItem("sheet.delete", "Delete", partial(ctx.open, "delete", args), "trash", danger=True),
            ],
        )

    def overlay_add(self, ctx: Music) -> Overlay:
        song = ctx.data.get(ctx.arg("song"))
        rows = [
            Row(f"into.{playlist.id}", playlist.name, leading=Glyph("playlist"), on_tap=partial(self._add, ctx, playlist.id, song.id))
            for playlist in ctx.data.lists
        ]  # fmt: skip
        return Dialog(
            "Add to list",
            blocks=[Group(rows)],
            buttons=[
                Button("add.cancel", "Cancel", ctx.close, "tonal"),
                Button("add.new", "New list", partial(self._ask_new, ctx, song.id)),
            ],
        )

    def overlay_new(self, ctx: Music) -> Overlay:
        return _name_dialog(ctx, "New playlist", "create", "Create", partial(self._create, ctx, ctx.arg("song")))

    def overlay_rename(self, ctx: Music) -> Overlay:
        return _name_dialog(ctx, "Rename", "rename", "Rename", partial(self._rename, ctx, ctx.arg("list")))

    def overlay_delete(self, ctx: Music) -> Overlay:
        playlist = ctx.data.playlist(ctx.arg("list"))
        return Dialog(
            "Delete playlist?",
            f"{playlist.name} will be gone. Its songs stay.",
            buttons=[
                Button("delete.cancel", "Cancel", ctx.close, "tonal"),
                Button("delete.ok", "Delete", partial(self._delete, ctx, playlist.id), "danger"),
            ],
        )

    # ---- parts
    def _song_rows(self, ctx: Music, songs: Sequence[Song], inside: str) -> list[Block]:
        """Rows of songs; `inside` is the id of the playlist that they stand in, or empty."""
        ids = [song.id for song in songs]
        rows = [
            Row(
                f"song.{song.id}",
                song.title,
                f"{song.artist} · {clock(song.seconds)}",
                leading=Art("volume" if song.id == ctx.data.now and ctx.data.playing else "music", song.hue),
                trailing=IconButton(
                    f"song.{song.id}.more",
                    "more",
                    f"Options of {song.title}",
                    partial(ctx.open, "song", {"song": song.id, "list": inside}),
                ),
                on_tap=partial(ctx.data.play, ids, song.id),
                on_long=partial(ctx.open, "song", {"song": song.id, "list": inside}),
                strong=song.id == ctx.data.now,
            )
            for song in songs
        ]
        return [Group(rows)] if rows else []

    def _list_rows(self, ctx: Music) -> list[Block]:
        rows = [
            Row(
                f"list.{playlist.id}",
                playlist.name,
                value=str(len(playlist.songs)),
                leading=Art("playlist", HUES[sum(playlist.name.encode()) % len(HUES)]),
                chevron=True,
                on_tap=partial(ctx.push, "list", {"list": playlist.id}),
                on_long=partial(ctx.open, "list", {"list": playlist.id}),
            )
            for playlist in ctx.data.lists
        ]
        return [Group(rows)] if rows else []

    def _bar(self, ctx: Music) -> list[Block]:
        if not ctx.data.now:
            return []
        song = ctx.data.get(ctx.data.now)
        buttons = [
            self._play_button(ctx, "bar.play", "plain"),
            IconButton("bar.next", "next", "Next", partial(self._step, ctx, 1)),
        ]
        open_player = partial(ctx.push, "player")
        return [MiniBar("bar", song.title, open_player, song.artist, Art("music", song.hue), buttons)]  # fmt: skip

    @staticmethod
    def _play_button(ctx: Music, id: str, style: str) -> IconButton:
        def toggle() -> None:
            ctx.data.playing = not ctx.data.playing

        icon, label = ("pause", "Pause") if ctx.data.playing else ("play", "Play")
        return IconButton(id, icon, label, toggle, style="filled" if style == "filled" else "plain")

    # ---- moving about
    @staticmethod
    def _search(ctx: Music) -> None:
        ctx.push("search")
        ctx.focus("query")

    @staticmethod
    def _turn(ctx: Music, tab: str) -> None:
        ctx.set_value("tab", tab)
        ctx.page.scroll = 0

    @staticmethod
    def _ask_new(ctx: Music, song: str) -> None:
        """Ask for a new playlist's name; `song` goes into it unless it is empty."""
        ctx.open("new", {"song": song}, {"name": ""})
        ctx.focus("name")

    @staticmethod
    def _ask_name(ctx: Music, playlist: Playlist) -> None:
        ctx.open("rename", {"list": playlist.id}, {"name": playlist.name})
        ctx.focus("name")

    # ---- playing
    @staticmethod
    def _play_all(ctx: Music, id: str, shuffle: bool) -> None:
        songs = ctx.data.playlist(id).songs
        ctx.data.shuffle = shuffle
        ctx.data.play(songs, songs[0])

    @staticmethod
    def _play_next(ctx: Music, song: str) -> None:
        """Put a song behind the one that plays."""
        data = ctx.data
        if song == data.now:
            ctx.toast("It plays already")
            return
        order = [id for id in data.order() if id != song]
        place = order.index(data.now) + 1 if data.now in order else 0
        data.queue, data.shuffle = [*order[:place], song, *order[place:]], False
        ctx.toast("Plays next")

    @staticmethod
    def _jump(ctx: Music, song: str) -> None:
        ctx.data.now, ctx.data.position, ctx.data.playing = song, 0.0, True

    @staticmethod
    def _step(ctx: Music, by: int) -> None:
        if not ctx.data.step(by):
            ctx.toast("No more songs")

    @staticmethod
    def _shuffle(ctx: Music) -> None:
        ctx.data.shuffle = not ctx.data.shuffle
        ctx.toast("Shuffle on" if ctx.data.shuffle else "Shuffle off")

    @staticmethod
    def _repeat(ctx: Music) -> None:
        ctx.data.repeat = REPEATS[ctx.data.repeat]
        ctx.toast(f"Repeat {ctx.data.repeat}")

    @staticmethod
    def _volume(ctx: Music, level: int) -> None:
        ctx.device.volume = level

    # ---- changing the collection
    @staticmethod
    def _like(ctx: Music, id: str) -> None:
        song = ctx.data.get(id)
        song.liked = not song.liked
        ctx.toast("Liked" if song.liked else "No longer liked")

    @staticmethod
    def _add(ctx: Music, id: str, song: str) -> None:
        ctx.close()
        playlist = ctx.data.playlist(id)
        if song in playlist.songs:
            ctx.toast("Already in it")
            return
        playlist.songs.append(song)
        ctx.toast(f"Added to {playlist.name}")

    @staticmethod
    def _take(ctx: Music, id: str, song: str) -> None:
        ctx.data.playlist(id).songs.remove(song)
        ctx.toast("Removed")

    @staticmethod
    def _accept(ctx: Music, but: str) -> str | None:
        """The name that was typed if no other playlist has it; else None and a toast that says why."""
        ctx.close()
        name = ctx.value("name").strip()
        if not name:
            ctx.toast("A name is needed")
        elif any(other.name.casefold() == name.casefold() and other.id != but for other in ctx.data.lists):
            ctx.toast("Name is taken")
        else:
            return name
        return None

    def _create(self, ctx: Music, song: str) -> None:
        name = self._accept(ctx, "")
        if name is not None:
            ctx.data.lists.append(Playlist(ctx.new_id("l"), name, [song] if song else []))
            ctx.toast("Playlist created")

    def _rename(self, ctx: Music, id: str) -> None:
        name = self._accept(ctx, id)
        if name is not None:
            ctx.data.playlist(id).name = name
            ctx.toast("Renamed")

    @staticmethod
    def _delete(ctx: Music, id: str) -> None:
        ctx.data.lists = [playlist for playlist in ctx.data.lists if playlist.id != id]
        if ctx.page.name == "list":
            ctx.pop()
        ctx.toast("Deleted")


def _count(songs: int) -> str:
    return "1 song" if songs == 1 else f"{songs} songs"


def _name_dialog(ctx: Music, title: str, id: str, label: str, done: partial[None]) -> Dialog:
    """A dialog with one field, `name`; Enter does what the button does."""
    return Dialog(
        title,
        blocks=[ctx.field("name", "Name", on_submit=done)],
        buttons=[Button(f"{id}.cancel", "Cancel", ctx.close, "tonal"), Button(f"{id}.ok", label, done)],
    )
