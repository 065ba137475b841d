"""The device's log: a ring of lines that streams can follow."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal, TypeAlias

MAX_ENTRIES: Final = 5000
MAX_MESSAGE: Final = 4000
"""Characters of one message; Android cuts at about as many (android.util.Log, LOGGER_ENTRY_MAX_PAYLOAD 4068)."""

Priority: TypeAlias = Literal["V", "D", "I", "W", "E", "F"]
PRIORITIES: Final = "VDIWEFS"


@dataclass(frozen=True, slots=True)
class Entry:
    """One line. `number` counts from 1 over the life of the log."""

    number: int
    moment: float
    pid: int
    tid: int
    priority: Priority
    tag: str
    message: str

    def line(self, style: str) -> str:
        """As `logcat -v STYLE` prints it: `brief`, `epoch`, `raw`, `tag`, `time`, `threadtime`."""
        when = datetime.fromtimestamp(self.moment, UTC)
        stamp = f"{when:%m-%d %H:%M:%S}.{when.microsecond // 1000:03d}"
        match style:
            case "raw":
                return self.message
            case "tag":
                return f"{self.priority}/{self.tag}: {self.message}"
            case "brief":
                return f"{self.priority}/{self.tag}({self.pid:5d}): {self.message}"
            case "time":
                return f"{stamp} {self.priority}/{self.tag}({self.pid:5d}): {self.message}"
            case "epoch":
                return f"{self.moment:19.3f} {self.pid:5d} {self.tid:5d} {self.priority} {self.tag}: {self.message}"
        return f"{stamp} {self.pid:5d} {self.tid:5d} {self.priority} {self.tag}: {self.message}"


class LogBuffer:
    """Written by anyone, read by position. `close` wakes all who wait."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._entries: deque[Entry] = deque(maxlen=MAX_ENTRIES)
        self._changed = threading.Condition()
        self._number = 0
        self._closed = False

    def write(self, priority: Priority, tag: str, message: str, pid: int = 1000) -> None:
        """Add a message; one of several lines becomes as many entries, as on a device."""
        with self._changed:
            for line in message[:MAX_MESSAGE].splitlines() or [""]:
                self._number += 1
                self._entries.append(Entry(self._number, self._now(), pid, pid, priority, tag, line))
            self._changed.notify_all()

    def clear(self) -> None:
        with self._changed:
            self._entries.clear()

    def after(self, number: int, wait: float = 0.0) -> list[Entry] | None:
        """Entries younger than `number`, waiting up to `wait` seconds for one; None once the log is closed."""
        with self._changed:
            if wait > 0:
                self._changed.wait_for(lambda: self._closed or self._number > number, wait)
            if self._closed:
                return None
            return [entry for entry in self._entries if entry.number > number]

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
