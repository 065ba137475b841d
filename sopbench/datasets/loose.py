"""Data sets that come as annotations beside ordinary picture files: reading the annotations, finding the pictures, and putting both where `run` takes them."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from sopbench.datacheck import Watch
from sopbench.datasets.converted import Converted, write_converted
from sopbench.datasets.output import IMAGES, Skipped, alone_in, as_line, prepare, put_screen, require_room, write_whole
from sopbench.datasets.shards import Part
from sopbench.errors import DataError
from sopbench.files import read_json
from sopbench.geometry import Box, Size
from sopbench.screen import MAX_BYTES, Screen

MAX_ANNOTATIONS: Final = 256 * 1024 * 1024
MAX_FILES: Final = 400_000


@dataclass(frozen=True, slots=True)
class Picture:
    """Where a screen's bytes are: a file, or a member of an archive."""

    path: Path
    member: zipfile.ZipInfo | None = None

    def screen(self, archives: Mapping[Path, zipfile.ZipFile]) -> Screen:
        if self.member is None:
            return Screen.from_file(self.path)
        return Screen.from_bytes(self.read(archives), self.member.filename)

    def read(self, archives: Mapping[Path, zipfile.ZipFile]) -> bytes:
        """A member's bytes, whose checksum `zipfile` compares."""
        assert self.member is not None
        if self.member.file_size > MAX_BYTES:
            raise DataError(f"{self.path.name}: {self.member.filename[:100]} is larger than {MAX_BYTES} bytes")
        try:
            with archives[self.path].open(self.member) as handle:
                data = handle.read(MAX_BYTES + 1)
        except (zipfile.BadZipFile, OSError, EOFError, NotImplementedError, RuntimeError) as error:
            raise DataError(f"{self.path.name}: {self.member.filename[:100]} cannot be read ({error})") from error
        if len(data) > MAX_BYTES:
            raise DataError(f"{self.path.name}: {self.member.filename[:100]} is larger than it says")
        return data


@dataclass(frozen=True, slots=True)
class Item:
    """One converted episode: its object, and which picture each of its screens is."""

    id: str
    object: Mapping[str, Any]
    screens: Mapping[str, Picture]


class Pictures:
    """The pictures of a folder, by the last part of their name or by their path below it; in archives too."""

    def __init__(self, folders: Iterable[Path], archives: Iterable[Path] = (), but_not: Path | None = None) -> None:
        """Archives are only looked into where the folders have no pictures: they may have been unpacked there. What lies in `but_not` does not count."""
        own = but_not.resolve() if but_not is not None else None
        self._found: dict[str, Picture] = {}
        self._twice: set[str] = set()
        self._sizes: dict[Picture, Size] = {}
        self.archives: dict[Path, zipfile.ZipFile] = {}
        for folder in folders:
            for count, path in enumerate(sorted(folder.rglob("*"))):
                if count >= MAX_FILES:
                    raise DataError(f"{folder}: more than {MAX_FILES} files")
                if own is not None and path.resolve().is_relative_to(own):
                    continue
                if path.suffix.lower() in {".png", ".jpg", ".jpeg", ".webp"}:
                    self._add(path.relative_to(folder).as_posix(), Picture(path))
        for archive in () if self._found else archives:
            try:
                opened = self.archives[archive] = zipfile.ZipFile(archive)
            except (zipfile.BadZipFile, OSError) as error:
                raise DataError(f"{archive} is no whole zip archive ({error}): get it again") from error
            for member in opened.infolist()[:MAX_FILES]:
                if not member.is_dir():
                    self._add(member.filename.replace("\\", "/"), Picture(archive, member))

    def _add(self, path: str, picture: Picture) -> None:
        for name in {path, path.rsplit("/", 1)[-1]}:
            if name in self._found and self._found[name].path != picture.path:
                self._twice.add(name)
            self._found.setdefault(name, picture)

    def __len__(self) -> int:
        return len(self._found)

    def get(self, name: str) -> Picture:
        """Raises `DataError` where it is not there, or is there twice."""
        if name in self._twice:
            raise DataError(f"the screen {name[:100]!r} is there more than once")
        if name not in self._found:
            raise DataError(f"the screen {name[:100]!r} is not there")
        return self._found[name]

    def size(self, picture: Picture) -> Size:
        if picture not in self._sizes:
            self._sizes[picture] = picture.screen(self.archives).size
        return self._sizes[picture]


