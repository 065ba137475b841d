"""Convert Android in the Wild: its TFRecords become trajectories, DigiRL's lists of instructions become a file of tasks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from sopbench.datacheck import Watch
from sopbench.datasets.aitw import Aitw
from sopbench.datasets.converted import Converted, require_folder, shards_in, write_converted
from sopbench.datasets.from_androidcontrol import read_splits
from sopbench.datasets.output import (
    IMAGES,
    MANIFEST,
    alone_in,
    as_line,
    bytes_in,
    require_room,
    write_lines,
    write_manifest,
)
from sopbench.datasets.shards import Told, convert_shards
from sopbench.errors import DataError, UsageError
from sopbench.files import open_regular, why

TASKS: Final = "tasks.jsonl"
MAX_LIST: Final = 16 * 1024 * 1024
EPISODE_BYTES: Final = 20_000_000


def convert_aitw(
    folder: Path,
    out: Path,
    *,
    splits: Path | None = None,
    split: str | None = None,
    jobs: int = 1,
    limit: int | None = None,
    partial: bool = False,
    skip_faulty: bool = False,
    space_check: bool = True,
    watch: Callable[[Told, int], None] = lambda told, total: None,
    checking: Watch = lambda what, done, total: None,
) -> Converted:
    """`folder` holds one subset's shards; `splits` is one of the published split files, `split` a name in it."""
    require_folder(folder, "--from")
    if (splits is None) != (split is None):
        raise UsageError("--splits FILE and --split NAME go together")
    wanted = None
    if splits is not None and split is not None:
        known = read_splits(splits)
        if split not in known:
            raise UsageError(f"--split {split}: {splits.name} has {', '.join(sorted(known)) or 'nothing'}")
        wanted = known[split]
    shards = shards_in(folder, "aitw", partial=partial)
    total = sum(shard.stat().st_size for shard in shards)
    if space_check:
        needed = total if limit is None else min(total, limit * EPISODE_BYTES)
        require_room(out, needed - bytes_in(out / IMAGES), "The conversion")
    source = Aitw(wanted)
    with alone_in(out, "--out"):
        parts = convert_shards(
            source,
            shards,
            out,
            jobs=jobs,
            limit=limit,
            skip_faulty=skip_faulty,
            watch=lambda told: watch(told, total),
        )
        facts = {**source.facts(), "split": split, "partial": partial}
        return write_converted(out, facts, shards, parts, watch=checking)


@dataclass(frozen=True, slots=True)
class Tasks:
    """A converted list of instructions: one JSON object a line with `id`, `goal` and `tags`."""

    file: Path
    count: int
    lists: tuple[str, ...]


def convert_tasks(folder: Path, out: Path, *, limit: int | None = None) -> Tasks:
    """Every `*.txt` of `folder` (one instruction a line, DigiRL's `general_test.txt` and the like). `limit` takes the first of each list, as published results do."""
    require_folder(folder, "--from")
    lists = sorted(folder.glob("*.txt"))
    if not lists:
        raise DataError(f"--from {folder}: no lists (*.txt) are there. sopbench data pull aitw-tasks gets them")
    lines: list[bytes] = []
    sources = []
    for path in lists:
        data = _read(path)
        sources.append({"name": path.name, "bytes": len(data), "sha256": sha256(data).hexdigest()})
        try:
            goals = [line.strip() for line in data.decode().splitlines() if line.strip()]
        except UnicodeDecodeError as error:
            raise DataError(f"{path.name} is not UTF-8 (byte {error.start})") from error
        subset, _, part = path.stem.rpartition("_")
        for index, goal in enumerate(goals[:limit]):
            tags = {"subset": subset or path.stem, "split": part}
            lines.append(as_line({"id": f"{path.stem}-{index:04}", "goal": goal, "tags": tags}))
    file = out / TASKS
    manifest = {
        "v": 1,
        "facts": {"dataset": "aitw-tasks", "limit": limit},
        "sources": sources,
        "tasks": {"file": TASKS, "sha256": sha256(b"".join(lines)).hexdigest(), "count": len(lines)},
    }
    with alone_in(out, "--out"):
        write_lines(file, lines)
        write_manifest(out / MANIFEST, manifest)
    return Tasks(file, len(lines), tuple(path.name for path in lists))


def _read(path: Path) -> bytes:
    try:
        with open_regular(path) as handle:
            data = handle.read(MAX_LIST + 1)
    except OSError as error:
        raise DataError(f"cannot read {path} ({why(error)})") from error
    if len(data) > MAX_LIST:
        raise DataError(f"{path} is larger than {MAX_LIST} bytes: no list of instructions")
    return data
