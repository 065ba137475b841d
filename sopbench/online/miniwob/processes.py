"""The processes below one of ours, by id, and their end. Linux's /proc is read; elsewhere only the process itself is known."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

PROC: Final = Path("/proc")
TICK: Final = 0.02


def _parent(pid: int) -> int | None:
    try:
        text = (PROC / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return int(fields[1]) if len(fields) > 1 and fields[0] != "Z" else None


def descendants(pid: int) -> list[int]:
    """All processes that `pid` started, and those started, nearest first; without zombies."""
    if not PROC.is_dir():
        return []
    children: dict[int, list[int]] = {}
    for entry in PROC.iterdir():
        if entry.name.isdigit() and (parent := _parent(int(entry.name))) is not None:
            children.setdefault(parent, []).append(int(entry.name))
    found, todo = [], [pid]
    while todo:
        below = children.get(todo.pop(0), [])
        found += below
        todo += below
    return found


def kill(pids: Iterable[int], within: float = 5.0) -> bool:
    """End the processes at once; whether all were gone before the deadline."""
    pids = list(pids)
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    end = time.monotonic() + within
    while any(_parent(pid) is not None for pid in pids):
        if time.monotonic() > end:
            return False
        time.sleep(TICK)
    return True
