"""The apps of the phone, one file each."""

from __future__ import annotations

from typing import Any

from emulator.pocket.app import App
from emulator.pocket.apps.calculator import CalculatorApp
from emulator.pocket.apps.calendar import CalendarApp
from emulator.pocket.apps.clock import ClockApp
from emulator.pocket.apps.contacts import ContactsApp
from emulator.pocket.apps.files import FilesApp
from emulator.pocket.apps.messages import MessagesApp
from emulator.pocket.apps.music import MusicApp
from emulator.pocket.apps.notes import NotesApp
from emulator.pocket.apps.settings import SettingsApp
from emulator.pocket.apps.shop import ShopApp


def all_apps() -> tuple[App[Any], ...]:
    """Every app, in a fixed order (the launcher's order is the state's)."""
    return (
        SettingsApp(),
        NotesApp(),
        ContactsApp(),
        MessagesApp(),
        CalendarApp(),
        ClockApp(),
        FilesApp(),
        ShopApp(),
        MusicApp(),
        CalculatorApp(),
    )
