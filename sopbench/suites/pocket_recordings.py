"""PocketPhone's expert recordings: one split ships with the package, the others are rendered when they are first asked for.

A rendered split lies in the user's cache under a name that holds a digest of the emulator's own source, so another version
never plays on it. It is made in a folder beside it and moved there whole; two processes make it once.
"""

from __future__ import annotations

import fcntl
import hashlib
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Literal

import PIL

from sopbench.cachedir import CACHE, cache_folder
from sopbench.errors import Notice, UsageError

Shown = Literal["regular", "large"]
PACKAGED = ("regular", "test")
DECIDES = ("actions.py", "geometry.py", "trajectory.py")
"""Modules of sopbench that a recording's text depends on, besides the emulator."""


def packaged() -> Path:
    """The folder of the split in the package: `trajectories.jsonl` and `screens/`."""
    return Path(str(resources.files("emulator.pocket").joinpath("data", PACKAGED[1])))


def recordings(display: Shown, split: str) -> Path:
    """The folder of a split: `trajectories.jsonl` and `screens/`. Rendered now where it was not yet, which takes seconds.

    Raises `UsageError` where the cache cannot be written.
    """
    if (display, split) == PACKAGED:
        return packaged()
    folder = cache_folder() / "pocket" / f"{display}-{split}-{source_digest()[:16]}"
    if folder.is_dir():
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _alone(folder.with_suffix(".lock")):
            if not folder.is_dir():
                _render(display, split, folder)
    except OSError as error:
        raise UsageError(
            f"PocketPhone's split {split!r} cannot be rendered into {folder.parent} ({error.strerror or error}); {CACHE} names another folder"
        ) from error
    return folder


def _render(display: Shown, split: str, folder: Path) -> None:
    from emulator.pocket.export import export
    from emulator.pocket.tasks import load_split

    specs = load_split(split, display=display)
    warnings.warn(
        f"rendering PocketPhone's split {split!r} for the {display} display ({len(specs)} tasks, once on this machine: {folder})",
        Notice,
        stacklevel=2,
    )
    beside = folder.with_suffix(".making")
    shutil.rmtree(beside, ignore_errors=True)  # of a process that was killed
    export(specs, split, beside)
    beside.rename(folder)


@cache
def source_digest() -> str:
    """Of everything that decides how a task goes and how a screen looks."""
    digest = hashlib.sha256(PIL.__version__.encode())
    emulator, package = resources.files("emulator.pocket"), resources.files("sopbench")
    root = Path(str(emulator))
    files = [*sorted(root.rglob("*.py")), *(Path(str(package.joinpath(name))) for name in DECIDES)]
    for file in files:
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
