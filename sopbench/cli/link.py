"""`sopbench link`: offline, semi-online and online results of the same models side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sopbench.linking.agreement import Agreement
    from sopbench.linking.link import Link, Told

HELP = """Put static, semi-online and online results of the same models side by side: a table, how well each metric tells online success over the models
(R^2 of a straight line and Spearman's rank correlation, with bootstrap intervals and n), and how often they agree task by task.

A model is known by its name and adapter; several runs of it on one suite are averaged. Runs of one protocol must be on the same data and profile.

`less one` is the range that R^2 takes when one model is left out. With few models the intervals are wide, and one model more can change R^2 a lot: `sopbench link --published` shows that on the paper's own table.

Examples:

  sopbench link runs/base-static runs/base-sop runs/base-online runs/trained-static runs/trained-sop runs/trained-online

  sopbench link runs/* --plot link.svg

  sopbench link --published
"""

SHORT = {"SOP PG": "PG", "SOP TSR": "TSR", "SOP Score": "Score", "online success": "online"}


def register(app: typer.Typer) -> None:
    @app.command(help=HELP)
    def link(
        runs: Annotated[list[Path] | None, typer.Argument(help="Folders of runs.", show_default=False)] = None,
        published: Annotated[
            bool,
            typer.Option("--published", help="Fit the paper's table (arXiv 2509.11543, table 2) in place of runs."),
        ] = False,
        table: Annotated[
            Path | None, typer.Option(help="With --published: another copy of that table, as CSV.", show_default=False)
        ] = None,
        plot: Annotated[
            Path | None, typer.Option(help="Write the scatters to this SVG file.", show_default=False)
        ] = None,
        as_json: Annotated[bool, typer.Option("--json", help="Print it as one JSON object.")] = False,
    ) -> None:
        from sopbench.cli.terminal import print_json
        from sopbench.errors import UsageError
        from sopbench.linking import link as linking
        from sopbench.linking.plot import scatters

        if published:
            if runs or plot:
                raise UsageError("--published is about the paper's table: leave the runs and --plot away")
            found = linking.published(table)
            if as_json:
                print_json({label: linking.told_as_dict(told) for label, told in found})
            else:
                print_fits("AndroidWorld success told by SOP TSR (arXiv 2509.11543, table 2)", found)
            return
        if table is not None:
            raise UsageError("--table belongs to --published")
        result = linking.link(runs or [])
        if as_json:
            print_json(result.as_dict())
        else:
            print_link(result)
        if plot is not None:
            plot.write_text(scatters(result), encoding="utf-8")
            if not as_json:
                print(f"plot    {plot}")


def print_link(result: Link) -> None:
    """The three tables, as the terminal shows them."""
    metrics = result.metrics
    adapters = {model.adapter for model in result.models}
    rows = [
        (
            model.label if len(adapters) == 1 else f"{model.label} ({model.adapter})",
            *(f"{model.values[m]:.1f}" if m in model.values else "-" for m in metrics),
        )
        for model in result.models
    ]
    _columns("percent", ("model", *(SHORT.get(m, m) for m in metrics)), rows)
    if result.told:
        print_fits("over models", [(f"{t.what} told by {t.by}", t) for t in result.told])
    if result.agreements:
        print_agreements(result.agreements)


def print_fits(title: str, found: Sequence[tuple[str, Told]]) -> None:
    rows = []
    for label, told in found:
        if (fit := told.fit) is None:
            rows.append((label, str(len(told.models)), "-", "", "-", "", ""))
            continue
        spreads = [
            f"{s.low:.2f}–{s.high:.2f}" if s else "-"
            for s in (fit.r2_interval, fit.spearman_interval, fit.r2_without_one)
        ]
        rows.append((label, str(fit.n), f"{fit.r2:.3f}", spreads[0], f"{fit.spearman:.2f}", spreads[1], spreads[2]))
    _columns(title, ("", "n", "R^2", "95 %", "rank", "95 %", "less one"), rows)
    for label, told in found:
        if told.why_not:
            print(f"{label}: {told.why_not}")


def print_agreements(agreements: Sequence[Agreement]) -> None:
    names = {"static": "static", "semi_online": "SOP", "online": "online"}
    rows = [
        (
            f"{names[a.first]} and {names[a.second]}",
            *(str(v) for v in (a.n, f"{100 * a.same:.1f}", a.both, a.neither, a.only_first, a.only_second)),
            "-" if a.phi is None else f"{a.phi:.2f}",
        )
        for a in agreements
    ]
    title = "task by task, over all models: solved means every step right (online: by the environment's word)"
    _columns(title, ("", "n", "agree %", "both", "neither", "1st only", "2nd only", "phi"), rows)


def _columns(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Aligned columns as wide as they must be: a name that is cut off could not be told from another."""
    from sopbench.cli.terminal import safe

    cells = [[safe(cell, 120) for cell in row] for row in (head, *rows)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(head))]
    print(title)
    for number, row in enumerate(cells):
        print(
            "  ".join(
                cell.ljust(w) if k == 0 else cell.rjust(w) for k, (cell, w) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
        )
        if number == 0:
            print("-" * (sum(widths) + 2 * (len(widths) - 1)))
    print()
