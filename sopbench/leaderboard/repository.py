"""A folder `leaderboards`: every submission in it verified, and what can only be seen of all of them together.

Two rules more than for one submission: `place` (it lies under its board, in the folder that its metadata name) and `distinct` (no two submissions of a board have the
same replies). `<board>/reruns.yaml` is a maintainer's: it names the submissions that were run or replayed again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from sopbench.errors import DataError
from sopbench.files import open_regular, why
from sopbench.leaderboard.boards import Boards, Sha, load_boards
from sopbench.leaderboard.plain_text import Line, Prose
from sopbench.leaderboard.published import published_rows
from sopbench.leaderboard.reading import SUMS
from sopbench.leaderboard.row import Row
from sopbench.leaderboard.verifying import Result, Verification, verify
from sopbench.leaderboard.yaml_text import MAX_BYTES, read_yaml
from sopbench.runs.shapes import first_fault
from sopbench.suites.base import DataSource, Loaded

SUBMISSIONS: Final = "submissions"
RERUNS: Final = "reruns.yaml"
PACK: Final = 25
"""Submissions that one process verifies in a go."""


class Rerun(BaseModel):
    """A maintainer's word on one submission. `sums`: the sha256 of its SHA256SUMS, so that it holds for these bytes only."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    sums: Sha
    how: Literal["run", "replay"]
    by: Line
    date: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]
    found: Prose


@dataclass(frozen=True, slots=True)
class Checked:
    """One submission in the repository. `row` is None where it is refused or could not be judged here."""

    board: str
    path: Path
    verification: Verification

    @property
    def row(self) -> Row | None:
        return self.verification.row


def submission_paths(boards: Boards, board: str | None = None) -> list[Path]:
    """The folder of every submission, in order of board and name."""
    chosen = [boards.get(board).id] if board else list(boards.by_id)
    return [
        path
        for name in chosen
        for path in sorted((boards.root / name / SUBMISSIONS).glob("*"))
        if not path.name.startswith(".")
    ]


def check_all(
    boards: Boards,
    paths: Sequence[Path],
    *,
    source: DataSource | None = None,
    jobs: int | None = None,
    told: Callable[[Checked], None] | None = None,
) -> list[Checked]:
    """Verify `paths` (folders below `boards.root`), several at a time, and then what concerns all of them. `told` hears of each as soon as it was verified alone."""
    found: list[Checked] = []
    for path, verification in _verified(boards, paths, source, jobs or os.cpu_count() or 1):
        checked = Checked(path.parent.parent.name, path, _in_place(path, verification))
        found.append(checked)
        if told is not None:
            told(checked)
    return _distinct(found)


