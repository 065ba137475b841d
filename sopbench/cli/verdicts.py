"""`sopbench verdicts`: the replies of a run under several profiles, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

HELP = """Judge the recorded replies of a run under several profiles, and count the steps on which they disagree; also what the replies that are no action would be worth to an evaluator that reads them as `wait`, or that sets the whole progress to 0 at one.

This measures rules, not the model. Play with --after-mismatch continue to have a reply to every step (then PG and TSR are given too).

Example: sopbench verdicts runs/my-run --profile uis1-released --profile strict
"""
DEFAULT = ("uis1-released", "uis1-boxes", "strict")


def register(app: typer.Typer) -> None:
    @app.command(help=HELP)
    def verdicts(
        run: Annotated[Path, typer.Argument(help="Folder of the run.", show_default=False)],
        profile: Annotated[
            list[str] | None,
            typer.Option(help=f"A profile to judge by; repeat it for several (default: {', '.join(DEFAULT)})."),
        ] = None,
        data: Annotated[Path | None, typer.Option(help="Where the trajectory file is now.")] = None,
        as_json: Annotated[bool, typer.Option("--json", help="Print the counts as one JSON object.")] = False,
    ) -> None:
        from sopbench.api import verdicts as of_run
        from sopbench.cli.terminal import print_json
        from sopbench.suites import DataSource

        found = of_run(run, profile or DEFAULT, source=DataSource(data) if data else None)
        if as_json:
            print_json(found)
        else:
            _print(found)


def _print(found: dict[str, Any]) -> None:
    from sopbench.cli.show import table
    from sopbench.cli.terminal import console

    out = console()
    unparsed = found["unparsed"]
    readings = [("", "matched")] + ([("_if_wait", "as wait")] if unparsed["steps"] else [])
    whole = any("pg" in row for row in found["profiles"].values())
    columns, rows = ["profile"], [[name] for name in found["profiles"]]
    for suffix, title in readings:
        columns += [title, *(("PG", "TSR") if whole else ())]
        for cells, row in zip(rows, found["profiles"].values(), strict=True):
            cells += [row[f"match{suffix}"], *((row[f"pg{suffix}"], row[f"tsr{suffix}"]) if whole else ())]
    if whole and unparsed["steps"]:
        columns.append("PG erased")
        for cells, row in zip(rows, found["profiles"].values(), strict=True):
            cells.append(row["pg_if_erased"])
    out.print(table(f"{found['steps']} recorded steps of {found['of']}", columns, rows))
    out.print(f"replies that are no action: {unparsed['steps']}, of them {unparsed['on_wait']} where the expert waits")
    if unparsed["steps"]:
        out.print(
            "as wait: what an evaluator counts that reads those replies as wait; PG erased: where one of them sets the whole progress to 0"
        )
    for change in found["changes"]:
        by = ", ".join(f"{kind} {n['only_a']} / {n['only_b']}" for kind, n in change["by_action"].items())
        out.print(
            f"matched by {change['a']} only: {change['only_a']}; by {change['b']} only: {change['only_b']}"
            + (f" ({by})" if by else "")
        )
