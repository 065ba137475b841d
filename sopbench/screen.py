"""A screenshot that keeps its original bytes and knows its size without being decoded."""

from __future__ import annotations

import hashlib
import io
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from PIL import Image, UnidentifiedImageError

from sopbench.errors import DataError, shown
from sopbench.files import open_regular, why
from sopbench.geometry import Size

MEDIA_TYPES = {"PNG": "image/png", "JPEG": "image/jpeg", "MPO": "image/jpeg", "WEBP": "image/webp"}
MAX_BYTES = 64 * 1024 * 1024
MAX_PIXELS = 50_000_000
"""More than any screen has (8K: 33 million). A small file can claim to be a huge image: it is refused before its pixels are asked for."""
UPRIGHT = 1
_ORIENTATION = 0x0112
"""EXIF's tag for how the picture is to be turned before it is shown."""

_NO_IMAGE = (
    UnidentifiedImageError,
    OSError,
    ValueError,
    SyntaxError,
    EOFError,
    struct.error,
    Image.DecompressionBombError,
    Image.DecompressionBombWarning,
)


def _opened(handle: BinaryIO) -> Image.Image:
    """The image with its header read: of the formats that a screen may have, and no other of the many that Pillow reads."""
    return Image.open(handle, formats=("PNG", "JPEG", "WEBP"))


def _oddity(image: Image.Image) -> str | None:
    """Why servers would not agree on what this file shows, known from its header; None where they do.

    vLLM 0.32 turns a picture as its EXIF says, other servers and releases do not: nobody would know in which size coordinates are meant.
    """
    if image.format in ("PNG", "WEBP") and getattr(image, "n_frames", 1) > 1:
        return "is animated: a screen is one picture. Save the frame that was seen"
    if image.format == "PNG" and "exif" not in image.info:
        return None  # asking Pillow for it would decode the whole picture
    orientation = image.getexif().get(_ORIENTATION, UPRIGHT)
    if orientation != UPRIGHT:
        return f"says of itself that it must be turned (EXIF orientation {shown(orientation)}): some servers do that, some do not. Save it upright"
    return None


class Screen:
    """One screenshot, on disk or in memory. Nothing is read before it is asked for, and file contents are never kept.

    `size` (original pixels) and `media_type` come from the image header; `sha256` hashes the bytes as they are.
    Every access raises `DataError`, naming the file, when the screen is missing, unreadable or no PNG, JPEG or WebP.
    """

    def __init__(self, path: Path | None, data: bytes | None, label: str) -> None:
        self._path = path
        self._data = data
        self.label = label

    @classmethod
    def from_file(cls, path: Path, label: str | None = None) -> Screen:
        return cls(path, None, label or path.name)

    @classmethod
    def from_bytes(cls, data: bytes, label: str = "screen") -> Screen:
        return cls(None, data, label)

    @property
    def path(self) -> Path | None:
        return self._path

    @property
    def original(self) -> Screen:
        """The screen as it was recorded: this one, unless it came from `resized`."""
        return self

    @property
    def fingerprint(self) -> str:
        """What the hash of a prompt says of this picture: the same for the same pixels sent. Needs no decoding."""
        return self.sha256

    @property
    def must_be_made(self) -> bool:
        """Whether the bytes have yet to be computed, so that asking for them takes a processor for a while."""
        return False

    def resized(self, longest: int) -> Screen:
        """This screen, or where its longer side exceeds `longest` pixels, one scaled down to that when its bytes are first asked for."""
        from sopbench.resized import ResizedScreen, fitted

        size = fitted(self.size, longest)
        return self if size == self.size else ResizedScreen(self, size)

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """A binary file object over the original bytes."""
        if self._data is not None:
            yield io.BytesIO(self._data)
            return
        assert self._path is not None
        try:
            handle = open_regular(self._path)
        except (OSError, ValueError) as error:  # ValueError: a name that no file can have
            raise DataError(
                f"screen {self.label}: cannot read {self._path} ({why(error)}). Give the folder that holds the screens with "
                "--images DIR; `sopbench data check` lists every missing screen, `sopbench data pull` fetches those of public data sets"
            ) from error
        with handle:
            if os.fstat(handle.fileno()).st_size > MAX_BYTES:
                raise DataError(f"screen {self.label}{self._where} is larger than {MAX_BYTES} bytes")
            yield handle

    def read(self) -> bytes:
        with self.open() as handle:
            return handle.read(MAX_BYTES)

    @cached_property
    def nbytes(self) -> int:
        if self._data is not None:
            return len(self._data)
        with self.open() as handle:
            return handle.seek(0, io.SEEK_END)

    @cached_property
    def sha256(self) -> str:
        if self._data is not None:
            return hashlib.sha256(self._data).hexdigest()
        with self.open() as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest()  # type: ignore[arg-type]  # typeshed wants a raw file

    @property
    def size(self) -> Size:
        return self._header[0]

    @property
    def media_type(self) -> str:
        return self._header[1]

    @cached_property
    def _header(self) -> tuple[Size, str]:
        with self.open() as handle:
            try:
                with _opened(handle) as image:
                    size, kind, odd = image.size, image.format or "?", _oddity(image)
            except _NO_IMAGE as error:
                raise DataError(f"screen {self.label}{self._where} is not a readable PNG, JPEG or WebP") from error
        if size[0] * size[1] > MAX_PIXELS:
            raise DataError(
                f"screen {self.label}{self._where} claims {size[0]}x{size[1]} pixels, more than {MAX_PIXELS} in all"
            )
        if odd is not None:
            raise DataError(f"screen {self.label}{self._where} {odd}")
        return Size(*size), MEDIA_TYPES[kind]

    @property
    def _where(self) -> str:
        return f" ({self._path})" if self._path else ""

    def decode(self) -> Image.Image:
        """All pixels as RGB; raises `DataError` where the data behind the header is broken."""
        _ = self.size
        with self.open() as handle:
            try:
                with _opened(handle) as image:
                    return image.convert("RGB")
            except _NO_IMAGE as error:
                raise DataError(f"screen {self.label}{self._where} is damaged: {error}") from error

    def __repr__(self) -> str:
        return f"Screen({self.label})"