def write_items(
    out: Path,
    items: Iterable[Item | Skipped],
    pictures: Pictures,
    facts: Mapping[str, Any],
    sources: Iterable[Path],
    *,
    space_check: bool = True,
    notes: list[str] | None = None,
    watch: Watch = lambda what, done, total: None,
) -> Converted:
    """Screens first, then the trajectories: what names a screen is written when the screen is there."""
    kept: list[Item] = []
    skipped: list[Mapping[str, str]] = []
    for item in items:
        if isinstance(item, Skipped):
            skipped.append(item.as_dict())
        else:
            kept.append(item)
    screens: dict[str, Picture] = {}
    for item in kept:
        screens |= item.screens
    if space_check:
        _room(out, screens.values())
    with alone_in(out, "--out"):
        folder = prepare(out)
        sizes: dict[str, int] = {}
        for done, (name, picture) in enumerate(screens.items(), 1):
            if picture.member is None:
                put_screen(picture.path, folder / name)
            else:
                write_whole(folder / name, picture.read(pictures.archives))
            sizes[name] = (folder / name).stat().st_size
            watch("screens", done, len(screens))
        lines = [as_line(item.object) for item in kept]
        part = Part(
            str(facts["dataset"]),
            [item.id for item in kept],
            sum(len(item.object["steps"]) for item in kept),
            sizes,
            skipped,
            sha256(b"".join(lines)).hexdigest(),
        )
        seen: set[str] = set()
        for item in kept:
            if item.id in seen:
                raise DataError(f"two episodes have the id {item.id!r}")
            seen.add(item.id)
        return write_converted(out, facts, sources, [part], lines=lines, notes=notes or [], watch=watch)


def _room(out: Path, pictures: Iterable[Picture]) -> None:
    """Links take no room, copies do."""
    here = out.absolute()
    while not here.exists():
        here = here.parent
    device = here.stat().st_dev
    needed = 0
    for picture in pictures:
        if picture.member is not None:
            needed += picture.member.file_size
        elif (stat := picture.path.stat()).st_dev != device:
            needed += stat.st_size
    require_room(out / IMAGES, needed, "The conversion")


def read_annotations(path: Path) -> Any:
    return read_json(path, MAX_ANNOTATIONS)


def text_of(obj: Mapping[str, Any], name: str, *, due: bool = True) -> str:
    """A text that can be stored; raises `DataError` where it is none, or (`due`) is blank."""
    value = obj.get(name)
    if value is None and not due:
        return ""
    if not isinstance(value, str) or (due and not value.strip()):
        raise DataError(f"`{name}` is missing or no text")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise DataError(f"`{name}` holds half of a surrogate pair, which is no character")
    return value


def box_of(value: Any, frame: Callable[[list[float]], Box]) -> Box:
    """A box from four numbers; raises `DataError` for anything else, and for one without area."""
    if (
        not isinstance(value, list)
        or len(value) != 4
        or not all(isinstance(v, int | float) and not isinstance(v, bool) and abs(v) < 1e7 for v in value)
    ):
        raise DataError(f"a box is not four numbers: {str(value)[:80]}")
    box = frame([float(v) for v in value])
    if box.area <= 0:
        raise DataError(f"the box {value} has no area")
    return box


def short(numbers: Iterable[float]) -> list[int | float]:
    """Pixels for a file: whole where they are, else to a thousandth."""
    return [int(value) if value == int(value) else round(value, 3) for value in numbers]
