"""`sopbench report`: a run as a page to look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

HELP = """Write the HTML report of a run: headline, charts, and every step with its screen, the expert's target and the model's reply.

One self-contained file (RUN/report.html), or a folder (RUN/report/index.html) where the screens are too many for one. It opens from disk and loads nothing from elsewhere.

Example: sopbench report runs/my-run
"""


def register(app: typer.Typer) -> None:
    @app.command(help=HELP)
    def report(
        run: Annotated[Path, typer.Argument(help="Folder of the run.", show_default=False)],
        out: Annotated[
            Path | None, typer.Option(help="The page to write, or a folder for it (default: in the run's folder).")
        ] = None,
        data: Annotated[
            Path | None, typer.Option(help="Where the trajectory file is now (default: where the run found it).")
        ] = None,
        images: Annotated[Path | None, typer.Option(help="Where its screens are now.")] = None,
        image_pattern: Annotated[
            str | None, typer.Option(help="How they are named: {name}, {episode}, {step}.", show_default=False)
        ] = None,
    ) -> None:
        import sys
        from dataclasses import replace

        from sopbench.api import load_run
        from sopbench.errors import UsageError
        from sopbench.report import write_report
        from sopbench.suites import source_of, trajectories_of

        if data is not None and not data.is_file():
            raise UsageError(f"--data {data}: no such file")
        recorded = load_run(run)
        source = None
        if data is not None or images is not None or image_pattern is not None:
            known = source_of(recorded.info)
            source = replace(
                known, file=data or known.file, images=images or known.images, pattern=image_pattern or known.pattern
            )
        trajectories = trajectories_of(recorded.info, source)
        if trajectories is None:
            print(
                "the recordings were not found: no goals and screens in this report (--data FILE --images DIR)",
                file=sys.stderr,
            )
        with screens_counted() as progress:
            page = write_report(run, out, trajectories=trajectories, progress=progress)
        print(page)


@contextmanager
def screens_counted(*, quiet: bool = False) -> Iterator[Callable[[int, int], None]]:
    """What to tell how far a report is: it tells a person, where one is watching, and lets Ctrl-C through."""
    import sys

    from sopbench.waiting import interrupts_held

    watched = sys.stderr.isatty() and not quiet
    with interrupts_held() as release:

        def progress(done: int, total: int) -> None:
            release()
            if watched:
                _tell(done, total)

        yield progress


def _tell(done: int, total: int) -> None:
    """A live count on standard error: many large screens take a while."""
    import sys

    if done == total or done % 50 == 0:
        end = "\r" + " " * 40 + "\r" if done == total else ""
        print(f"\rscreens {done:,} of {total:,}{end}", end="", file=sys.stderr, flush=True)
