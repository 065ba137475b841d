"""Convert AndroidControl: which episodes, from which shards, how much room, and how the result compares with the released SOP file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from sopbench.datacheck import Watch
from sopbench.datasets.androidcontrol import AndroidControl, Horizontal
from sopbench.datasets.converted import Converted, lines_of, require_folder, shards_in, write_converted
from sopbench.datasets.output import IMAGES, alone_in, bytes_in, require_room
from sopbench.datasets.shards import Part, Told, convert_shards
from sopbench.datasets.sop_file import SopFile, compare, load_sop, trajectories_in
from sopbench.errors import DataError, UsageError
from sopbench.files import read_json, replacing

SPLITS: Final = "splits.json"
SUBSPLITS: Final = "test_subsplits.json"
MAX_SPLITS: Final = 64 * 1024 * 1024
EPISODES: Final = 15_283
"""In all 20 shards; their gzip hardly shrinks the screens that fill them, so a share of the episodes needs that share of the shards' bytes."""
EPISODE_BYTES: Final = 2 * 49_930_232_975 // EPISODES
"""Twice the mean of an episode, for the few that --limit takes."""
MARGIN: Final = 1.1


def convert_androidcontrol(
    folder: Path,
    out: Path,
    *,
    sop: Path | None = None,
    only_sop: bool = False,
    split: str | None = None,
    horizontal: Horizontal = "released",
    terminate: bool = False,
    jobs: int = 1,
    limit: int | None = None,
    partial: bool = False,
    skip_faulty: bool = False,
    space_check: bool = True,
    watch: Callable[[Told, int], None] = lambda told, total: None,
    checking: Watch = lambda what, done, total: None,
) -> Converted:
    """`folder` holds the published shards, and `splits.json` and `test_subsplits.json` where those are wanted. `watch` is told how far it is and how many bytes of
    shards there are. Raises `DataError` or `UsageError`."""
    require_folder(folder, "--from")
    if only_sop and sop is None:
        raise UsageError("--only-sop extracts what the SOP file needs: name that file with --sop FILE")
    if only_sop and (split is not None or terminate or limit is not None):
        raise UsageError(
            "--only-sop takes exactly the SOP file's episodes and steps: --split, --limit and --terminate do not go with it"
        )
    shards = shards_in(folder, "androidcontrol", partial=partial)
    released = load_sop(sop) if sop is not None else None
    splits = read_splits(folder / SPLITS)
    wanted = released.ids if released is not None and only_sop else _of_split(splits, split, folder)
    source = AndroidControl(wanted, {}, horizontal, terminate)
    if not only_sop:
        source = replace(source, tags=tags_of(splits, read_splits(folder / SUBSPLITS)))
    if space_check:
        needed = estimate(shards, wanted, splits, limit) - bytes_in(out / IMAGES)
        require_room(out, needed, "The conversion")
    total = sum(shard.stat().st_size for shard in shards)
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
        sources = [*shards, *(folder / name for name in (SPLITS, SUBSPLITS) if (folder / name).is_file())]
        facts = {**source.facts(), "split": split, "only_sop": only_sop, "partial": partial}
        if only_sop and released is not None:
            return _as_released(out, facts, [*sources, released.path], parts, released, checking)
        converted = write_converted(out, facts, sources, parts, watch=checking)
        if released is None:
            return converted
        ids = [name for part in parts for name in part.ids]
        agreement = compare(released, trajectories_in(converted.file), ids)
        return replace(converted, notes=agreement.sentences())


def _as_released(
    out: Path,
    facts: Mapping[str, Any],
    sources: list[Path],
    parts: list[Part],
    released: SopFile,
    checking: Watch,
) -> Converted:
    """Beside the screens the SOP file itself, byte for byte: its hash is what runs are compared by."""
    ours = out / ".parts" / "all.jsonl"
    with replacing(ours) as handle:
        for line in lines_of(out, parts):
            handle.write(line)
    agreement = compare(released, trajectories_in(ours), [name for part in parts for name in part.ids])
    ours.unlink()
    return write_converted(
        out,
        facts,
        sources,
        parts,
        lines=[released.path.read_bytes()],
        name=released.path.name,
        notes=agreement.sentences(),
        watch=checking,
    )


def read_splits(path: Path) -> Mapping[str, frozenset[str]]:
    """Names of parts and their episodes; empty where there is no such file."""
    if not path.is_file():
        return {}
    value = read_json(path, MAX_SPLITS)
    if not isinstance(value, dict) or not all(
        isinstance(ids, list) and all(isinstance(i, int | str) for i in ids) for ids in value.values()
    ):
        raise DataError(f"{path} should be an object of lists of episode ids, as published")
    return {name: frozenset(map(str, ids)) for name, ids in value.items()}


def tags_of(
    splits: Mapping[str, frozenset[str]], subsplits: Mapping[str, frozenset[str]]
) -> Mapping[str, Mapping[str, str]]:
    """`split`, and of test episodes `unseen`: what training has not shown (`app+category`), or `nothing` for those of the training distribution (IDD)."""
    tags: dict[str, dict[str, str]] = {name: {"split": split} for split, ids in splits.items() for name in ids}
    kinds = sorted(name for name in subsplits if name.endswith("_unseen"))
    for episode in frozenset().union(*subsplits.values()) if subsplits else ():
        unseen = "+".join(kind.removesuffix("_unseen") for kind in kinds if episode in subsplits[kind])
        tags.setdefault(episode, {})["unseen"] = unseen or "nothing"
    return tags


def _of_split(splits: Mapping[str, frozenset[str]], split: str | None, folder: Path) -> frozenset[str] | None:
    if split is None:
        return None
    if not splits:
        raise DataError(
            f"--split {split}: {folder / SPLITS} is not there. `sopbench data pull androidcontrol --only {SPLITS}` gets it"
        )
    if split not in splits:
        raise UsageError(f"--split {split}: {SPLITS} has {', '.join(sorted(splits))}")
    return splits[split]


def estimate(
    shards: list[Path],
    wanted: frozenset[str] | None,
    splits: Mapping[str, frozenset[str]],
    limit: int | None,
) -> int:
    """Bytes that the conversion will write, a little too many rather than too few."""
    whole = sum(shard.stat().st_size for shard in shards)
    every = sum(map(len, splits.values())) or EPISODES
    share = 1.0 if wanted is None else min(1.0, len(wanted) / every)
    needed = whole * share * MARGIN
    if limit is not None:
        needed = min(needed, limit * EPISODE_BYTES)
    return int(needed)
