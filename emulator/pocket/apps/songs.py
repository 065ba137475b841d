"""The music app's data: songs, playlists, the queue and what plays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

ALBUMS = {
    "Ida Berg": ("Salt Roads", "Paper Boats", "North Wind", "Long Shore"),
    "The Lanterns": ("Late Train", "Street Glow", "Kerosene", "Last Match"),
    "Moss & Co": ("Green Room", "Fern Song", "Wet Stones", "Rain Check"),
    "Duo Castel": ("Blue Tango", "Old Cinema", "Balcony", "Red Shoes"),
    "Kit Harlow": ("Fast Lane", "Overdrive", "Neon Nine", "Turnpike"),
    "Choir of Oak": ("Evensong", "Quiet Hall", "Harvest", "First Snow"),
    "Pola": ("Sugar Sky", "Bubble Tea", "Hopscotch", "Roller Day"),
}
"""Invented artists and songs; no title is longer than twelve letters."""

HUES = ("#B0479B", "#3A7FC4", "#2A9D73", "#D9662B", "#6A58C9", "#C7485A", "#2A93A8")
LISTS = ("Morning", "Running", "Dinner", "Focus", "Road trip", "Party", "Sleep", "Rainy day")
REPEATS = {"off": "all", "all": "one", "one": "off"}
"""What the repeat button turns each mode into."""


@dataclass(slots=True)
class Song:
    """A song of `seconds`; `hue` is the colour of its cover."""

    id: str
    title: str
    artist: str
    seconds: int
    hue: str
    liked: bool = False


@dataclass(slots=True)
class Playlist:
    """A list of song ids in the order in which they play."""

    id: str
    name: str
    songs: list[str] = field(default_factory=list)


@dataclass(slots=True)
class MusicData:
    """The collection, and what plays: the song's id (empty: nothing yet), its position in seconds, and the queue."""

    songs: list[Song] = field(default_factory=list)
    lists: list[Playlist] = field(default_factory=list)
    now: str = ""
    playing: bool = False
    position: float = 0.0
    queue: list[str] = field(default_factory=list)
    shuffle: bool = False
    repeat: str = "off"

    def get(self, id: str) -> Song:
        """The song with this id. Raises `StopIteration` if there is none."""
        return next(song for song in self.songs if song.id == id)

    def named(self, title: str) -> Song:
        """The song with this title. Raises `StopIteration` if there is none."""
        return next(song for song in self.songs if song.title == title)

    def playlist(self, id: str) -> Playlist:
        """The playlist with this id. Raises `StopIteration` if there is none."""
        return next(playlist for playlist in self.lists if playlist.id == id)

    def play(self, songs: Sequence[str], first: str) -> None:
        """Play `first`, and let the rest of `songs` follow."""
        self.queue, self.now, self.position, self.playing = [*songs], first, 0.0, True

    def step(self, by: int) -> bool:
        """Go `by` songs on (or back) in the queue; False at an end, unless all is repeated."""
        order = self.order()
        place = order.index(self.now) + by if self.now in order else 0
        if not order or (self.repeat != "all" and not 0 <= place < len(order)):
            return False
        self.now, self.position = order[place % len(order)], 0.0
        return True

    def order(self) -> Sequence[str]:
        """The queue as it plays. Shuffled is one fixed mix: every second song, then the others backwards."""
        return [*self.queue[::2], *self.queue[1::2][::-1]] if self.shuffle else self.queue

    def pass_time(self, seconds: float) -> None:
        """Let the music play on; at the queue's end it stops. A wait of any length takes a bounded number of steps."""
        left = min(seconds, 24 * 3600.0) if self.playing else 0.0
        while left > 0 and self.playing:
            rest = self.get(self.now).seconds - self.position
            if left < rest:
                self.position += left
                return
            left -= rest
            if self.repeat == "one":
                self.position = 0.0
            elif not self.step(1):
                self.playing, self.position = False, 0.0
