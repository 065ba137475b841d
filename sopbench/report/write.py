"""`write_report`: from a run folder to one HTML file, or to a folder where the screens are too many for one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sopbench.errors import UsageError
from sopbench.files import replacing
from sopbench.report import plain
from sopbench.report.episodes import build_episodes
from sopbench.report.overview import build_overview
from sopbench.report.page import render_page
from sopbench.report.screens import Progress, make_gallery
from sopbench.runs.folder import RunFolder
from sopbench.trajectory import Trajectory

INLINE_LIMIT_BYTES = 18_000_000
"""Bytes of pictures that a single file may hold; base64 makes them a third more, about 25 MB."""


def write_report(
    run_dir: Path,
    out: Path | None = None,
    *,
    trajectories: Mapping[str, Trajectory] | None,
    inline_limit_bytes: int = INLINE_LIMIT_BYTES,
    progress: Progress | None = None,
) -> Path:
    """Write the report of the run in `run_dir` and return the path of its HTML page.

    `trajectories` (episode id -> recording) give goals, gold targets and screens; None shows what the journal alone knows. For an online run,
    trajectories without steps give the goals. Screens that cannot be read become placeholders that say why.

    Without `out` the page is `report.html` in the run folder, or `report/index.html` with `report/screens/` where the pictures
    of the screens that the model was shown exceed `inline_limit_bytes`. An `out` that ends in `.html` names the file (or, by its stem, the folder); any
    other `out` names the folder. Raises `DataError` where the run cannot be read and `UsageError` where `out` cannot be written.
    """
    run = RunFolder(run_dir)
    info = run.info()
    summary: dict[str, Any] = run.summary() if run.summary_path.is_file() else {}
    overview = build_overview(info, summary)
    episodes = build_episodes(
        run.episodes(),
        trajectories,
        protocol=overview["protocol"],
        complete=overview["complete"],
        repeats=overview["repeats"],
        n_trajectories=plain.count(info.facts.get("n_trajectories")) or None,
        screens_dir=run.screens_path,
    )
    page, folder = _places(run, out)
    try:
        gallery = make_gallery(
            episodes.slots, inline_limit_bytes=inline_limit_bytes, folder=folder / "screens", progress=progress
        )
        if gallery.inline is None:
            page = folder / "index.html"
        data = {
            "v": 1,
            "overview": overview,
            "rows": episodes.rows,
            "screens": gallery.slots,
            "lengths": episodes.known_lengths,
            "recordings": trajectories is not None,
        }
        page.parent.mkdir(parents=True, exist_ok=True)
        with replacing(page, lasting=False) as handle:
            title = f"{overview['model']} on {overview['suite']} · sopbench report"
            handle.writelines(piece.encode() for piece in render_page(data, gallery.inline, title=title))
    except OSError as error:
        raise UsageError(
            f"cannot write the report to {page.parent} ({error.strerror}); choose a place with --out"
        ) from error
    if out is None and page != run.report_path:
        run.report_path.unlink(missing_ok=True)  # an older single-file report would look current
    return page


def _places(run: RunFolder, out: Path | None) -> tuple[Path, Path]:
    """(the page where pictures are inline, the folder where they are not)"""
    if out is None:
        return run.report_path, run.path / "report"
    if out.suffix.lower() in (".html", ".htm"):
        return out, out.with_suffix("")
    return out / "index.html", out
