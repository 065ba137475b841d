"""Opening, reading and replacing files whose names and contents others may have chosen: data, screens, run folders.

A name may belong to a pipe that never speaks, to a device without end or to a link that leads elsewhere; a file may be larger than memory, or JSON deeper
than any stack. Readers here take regular files only and a bounded number of bytes; writers never write through what already stands under the name.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from sopbench.errors import DataError

_TEMPORARY = ".tmp"


def open_regular(path: Path) -> BinaryIO:
    """`path` for reading, if it is a regular file (links are followed). Raises `OSError`, or `ValueError` for a name that no file can have.

    Opening a pipe would wait until somebody writes into it: hence O_NONBLOCK, which means nothing to a regular file.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise OSError(errno.EINVAL, "not a regular file", str(path))


def why(error: OSError | ValueError) -> str:
    """The reason in an error of `open_regular`, without the file's name."""
    return getattr(error, "strerror", None) or str(error)


def file_sha256(path: Path) -> str:
    """Of the whole file, 64 hex digits. Raises `DataError`."""
    try:
        with open_regular(path) as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest()  # type: ignore[arg-type]  # typeshed wants a raw file
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {path} ({why(error)})") from error


def read_json(path: Path, limit: int) -> Any:
    """The JSON in a file of at most `limit` bytes. Raises `DataError` that names the file."""
    try:
        with open_regular(path) as handle:
            data = handle.read(limit + 1)
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {path} ({why(error)})") from error
    if len(data) > limit:
        raise DataError(f"{path} is larger than {limit} bytes")
    try:
        return json.loads(data, parse_constant=_finite, parse_float=_finite)
    except (
        ValueError,
        RecursionError,
    ) as error:  # no JSON, no text, a number of thousands of digits, nesting without end
        raise DataError(f"{path} is not JSON ({error})") from error


@contextmanager
def replacing(path: Path, *, lasting: bool = True) -> Iterator[BinaryIO]:
    """A new file that takes the place of `path` when the block ends well: readers never see half of it, and nothing is left of it otherwise.

    It is made under a name of its own, so that two writers do not meet and no link that stands under a name to be guessed is written through.
    `lasting`: be sure that it is on the disk first, so that a power cut leaves the old file or the new one.
    """
    temporary = _temporary(path)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as handle:
            yield handle
            handle.flush()
            if lasting:
                os.fsync(handle.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_json(path: Path, value: Any) -> None:
    """Put `value` in the place of `path`, as ASCII JSON."""
    with replacing(path) as handle:
        handle.write(as_json(value))


def create_json(path: Path, value: Any) -> None:
    """Write `value` to `path`, whole at once; raises `FileExistsError` where something stands there already."""
    temporary = _temporary(path)
    try:
        with replacing(temporary) as handle:
            handle.write(as_json(value))
        try:
            os.link(temporary, path)
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links: the check is all that can be had
            if path.exists():
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path)) from None
            temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _finite(word: str) -> float:
    """A number of the file; NaN and the infinities, which JSON does not have, are refused, also where a number is too large to be anything else."""
    number = float(word)
    if not math.isfinite(number):
        raise ValueError(f"{word[:40]} is no number of JSON")
    return number


def is_temporary(path: Path) -> bool:
    """Whether this is what a killed writer left behind."""
    return path.name.startswith(".") and path.name.endswith(_TEMPORARY)


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name[:40]}.{secrets.token_hex(4)}{_TEMPORARY}")


def as_json(value: Any) -> bytes:
    return json.dumps(value, indent=1, ensure_ascii=True, allow_nan=False).encode("ascii") + b"\n"
