"""A screenshot that keeps its original bytes and knows its size without being decoded."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from PIL import Image, UnidentifiedImageError

from sopbench.errors import DataError
from sopbench.geometry import Size

MEDIA_TYPES = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp"}
MAX_BYTES = 64 * 1024 * 1024


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

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """A binary file object over the original bytes."""
        if self._data is not None:
            yield io.BytesIO(self._data)
            return
        assert self._path is not None
        try:
            handle = self._path.open("rb")
        except OSError as error:
            raise DataError(
                f"screen {self.label}: cannot read {self._path} ({error.strerror}). Give the folder that holds the "
                "screens with --images DIR; `sopbench data check` lists every missing screen"
            ) from error
        with handle:
            yield handle

    def read(self) -> bytes:
        with self.open() as handle:
            data = handle.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise DataError(f"screen {self.label}: larger than {MAX_BYTES} bytes")
        return data

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
                with Image.open(handle) as image:
                    size, kind = image.size, image.format or "?"
            except (
                UnidentifiedImageError,
                OSError,
                ValueError,
                SyntaxError,
                Image.DecompressionBombError,
            ) as error:
                where = f" ({self._path})" if self._path else ""
                raise DataError(f"screen {self.label}{where} is not a readable image: {error}") from error
        if kind not in MEDIA_TYPES:
            raise DataError(f"screen {self.label} is a {kind}; use PNG, JPEG or WebP")
        return Size(*size), MEDIA_TYPES[kind]

    def decode(self) -> Image.Image:
        """All pixels as RGB; raises `DataError` where the data behind the header is broken."""
        with self.open() as handle:
            try:
                with Image.open(handle) as image:
                    return image.convert("RGB")
            except (
                UnidentifiedImageError,
                OSError,
                ValueError,
                SyntaxError,
                Image.DecompressionBombError,
            ) as error:
                raise DataError(f"screen {self.label} is damaged: {error}") from error

    def __repr__(self) -> str:
        return f"Screen({self.label})"
