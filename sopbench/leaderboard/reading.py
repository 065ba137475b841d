"""Reading a submission that anybody may have made: a folder, or an archive of one, taken into memory within bounds.

Nothing is unpacked to disk, no link is followed, and nothing in it is run or fetched. Sizes are counted while reading, not believed.
"""

from __future__ import annotations

import io
import lzma
import os
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Final

import zstandard

from sopbench.errors import DataError
from sopbench.files import open_regular, why

METADATA: Final = "metadata.yaml"
RUN: Final = "run.json"
STEPS: Final = "steps.jsonl.zst"
SUMMARY: Final = "summary.json"
SUMS: Final = "SHA256SUMS"
FILES: Final = (METADATA, RUN, STEPS, SUMMARY, SUMS)
SUMMED: Final = (METADATA, RUN, STEPS, SUMMARY)

MAX_SUBMISSION: Final = 10 * 1024 * 1024
"""Bytes of all files together, as they lie there."""
MAX_JOURNAL: Final = 128 * 1024 * 1024
"""Bytes of the journal once decompressed: a full run of 8,444 steps has about 15 million."""
MAX_LINE: Final = 512 * 1024
MAX_MEMBERS: Final = 64
MAX_TAR: Final = MAX_SUBMISSION + MAX_MEMBERS * 10 * 1024
"""Bytes of an unpacked tar archive: the files, and generous headers."""
MAX_WINDOW: Final = 2**25
"""The most memory that zstandard may set aside for one frame; its strongest ordinary level asks for a quarter of it."""
MAX_XZ_MEMORY: Final = 2**27
"""What `xz -9` needs, and some."""
_ZIP_ENTRY: Final = b"PK\x01\x02"

_BROKEN: Final = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    NotImplementedError,  # a zip's compression that Python does not have
    OSError,
    EOFError,
    ValueError,
    OverflowError,
    RuntimeError,
    struct.error,
)
"""What Python's readers of archives raise for broken ones."""


@dataclass(frozen=True, slots=True)
class Submission:
    """The files of one submission by name, and the name of its folder (None where an archive has none)."""

    where: str
    folder: str | None
    files: dict[str, bytes]

    def file(self, name: str) -> bytes:
        if name not in self.files:
            raise DataError(f"{name} is missing")
        return self.files[name]


