"""Screens scaled down before they are sent, for families that were trained on small images.

A scaled screen is a recipe (the original, a size) until its bytes are asked for. Then it is made once, and the PNG goes to a temporary file that has no
name: it takes disk, not memory, and is gone when the process is, however that ends. Equal screens share what was made, by the hash of the original. The store is
bounded; a screen that is in use keeps its bytes.
"""

from __future__ import annotations

import functools
import hashlib
import io
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, BinaryIO, Final

from PIL import Image

from sopbench.errors import DataError
from sopbench.geometry import Size
from sopbench.screen import Screen

MAX_STORED: Final = 512 * 1024 * 1024
"""Bytes of scaled screens that are kept for another use; beyond it the older half is forgotten."""

COMPRESS_LEVEL: Final = 3
"""zlib's. Of the 65 ms that a 1080x2400 screen takes (24 decoding, 30 scaling), 10 are its compression; level 6 takes half as long again for a tenth less."""


def fitted(size: Size, longest: int) -> Size:
    """`size` scaled down so that the longer side is `longest`, the shorter rounded down (to at least 1); sizes that fit stay as they are."""
    longer = max(size.width, size.height)
    if longer <= longest:
        return size
    return Size(max(1, size.width * longest // longer), max(1, size.height * longest // longer))


class ResizedScreen(Screen):
    """A screen as it is sent: `original` scaled to `size` by a Lanczos filter, as PNG. `sha256` and `nbytes` are of that PNG."""

    def __init__(self, original: Screen, size: Size) -> None:
        super().__init__(None, None, f"{original.label} at {size}")
        self._original = original
        self._size = size

    def __eq__(self, other: object) -> bool:
        """Equal recipes are equal screens."""
        return isinstance(other, ResizedScreen) and (self._original, self._size) == (other._original, other._size)

    def __hash__(self) -> int:
        return hash((self._original, self._size))

    @property
    def original(self) -> Screen:
        return self._original

    @property
    def size(self) -> Size:
        return self._size

    @property
    def media_type(self) -> str:
        return "image/png"

    @property
    def must_be_made(self) -> bool:
        return "_piece" not in self.__dict__

    @property
    def fingerprint(self) -> str:
        return f"{self._original.sha256} lanczos {self._size}"

    @cached_property
    def nbytes(self) -> int:
        return self._piece.nbytes

    @cached_property
    def sha256(self) -> str:
        with self.open() as handle:
            return hashlib.sha256(handle.read()).hexdigest()

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        yield io.BufferedReader(_Slice(self._piece))

    @cached_property
    def _piece(self) -> _Piece:
        return _store().get(self._original, self._size)


def scaled_png(screen: Screen, size: Size) -> bytes:
    """The PNG of `screen` at `size`. Equal pixels give equal bytes. Raises `DataError` where the screen cannot be read."""
    picture = screen.decode().resize((size.width, size.height), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    picture.save(out, "PNG", compress_level=COMPRESS_LEVEL)
    return out.getvalue()


class _Spool:
    """A file without a name. Pieces are appended, and read by whoever holds one; the disk is free again when nobody does."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115  # lives as long as its pieces
        self.end = 0

    def append(self, data: bytes) -> _Piece:
        piece = _Piece(self, self.end, len(data))
        view = memoryview(data)
        try:
            while view:
                view = view[os.pwrite(self._file.fileno(), view, piece.start + piece.nbytes - len(view)) :]
        except OSError as error:
            raise DataError(
                f"no room to keep a scaled screen in {tempfile.gettempdir()} ({error.strerror}): free some space, or set TMPDIR to another folder"
            ) from error
        self.end += piece.nbytes
        return piece

    def read(self, start: int, nbytes: int) -> bytes:
        return os.pread(self._file.fileno(), nbytes, start)


@dataclass(frozen=True, slots=True)
class _Piece:
    spool: _Spool
    start: int
    nbytes: int


class _Slice(io.RawIOBase):
    """One piece as a file to read."""

    def __init__(self, piece: _Piece) -> None:
        super().__init__()
        self._piece = piece
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._piece.nbytes}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer: Any) -> int:
        wanted = max(0, min(len(buffer), self._piece.nbytes - self._at))
        data = self._piece.spool.read(self._piece.start + self._at, wanted)
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


class PictureStore:
    """What was made, by the original's hash and the size. Two generations of half of `max_bytes`: when the younger is full, the older is forgotten.

    At most one picture a processor is made at a time, so that few decoded screens are in memory, whoever asks.
    """

    def __init__(self, max_bytes: int = MAX_STORED) -> None:
        self._half = max_bytes // 2
        self._lock = threading.Lock()
        self._making = threading.BoundedSemaphore(os.cpu_count() or 1)
        self._spool = _Spool()
        self._young: dict[tuple[str, Size], _Piece] = {}
        self._old: dict[tuple[str, Size], _Piece] = {}

    def get(self, original: Screen, size: Size) -> _Piece:
        """The piece of `original` at `size`, made now or earlier. Raises `DataError`."""
        key = (original.sha256, size)
        piece = self._known(key)
        if piece is not None:
            return piece
        with self._making:
            piece = self._known(key)
            return piece if piece is not None else self._keep(key, scaled_png(original, size))

    def _known(self, key: tuple[str, Size]) -> _Piece | None:
        with self._lock:
            return self._young.get(key) or self._old.get(key)

    def _keep(self, key: tuple[str, Size], data: bytes) -> _Piece:
        with self._lock:
            if key in self._young:
                return self._young[key]  # another thread made it meanwhile
            if self._young and self._spool.end + len(data) > self._half:
                self._old, self._young, self._spool = self._young, {}, _Spool()
            self._young[key] = piece = self._spool.append(data)
            return piece


@functools.cache
def _store() -> PictureStore:
    """The store of this process: a bounded memo of a pure function, whose content nothing depends on."""
    return PictureStore()
