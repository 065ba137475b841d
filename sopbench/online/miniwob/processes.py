"""The processes below one of ours, and their end. A process is known by its id and its start, so that a stranger who got the id later is left alone.

Linux's /proc is read; where there is none, nothing is found here and the driver must end its browser itself.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

PROC: Final = Path("/proc")
TICK: Final = 0.02
_PARENT, _STARTED = 1, 19
"""Fields of /proc/PID/stat, counted from its third (proc(5): ppid is the 4th, starttime the 22nd)."""


class Process(NamedTuple):
    pid: int
    started: int
    """In clock ticks since the machine started."""

    @property
    def alive(self) -> bool:
        found = _read(self.pid)
        return found is not None and found[0] == self


def _read(pid: int) -> tuple[Process, int] | None:
    """The process and its parent's id; None where there is none, or a zombie."""
    try:
        text = (PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    if len(fields) <= _STARTED or fields[0] in ("Z", "X"):
        return None
    return Process(pid, int(fields[_STARTED])), int(fields[_PARENT])


def process(pid: int) -> Process | None:
    found = _read(pid)
    return found[0] if found is not None else None


def descendants(pids: Iterable[int]) -> list[Process]:
    """All processes that these started, and those that these started in turn, nearest first."""
    if not PROC.is_dir():
        return []
    children: dict[int, list[Process]] = {}
    for entry in PROC.iterdir():
        if entry.name.isdigit() and (known := _read(int(entry.name))) is not None:
            children.setdefault(known[1], []).append(known[0])
    found: list[Process] = []
    todo = list(pids)
    while todo:
        below = children.get(todo.pop(0), [])
        found += below
        todo += [p.pid for p in below]
    return found


def kill(processes: Iterable[Process], within: float = 5.0) -> bool:
    """End the processes at once; whether all were gone before the deadline."""
    doomed = [p for p in processes if p.alive]
    for one in doomed:
        with suppress(ProcessLookupError):
            os.kill(one.pid, signal.SIGKILL)
    end = time.monotonic() + within
    while any(p.alive for p in doomed):
        if time.monotonic() > end:
            return False
        time.sleep(TICK)
    return True
