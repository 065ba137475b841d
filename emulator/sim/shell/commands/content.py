"""The command `content`: query, insert, update and delete rows of content providers, which are SQLite files of the device.

A provider is an entry of `TABLES`; for a new one add the table to `system_apps` and a line here.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from emulator.sim import system_apps
from emulator.sim.databases import DatabaseError, Value, execute
from emulator.sim.files import FileTree
from emulator.sim.shell.call import Call, Commands, Failed

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,60}")


@dataclass(frozen=True, slots=True)
class Table:
    """Where the rows of a content URI are. `only` restricts them; `order` is the provider's own order."""

    path: str
    table: str
    only: str = ""
    order: str = "_id"
    fixed: tuple[tuple[str, Value], ...] = ()
    """Columns that a row gets when it is inserted through this URI."""


def _sms(kind: int | None) -> Table:
    only, fixed = ("", ()) if kind is None else (f"type = {kind}", (("type", kind),))
    return Table(system_apps.TELEPHONY, "sms", only, "date DESC", fixed)


_PHONES: Final = Table(system_apps.CONTACTS, "phones")
TABLES: Final[dict[str, Table]] = {
    "contacts/phones": _PHONES,
    "contacts/people": _PHONES,
    "com.android.contacts/contacts": _PHONES,
    "com.android.contacts/data": _PHONES,
    "com.android.contacts/data/phones": _PHONES,
    "com.android.contacts/raw_contacts": _PHONES,
    "call_log/calls": Table(system_apps.CALLS, "calls", order="date DESC"),
    "sms": _sms(None),
    "sms/inbox": _sms(1),
    "sms/sent": _sms(2),
    "sms/draft": _sms(3),
    "mms-sms/conversations": Table(system_apps.TELEPHONY, "threads"),
    "com.android.calendar/events": Table(system_apps.CALENDAR, "events"),
    "com.android.calendar/calendars": Table(system_apps.CALENDAR, "calendars"),
    "com.android.calendar/reminders": Table(system_apps.CALENDAR, "reminders"),
    "media/external/file": Table(system_apps.MEDIA, "files"),
    "media/external/downloads": Table(system_apps.MEDIA, "files", "is_download = 1", fixed=(("is_download", 1),)),
    "media/external/images/media": Table(system_apps.MEDIA, "files", "media_type = 1", fixed=(("media_type", 1),)),
    "media/external/audio/media": Table(system_apps.MEDIA, "files", "media_type = 2", fixed=(("media_type", 2),)),
    "media/external/video/media": Table(system_apps.MEDIA, "files", "media_type = 3", fixed=(("media_type", 3),)),
}
"""Content URI (without scheme) -> table; a number after one of them names a row."""
_KINDS: Final[dict[str, Callable[[str], Value]]] = {
    "s": str,
    "i": int,
    "l": int,
    "f": float,
    "d": float,
    "b": lambda text: int(text.lower() == "true"),
    "n": lambda text: None,
}


def content(call: Call) -> int:
    verb, *words = call.args or [""]
    if verb not in ("query", "insert", "update", "delete", "call", "read"):
        raise Failed(f"Unsupported operation: {verb[:40]}", 1)
    options, binds = _options(words)
    uri = options.get("--uri", "")
    if uri.startswith("content://settings/"):
        return _settings(call, verb, uri, options, binds)
    if verb in ("call", "read"):
        raise Failed(f"`content {verb}` is not simulated")
    table, row = _table(uri)
    files = call.android.files
    try:
        match verb:
            case "query":
                _query(call, files, table, row, options)
            case "insert":
                values = dict(table.fixed) | dict(binds)
                names = ", ".join(values)
                marks = ", ".join("?" * len(values))
                execute(files, table.path, f"INSERT INTO {table.table} ({names}) VALUES ({marks})", values.values())
            case "update":
                sets = ", ".join(f"{name} = ?" for name, _ in binds)
                script = f"UPDATE {table.table} SET {sets}{_where(table, row, options)}"
                execute(files, table.path, script, [value for _, value in binds])
            case "delete":
                execute(files, table.path, f"DELETE FROM {table.table}{_where(table, row, options)}")
    except DatabaseError as error:
        raise Failed(f"Error while accessing provider: {error}") from None
    return 0


