"""What every conversion writes: screens, one JSONL file of trajectories, and `conversion.json`, which says how they were made.

A file stands under its final name only when it is whole. A full disk is an error of its own, which names the folder.
"""

from __future__ import annotations

import errno
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from sopbench.errors import DataError, RunBusy
from sopbench.files import is_temporary, why

IMAGES: Final = "images"
TRAJECTORIES: Final = "trajectories.jsonl"
MANIFEST: Final = "conversion.json"
LOCK: Final = ".lock"
_FULL: Final = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+@()=, -]{0,200}", re.ASCII)


class DiskFull(DataError):
    """No room for a file, which is not there then."""


@dataclass(frozen=True, slots=True)
class Episode:
    """One converted trajectory: its object for the JSONL file, and the bytes of its screens by file name."""

    id: str
    object: Mapping[str, Any]
    screens: Mapping[str, bytes | memoryview] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Skipped:
    """An episode that no trajectory can be made of, as the publisher has it. `where` names its place in the source."""

    where: str
    id: str
    reason: str

    def as_dict(self) -> dict[str, str]:
        return {"episode": self.id, "where": self.where, "reason": self.reason}


def step_object(
    content: Mapping[str, Any],
    screenshot: str,
    *,
    instruction: str = "",
    boxes: Sequence[Sequence[float]] | None = None,
    check: Mapping[str, Any] | None = None,
    thought: str = "",
) -> dict[str, Any]:
    """One step in the SOP file's form. `boxes` are the candidates in pixels of the screen; None where the kind of action has no targets."""
    options = dict(check if check is not None else content)
    if boxes is not None:
        options["candidate_bbox"] = [list(box) for box in boxes]
    step: dict[str, Any] = {
        "action_content": dict(content),
        "screenshot": f"{IMAGES}/{screenshot}",
        "step_instruction": instruction,
        "check_options": options,
    }
    return step | ({"thought": thought} if thought else {})


def trajectory_object(
    episode: str, goal: str, steps: Sequence[Mapping[str, Any]], tags: Mapping[str, str], *, successful: bool = True
) -> dict[str, Any]:
    """One line of the JSONL file."""
    known = {name: value for name, value in tags.items() if value}
    return {
        "goal": goal,
        "is_successful": successful,
        "steps": [dict(step) for step in steps],
        "episode_id": episode,
        "tags": known,
    }


def as_line(obj: Mapping[str, Any]) -> bytes:
    return json.dumps(obj, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def file_name(text: str, what: str) -> str:
    """`text`, if it can be a file's name everywhere and leads nowhere else. Raises `DataError`."""
    if not _NAME.fullmatch(text) or text.endswith((".", " ")):
        raise DataError(f"{what} {text[:80]!r} cannot be part of a file's name")
    return text


def flat_name(path: str) -> str:
    """`folder/file.png` as one file's name, `folder__file.png`: screens lie in one folder. Raises `DataError`."""
    parts = path.replace("\\", "/").split("/")
    return file_name("__".join(parts), "the screen")


# -- writing -----------------------------------------------------------------------------------------------------------


@contextmanager
def room_in(folder: Path) -> Iterator[None]:
    """Turn the errors of a full disk into `DiskFull`."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise DiskFull(
            f"no room in {folder} ({why(error)}). Free some, then give the same command again: it goes on where it stopped"
        ) from error


def write_whole(path: Path, data: bytes | memoryview) -> None:
    """Put `data` in the place of `path`. Not forced to the disk, as `files.replacing` does: there are tens of thousands of screens, and a
    conversion compares their sizes before it trusts them."""
    temporary = path.with_name(f".{path.name[:40]}.{secrets.token_hex(4)}.tmp")
    try:
        with room_in(path.parent):
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
            with os.fdopen(descriptor, "wb") as handle:
                handle.write(data)
            temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def put_screen(source: Path, target: Path) -> None:
    """The picture at `source` under another name: the same file once more where the file system can, else a copy. What stands there is replaced."""
    temporary = target.with_name(f".{target.name[:40]}.{secrets.token_hex(4)}.tmp")
    try:
        with room_in(target.parent):
            try:
                os.link(source.resolve(strict=True), temporary)
            except FileNotFoundError as error:
                raise DataError(f"the screen {source} is not there") from error
            except OSError:  # another file system, or one without hard links
                shutil.copyfile(source, temporary)
            temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    temporary.unlink(missing_ok=True)  # replace() leaves it where both were the same file already


def write_lines(path: Path, lines: Iterable[bytes]) -> None:
    """A file of whole lines, on the disk when this returns."""
    from sopbench.files import replacing

    with room_in(path.parent), replacing(path) as handle:
        for line in lines:
            handle.write(line)


def write_manifest(path: Path, value: Mapping[str, Any]) -> None:
    from sopbench.files import write_json

    with room_in(path.parent):
        write_json(path, dict(value))


@contextmanager
def alone_in(folder: Path, option: str) -> Iterator[None]:
    """Hold the folder, which is made, against another pull or conversion into it. The lock goes with the process, however that ends."""
    import fcntl

    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = (folder / LOCK).open("ab")
    except OSError as error:
        raise DataError(f"{option} {folder}: cannot be written to ({why(error)})") from error
    with handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise RunBusy(f"{option} {folder}: another sopbench is at work in that folder") from error
        yield


def prepare(out: Path) -> Path:
    """Make the folders; take away what a killed conversion left half written. Returns the folder of the screens."""
    images = out / IMAGES
    try:
        images.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"--out {out}: cannot make that folder ({why(error)})") from error
    for folder in (out, images):
        with os.scandir(folder) as entries:
            for entry in entries:
                if is_temporary(Path(entry.path)):
                    Path(entry.path).unlink(missing_ok=True)
    return images


# -- room --------------------------------------------------------------------------------------------------------------


def free_bytes(folder: Path) -> int:
    """What is free where `folder` is or will be."""
    place = folder.absolute()
    while not place.exists() and place != place.parent:
        place = place.parent
    return shutil.disk_usage(place).free


def bytes_in(folder: Path) -> int:
    """Of the files in the folder; 0 where there is none."""
    if not folder.is_dir():
        return 0
    with os.scandir(folder) as entries:
        return sum(entry.stat().st_size for entry in entries)


def require_room(folder: Path, needed: int, what: str) -> None:
    """Raise `DiskFull` where `needed` bytes are more than is free."""
    free = free_bytes(folder)
    if needed > free:
        raise DiskFull(
            f"{what} needs about {size(needed)} in {folder}, and {size(free)} are free. Give another folder, or convert less "
            "(--only-sop, --split, --limit); --no-space-check goes on regardless"
        )


def size(count: float) -> str:
    """Bytes for people: `47.1 GB` (powers of 1000)."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:,.1f} {unit}"
        count /= 1000
    raise AssertionError("unreachable")
