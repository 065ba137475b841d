"""The apps that AndroidWorld's tasks are about, as far as its set-up and its checks look at them: package, activity, databases, folders.

Nothing of these apps runs here: the desk shows their names. Names of packages and activities, paths, tables and columns are facts of
google-research/android_world, commit d9c569f (`env/adb_utils.py`, `env/device_constants.py`, `task_evals/utils/sqlite_schema_utils.py`).
A table is `_table(name, "column TYPE, ...")`; a new app is a line in `APPS`.
"""

from __future__ import annotations

from typing import Final

from emulator.sim.packages import Package

STORAGE: Final = "/storage/emulated/0"


def _table(name: str, columns: str) -> str:
    return f"CREATE TABLE {name} ({columns});\n"


def _integers(names: str) -> str:
    return ", ".join(f'"{name}" INTEGER NOT NULL DEFAULT 0' for name in names.split())


def _texts(names: str) -> str:
    return ", ".join(f"\"{name}\" TEXT NOT NULL DEFAULT ''" for name in names.split())


def _reals(names: str) -> str:
    return ", ".join(f'"{name}" REAL NOT NULL DEFAULT 0' for name in names.split())


_ROOM: Final = "CREATE TABLE android_metadata (locale TEXT);\nINSERT INTO android_metadata VALUES ('en_US');\n"

CALENDAR: Final = _ROOM + _table(
    "events",
    "id INTEGER PRIMARY KEY AUTOINCREMENT, "
    + _integers("start_ts end_ts")
    + ", "
    + _texts("title location description")
    + ", "
    + _integers(
        "reminder_1_minutes reminder_2_minutes reminder_3_minutes reminder_1_type reminder_2_type reminder_3_type repeat_interval repeat_rule repeat_limit"
    )
    + ", "
    + _texts("repetition_exceptions attendees import_id time_zone")
    + ", "
    + _integers("flags event_type parent_id last_updated")
    + ", "
    + _texts("source")
    + ", "
    + _integers("availability color type"),
)
RECIPES: Final = _ROOM + _table(
    "recipes",
    "recipeId INTEGER PRIMARY KEY AUTOINCREMENT, "
    + _texts("title imageName description servings preparationTime source ingredients directions")
    + ", "
    + _integers("favorite"),
)
EXPENSES: Final = _ROOM + _table(
    "expense",
    "expense_id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, "
    + _integers("amount category")
    + ", note TEXT, "
    + _integers("created_date modified_date"),
)
TASKS: Final = _ROOM + _table(
    "tasks",
    "_id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT, "
    + _integers(
        "importance dueDate hideUntil created modified completed deleted estimatedSeconds elapsedSeconds timerStart notificationFlags lastNotified repeat_from"
    )
    + ', notes TEXT, recurrence TEXT, calendarUri TEXT, remoteId TEXT, "order" INTEGER, '
    + _integers("collapsed parent read_only"),
)
MARKERS: Final = _ROOM + _table(
    "map_markers",
    "marker_id TEXT PRIMARY KEY, marker_lat REAL, marker_lon REAL, marker_description TEXT, "
    + _integers("marker_active marker_added marker_visited")
    + ", group_name TEXT, group_key TEXT, "
    + _integers("marker_color")
    + ", marker_next_key TEXT, "
    + _integers("marker_disabled marker_selected")
    + ", marker_map_object_name TEXT, title TEXT",
)
TRACKS: Final = _ROOM + _table(
    "tracks",
    "_id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT, description TEXT, category TEXT, activity_type TEXT, "
    + _integers("starttime stoptime numpoints totaltime movingtime starttime_offset")
    + ", "
    + _reals("totaldistance avgspeed avgmovingspeed maxspeed minelevation maxelevation elevationgain elevationloss")
    + ", icon TEXT, uuid BLOB",
)
_NOTE: Final = (
    "id TEXT PRIMARY KEY, "
    + _texts("parent_id title body source_url")
    + ", "
    + _reals("latitude longitude altitude")
    + ", "
    + _integers("is_todo todo_due todo_completed user_created_time user_updated_time")
)
JOPLIN: Final = (
    _ROOM
    + _table(
        "folders",
        "id TEXT PRIMARY KEY, "
        + _texts("title parent_id encryption_cipher_text share_id master_key_id icon user_data")
        + ", "
        + _integers(
            "created_time updated_time user_created_time user_updated_time deleted_time encryption_applied is_shared"
        ),
    )
    + _table(
        "notes",
        _NOTE
        + ", "
        + _texts(
            "author source source_application application_data encryption_cipher_text share_id conflict_original_id master_key_id user_data"
        )
        + ", "
        + _integers("created_time updated_time is_conflict encryption_applied is_shared")
        + ', markup_language INTEGER NOT NULL DEFAULT 1, "order" NUMERIC NOT NULL DEFAULT 0',
    )
    + _table("notes_normalized", _NOTE)
)
VLC: Final = (
    _table("Playlist", "id_playlist INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT COLLATE NOCASE, creation_date INTEGER")
    + _table(
        "Media",
        "id_media INTEGER PRIMARY KEY AUTOINCREMENT, type INTEGER, title TEXT COLLATE NOCASE, filename TEXT COLLATE NOCASE",
    )
    + _table("PlaylistMediaRelation", "media_id INTEGER, mrl TEXT, playlist_id INTEGER, position INTEGER")
)
PLAYLISTS: Final = (
    _ROOM
    + _table("PlaylistEntity", "playlist_id INTEGER PRIMARY KEY AUTOINCREMENT, playlist_name TEXT NOT NULL")
    + _table(
        "SongEntity",
        "song_key INTEGER PRIMARY KEY AUTOINCREMENT, playlist_creator_id INTEGER NOT NULL, id INTEGER, title TEXT, duration INTEGER, data TEXT, "
        "album_name TEXT, artist_name TEXT",
    )
)
QUEUE: Final = _ROOM + _table(
    "playing_queue",
    "_id INTEGER PRIMARY KEY, title TEXT NOT NULL, duration INTEGER, _data TEXT, album TEXT, artist TEXT",
)

