"""How far a download or a conversion is, on standard error: a live line on a terminal, else a plain line every ten seconds."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from sopbench.cli.terminal import PLAIN_LINE_SECONDS, console, duration, safe
from sopbench.datasets.output import size

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID


class Meter:
    """Told of bytes done and due, it adds the rate and the time that is left. `before` of the bytes were done already when it began."""

    def __init__(self, what: str, *, quiet: bool = False) -> None:
        self._what = what
        self._quiet = quiet
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._begun = self._printed = time.monotonic()

    def __enter__(self) -> Self:
        if not self._quiet and sys.stderr.isatty():
            from rich.progress import BarColumn, Progress, TextColumn

            columns = (TextColumn("{task.description}"), BarColumn(bar_width=24), TextColumn("{task.fields[facts]}"))
            self._bar = Progress(*columns, console=console(stderr=True), refresh_per_second=4, transient=True)
            self._bar.start()
        return self

    def __call__(self, done: int, total: int | None, before: int = 0, note: str = "") -> None:
        if self._quiet:
            return
        line = self.line(done, total, before, note)
        try:
            self._show(done, total, line)
        except OSError:  # nobody reads standard error any more: no reason to end the work
            self._quiet = True

    def count(self, what: str, done: int, total: int) -> None:
        """What comes after the bytes: things that are looked at, one by one."""
        if self._bar is not None and self._task is not None and (done % 50 == 0 or done == total):
            self._bar.update(self._task, completed=done, total=total, facts=f"{safe(what, 40)} {done:,} of {total:,}")

    def line(self, done: int, total: int | None, before: int, note: str) -> str:
        """`12.0 GB of 49.9 GB  45.2 MB/s  ETA 14:02  android_control-00004-of-00020`"""
        elapsed = time.monotonic() - self._begun
        rate = max(0, done - before) / elapsed if elapsed > 0 else 0.0
        parts = [size(done) + (f" of {size(total)}" if total is not None else ""), f"{size(rate)}/s"]
        if total is not None and rate > 0 and done < total:
            parts.append(f"ETA {duration((total - done) / rate)}")
        return "  ".join([*parts, *([safe(note, 80)] if note else [])])

    def _show(self, done: int, total: int | None, line: str) -> None:
        if self._bar is not None:
            if self._task is None:
                self._task = self._bar.add_task(self._what, total=total, facts="")
            self._bar.update(self._task, completed=done, total=total, facts=line)
        elif time.monotonic() - self._printed >= PLAIN_LINE_SECONDS:
            self._printed = time.monotonic()
            print(f"{self._what}: {line}", file=sys.stderr, flush=True)

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
