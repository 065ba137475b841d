"""`sopbench board`: build the boards' page, check every submission, show a board in the terminal."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sopbench.errors import EXIT_BAD_INPUT, EXIT_UNSCORED

if TYPE_CHECKING:
    from sopbench.leaderboard.boards import Boards
    from sopbench.leaderboard.repository import Checked

BUILD = """Verify every submission and build the page: a folder that opens from disk and loads nothing from elsewhere.

Example: sopbench board build --out site
"""
CHECK = """Verify every submission of the repository.

Exit status 0: all are verified; 2: one is refused; 3: one could not be judged, since its board's data is not here.

Example: sopbench board check --jobs 4
"""
SHOW = """Show a board in the terminal, verified now.

Examples:

  sopbench board show

  sopbench board show pocket-sop --json
"""

DEFINE = """Print the definition of a board for a suite: its data, profile and limits, pinned as they are here.

Example: sopbench board define pocket-online
"""

Root = Annotated[
    Path | None,
    typer.Option("--boards", help="The folder `leaderboards` (default: this checkout's).", show_default=False),
]
Data = Annotated[Path | None, typer.Option(help="Trajectory file of boards that bring none (sop-androidcontrol).")]
Images = Annotated[Path | None, typer.Option(help="Folder of its screens.")]
Jobs = Annotated[int | None, typer.Option(help="Processes (default: one a core).", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print everything as one JSON object.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]


def register(app: typer.Typer) -> None:
    board = typer.Typer(help="Leaderboards: build the page, check submissions, show a board.", no_args_is_help=True)

    @board.callback()
    def group() -> None:
        pass

    @board.command(help=BUILD)
    def build(
        out: Annotated[Path, typer.Option(help="Folder of the page; an older page there is replaced.")] = Path("site"),
        root: Root = None,
        data: Data = None,
        images: Images = None,
        trajectories: Annotated[
            bool, typer.Option("--trajectories/--no-trajectories", help="Pages with every step of each submission.")
        ] = True,
        screens: Annotated[
            bool, typer.Option("--screens", help="With the data's screens in them, where those are here (large).")
        ] = False,
        jobs: Jobs = None,
        as_json: AsJson = False,
        quiet: Quiet = False,
    ) -> None:
        from sopbench.cli.terminal import print_json
        from sopbench.leaderboard.page.site import build_site

        boards, checked = _checked(root, None, data, images, jobs, quiet=quiet or as_json)
        page = build_site(
            boards,
            checked,
            out,
            source=_source(data, images),
            trajectories=trajectories,
            screens=screens,
            progress=None if quiet or as_json else _progress("pages"),
        )
        if as_json:
            print_json({"page": str(page), "submissions": [_plain(one) for one in checked]})
        else:
            print(page)
        _leave(checked)

    @board.command(help=CHECK)
    def check(
        board: Annotated[str | None, typer.Argument(help="Only this board.", show_default=False)] = None,
        root: Root = None,
        data: Data = None,
        images: Images = None,
        jobs: Jobs = None,
        as_json: AsJson = False,
        quiet: Quiet = False,
    ) -> None:
        from sopbench.cli.terminal import print_json, safe

        started = time.monotonic()
        _, checked = _checked(root, board, data, images, jobs, quiet=quiet or as_json)
        if as_json:
            print_json({"submissions": [_plain(one) for one in checked]})
        else:
            for one in checked:
                if (refused := one.verification.refused) is not None:
                    print(f"{one.board}/{safe(one.path.name)}: {refused.rule}: {safe(refused.detail, 600)}")
            verified = sum(one.row is not None for one in checked)
            print(f"{verified} of {len(checked)} submissions verified in {time.monotonic() - started:.1f} s")
        _leave(checked)

    @board.command(help=SHOW)
    def show(
        board: Annotated[str | None, typer.Argument(help="The board (without it: a list).", show_default=False)] = None,
        root: Root = None,
        data: Data = None,
        images: Images = None,
        jobs: Jobs = None,
        as_json: AsJson = False,
    ) -> None:
        from sopbench.leaderboard.boards import load_boards

        if board is None:
            _list(load_boards(root), as_json=as_json)
        else:
            boards, checked = _checked(root, board, data, images, jobs, quiet=as_json)
            _show(boards, board, checked, as_json=as_json)

    @board.command(help=DEFINE)
    def define(
        suite: Annotated[str, typer.Argument(help="The suite; `sopbench suites` lists them.", show_default=False)],
        data: Data = None,
        images: Images = None,
        source: Annotated[str, typer.Option(help="Where the data is to be had, in words.")] = "ships with the package",
    ) -> None:
        from sopbench.leaderboard.boards import definition_of

        typer.echo(definition_of(suite, _source(data, images), source), nl=False)

    app.add_typer(board, name="board")


def _checked(
    root: Path | None, board: str | None, data: Path | None, images: Path | None, jobs: int | None, *, quiet: bool
) -> tuple[Boards, list[Checked]]:
    from sopbench.leaderboard.boards import load_boards
    from sopbench.leaderboard.repository import check_all, submission_paths

    boards = load_boards(root)
    paths = submission_paths(boards, board)
    tell = None if quiet else _progress("submissions")
    done = 0

    def told(one: Checked) -> None:
        nonlocal done
        done += 1
        if tell is not None:
            tell(done, len(paths))

    return boards, check_all(boards, paths, source=_source(data, images), jobs=jobs or os.cpu_count(), told=told)


def _source(data: Path | None, images: Path | None) -> Any:
    from sopbench.suites.base import DataSource

    return DataSource(data, images) if data or images else None


def _progress(what: str) -> Any:
    """A live count with rate and time left on a terminal, a line every ten seconds elsewhere."""
    from sopbench.cli.terminal import PLAIN_LINE_SECONDS, duration

    started = printed = time.monotonic()
    live = sys.stderr.isatty()

    def tell(done: int, total: int) -> None:
        nonlocal printed
        now = time.monotonic()
        if not live and now - printed < PLAIN_LINE_SECONDS:
            return
        printed = now
        rate = done / max(now - started, 1e-9)
        line = f"{done:,}/{total:,} {what}  {rate:.1f}/s  ETA {duration((total - done) / max(rate, 1e-9))}"
        end = "\r" + " " * (len(line) + 2) + "\r" if live and done == total else "" if live else "\n"
        print(f"\r{line}{end}" if live else line, end="" if live else "\n", file=sys.stderr, flush=True)

    return tell


def _leave(checked: list[Checked]) -> None:
    if any(one.row is None and not one.verification.unjudged for one in checked):
        raise typer.Exit(EXIT_BAD_INPUT)
    if any(one.verification.unjudged for one in checked):
        raise typer.Exit(EXIT_UNSCORED)


def _plain(one: Checked) -> dict[str, Any]:
    return {"board": one.board, **one.verification.as_dict()}


def _list(boards: Boards, *, as_json: bool) -> None:
    from sopbench.cli.terminal import print_json
    from sopbench.leaderboard.repository import submission_paths

    rows = [
        {"id": b.id, "title": b.title, "submissions": len(submission_paths(boards, b.id)), "closed": b.closed}
        for b in boards.by_id.values()
    ]
    if as_json:
        print_json({"boards": rows})
        return
    for row in rows:
        state = "closed" if row["closed"] else f"{row['submissions']} submissions"
        print(f"{row['id']:22} {state:16} {row['title']}")


def _show(boards: Boards, name: str, checked: list[Checked], *, as_json: bool) -> None:
    from rich.table import Table

    from sopbench.cli.terminal import console, print_json, safe
    from sopbench.leaderboard.comment import number
    from sopbench.leaderboard.ranking import order, places
    from sopbench.leaderboard.repository import ranked_rows

    board = boards.get(name)
    rows = ranked_rows(boards, checked)[name]
    own, papers = [r for r in rows if r.tier != "published"], [r for r in rows if r.tier == "published"]
    found = places(own)
    if as_json:
        ranks = [place.rank if place else None for place in found]
        print_json(
            {
                "board": name,
                "rows": [r.as_dict() | {"rank": k} for r, k in zip(own, ranks, strict=True)]
                + [r.as_dict() | {"rank": None} for r in papers],
            }
        )
        return
    table = Table(
        "rank", "model", "organisation", *board.columns, "tier", title=board.title, box=None, title_justify="left"
    )
    for k in order(own, board.headline):
        place = found[k]
        rank = "" if place is None else f"{place.rank}" + (f" (to {place.worst})" if place.worst > place.rank else "")
        table.add_row(
            rank,
            safe(own[k].model, 40),
            safe(own[k].organisation, 30),
            *(number(own[k], c) for c in board.columns),
            own[k].tier,
        )
    for row in papers:
        table.add_row("", safe(row.model, 40), "", *(number(row, c) for c in board.columns), row.tier)
    console().print(table)
    if board.closed:
        print(f"takes no submissions yet: {board.closed}")
    if papers:
        print(f"published rows: {papers[0].citation}; not re-scored here, not ranked")
    if any(p is not None and p.tied for p in found):
        print(
            "a rank counts the rows that are better by more than chance would explain (95 %, paired by trajectory); rows that share it are ties"
        )