APPS: Final[tuple[Package, ...]] = (
    Package("com.android.chrome", "com.google.android.apps.chrome.Main", "Chrome"),
    Package("com.android.camera2", "com.android.camera.CameraLauncher", "Camera"),
    Package("com.google.android.deskclock", "com.android.deskclock.DeskClock", "Clock"),
    Package("com.google.android.contacts", "com.android.contacts.activities.PeopleActivity", "Contacts"),
    Package("com.google.android.dialer", "com.google.android.dialer.extensions.GoogleDialtactsActivity", "Phone"),
    Package(
        "com.google.android.apps.messaging", "com.google.android.apps.messaging.ui.ConversationListActivity", "Messages"
    ),
    Package("com.google.android.documentsui", "com.android.documentsui.files.FilesActivity", "Files"),
    Package("com.google.android.apps.photos", "com.google.android.apps.photos.home.HomeActivity", "Photos"),
    Package("com.google.androidenv.accessibilityforwarder"),
    Package("com.google.androidenv.miniwob", "com.google.androidenv.miniwob.app.MainActivity", "MiniWoB"),
    Package("com.example.androidworld", ".MainActivity", "Android World"),
    Package("ca.zgrs.clipper", "ca.zgrs.clipper.Main", "Clipper"),
    Package(
        "net.gsantner.markor",
        "net.gsantner.markor.activity.MainActivity",
        "Markor",
        folders=(f"{STORAGE}/Documents/Markor",),
    ),
    Package(
        "com.dimowner.audiorecorder",
        "com.dimowner.audiorecorder.app.welcome.WelcomeActivity",
        "Audio Recorder",
        folders=(f"{STORAGE}/Android/data/com.dimowner.audiorecorder/files/Music/records",),
    ),
    Package(
        "com.simplemobiletools.calendar.pro",
        "com.simplemobiletools.calendar.pro.activities.MainActivity",
        "Simple Calendar Pro",
        databases=(("databases/events.db", CALENDAR),),
    ),
    Package(
        "com.simplemobiletools.gallery.pro",
        "com.simplemobiletools.gallery.pro.activities.MainActivity",
        "Simple Gallery Pro",
    ),
    Package(
        "com.simplemobiletools.draw.pro", "com.simplemobiletools.draw.pro.activities.MainActivity", "Simple Draw Pro"
    ),
    Package(
        "com.simplemobiletools.smsmessenger",
        "com.simplemobiletools.smsmessenger.activities.MainActivity",
        "Simple SMS Messenger",
    ),
    Package(
        "com.arduia.expense",
        "com.arduia.expense.ui.MainActivity",
        "Pro Expense",
        databases=(("databases/accounting.db", EXPENSES),),
    ),
    Package(
        "com.flauschcode.broccoli",
        "com.flauschcode.broccoli.MainActivity",
        "Broccoli",
        databases=(("databases/broccoli", RECIPES),),
    ),
    Package(
        "net.osmand",
        "net.osmand.plus.activities.MapActivity",
        "OsmAnd",
        databases=(("databases/map_markers_db", MARKERS),),
        folders=(f"{STORAGE}/Android/data/net.osmand/files/tracks",),
    ),
    Package(
        "org.tasks", "com.todoroo.astrid.activity.MainActivity", "Tasks", databases=(("databases/database", TASKS),)
    ),
    Package(
        "de.dennisguse.opentracks",
        "de.dennisguse.opentracks.TrackListActivity",
        "OpenTracks",
        databases=(("databases/database.db", TRACKS),),
    ),
    Package("net.cozic.joplin", ".MainActivity", "Joplin", databases=(("databases/joplin.sqlite", JOPLIN),)),
    Package(
        "org.videolan.vlc",
        ".gui.MainActivity",
        "VLC",
        databases=(("app_db/vlc_media.db", VLC),),
        folders=(f"{STORAGE}/VLCVideos",),
    ),
    Package(
        "code.name.monkey.retromusic",
        ".activities.MainActivity",
        "Retro Music",
        databases=(("databases/playlist.db", PLAYLISTS), ("databases/music_playback_state.db", QUEUE)),
    ),
)
