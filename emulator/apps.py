"""The package behind an app's name on real Android: AndroidWorld's apps, and what phones commonly have.

Names and packages are facts of google-research/android_world, commit d9c569f (`env/adb_utils.py`), and of the apps' own manifests.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

_TABLE: Final = """
audio recorder = com.dimowner.audiorecorder
broccoli, broccoli app, broccoli recipe app, recipe app = com.flauschcode.broccoli
calculator = com.google.android.calculator
calendar, google calendar = com.google.android.calendar
camera = com.android.camera2
chrome, google chrome, browser = com.android.chrome
clipper = ca.zgrs.clipper
clock = com.google.android.deskclock
contacts = com.google.android.contacts
drive, google drive = com.google.android.apps.docs
files = com.google.android.documentsui
gmail, google mail = com.google.android.gm
google, google search = com.google.android.googlequicksearchbox
joplin, joplin app = net.cozic.joplin
keep, google keep = com.google.android.keep
maps, google maps = com.google.android.apps.maps
markor = net.gsantner.markor
messages = com.google.android.apps.messaging
miniwob = com.google.androidenv.miniwob
open tracks, opentracks, open tracks sports tracker, activity tracker = de.dennisguse.opentracks
osmand = net.osmand
phone, dialer = com.google.android.dialer
photos, google photos = com.google.android.apps.photos
play store, google play, google play store = com.android.vending
pro expense, pro expense app = com.arduia.expense
retro music, retro, retro player = code.name.monkey.retromusic
settings, system settings = com.android.settings
simple calendar pro, simple calendar = com.simplemobiletools.calendar.pro
simple draw pro = com.simplemobiletools.draw.pro
simple gallery pro, simple gallery = com.simplemobiletools.gallery.pro
simple sms messenger, simple sms = com.simplemobiletools.smsmessenger
tasks, tasks app, tasks.org = org.tasks
vlc, vlc app, vlc player = org.videolan.vlc
youtube = com.google.android.youtube
"""
_PACKAGE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*(\.[A-Za-z][A-Za-z0-9_]*)+")


def key(name: str) -> str:
    """An app's name as it is compared: case and spaces do not matter."""
    return " ".join(name.split()).casefold()


def _read(table: str) -> dict[str, str]:
    pairs = (line.split(" = ") for line in table.strip().splitlines())
    return {key(name): package for names, package in pairs for name in names.split(",")}


KNOWN: Final[Mapping[str, str]] = _read(_TABLE)


def package_of(app: str, installed: Iterable[str] = ()) -> str | None:
    """The package that `app` names: the table's, `app` itself where it is a package's name, or the one installed whose last word it is.

    installed: what `pm list packages` gave; asked only where the table knows nothing. Several that fit are none.
    """
    wanted = key(app)
    if wanted in KNOWN:
        return KNOWN[wanted]
    if len(app) <= 200 and _PACKAGE.fullmatch(app.strip()):
        return app.strip()
    squeezed = wanted.replace(" ", "")
    fitting = [name for name in installed if squeezed and name.rpartition(".")[2].casefold() == squeezed]
    return fitting[0] if len(fitting) == 1 else None