def read_submission(path: Path) -> Submission:
    """A folder, or a .zip, .tar, .tar.gz or .tar.xz of one. Raises `DataError` for anything that is not exactly such files."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {path} ({why(error)})") from error
    if stat.S_ISDIR(mode):
        return Submission(str(path), path.resolve().name, _from_folder(path))
    try:
        with open_regular(path) as handle:
            data = handle.read(MAX_SUBMISSION + 1)
    except OSError as error:
        raise DataError(f"cannot read {path} ({why(error)})") from error
    if len(data) > MAX_SUBMISSION:
        raise DataError(f"{path.name} is larger than {MAX_SUBMISSION} bytes")
    try:
        members = _from_zip(data) if zipfile.is_zipfile(io.BytesIO(data)) else _from_tar(data)
        return _gathered(path, members)
    except _BROKEN as error:
        raise DataError(
            f"{path.name} is neither a folder nor a whole zip or tar archive ({ascii(str(error))[:100]}); give the submission's folder"
        ) from error


def _from_folder(path: Path) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    room = MAX_SUBMISSION
    with os.scandir(path) as entries:
        for count, entry in enumerate(entries):
            if count >= MAX_MEMBERS:
                raise DataError(f"more than {MAX_MEMBERS} files; there must be exactly {', '.join(FILES)}")
            if entry.is_symlink():
                raise DataError(f"{_name(entry.name)} is a link; put the file itself there")
            if entry.name not in FILES:
                raise DataError(
                    f"{_name(entry.name)} does not belong there; a submission is exactly {', '.join(FILES)}"
                )
            if not entry.is_file(follow_symlinks=False):
                raise DataError(f"{entry.name} is not a regular file")
            try:
                handle = os.open(entry.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            except OSError as error:
                raise DataError(f"cannot read {entry.name} ({why(error)})") from error
            with os.fdopen(handle, "rb") as file:
                if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                    raise DataError(f"{entry.name} is not a regular file")
                files[entry.name] = _taken(file, room, entry.name)
            room -= len(files[entry.name])
    return files


def _from_zip(data: bytes) -> Iterator[tuple[str, IO[bytes]]]:
    if data.count(_ZIP_ENTRY) > MAX_MEMBERS:  # counted before Python makes an object of each
        raise DataError(f"the archive has more than {MAX_MEMBERS} members")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for member in archive.infolist():
            kind = stat.S_IFMT(member.external_attr >> 16)
            if member.is_dir():
                _checked_member(member.filename.rstrip("/"), folder=True)
                continue
            if kind and not stat.S_ISREG(kind):
                raise DataError(f"{_name(member.filename)} is a link or a device; an archive may hold plain files only")
            if member.flag_bits & 0x1:
                raise DataError(f"{_name(member.filename)} is encrypted")
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise DataError(f"{_name(member.filename)} is packed in an unusual way; use deflate")
            with archive.open(member) as handle:
                yield member.filename, handle


def _from_tar(data: bytes) -> Iterator[tuple[str, IO[bytes]]]:
    with tarfile.open(fileobj=io.BytesIO(_plain_tar(data)), mode="r:") as archive:
        for count, member in enumerate(archive):
            if count >= MAX_MEMBERS:
                raise DataError(f"the archive has more than {MAX_MEMBERS} members")
            if member.isdir():
                _checked_member(member.name.rstrip("/"), folder=True)
                continue
            handle = archive.extractfile(member) if member.isreg() and not member.issparse() else None
            if handle is None:
                raise DataError(
                    f"{_name(member.name)} is a link, a device or a sparse file; an archive may hold plain files only"
                )
            yield member.name, handle


def _plain_tar(data: bytes) -> bytes:
    """The tar archive in `data`, which may be packed with gzip or xz: no more of it than `MAX_TAR`, whatever it claims."""
    if data.startswith(b"\x1f\x8b"):
        found = zlib.decompressobj(wbits=31).decompress(data, MAX_TAR + 1)
    elif data.startswith(b"\xfd7zXZ\0"):
        found = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MAX_XZ_MEMORY).decompress(data, MAX_TAR + 1)
    else:
        found = data
    if len(found) > MAX_TAR:
        raise DataError(f"the archive has more than {MAX_TAR} bytes once unpacked")
    return found


def _gathered(path: Path, members: Iterator[tuple[str, IO[bytes]]]) -> Submission:
    files: dict[str, bytes] = {}
    folders: set[str] = set()
    room = MAX_SUBMISSION
    for name, handle in members:
        parts = _checked_member(name)
        folders.add(parts[0] if len(parts) == 2 else "")
        if len(folders) > 1:
            raise DataError("the archive's files lie in different folders")
        if parts[-1] not in FILES:
            raise DataError(f"{_name(name)} does not belong there; a submission is exactly {', '.join(FILES)}")
        if parts[-1] in files:
            raise DataError(f"{parts[-1]} is in the archive twice")
        files[parts[-1]] = _taken(handle, room, parts[-1])
        room -= len(files[parts[-1]])
    folder = next(iter(folders), "") or None
    return Submission(str(path), folder, files)


def _checked_member(name: str, *, folder: bool = False) -> tuple[str, ...]:
    """The parts of a member's name: a file, or one folder and a file. Raises `DataError` for a name that leads anywhere else."""
    path = PurePosixPath(name)
    parts = tuple(part for part in path.parts if part != ".")
    if path.is_absolute() or ".." in parts or "\\" in name or "\0" in name or ":" in name or not parts:
        raise DataError(f"the name {_name(name)} leads out of the archive; nothing was unpacked")
    if len(parts) > (1 if folder else 2):
        raise DataError(f"{_name(name)} lies too deep; a submission is one folder of files")
    return parts


def _taken(handle: IO[bytes], room: int, name: str) -> bytes:
    data = handle.read(room + 1)
    if len(data) > room:
        raise DataError(f"with {name} the files have more than {MAX_SUBMISSION} bytes together")
    return data


def journal_lines(data: bytes) -> Iterator[bytes]:
    """The lines of `steps.jsonl.zst`, decompressed piece by piece within `MAX_JOURNAL`. Raises `DataError`."""
    total = 0
    rest = b""
    try:
        reader = zstandard.ZstdDecompressor(max_window_size=MAX_WINDOW).stream_reader(data, read_across_frames=True)
        with reader:
            while block := reader.read(1 << 18):
                total += len(block)
                if total > MAX_JOURNAL:
                    raise DataError(f"{STEPS} has more than {MAX_JOURNAL} bytes once decompressed")
                *lines, rest = (rest + block).split(b"\n")
                if len(rest) > MAX_LINE:
                    raise DataError(f"{STEPS} has a line of more than {MAX_LINE} bytes")
                yield from lines
    except zstandard.ZstdError as error:
        raise DataError(f"{STEPS} is not a zstandard file ({str(error)[:100]})") from error
    if rest:
        raise DataError(f"{STEPS} does not end with a whole line")


def compressed(lines: bytes) -> bytes:
    """`lines` as one zstandard frame that holds its own length and checksum."""
    return zstandard.ZstdCompressor(level=19, write_checksum=True, write_content_size=True).compress(lines)


def _name(name: str) -> str:
    return ascii(name[:80])