def _options(words: list[str]) -> tuple[dict[str, str], list[tuple[str, Value]]]:
    options: dict[str, str] = {}
    binds: list[tuple[str, Value]] = []
    while words:
        word = words.pop(0)
        if word not in (
            "--uri",
            "--projection",
            "--where",
            "--sort",
            "--bind",
            "--user",
            "--method",
            "--arg",
            "--extra",
        ):
            raise Failed(f"Unsupported argument: {word[:40]}")
        if not words:
            raise Failed(f"Argument expected after {word}")
        value = words.pop(0)
        if word == "--bind":
            name, _, rest = value.partition(":")
            kind, _, text = rest.partition(":")
            if not _NAME.fullmatch(name) or kind not in _KINDS:
                raise Failed(f"Binding not well formed: {value[:60]}")
            try:
                binds.append((name, _KINDS[kind](text)))
            except ValueError:
                raise Failed(f"Binding not well formed: {value[:60]}") from None
        else:
            options[word] = value
    return options, binds


def _table(uri: str) -> tuple[Table, int | None]:
    path = uri.removeprefix("content://").partition("?")[0].strip("/")
    if path in TABLES:
        return TABLES[path], None
    head, _, last = path.rpartition("/")
    if head in TABLES and last.isdigit() and len(last) < 18:
        return TABLES[head], int(last)
    raise Failed(f"Could not find provider: {uri[:80]} (not simulated, or no such provider)")


def _where(table: Table, row: int | None, options: dict[str, str]) -> str:
    parts = [
        table.only,
        f"_id = {row}" if row is not None else "",
        f"({where})" if (where := options.get("--where")) else "",
    ]
    joined = " AND ".join(part for part in parts if part)
    return f" WHERE {joined}" if joined else ""


def _query(call: Call, files: FileTree, table: Table, row: int | None, options: dict[str, str]) -> None:
    names = [name for name in options.get("--projection", "").split(":") if name]
    if not all(_NAME.fullmatch(name) for name in names):
        raise Failed(f"bad projection: {options['--projection'][:60]}")
    order = options.get("--sort") or table.order
    script = f"SELECT {', '.join(names) or '*'} FROM {table.table}{_where(table, row, options)} ORDER BY {order}"
    columns, rows = execute(files, table.path, script)
    if not rows:
        call.print("No result found.")
    for number, values in enumerate(rows):
        told = ", ".join(f"{name}={_shown(value)}" for name, value in zip(columns, values, strict=True))
        call.print(f"Row: {number} {told}")


def _shown(value: Value) -> str:
    return "NULL" if value is None else "BLOB" if isinstance(value, bytes) else str(value)


def _settings(call: Call, verb: str, uri: str, options: dict[str, str], binds: list[tuple[str, Value]]) -> int:
    """content://settings/NAMESPACE: rows of name and value."""
    space = uri.removeprefix("content://settings/").partition("/")[0]
    if space not in call.android.settings:
        raise Failed(f"Could not find provider: {uri[:80]}")
    table, bound = call.android.settings[space], dict(binds)
    named = re.search(r"name\s*=\s*['\"]([^'\"]*)['\"]", options.get("--where", ""))
    if verb in ("insert", "update") and "value" in bound:
        key = str(bound.get("name") or (named.group(1) if named else ""))
        table[key[:200]] = str(bound["value"])[:65536]
    elif verb == "delete" and named:
        table.pop(named.group(1), None)
    elif verb == "query":
        names = [named.group(1)] if named else sorted(table)
        for number, name in enumerate(name for name in names if name in table):
            call.print(f"Row: {number} name={name}, value={table[name]}")
    return 0


COMMANDS: Commands = {"content": content}
