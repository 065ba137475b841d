"""The end of every conversion: the file of trajectories, `conversion.json`, and what `data check` says of both."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sopbench.datacheck import DataReport, Watch, check_data
from sopbench.datasets.output import IMAGES, MANIFEST, TRAJECTORIES, write_lines, write_manifest
from sopbench.datasets.shards import PARTS, Part
from sopbench.errors import DataError, UsageError, command
from sopbench.files import file_sha256, why

_SHARD: Final = re.compile(r"(?P<stem>.+)-(?P<index>\d{5})-of-(?P<of>\d{5})(\.tfrecord)?(\.gz|\.gzip)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Converted:
    """A finished conversion. `file` names the trajectories and `images` their screens: what `sopbench run --data FILE --images DIR` takes."""

    name: str
    file: Path
    images: Path
    episodes: int
    steps: int
    screens: int
    screen_bytes: int
    skipped: Sequence[Mapping[str, str]]
    notes: Sequence[str]
    check: DataReport

    def as_dict(self) -> dict[str, Any]:
        return {
            "dataset": self.name,
            "file": str(self.file),
            "images": str(self.images),
            "episodes": self.episodes,
            "steps": self.steps,
            "screens": self.screens,
            "screen_bytes": self.screen_bytes,
            "skipped": [dict(item) for item in self.skipped],
            "notes": list(self.notes),
            "check": {
                "ok": self.check.ok,
                "findings": {finding.code: len(finding.places) for finding in self.check.findings},
            },
        }


def write_converted(
    out: Path,
    facts: Mapping[str, Any],
    sources: Iterable[Path],
    parts: Sequence[Part],
    *,
    lines: Iterable[bytes] | None = None,
    name: str = TRAJECTORIES,
    notes: Sequence[str] = (),
    watch: Watch = lambda what, done, total: None,
) -> Converted:
    """Write the trajectories (`lines`; by default those of the parts) and the manifest, and check them. Raises `DataError` where there is no trajectory."""
    _unique(parts)
    file = out / name
    write_lines(file, lines_of(out, parts) if lines is None else lines)
    check = check_data(file, out / IMAGES, watch=watch)
    if not check.trajectories:
        file.unlink()
        raise DataError("no episode was asked for that these files have: nothing was converted")
    screens: dict[str, int] = {}
    for part in parts:
        screens |= part.screens
    skipped = [item for part in parts for item in part.skipped]
    from sopbench import __version__

    manifest = {
        "v": 1,
        "made_by": f"sopbench {__version__}",
        "facts": dict(facts),
        "sources": [{"name": path.name, "bytes": path.stat().st_size} for path in sources],
        "trajectories": {
            "file": name,
            "sha256": check.sha256,
            "episodes": check.trajectories,
            "steps": check.steps,
        },
        "screens": {"folder": IMAGES, "files": len(screens), "bytes": sum(screens.values())},
        "skipped": skipped,
        "notes": list(notes),
    }
    write_manifest(out / MANIFEST, manifest)
    return Converted(
        str(facts["dataset"]),
        file,
        out / IMAGES,
        check.trajectories,
        check.steps,
        len(screens),
        sum(screens.values()),
        skipped,
        notes,
        check,
    )


def lines_of(out: Path, parts: Sequence[Part]) -> Iterator[bytes]:
    """The lines of all parts, in order."""
    for part in parts:
        file = out / PARTS / f"{part.shard}.jsonl"
        if file_sha256(file) != part.sha256:
            raise DataError(f"{file} was changed while it was used: give the same command again")
        with file.open("rb") as handle:
            yield from handle


def _unique(parts: Sequence[Part]) -> None:
    seen: dict[str, str] = {}
    for part in parts:
        for episode in part.ids:
            if episode in seen:
                raise DataError(f"episode {episode} stands in {seen[episode]} and in {part.shard}")
            seen[episode] = part.shard


def shards_in(folder: Path, dataset: str, *, partial: bool = False) -> list[Path]:
    """The shards (`NAME-00000-of-00020`) in the folder, in order. Raises `DataError` for a set with gaps, unless `partial`."""
    try:
        names = sorted(path for path in folder.iterdir() if path.is_file())
    except OSError as error:
        raise DataError(f"--from {folder}: cannot be read ({why(error)})") from error
    found = [(path, match) for path in names if (match := _SHARD.fullmatch(path.name))]
    if not found:
        raise DataError(
            f"--from {folder}: no shards (files named like NAME-00000-of-00020) are there. {command('sopbench', 'data', 'pull', dataset)} gets them"
        )
    missing = []
    for stem in sorted({match["stem"] for _, match in found}):
        of_stem = [match for _, match in found if match["stem"] == stem]
        count = {int(match["of"]) for match in of_stem}
        if len(count) > 1 or len(of_stem) != len({match["index"] for match in of_stem}):
            raise DataError(f"--from {folder}: shards of {stem} that do not belong together, or are there twice")
        have = {int(match["index"]) for match in of_stem}
        missing += [f"{stem}-{index:05}" for index in range(min(count.pop(), 100_000)) if index not in have]
    if missing and not partial:
        raise DataError(
            f"--from {folder}: {len(missing)} shards are missing ({', '.join(missing[:3])}{', ...' if len(missing) > 3 else ''}). "
            "Get them, or convert what is there with --partial: its results are not comparable with those of the whole set"
        )
    return [path for path, _ in found]


def require_folder(folder: Path, option: str) -> None:
    if not folder.is_dir():
        raise UsageError(f"{option} {folder}: there is no such folder")
