"""SQLite files of the simulated phone: opened from bytes and written back as bytes, never as files of this machine.

SQL comes from outside, so it runs fenced in: no ATTACH, no extensions, no PRAGMA that would change more than the database, a bound
on steps and on rows.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from emulator.sim.files import FileTree

MAX_STEPS: Final = 20_000_000
MAX_ROWS: Final = 200_000
_EVERY: Final = 10_000
_PRAGMAS: Final = frozenset(
    [
        "user_version",
        "table_info",
        "table_xinfo",
        "foreign_keys",
        "encoding",
        "index_list",
        "integrity_check",
        "schema_version",
    ]
)
_WAL: Final = slice(18, 20)
"""Two bytes of a database's header (file format, offset 18): 2 says that a write-ahead log belongs to it, 1 that none does."""

Value = str | int | float | bytes | None


class DatabaseError(Exception):
    """SQL that failed, or a file that is no database; the text is SQLite's own."""


def create(script: str) -> bytes:
    """The bytes of a new database, made by a script of our own."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(script)
        return connection.serialize()


@contextmanager
def opened(data: bytes) -> Iterator[sqlite3.Connection]:
    """A connection to the database in `data` (an empty one for none), fenced in."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        try:
            if data:
                head = bytearray(data[:100])
                head[_WAL] = b"\x01\x01"
                connection.deserialize(bytes(head) + data[100:])
            connection.execute("SELECT count(*) FROM sqlite_master")
            _fence(connection)
            yield connection
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise DatabaseError(str(error)) from error


def _fence(connection: sqlite3.Connection) -> None:
    budget = MAX_STEPS // _EVERY

    def authorise(action: int, first: str | None, second: str | None, database: str | None, trigger: str | None) -> int:
        if action in (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH):
            return sqlite3.SQLITE_DENY
        if action == sqlite3.SQLITE_FUNCTION and second in ("load_extension", "readfile", "writefile"):
            return sqlite3.SQLITE_DENY
        if action == sqlite3.SQLITE_PRAGMA and (first or "").lower() not in _PRAGMAS:
            return sqlite3.SQLITE_DENY
        return sqlite3.SQLITE_OK

    def spend() -> int:
        nonlocal budget
        budget -= 1
        return budget < 0

    connection.set_authorizer(authorise)
    connection.set_progress_handler(spend, _EVERY)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 64 * 1024 * 1024)


def statements(script: str) -> Iterator[str]:
    """The statements of a script, as SQLite itself tells where one is complete."""
    current = ""
    for piece in script.split(";"):
        current += piece
        if sqlite3.complete_statement(current + ";"):
            if current.strip():
                yield current + ";"
            current = ""
        else:
            current += ";"
    if current.strip(" \t\r\n;"):
        yield current


Rows = tuple[list[str], list[tuple[Value, ...]]]


def execute(files: FileTree, path: str, statement: str, values: Iterable[Value] = ()) -> Rows:
    """Run one statement on the database file at `path` (made where there is none) and keep what it changed: (columns, rows)."""
    return _run(files, path, [(statement, tuple(values))])


def execute_script(files: FileTree, path: str, script: str) -> Rows:
    """Run a script of several statements; the rows of all that gave any, one below the other."""
    return _run(files, path, [(statement, ()) for statement in statements(script)])


def _run(files: FileTree, path: str, work: Iterable[tuple[str, tuple[Value, ...]]]) -> Rows:
    before = files.read(path) if files.exists(path) else b""
    columns: list[str] = []
    rows: list[tuple[Value, ...]] = []
    with opened(before) as connection:
        for statement, values in work:
            cursor = connection.execute(statement, values)
            if cursor.description:
                columns = [column[0] for column in cursor.description]
                rows += cursor.fetchmany(MAX_ROWS - len(rows))
        if connection.in_transaction:
            connection.execute("COMMIT")
        after = connection.serialize()
    if after != before:
        files.write(path, after)
        for side in ("-wal", "-shm", "-journal"):
            if files.exists(path + side):
                files.remove(path + side)
    return columns, rows
