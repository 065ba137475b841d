"""Writing the page: the whole folder is made beside its place and takes it when it is done."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from sopbench.errors import SopbenchError, UsageError
from sopbench.files import as_json
from sopbench.leaderboard.boards import Board, Boards
from sopbench.leaderboard.page.index import index_page
from sopbench.leaderboard.page.submission import submission_page
from sopbench.leaderboard.reading import RUN, STEPS, SUMMARY, journal_lines, read_submission
from sopbench.leaderboard.recorded import RecordedScreen
from sopbench.leaderboard.repository import Checked, ranked_rows
from sopbench.leaderboard.row import Row
from sopbench.leaderboard.scatter import scatter_of
from sopbench.leaderboard.strict_json import json_object
from sopbench.suites.base import DataSource
from sopbench.trajectory import Trajectory

MARK: Final = ".sopbench-board"
"""Stands in every folder that `build_site` made: no other folder is replaced."""
Progress = Callable[[int, int], None]


def build_site(
    boards: Boards,
    checked: Sequence[Checked],
    out: Path,
    *,
    source: DataSource | None = None,
    trajectories: bool = True,
    screens: bool = False,
    progress: Progress | None = None,
) -> Path:
    """Write the page of `boards` with its verified submissions to the folder `out`; return the address of its index.

    `trajectories`: a page with the steps of each submission; `screens`: with the data's screens in it, where they are here. Raises `UsageError` where `out` is in use for something else.
    """
    out = out.absolute()
    if out.exists() and not (out.is_dir() and ((out / MARK).is_file() or not any(out.iterdir()))):
        raise UsageError(f"{out} holds something else than an older page; choose a new folder with --out")
    rows = ranked_rows(boards, checked)
    out.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".board-", dir=out.parent))
    try:
        made = scratch / "new"
        made.mkdir()
        (made / MARK).write_text("made by `sopbench board build`, which replaces this folder\n", encoding="utf-8")
        _write(
            made / "index.html",
            index_page(boards, rows, scatter_of(boards, [r for of_one in rows.values() for r in of_one]), _address),
        )
        verified = [one for one in checked if one.row is not None]
        for number, one in enumerate(verified, start=1):
            row = next(row for row in rows[one.board] if row.folder == one.path.name)
            _submission(
                boards.get(one.board),
                one,
                row,
                made / one.board / one.path.name,
                source,
                trajectories=trajectories,
                screens=screens,
            )
            if progress is not None:
                progress(number, len(verified))
        if out.exists():
            out.rename(scratch / "old")
        made.rename(out)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return out / "index.html"


def _address(row: Row) -> str | None:
    return f"{row.board}/{row.folder}/index.html" if row.folder else None


def _submission(
    board: Board, one: Checked, row: Row, folder: Path, source: DataSource | None, *, trajectories: bool, screens: bool
) -> None:
    folder.mkdir(parents=True)
    submission = read_submission(one.path)
    summary = json_object(submission.file(SUMMARY), SUMMARY)
    if trajectories:
        _trajectories(submission.files, folder / "trajectories.html", source, screens=screens)
    page = submission_page(board, row, summary, one.verification.results, trajectories=trajectories)
    _write(folder / "index.html", page)


def _trajectories(files: Mapping[str, bytes], page: Path, source: DataSource | None, *, screens: bool) -> None:
    """The report of the run, made from the submission's own lines in a folder that is thrown away."""
    from sopbench.api import Run
    from sopbench.report import write_report
    from sopbench.suites import get_suite, trajectories_of

    with tempfile.TemporaryDirectory(prefix="sopbench-board-") as place:
        run = Path(place)
        (run / "run.json").write_bytes(files[RUN])
        summary = {**json_object(files[SUMMARY], SUMMARY), "run": ""}
        (run / "summary.json").write_bytes(as_json(summary))
        with (run / "steps.jsonl").open("wb") as journal:
            journal.writelines(line + b"\n" for line in journal_lines(files[STEPS]))
        info = Run(run).info
        needs = get_suite(info.facts["suite"]).needs_data
        try:
            found = trajectories_of(info, source if needs else DataSource())
        except SopbenchError:
            found = None
        if found is not None and not screens:
            found = _without_screens(found)
        write_report(run, page, trajectories=found)


def _without_screens(found: Mapping[str, Trajectory]) -> dict[str, Trajectory]:
    """The same recordings, of whose screens only the names are known: their goals and targets make a small page."""
    return {
        name: replace(t, steps=tuple(replace(step, screen=_Elsewhere(step.screen.label)) for step in t.steps))
        for name, t in found.items()
    }


class _Elsewhere(RecordedScreen):
    """A screen that was left out of the page on purpose."""

    def __init__(self, label: str) -> None:
        from sopbench.geometry import Size

        super().__init__("0" * 64, Size(1, 1))
        self.label = label


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")
