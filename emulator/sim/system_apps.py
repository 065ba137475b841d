"""Packages that every phone has, and the databases behind the content providers.

The tables are ours, with the columns that `content query` on a device shows (android.provider.Telephony, ContactsContract,
CalendarContract, CallLog).
"""

from __future__ import annotations

from typing import Final

from emulator.sim.packages import Package

CONTACTS: Final = "/data/data/com.android.providers.contacts/databases/contacts2.db"
CALLS: Final = "/data/data/com.android.providers.contacts/databases/calllog.db"
TELEPHONY: Final = "/data/data/com.android.providers.telephony/databases/mmssms.db"
CALENDAR: Final = "/data/data/com.android.providers.calendar/databases/calendar.db"
MEDIA: Final = "/data/data/com.android.providers.media/databases/external.db"

_CONTACTS_SQL: Final = """
CREATE TABLE phones (_id INTEGER PRIMARY KEY, display_name TEXT, number TEXT, type INTEGER DEFAULT 2, label TEXT, email TEXT);
"""
_CALLS_SQL: Final = """
CREATE TABLE calls (_id INTEGER PRIMARY KEY, number TEXT, date INTEGER, duration INTEGER DEFAULT 0, type INTEGER, name TEXT, new INTEGER DEFAULT 1);
"""
_TELEPHONY_SQL: Final = """
CREATE TABLE sms (_id INTEGER PRIMARY KEY, thread_id INTEGER, address TEXT, person INTEGER, date INTEGER, date_sent INTEGER DEFAULT 0,
  protocol INTEGER, read INTEGER DEFAULT 0, status INTEGER DEFAULT -1, type INTEGER, reply_path_present INTEGER, subject TEXT, body TEXT,
  service_center TEXT, locked INTEGER DEFAULT 0, sub_id INTEGER DEFAULT -1, error_code INTEGER DEFAULT -1, creator TEXT, seen INTEGER DEFAULT 0);
CREATE TABLE threads (_id INTEGER PRIMARY KEY AUTOINCREMENT, date INTEGER DEFAULT 0, message_count INTEGER DEFAULT 0, recipient_ids TEXT,
  snippet TEXT, snippet_cs INTEGER DEFAULT 0, read INTEGER DEFAULT 1, archived INTEGER DEFAULT 0, type INTEGER DEFAULT 0, error INTEGER DEFAULT 0,
  has_attachment INTEGER DEFAULT 0);
CREATE TABLE canonical_addresses (_id INTEGER PRIMARY KEY AUTOINCREMENT, address TEXT);
"""
_CALENDAR_SQL: Final = """
CREATE TABLE calendars (_id INTEGER PRIMARY KEY, name TEXT, calendar_displayName TEXT, account_name TEXT, account_type TEXT, visible INTEGER DEFAULT 1);
CREATE TABLE events (_id INTEGER PRIMARY KEY AUTOINCREMENT, calendar_id INTEGER, title TEXT, eventLocation TEXT, description TEXT, dtstart INTEGER,
  dtend INTEGER, eventTimezone TEXT, duration TEXT, allDay INTEGER DEFAULT 0, rrule TEXT, deleted INTEGER DEFAULT 0, hasAlarm INTEGER DEFAULT 0);
CREATE TABLE reminders (_id INTEGER PRIMARY KEY, event_id INTEGER, minutes INTEGER, method INTEGER DEFAULT 0);
INSERT INTO calendars VALUES (1, 'Phone', 'Phone', 'phone', 'LOCAL', 1);
"""
_MEDIA_SQL: Final = """
CREATE TABLE files (_id INTEGER PRIMARY KEY, _data TEXT UNIQUE, _display_name TEXT, _size INTEGER, mime_type TEXT, date_added INTEGER,
  date_modified INTEGER, media_type INTEGER, is_download INTEGER DEFAULT 0);
"""

SYSTEM: Final[tuple[Package, ...]] = (
    Package("android"),
    Package("com.android.shell"),
    Package("com.android.systemui"),
    Package("com.google.android.apps.nexuslauncher", ".NexusLauncherActivity", "Home"),
    Package("com.android.settings", ".Settings", "Settings"),
    Package("com.google.android.inputmethod.latin"),
    Package(
        "com.android.providers.contacts",
        databases=(("databases/contacts2.db", _CONTACTS_SQL), ("databases/calllog.db", _CALLS_SQL)),
    ),
    Package("com.android.providers.telephony", databases=(("databases/mmssms.db", _TELEPHONY_SQL),)),
    Package("com.android.providers.calendar", databases=(("databases/calendar.db", _CALENDAR_SQL),)),
    Package("com.android.providers.media", databases=(("databases/external.db", _MEDIA_SQL),)),
)
