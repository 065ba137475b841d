"""What reaches a terminal: text of models and data is shown without its control characters, progress goes to standard error."""

from __future__ import annotations

import json
import sys
import time
import unicodedata
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from sopbench.runs.progress import Progress

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bar
    from rich.progress import TaskID

PLAIN_LINE_SECONDS = 10.0
BAR_WIDTH = 12
LEAST_WIDTH = 72
"""Columns that tables are made for even where the terminal has fewer: a line that the terminal wraps can be read, a number that was cut off cannot."""


def safe(text: object, limit: int = 200) -> str:
    """`text` on one line, without control, format (bidi) and surrogate characters, cut at `limit` characters."""
    shown = "".join(
        c if c == " " or unicodedata.category(c)[0] != "C" else "\N{REPLACEMENT CHARACTER}"
        for c in str(text)[: limit + 1]
    )
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def complain(message: str) -> None:
    """One error on standard error; its lines are kept, their control characters are not."""
    lines = [safe(line, 2000) for line in message.splitlines()] or ["unknown error"]
    print("error: " + "\n".join(lines), file=sys.stderr)


def console(*, stderr: bool = False) -> Console:
    from rich.console import Console

    out = Console(stderr=stderr, highlight=False, markup=False, emoji=False, soft_wrap=True)
    out.width = max(out.width, LEAST_WIDTH)
    return out


def print_json(value: Any) -> None:
    """One JSON object on standard output, on one line, pure ASCII."""
    print(json.dumps(value, ensure_ascii=True))


class Watch:
    """Shows a run's progress on standard error: a live line on a terminal, else a plain line every ten seconds."""

    def __init__(self, *, quiet: bool = False) -> None:
        self._quiet = quiet
        self._bar: Bar | None = None
        self._task: TaskID | None = None
        self._printed = time.monotonic()

    def __enter__(self) -> Self:
        if not self._quiet and sys.stderr.isatty():
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

            columns = (
                TextColumn("{task.description}"),
                BarColumn(bar_width=BAR_WIDTH),
                MofNCompleteColumn(),
                TextColumn("{task.fields[facts]}"),
            )
            self._bar = Progress(*columns, console=console(stderr=True), refresh_per_second=4, transient=True)
            self._bar.start()
        return self

    def __call__(self, progress: Progress) -> None:
        if self._quiet:
            return
        try:
            self._show(progress)
        except OSError:  # nobody reads standard error any more (`2>&1 | head`): no reason to end a run that costs money
            self._quiet = True

    def _show(self, progress: Progress) -> None:
        if self._bar is not None:
            if self._task is None:
                self._task = self._bar.add_task(progress.unit, total=progress.total, facts="")
            counts = len(f"{progress.unit}  {progress.total}/{progress.total}  ") + BAR_WIDTH
            room = max(self._bar.console.width - counts - 1, 20)  # rich would cut the counts, too
            self._bar.update(self._task, completed=progress.finished, facts=safe(facts_line(progress), room))
        elif time.monotonic() - self._printed >= PLAIN_LINE_SECONDS:
            self._printed = time.monotonic()
            print(
                f"{progress.finished}/{progress.total} {progress.unit}  {facts_line(progress)}",
                file=sys.stderr,
                flush=True,
            )

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()


def facts_line(progress: Progress) -> str:
    """Rate, time left, running success, and whatever went wrong so far."""
    pool = progress.pool
    parts = [f"{progress.rate:.1f} steps/s"]
    if progress.eta is not None:
        parts.append(f"ETA {duration(progress.eta)}")
    if progress.running_tsr is not None:
        parts.append(f"{progress.rate_name} {progress.running_tsr:.1f}%")
    counts = {
        "parse failures": progress.parse_failed,
        "retries": pool.retries,
        "429s": pool.rate_limited,
        "faults": pool.faults,
        "not scored": progress.not_scored,
        "endpoints resting": pool.resting,
    }
    return "  ".join([*parts, *(f"{name} {n}" for name, n in counts.items() if n)])


def duration(seconds: float) -> str:
    """`1:02:03`, `2:03`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
