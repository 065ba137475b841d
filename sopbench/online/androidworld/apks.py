"""The files that AndroidWorld's set-up downloads from its publisher (app packages, media, the accessibility forwarder), kept in one folder with their hashes.

A file is used as it is found there, so somebody without a way to the publisher's storage can put them in place; one that changed afterwards is refused (`bridge.py`, `_kept`).
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sopbench.errors import DataError, UsageError
from sopbench.files import file_sha256, write_json
from sopbench.online.androidworld.install import home, remembered

HASHES: Final = "SHA256SUMS.json"
FORWARDER: Final = "2024.05.13-accessibility_forwarder.apk"
"""The accessibility forwarder's file, as android_env 1.2.3 names it (wrappers/a11y_grpc_wrapper.py)."""


@dataclass(frozen=True, slots=True)
class Kept:
    name: str
    bytes: int
    sha256: str


def folder() -> Path:
    return home() / "apks"


def kept() -> list[Kept]:
    """What is there now, with the hash that each had when it came."""
    hashes = remembered(folder())
    if not folder().is_dir():
        return []
    return [
        Kept(path.name, path.stat().st_size, hashes.get(path.name) or file_sha256(path))
        for path in sorted(folder().iterdir())
        if path.is_file() and path.name != HASHES and not path.name.startswith(".")
    ]


def take(source: Path) -> list[Kept]:
    """Copy a user's files into the folder. Raises `UsageError`, and `DataError` where another file of that name is there already."""
    if not source.is_dir():
        raise UsageError(f"--from {source}: is no folder")
    files = [path for path in sorted(source.iterdir()) if path.is_file() and not path.name.startswith(".")]
    if not files:
        raise UsageError(f"--from {source}: has no files")
    target = folder()
    target.mkdir(parents=True, exist_ok=True)
    hashes = remembered(target)
    for path in files:
        if path.name == HASHES:
            continue
        digest = file_sha256(path)
        if hashes.get(path.name, digest) != digest:
            raise DataError(f"{path}: {target / path.name} is another file; delete that one first if yours is right")
        part = target / f".{path.name}.part"
        shutil.copyfile(path, part)
        part.replace(target / path.name)
        hashes[path.name] = digest
        write_json(target / HASHES, hashes)
    return kept()
