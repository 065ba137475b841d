"""What a scripted agent has: the task's goal and parameters, and adb."""

from __future__ import annotations

import re
import xml.etree.ElementTree as Xml
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from emulator.adb import quoted
from emulator.sim import SimDevice

SEPARATOR: Final = "\x1f"


class NotDone(Exception):
    """A command of an agent failed, or the phone did not show what it needs."""


@dataclass(frozen=True)
class Work:
    """One task. `params` are the task's, as they were drawn; rows of databases are objects."""

    template: str
    goal: str
    params: dict[str, Any]
    phone: SimDevice
    answer: Callable[[str], None]
    """Say the answer to a question, as an agent's action `answer` does."""

    def shell(self, *words: str) -> str:
        """A command of the device's shell, its words quoted; what it printed. Raises `NotDone` where it failed."""
        result = self.phone.line(quoted(*words))
        if result.code != 0:
            raise NotDone(f"{' '.join(words)[:200]}: exit {result.code}: {result.text[:200]} {result.error[:200]}")
        return result.text

    def write(self, path: str, text: str) -> None:
        """Make a file of exactly this text."""
        result = self.phone.line(f"printf %s {quoted(text)} > {quoted(path)}")
        if result.code != 0:
            raise NotDone(f"{path} could not be written: {result.error[:200]}")

    def read(self, path: str) -> str:
        return self.phone.adb("exec-out", quoted("cat", path)).stdout.decode()

    def sql(self, database: str, statement: str) -> list[list[str]]:
        """Rows of a statement on a database of the device."""
        said = self.phone.adb("shell", quoted("sqlite3", "-separator", SEPARATOR, database, statement))
        if said.code != 0:
            raise NotDone(f"{statement[:200]}: {said.error[:200]} {said.text[:200]}")
        return [line.split(SEPARATOR) for line in said.stdout.decode().splitlines()]

    def insert(self, database: str, table: str, row: dict[str, Any]) -> None:
        columns = ", ".join(f'"{column}"' for column in row)
        self.sql(database, f"INSERT INTO {table} ({columns}) VALUES ({', '.join(map(literal, row.values()))})")

    def tap(self, text: str, attribute: str = "text") -> None:
        """Touch the middle of what shows this text, or has this id (`resource-id`), where `uiautomator dump` says that it is."""
        tree = self.phone.adb("exec-out", quoted("uiautomator", "dump", "/dev/tty")).stdout.decode()
        for node in Xml.fromstring(tree[: tree.rindex(">") + 1]).iter("node"):
            if node.get(attribute) == text:
                left, top, right, bottom = map(int, re.findall(r"\d+", node.get("bounds", "")))
                self.shell("input", "tap", str((left + right) // 2), str((top + bottom) // 2))
                return
        raise NotDone(f"nothing on the screen has the {attribute} {text!r}")

    @property
    def now(self) -> int:
        """The device's clock, in seconds."""
        return int(self.shell("date", "+%s"))


Solver = Callable[[Work], None]


def literal(value: Any) -> str:
    """A value in SQL."""
    if value is None:
        return "NULL"
    if isinstance(value, bool | int | float):
        return str(value + 0)
    return "'" + str(value).replace("'", "''") + "'"


def one_of(values: Sequence[Any]) -> str:
    """The right side of an IN."""
    return "(" + ", ".join(map(literal, values)) + ")"


def day_of(words: str) -> int:
    """Seconds of the midnight (UTC, the phone's zone) that `October 28 2023` begins with."""
    return int(datetime.strptime(words, "%B %d %Y").replace(tzinfo=UTC).timestamp())


def time_of(words: str) -> int:
    """Seconds after midnight of `4:15pm`, `8pm` or `22:35`."""
    found = re.fullmatch(r"(\d{1,2})(?::(\d\d))?\s*(am|pm)?", words.strip().lower())
    if found is None:
        raise NotDone(f"{words!r} is no time")
    hour = int(found[1])
    if found[3]:
        hour = hour % 12 + (12 if found[3] == "pm" else 0)
    return hour * 3600 + int(found[2] or 0) * 60


DAY: Final = 86400
