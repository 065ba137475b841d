"""Tasks about rows of apps' databases: recipes, expenses, events, playlists, map markers, added and deleted with the device's sqlite3."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from emulator.adb import quoted
from tests.androidworld.solvers.work import DAY, NotDone, Solver, Work, literal, one_of

VLC: Final = "/data/data/org.videolan.vlc/app_db/vlc_media.db"
SONGS: Final = "/data/data/code.name.monkey.retromusic/databases/playlist.db"
QUEUE: Final = "/data/data/code.name.monkey.retromusic/databases/music_playback_state.db"
MARKERS: Final = "/data/data/net.osmand/databases/map_markers_db"
OSMAND: Final = "/data/media/0/Android/data/net.osmand/files"
RATES: Final = (44100, 48000, 32000)
"""Samples a second of MPEG-1; MPEG-2 has half, 2.5 a quarter (bits 18 and 19 of a frame's header)."""
PLACES: Final = {
    "Balzers": (47.0689, 9.5062),
    "Bendern": (47.2122, 9.5062),
    "Malbun": (47.1026, 9.6083),
    "Nendeln": (47.1974, 9.5431),
    "Oberplanken": (47.1785, 9.5450),
    "Planken": (47.1859, 9.5452),
    "Rotenboden": (47.1276, 9.5387),
    "Ruggell": (47.2398, 9.5263),
    "Schaan": (47.1663, 9.5103),
    "Schaanwald": (47.2165, 9.5700),
    "Schönberg": (47.1304, 9.5930),
    "Triesen": (47.1070, 9.5275),
}
"""Where these places of Liechtenstein are, in degrees north and east (android_world at d9c569f, osmand.py)."""


@dataclass(frozen=True)
class Table:
    """A table whose rows tasks are about: its key, the column that a goal names rows by, and the columns that an app's form fills."""

    database: str
    name: str
    key: str
    title: str
    form: tuple[str, ...]

    def add(self, work: Work, rows: list[dict[str, Any]]) -> None:
        for row in rows:
            work.insert(self.database, self.name, {column: row[column] for column in self.form})

    def delete(self, work: Work, where: str) -> None:
        work.sql(self.database, f"DELETE FROM {self.name} WHERE {where}")


RECIPES: Final = Table(
    "/data/data/com.flauschcode.broccoli/databases/broccoli",
    "recipes",
    "recipeId",
    "title",
    ("title", "description", "servings", "preparationTime", "source", "ingredients", "directions"),
)
EXPENSES: Final = Table(
    "/data/data/com.arduia.expense/databases/accounting.db",
    "expense",
    "expense_id",
    "name",
    ("name", "amount", "category", "note", "created_date"),
)
EVENTS: Final = Table(
    "/data/data/com.simplemobiletools.calendar.pro/databases/events.db",
    "events",
    "id",
    "title",
    ("start_ts", "end_ts", "title", "location", "description", "repeat_interval", "repeat_rule"),
)


def adding(table: Table) -> Solver:
    def add(work: Work) -> None:
        table.add(work, work.params["row_objects"])

    return add


def deleting(table: Table) -> Solver:
    """The rows that the goal names."""

    def delete(work: Work) -> None:
        table.delete(work, f"{table.title} IN {one_of([row[table.title] for row in work.params['row_objects']])}")

    return delete


def keeping_one(table: Table) -> Solver:
    """All but the first of rows that agree in everything that their form has."""

    def delete(work: Work) -> None:
        table.delete(
            work, f"{table.key} NOT IN (SELECT min({table.key}) FROM {table.name} GROUP BY {', '.join(table.form)})"
        )

    return delete


def delete_by_ingredient(work: Work) -> None:
    RECIPES.delete(work, f"lower(directions) LIKE {literal('%' + work.params['ingredient'] + '%')}")


def delete_events_of_day(work: Work) -> None:
    """Midnight is UTC's, the zone that android_world sets."""
    begin = int(work.shell("date", "-d", f"{_date(work)} 00:00:00", "+%s"))
    EVENTS.delete(work, f"start_ts >= {begin} AND start_ts < {begin + DAY}")


def delete_event(work: Work) -> None:
    begin = int(work.shell("date", "-d", f"{_date(work)} {int(work.params['hour']):02d}:00:00", "+%s"))
    EVENTS.delete(work, f"start_ts = {begin} AND title = {literal(work.params['event_title'])}")


def _date(work: Work) -> str:
    return f"{work.params['year']}-{int(work.params['month']):02d}-{int(work.params['day']):02d}"


def _vlc_playlist(work: Work, name: str, files: list[str]) -> None:
    work.insert(VLC, "Playlist", {"name": name})
    playlist = work.sql(VLC, "SELECT max(id_playlist) FROM Playlist")[0][0]
    for position, file in enumerate(files):
        work.insert(VLC, "Media", {"type": 1, "title": file, "filename": file})
        media = work.sql(VLC, "SELECT max(id_media) FROM Media")[0][0]
        relation = {"media_id": int(media), "playlist_id": int(playlist), "position": position}
        work.insert(VLC, "PlaylistMediaRelation", relation)


def vlc_playlist(work: Work) -> None:
    _vlc_playlist(work, work.params["playlist_name"], work.params["files"])


def vlc_playlists(work: Work) -> None:
    for number in "12":
        _vlc_playlist(work, work.params[f"playlist_name{number}"], work.params[f"files{number}"])


def _titles(work: Work) -> list[str]:
    return [file.partition(".")[0] for file in work.params["files"]]


def song_playlist(work: Work) -> None:
    work.insert(SONGS, "PlaylistEntity", {"playlist_name": work.params["playlist_name"]})
    playlist = int(work.sql(SONGS, "SELECT max(playlist_id) FROM PlaylistEntity")[0][0])
    for title in _titles(work):
        work.insert(SONGS, "SongEntity", {"playlist_creator_id": playlist, "title": title, "duration": 180_000})


def saved_playlist(work: Work) -> None:
    song_playlist(work)
    work.write(f"/storage/emulated/0/Download/{work.params['playlist_name']}.m3u", "#EXTM3U\n")


def playlist_of_length(work: Work) -> None:
    """Longest first, each that still fits below 50 minutes."""
    work.insert(SONGS, "PlaylistEntity", {"playlist_name": work.params["playlist_name"]})
    playlist = int(work.sql(SONGS, "SELECT max(playlist_id) FROM PlaylistEntity")[0][0])
    lengths = {
        name: length_of_mp3(work.phone.adb("exec-out", quoted("cat", f"/sdcard/Music/{name}")).stdout)
        for name in work.shell("ls", "/sdcard/Music").splitlines()
    }
    room = 50 * 60_000
    for name, length in sorted(lengths.items(), key=lambda pair: -pair[1]):
        if length <= room:
            room -= length
            song = {"playlist_creator_id": playlist, "title": name.partition(".")[0], "duration": length}
            work.insert(SONGS, "SongEntity", song)


def length_of_mp3(data: bytes) -> int:
    """Milliseconds of a layer III file that LAME wrote: its first frame is a note of how many there are (ISO/IEC 13818-3; the Xing header)."""
    begin = 10 + sum(byte << 7 * place for place, byte in enumerate(reversed(data[6:10]))) if data[:3] == b"ID3" else 0
    version = data[begin + 1] >> 3 & 3
    rate = RATES[data[begin + 2] >> 2 & 3] // {3: 1, 2: 2, 0: 4}[version]
    note = max(data.find(b"Info", begin, begin + 100), data.find(b"Xing", begin, begin + 100))
    if note < 0:
        raise NotDone("a sound file without a note of its length")
    frames = int.from_bytes(data[note + 8 : note + 12], "big")
    return frames * (1152 if version == 3 else 576) * 1000 // rate


def queue(work: Work) -> None:
    for place, title in enumerate(_titles(work)):
        work.insert(QUEUE, "playing_queue", {"_id": place, "title": title})


def _place(location: str) -> tuple[float, float]:
    name = location.partition(",")[0]
    if name in PLACES:
        return PLACES[name]
    north, east = location.split(",")
    return float(north), float(east)


def marker(work: Work) -> None:
    north, east = _place(work.params["location"])
    work.insert(MARKERS, "map_markers", {"marker_id": "1", "marker_lat": north, "marker_lon": east, "marker_active": 1})


def _gpx(inside: str) -> str:
    return f'<?xml version="1.0"?><gpx version="1.1" xmlns="http://www.topografix.com/GPX/1/1">{inside}</gpx>\n'


def favorite(work: Work) -> None:
    north, east = _place(work.params["location"])
    work.shell("mkdir", "-p", f"{OSMAND}/favorites")
    work.write(
        f"{OSMAND}/favorites/favorites.gpx", _gpx(f'<wpt lat="{north}" lon="{east}"><name>Favorite</name></wpt>')
    )


def track(work: Work) -> None:
    points = "".join(f'<trkpt lat="{north}" lon="{east}"/>' for north, east in map(_place, work.params["waypoints"]))
    work.write(f"{OSMAND}/tracks/track.gpx", _gpx(f"<trk><trkseg>{points}</trkseg></trk>"))


ROWS: Final[dict[str, Solver]] = {
    **dict.fromkeys(
        ["ExpenseAddMultiple", "ExpenseAddMultipleFromGallery", "ExpenseAddMultipleFromMarkor", "ExpenseAddSingle"],
        adding(EXPENSES),
    ),
    **dict.fromkeys(["ExpenseDeleteMultiple", "ExpenseDeleteMultiple2", "ExpenseDeleteSingle"], deleting(EXPENSES)),
    **dict.fromkeys(["ExpenseDeleteDuplicates", "ExpenseDeleteDuplicates2"], keeping_one(EXPENSES)),
    **dict.fromkeys(
        [
            "RecipeAddMultipleRecipes",
            "RecipeAddMultipleRecipesFromImage",
            "RecipeAddMultipleRecipesFromMarkor",
            "RecipeAddMultipleRecipesFromMarkor2",
            "RecipeAddSingleRecipe",
        ],
        adding(RECIPES),
    ),
    **dict.fromkeys(
        [
            "RecipeDeleteMultipleRecipes",
            "RecipeDeleteMultipleRecipesWithNoise",
            "RecipeDeleteSingleRecipe",
            "RecipeDeleteSingleWithRecipeWithNoise",
        ],
        deleting(RECIPES),
    ),
    **dict.fromkeys(
        ["RecipeDeleteDuplicateRecipes", "RecipeDeleteDuplicateRecipes2", "RecipeDeleteDuplicateRecipes3"],
        keeping_one(RECIPES),
    ),
    "RecipeDeleteMultipleRecipesWithConstraint": delete_by_ingredient,
    **dict.fromkeys(
        [
            "SimpleCalendarAddOneEvent",
            "SimpleCalendarAddOneEventInTwoWeeks",
            "SimpleCalendarAddOneEventRelativeDay",
            "SimpleCalendarAddOneEventTomorrow",
            "SimpleCalendarAddRepeatingEvent",
        ],
        adding(EVENTS),
    ),
    **dict.fromkeys(["SimpleCalendarDeleteEvents", "SimpleCalendarDeleteEventsOnRelativeDay"], delete_events_of_day),
    "SimpleCalendarDeleteOneEvent": delete_event,
    "VlcCreatePlaylist": vlc_playlist,
    "VlcCreateTwoPlaylists": vlc_playlists,
    "RetroCreatePlaylist": song_playlist,
    "RetroPlaylistDuration": playlist_of_length,
    "RetroSavePlaylist": saved_playlist,
    "RetroPlayingQueue": queue,
    "OsmAndFavorite": favorite,
    "OsmAndMarker": marker,
    "OsmAndTrack": track,
}
