"""The append-only journal: one line a step, flushed at once, one writer at a time."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import stat
import time
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

from sopbench.errors import DataError, RunBusy, command
from sopbench.runs.records import MAX_RECORD_BYTES, EpisodeEnd, StepRecord

SYNC_SECONDS = 5.0


class Journal:
    """Appends records to `steps.jsonl`. Opening it takes the run's lock and cuts a torn last line off.

    Every line is handed to the operating system at once, so a killed process loses nothing that was appended; it is forced to disk every few seconds.
    Raises `RunBusy` where another process holds the run, and `DataError` where the file is no journal or cannot take a line (a full disk).
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        self._synced = 0.0

    def __enter__(self) -> Self:
        handle = _opened(self._path)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _cut_torn_line(handle, self._path)
        except BlockingIOError as error:
            handle.close()
            raise RunBusy(f"{self._path.parent} is being written by another process; wait for it or stop it") from error
        except (OSError, DataError):
            handle.close()
            raise
        self._file = handle
        self._synced = time.monotonic()
        return self

    def append(self, record: StepRecord | EpisodeEnd) -> None:
        assert self._file is not None, "append() outside of the with block"
        stamped = record.model_copy(update={"at": datetime.now(UTC).isoformat(timespec="milliseconds")})
        line = json.dumps(stamped.model_dump(exclude_none=True), separators=(",", ":"))
        self._write(line.encode("ascii") + b"\n")
        if time.monotonic() - self._synced > SYNC_SECONDS:
            os.fsync(self._file.fileno())
            self._synced = time.monotonic()

    def _write(self, line: bytes) -> None:
        """The whole line or nothing: on a full disk the system takes a part of it, and whatever came behind that would be unreadable."""
        assert self._file is not None
        end = self._file.seek(0, os.SEEK_END)
        left = memoryview(line)
        try:
            while left:
                left = left[self._file.write(left) :]
        except OSError as error:
            self._file.truncate(end)
            raise DataError(
                f"cannot write {self._path} ({error.strerror}). Everything before it is kept; once that is mended, go on with: "
                f"{command('sopbench', 'resume', self._path.parent)}"
            ) from error

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            os.fsync(self._file.fileno())
            self._file.close()
            self._file = None


def _opened(path: Path) -> BinaryIO:
    """The journal for reading and appending. Never through a link: a run folder from elsewhere could make us write into any file of ours."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        handle: BinaryIO = os.fdopen(os.open(path, flags, 0o666), "ab+", buffering=0)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ESPIPE, errno.ENXIO, errno.EISDIR):
            raise DataError(f"{path} is no journal: it is a link, a folder or a device") from error
        raise
    if not stat.S_ISREG(os.fstat(handle.fileno()).st_mode):
        handle.close()
        raise DataError(f"{path} is no journal: it is not a regular file")
    return handle


def _cut_torn_line(handle: BinaryIO, path: Path) -> None:
    """Truncate the file after its last newline: what follows was being written when the writer died. A file without newlines where they must be is left alone."""
    end = handle.seek(0, os.SEEK_END)
    position, keep = end, 0
    while position > 0:
        if end - position > MAX_RECORD_BYTES:
            raise DataError(f"{path} is no journal: it ends in a line of more than {MAX_RECORD_BYTES} bytes")
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