def _verified(
    boards: Boards, paths: Sequence[Path], source: DataSource | None, jobs: int
) -> Iterator[tuple[Path, Verification]]:
    """Several processes, each with one board's submissions at a time, so that it reads the data once."""
    packs = list(_packs(paths, jobs))
    if jobs == 1 or len(packs) < 2:
        for pack in packs:
            yield from _verify(boards, pack, source)
        return
    with ProcessPoolExecutor(min(jobs, len(packs))) as pool:
        asked = [pool.submit(_verify_list, boards.root, pack, source) for pack in packs]
        try:
            for answer in asked:
                yield from answer.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _packs(paths: Sequence[Path], jobs: int) -> Iterator[list[Path]]:
    by_board: dict[Path, list[Path]] = {}
    for path in paths:
        by_board.setdefault(path.parent, []).append(path)
    for own in by_board.values():
        size = min(PACK, max(1, -(-len(own) // jobs)))
        yield from (own[start : start + size] for start in range(0, len(own), size))


def _verify_list(root: Path, paths: list[Path], source: DataSource | None) -> list[tuple[Path, Verification]]:
    return list(_verify(load_boards(root), paths, source))


def _verify(boards: Boards, paths: list[Path], source: DataSource | None) -> Iterator[tuple[Path, Verification]]:
    loaded: dict[str, Loaded] = {}
    for path in paths:
        yield path, verify(path, boards=boards, source=_for(boards, path, source), loaded=loaded)


def _for(boards: Boards, path: Path, source: DataSource | None) -> DataSource | None:
    """`source` for boards whose suite brings no data of its own."""
    from sopbench.suites import SUITES

    board = boards.by_id.get(path.parent.parent.name)
    needs = board is not None and board.suite in SUITES and SUITES[board.suite].needs_data
    return source if needs else None


def _in_place(path: Path, verification: Verification) -> Verification:
    row = verification.row
    if row is None:
        return verification
    board = path.parent.parent.name
    if row.board != board:
        return _refused(
            verification, "place", f"it lies under the board {board}, its metadata name {row.board}; move it there"
        )
    wanted = verification.folder
    if wanted is not None and path.name != wanted:
        return _refused(verification, "place", f"its folder must be named {wanted}")
    return verification


def _distinct(found: Sequence[Checked]) -> list[Checked]:
    """The earlier of two equal submissions stays (by date, then name)."""
    first: dict[tuple[str, str], Checked] = {}
    for one in sorted(found, key=lambda c: (c.row.date or "" if c.row else "", c.path.name)):
        if one.row is not None and one.row.replies_sha256 is not None:
            first.setdefault((one.board, one.row.replies_sha256), one)
    out = []
    for one in found:
        row = one.row
        earlier = first.get((one.board, row.replies_sha256)) if row and row.replies_sha256 else None
        if earlier is not None and earlier.path != one.path:
            detail = f"every reply is that of {earlier.path.name}; a board has a model's run once"
            one = replace(one, verification=_refused(one.verification, "distinct", detail))
        out.append(one)
    return out


def _refused(verification: Verification, rule: str, detail: str) -> Verification:
    title = {"place": "it lies where its metadata say", "distinct": "no other submission has the same replies"}[rule]
    return replace(verification, results=(*verification.results, Result(rule, title, "refused", detail)), row=None)


def ranked_rows(boards: Boards, checked: Sequence[Checked]) -> dict[str, list[Row]]:
    """The rows of every board: verified submissions (those that a maintainer ran again are marked so), then published ones."""
    rows: dict[str, list[Row]] = {name: [] for name in boards.by_id}
    reruns = {name: read_reruns(boards.root / name / RERUNS) for name in boards.by_id}
    for one in checked:
        if one.row is not None:
            rows[one.board].append(_with_rerun(one, reruns[one.board]))
    for name, board in boards.by_id.items():
        rows[name] += published_rows(boards, board)
    return rows


def _with_rerun(one: Checked, reruns: Mapping[str, Rerun]) -> Row:
    assert one.row is not None
    rerun = reruns.get(one.path.name)
    if rerun is None or rerun.sums != sums_sha256(one.path):
        return one.row
    words = f"{'run again' if rerun.how == 'run' else 'replayed'} by {rerun.by} on {rerun.date}: {rerun.found}"
    return replace(one.row, tier="re-run", facts={**one.row.facts, "re-run": words})


def sums_sha256(path: Path) -> str:
    try:
        with open_regular(path / SUMS) as handle:
            return hashlib.sha256(handle.read(MAX_BYTES)).hexdigest()
    except OSError as error:
        raise DataError(f"cannot read {path / SUMS} ({why(error)})") from error


def read_reruns(path: Path) -> dict[str, Rerun]:
    """The maintainers' list of a board; empty where there is none. Raises `DataError`."""
    if not path.exists():
        return {}
    try:
        with open_regular(path) as handle:
            data = handle.read(MAX_BYTES + 1)
        return TypeAdapter(dict[str, Rerun]).validate_python(read_yaml(data, str(path)))
    except OSError as error:
        raise DataError(f"cannot read {path} ({why(error)})") from error
    except ValidationError as error:
        raise DataError(f"{path}: {first_fault(error)}") from error
