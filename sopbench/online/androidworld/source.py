"""Getting exactly the pinned commit: from a clone that somebody has, or from the publisher's archive.

Neither is believed: git's hash of the whole tree is computed from the files as they were unpacked, and compared with the pinned one.
"""

from __future__ import annotations

import hashlib
import subprocess
import tarfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final

from sopbench.errors import DataError, UsageError, command
from sopbench.online.androidworld.pins import ARCHIVE, COMMIT, SHORT, TREE

MAX_FILES: Final = 50_000
MAX_BYTES: Final = 2 * 1024**3
KEPT: Final = "android_world"
"""The one folder of the repository that is needed."""


def from_clone(clone: Path, into: Path) -> None:
    """The package out of a clone of any kind (also a bare one): its work tree plays no part. Raises `UsageError` or `DataError`."""
    if not clone.exists():
        raise UsageError(f"--from {clone}: there is nothing there")
    if clone.is_file():
        with clone.open("rb") as archive:
            unpack(archive, into, str(clone))
        return
    kind = _git(clone, "cat-file", "-t", COMMIT)
    if kind.returncode != 0:
        why = kind.stderr.decode("utf-8", "replace").strip().splitlines()
        raise UsageError(
            f"--from {clone}: has no commit {SHORT} of google-research/android_world ({why[-1] if why else 'git failed'}). "
            f"Get it with: {command('git', '-C', clone, 'fetch', 'origin', COMMIT)}"
        )
    process = subprocess.Popen(
        ["git", *_place(clone), "archive", "--format=tar", "--prefix=top/", COMMIT],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert process.stdout is not None
        unpack(process.stdout, into, str(clone), mode="r|")
    finally:
        process.kill()
        process.wait()


def from_publisher(folder: Path, into: Path, arrived: Callable[[int], None]) -> None:
    """The package out of the publisher's archive, which is kept in `folder`: a download that was cut short goes on. Raises `DataError`."""
    from sopbench.datasets.fetching import fetch
    from sopbench.datasets.registry import Remote

    target = folder / f"android_world-{SHORT}.tar.gz"
    if not target.is_file():
        fetch(Remote(target.name, ARCHIVE), target, arrived)
    with target.open("rb") as archive:
        try:
            unpack(archive, into, ARCHIVE)
        except DataError:
            target.unlink()
            raise


def _place(clone: Path) -> list[str]:
    return ["-c", f"safe.directory={clone.resolve()}", "-c", "core.autocrlf=false", "-C", str(clone)]


def _git(clone: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["git", *_place(clone), *words], capture_output=True, timeout=60)
    except FileNotFoundError:
        raise UsageError(
            "git is not on this machine; install it, or leave --from out to download the archive"
        ) from None
    except subprocess.TimeoutExpired:
        raise UsageError(f"git does not answer about {clone}") from None


def unpack(archive: IO[bytes], into: Path, name: str, mode: str = "r:*") -> None:
    """Write `android_world/` of a tar with one folder at its top into `into`, and compare the hash of all its files with the pinned tree."""
    tree: dict[str, Any] = {}
    count = total = 0
    try:
        with tarfile.open(fileobj=archive, mode=mode) as tar:  # type: ignore[call-overload]  # the stub wants literals
            for member in tar:
                path = _inside(member.name, name)
                if path is None or member.isdir():
                    continue
                count, total = count + 1, total + member.size
                if count > MAX_FILES or total > MAX_BYTES:
                    raise DataError(f"{name}: is larger than android_world can be")
                data = _content(tar, member, name)
                executable = bool(member.mode & 0o100)
                _note(tree, path, ("120000" if member.issym() else "100755" if executable else "100644", data))
                if path.parts[0] == KEPT and member.isfile():
                    target = into / path
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(data)
    except (tarfile.TarError, EOFError, OSError) as error:
        raise DataError(f"{name}: cannot be unpacked ({error})") from error
    found = tree_hash(tree)
    if found != TREE:
        raise DataError(
            f"{name}: is not google-research/android_world at {SHORT}: the hash of its files is {found[:12]}, expected was {TREE[:12]}"
        )


def _inside(member: str, name: str) -> PurePosixPath | None:
    """The path below the archive's top folder; None for that folder itself and for the archive's own comments."""
    path = PurePosixPath(member)
    if path.is_absolute() or ".." in path.parts:
        raise DataError(f"{name}: a path that leads out of the archive ({member[:80]!r})")
    return PurePosixPath(*path.parts[1:]) if len(path.parts) > 1 else None


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo, name: str) -> bytes:
    if member.issym():
        return member.linkname.encode()
    source = tar.extractfile(member) if member.isfile() else None
    if source is None:
        raise DataError(f"{name}: {member.name[:80]!r} is neither a file nor a link")
    return source.read()


def _note(tree: dict[str, Any], path: PurePosixPath, entry: tuple[str, bytes]) -> None:
    here = tree
    for part in path.parts[:-1]:
        here = here.setdefault(part, {})
    mode, data = entry
    here[path.name] = (mode, _object("blob", data))


def tree_hash(tree: dict[str, Any]) -> str:
    """git's id of a tree of `{name: (mode, id) | {...}}` (git's own format: Documentation/technical, object ids are SHA-1)."""
    return _tree(tree).hex()


def _tree(tree: dict[str, Any]) -> bytes:
    lines = []
    for name, entry in tree.items():
        if isinstance(entry, dict):
            lines.append((name.encode() + b"/", b"40000 " + name.encode() + b"\0" + _tree(entry)))
        else:
            mode, identity = entry
            lines.append((name.encode(), mode.encode() + b" " + name.encode() + b"\0" + identity))
    return _object("tree", b"".join(line for _, line in sorted(lines)))


def _object(kind: str, data: bytes) -> bytes:
    return hashlib.sha1(f"{kind} {len(data)}\0".encode() + data, usedforsecurity=False).digest()
