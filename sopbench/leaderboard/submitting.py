"""From a run to a submission: the lines that count, without anything that tells of the machine, and sums over all of it."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from sopbench.errors import UsageError
from sopbench.files import as_json
from sopbench.leaderboard.boards import Boards, load_boards
from sopbench.leaderboard.metadata import Metadata, metadata_of, write_metadata
from sopbench.leaderboard.reading import METADATA, RUN, STEPS, SUMMARY, SUMS, compressed
from sopbench.leaderboard.rules_files import folder_name, sums_of
from sopbench.leaderboard.rules_numbers import summary_of
from sopbench.leaderboard.scrub import scrubbed_info, scrubbed_record
from sopbench.leaderboard.verifying import Verification, verify
from sopbench.runs.folder import EpisodeKey, EpisodeLog, RunFolder
from sopbench.runs.records import EpisodeEnd, StepRecord
from sopbench.suites import source_of, suite_of
from sopbench.suites.base import DataSource, Loaded

DEFAULT_PATTERN: Final = DataSource().pattern


@dataclass(frozen=True, slots=True)
class Submitted:
    """`path` is the folder that was written; `left_out` says what of the run is not in it, and why."""

    path: Path
    verification: Verification
    left_out: tuple[str, ...]


def submit(
    run: Path | str,
    out: Path | str,
    metadata: Mapping[str, Any],
    *,
    boards: Boards | Path | None = None,
    board: str | None = None,
    source: DataSource | None = None,
) -> Submitted:
    """Write the submission of the run in `run` as a new folder in `out`, and verify it.

    `metadata`: the fields of `Metadata`, without `board` and `date` unless they differ from the run's. Raises a `SopbenchError` where the run or the metadata is not
    fit for it; nothing is left in `out` then, or where a rule refuses the result.
    """
    from sopbench.adapters import get_adapter

    known = boards if isinstance(boards, Boards) else load_boards(boards)
    folder = RunFolder(Path(run))
    info = folder.info()
    if info.settings.get("limit"):
        raise UsageError(
            f"{folder.path} played only the first {info.settings['limit']} episodes (--limit); a board wants all of them"
        )
    if info.settings.get("tasks"):
        raise UsageError(f"{folder.path} played only some tasks (--tasks); a board wants all of them")
    chosen = known.get(board) if board else known.for_facts(info.facts)
    told: dict[str, Any] = {"date": datetime.now(UTC).date().isoformat(), **metadata, "board": chosen.id}
    about = metadata_of(told, "the metadata")
    data = source or source_of(info)
    loaded = suite_of(info).load(data)
    new_info = scrubbed_info(info)
    lines, logs = counting(folder, loaded, info.facts["repeats"])
    adapter = get_adapter(info.facts["adapter"]["name"])
    summary = summary_of(new_info, loaded, adapter, logs, folder.summary().get("wall_s"))
    contents = {
        METADATA: write_metadata(about),
        RUN: as_json(new_info.model_dump()),
        STEPS: compressed(lines),
        SUMMARY: as_json(summary),
    }
    contents[SUMS] = sums_of(contents)
    left_out = [
        f"settings.{key}"
        for key, value in info.settings.items()
        if key not in new_info.settings and value not in (None, [], False, DEFAULT_PATTERN)
    ]
    if new_info.facts["model"] != info.facts["model"]:
        left_out.append("the folders in the model's name")
    path, verification = _written(Path(out), about, contents, known, data, loaded)
    return Submitted(path, verification, tuple(left_out))


def counting(folder: RunFolder, loaded: Loaded, repeats: int) -> tuple[bytes, dict[EpisodeKey, EpisodeLog]]:
    """The scrubbed lines that count, in the data's order, and the logs that they make."""
    recorded = folder.episodes()
    logs: dict[EpisodeKey, EpisodeLog] = {}
    lines: list[str] = []
    for repeat in range(repeats):
        for episode in loaded.ids:
            log = recorded.get((episode, repeat))
            if log is None:
                continue
            kept = EpisodeLog()
            rows: list[StepRecord | EpisodeEnd] = [*log.ordered(), *([log.end] if log.end else [])]
            for row in rows:
                scrubbed = scrubbed_record(row)
                kept.add(scrubbed)
                lines.append(json.dumps(scrubbed.model_dump(exclude_none=True), separators=(",", ":")))
            logs[episode, repeat] = kept
    return ("\n".join(lines) + "\n").encode("ascii"), logs


def _written(
    out: Path, about: Metadata, contents: Mapping[str, bytes], boards: Boards, data: DataSource, loaded: Loaded
) -> tuple[Path, Verification]:
    """The folder, whole or not at all: it is made and verified beside its place, and takes it only then."""
    target = out / folder_name(about)
    if target.exists():
        raise UsageError(f"{target} is there already; remove it, or submit under another model name")
    out.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".submission-", dir=out))
    try:
        made = scratch / target.name
        made.mkdir()
        for name, content in contents.items():
            (made / name).write_bytes(content)
        verification = verify(made, boards=boards, source=data, loaded={about.board: loaded})
        refused = verification.refused
        if refused is not None:
            raise UsageError(f"this run cannot stand on the board {about.board}: rule {refused.rule}: {refused.detail}")
        made.rename(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return target, verification
