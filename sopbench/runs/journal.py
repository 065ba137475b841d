"""The append-only journal: one line a step, flushed at once, one writer at a time."""

from __future__ import annotations

import fcntl
import json
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from sopbench.errors import RunBusy
from sopbench.runs.records import EpisodeEnd, StepRecord

SYNC_SECONDS = 5.0


class Journal:
    """Appends records to `steps.jsonl`. Opening it takes the run's lock and cuts a torn last line off.

    Every line is handed to the operating system at once, so a killed process loses nothing that was appended; it is forced to disk every few seconds.
    Raises `RunBusy` where another process holds the run.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        self._synced = 0.0

    def __enter__(self) -> Self:
        handle = self._path.open("ab+", buffering=0)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            handle.close()
            raise RunBusy(f"{self._path.parent} is being written by another process; wait for it or stop it") from error
        _cut_torn_line(handle)
        self._file = handle
        self._synced = time.monotonic()
        return self

    def append(self, record: StepRecord | EpisodeEnd) -> None:
        assert self._file is not None, "append() outside of the with block"
        stamped = record.model_copy(update={"at": datetime.now(UTC).isoformat(timespec="milliseconds")})
        line = json.dumps(stamped.model_dump(exclude_none=True), separators=(",", ":"))
        self._file.write(line.encode("ascii") + b"\n")
        if time.monotonic() - self._synced > SYNC_SECONDS:
            os.fsync(self._file.fileno())
            self._synced = time.monotonic()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            os.fsync(self._file.fileno())
            self._file.close()
            self._file = None


def _cut_torn_line(handle: BinaryIO) -> None:
    """Truncate the file after its last newline: what follows was being written when the writer died."""
    end = handle.seek(0, os.SEEK_END)
    position, keep = end, 0
    while position > 0:
        start = max(0, position - 65536)
        handle.seek(start)
        block = handle.read(position - start)
        if (newline := block.rfind(b"\n")) >= 0:
            keep = start + newline + 1
            break
        position = start
    if keep != end:
        handle.truncate(keep)
    handle.seek(0, os.SEEK_END)
