"""Screens for the page: small copies, inline while they fit, else files beside the page."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image, features

from sopbench.errors import DataError
from sopbench.files import replacing
from sopbench.report.episodes import ScreenSlots
from sopbench.screen import MEDIA_TYPES, Screen

LONGEST_SIDE = 960
AS_IS_BYTES = 24 * 1024
AS_IS_PIXELS = 6_000_000
QUALITY = 72
BATCH = 32
SUFFIXES = {"image/png": "png", "image/jpeg": "jpg", "image/webp": "webp"}
HASH_DIGITS = 24

Progress = Callable[[int, int], None]
"""(screens done, screens in all)"""


@dataclass(frozen=True, slots=True)
class Picture:
    """A screen as the page shows it. `width` and `height` are the original's, in pixels; `data` is its small copy."""

    name: str
    width: int
    height: int
    media_type: str
    data: bytes

    @property
    def file_name(self) -> str:
        return f"{self.name}.{SUFFIXES[self.media_type]}"


@dataclass(slots=True)
class Gallery:
    """What became of each slot: `[picture name, width, height]`, or `[None, why there is no picture]`.

    `inline` holds the pictures where they fit into the page; it is None where they lie in `folder`.
    """

    slots: list[list[object]]
    inline: dict[str, Picture] | None = field(default_factory=dict)
    folder: Path | None = None


NOT_INCLUDED = "left out to keep this page small: the model was never shown this screen"


def make_gallery(
    slots: ScreenSlots, *, inline_limit_bytes: int, folder: Path, progress: Progress | None = None
) -> Gallery:
    """Read, shrink and keep the screens of `slots`, each content once.

    Those that the model was shown come first: while they fit into `inline_limit_bytes`, pictures stay in memory, and the rest is added
    as long as there is room. Where they do not fit, all pictures are written to `folder`. An unreadable screen becomes a message.
    """
    order = sorted(range(len(slots.screens)), key=lambda i: not slots.reached[i])
    gallery = Gallery(slots=[[None, NOT_INCLUDED] for _ in order])
    used = done = 0
    for slot, result in _pictures(slots, order):
        done += 1
        if progress is not None:
            progress(done, len(order))
        if isinstance(result, str):
            gallery.slots[slot] = [None, result]
            continue
        if gallery.inline is not None and result.name not in gallery.inline:
            if used + len(result.data) <= inline_limit_bytes:
                gallery.inline[result.name] = result
                used += len(result.data)
            elif slots.reached[slot]:
                _spill(gallery, folder)
            else:
                continue
        if gallery.inline is None:
            _write(folder, result)
        name = result.file_name if gallery.inline is None else result.name
        gallery.slots[slot] = [name, result.width, result.height]
    return gallery


def _spill(gallery: Gallery, folder: Path) -> None:
    """Move from pictures in the page to pictures in a folder."""
    pictures, gallery.inline, gallery.folder = gallery.inline or {}, None, folder
    folder.mkdir(parents=True, exist_ok=True)
    for picture in pictures.values():
        _write(folder, picture)
    for entry in gallery.slots:
        if entry[0] is not None:
            entry[0] = pictures[str(entry[0])].file_name


def _write(folder: Path, picture: Picture) -> None:
    path = folder / picture.file_name
    if not path.exists():
        with replacing(path, lasting=False) as handle:
            handle.write(picture.data)


def _pictures(slots: ScreenSlots, order: list[int]) -> Iterator[tuple[int, Picture | str]]:
    """Pictures in the given order, made by a few threads (Pillow releases the interpreter lock), never many ahead of the reader."""
    with ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1)) as pool:
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            yield from zip(batch, pool.map(_picture, _of(slots, batch)), strict=True)


def _of(slots: ScreenSlots, batch: Iterable[int]) -> list[Screen]:
    return [slots.screens[i] for i in batch]


def _picture(screen: Screen) -> Picture | str:
    try:
        return small_copy(screen)
    except DataError as error:
        return str(error)[:600]


def small_copy(screen: Screen) -> Picture:
    """A picture at most `LONGEST_SIDE` pixels long; a file that is small already stays as it is. Raises `DataError`."""
    data = screen.read()
    held = Screen.from_bytes(data, screen.label)
    size, media_type = held.size, held.media_type
    name = hashlib.sha256(data).hexdigest()[:HASH_DIGITS]
    if len(data) > AS_IS_BYTES or size.width * size.height > AS_IS_PIXELS:
        image = held.decode()
        image.thumbnail((LONGEST_SIDE, LONGEST_SIDE), Image.Resampling.LANCZOS, reducing_gap=2.0)
        shrunk, shrunk_type = _encoded(image)
        if len(shrunk) < len(data) or size.width * size.height > AS_IS_PIXELS:
            data, media_type = shrunk, shrunk_type
    return Picture(name, size.width, size.height, media_type, data)


def _encoded(image: Image.Image) -> tuple[bytes, str]:
    out = io.BytesIO()
    kind = "WEBP" if features.check("webp") else "JPEG"
    image.save(out, kind, quality=QUALITY, **({"method": 2} if kind == "WEBP" else {"optimize": True}))
    return out.getvalue(), MEDIA_TYPES[kind]
