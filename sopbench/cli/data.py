"""`sopbench data`: check a trajectory file and its screens (here), get and convert public data sets (`data_sets`, `data_convert`)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sopbench.cli import data_convert, data_sets
from sopbench.errors import EXIT_BAD_INPUT, UsageError

if TYPE_CHECKING:
    from sopbench.datacheck import DataReport, Finding, Place

EXAMPLES = 3
HELP = """Check a trajectory file and, with --images, every screen it names.

Errors (exit status 2) would change a result: lines that are no trajectory, screens that are missing or unreadable, gold points off their screen. Warnings (exit status 0) are oddities that the profiles have rules for.

Example: sopbench data check android_control_evaluation_std.jsonl --images images/
"""


def register(app: typer.Typer) -> None:
    data = typer.Typer(help="Get, convert and check trajectory data.", no_args_is_help=True)

    @data.callback()
    def group() -> None:
        pass

    @data.command(help=HELP)
    def check(
        file: Annotated[Path, typer.Argument(help="The JSONL file of trajectories.", show_default=False)],
        images: Annotated[Path | None, typer.Option(help="Folder that holds the screens.")] = None,
        image_pattern: Annotated[
            str | None,
            typer.Option(
                help="How screens are named there, from {name}, {episode}, {step} (default: {name}).",
                show_default=False,
            ),
        ] = None,
        deep: Annotated[bool, typer.Option("--deep", help="Decode every screen, not only its header.")] = False,
        as_json: Annotated[bool, typer.Option("--json", help="Print everything as one JSON object.")] = False,
    ) -> None:
        from sopbench.cli.terminal import print_json
        from sopbench.datacheck import check_data
        from sopbench.waiting import interrupts_held

        if images is None and (deep or image_pattern is not None):
            raise UsageError("--deep and --image-pattern are about screens: give their folder with --images DIR")
        with interrupts_held() as release:
            report = check_data(file, images, image_pattern or "{name}", deep=deep, watch=_Progress(release))
        if as_json:
            print_json(report.as_dict())
        else:
            _print(report)
        if not report.ok:
            raise typer.Exit(EXIT_BAD_INPUT)

    data_sets.register(data)
    data_convert.register(data)
    app.add_typer(data, name="data")


class _Progress:
    """A counter on standard error, on a terminal only. `release` lets Ctrl-C through."""

    def __init__(self, release: Callable[[], None]) -> None:
        self._release = release

    def __call__(self, what: str, done: int, total: int) -> None:
        self._release()
        if sys.stderr.isatty() and (done % 50 == 0 or done == total):
            end = "\r\x1b[K" if done == total else "\r"
            print(f"\rchecking {what}: {done}/{total}", end=end, file=sys.stderr, flush=True)


def _print(report: DataReport) -> None:
    from sopbench.cli.terminal import console, safe

    out = console()
    out.print(safe(report.file, 500), style="bold")
    out.print(f"sha256        {report.sha256}")
    length = report.length
    if length:
        spread = f"mean {length['mean']}, median {length['median']:g}, {length['min']} to {length['max']}"
        out.print(f"trajectories  {report.trajectories:,} (steps: {spread}; {length['of_one_step']} of one step)")
    out.print(f"steps         {report.steps:,}  " + ", ".join(f"{kind} {n:,}" for kind, n in report.actions.items()))
    if report.screens_checked:
        sizes = list(report.sizes.items())
        more = f" and {len(sizes) - 8} more sizes" if len(sizes) > 8 else ""
        seen = ", ".join(f"{size} ({n:,})" for size, n in sizes[:8]) or "none could be read"
        out.print(f"screens       {seen}{more}")
    else:
        out.print("screens       not looked at: give their folder with --images DIR")
    for finding in report.findings:
        out.print(f"{finding.level:<8}  {len(finding.places):>6,}  {finding.summary}", style=_style(finding))
        for place in finding.places[:EXAMPLES]:
            out.print(" " * 18 + safe(_where(place), 400), style="dim")
        if len(finding.places) > EXAMPLES:
            out.print(" " * 18 + f"and {len(finding.places) - EXAMPLES:,} more (--json lists them all)", style="dim")
    if report.pattern:
        out.print(f"The screens are there under other names: --image-pattern '{safe(report.pattern)}' finds them.")
    if not report.findings:
        out.print("nothing found")


def _style(finding: Finding) -> str:
    return "red" if finding.level == "error" else "yellow"


def _where(place: Place) -> str:
    if place.line is not None or place.episode is None:
        return place.detail or ""
    step = "" if place.step is None else f" step {place.step}"
    return f"episode {place.episode}{step}" + (f": {place.detail}" if place.detail else "")
