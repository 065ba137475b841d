"""`sopbench compare`: two runs on the same trajectories."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

HELP = """Compare two runs, trajectory by trajectory: difference with a 95 % bootstrap interval, McNemar's exact test on success, and the trajectories that flip.

Of static runs the steps are compared; the interval still resamples trajectories, whose steps are not independent.

Runs on other data, trajectories or profiles are refused.

Example: sopbench compare runs/base runs/trained
"""
SHOWN = 20


def register(app: typer.Typer) -> None:
    @app.command(help=HELP)
    def compare(
        a: Annotated[Path, typer.Argument(help="Folder of the first run.", show_default=False)],
        b: Annotated[Path, typer.Argument(help="Folder of the second run.", show_default=False)],
        as_json: Annotated[bool, typer.Option("--json", help="Print the comparison as one JSON object.")] = False,
    ) -> None:
        from sopbench.api import load_run
        from sopbench.cli.terminal import print_json
        from sopbench.runs.compare import compare as compare_runs

        result = compare_runs(load_run(a), load_run(b))
        if as_json:
            print_json(result)
        else:
            _print(result)


def _print(result: dict[str, Any]) -> None:
    from sopbench.cli.show import table
    from sopbench.cli.terminal import console, safe

    out = console()
    for side in ("a", "b"):
        who = " · ".join(
            safe(result[side][name], limit) for name, limit in (("model", 60), ("adapter", 60), ("run", 500))
        )
        out.print(f"{side}  {who}")
    rows = []
    for name, diff in result["difference"].items():
        low, high = diff["ci95"]
        rows.append(
            (
                name if name == "accuracy" else {"score": "Score"}.get(name, name.upper()),
                f"{result['a'][name]:.1f}",
                f"{result['b'][name]:.1f}",
                f"{diff['value']:+.1f}",
                f"{low:+.1f} – {high:+.1f}",
            )
        )
    steps = result.get("unit") == "steps"
    of = f"{result['n']} steps of {result['n_trajectories']} trajectories" if steps else f"{result['n']} trajectories"
    out.print(table(of, ("percent", "a", "b", "b - a", "95 % interval"), rows))
    if result["differs_in"]:
        out.print("the runs differ in: " + safe(", ".join(result["differs_in"]), 500))
    if test := result["mcnemar"]:
        out.print(
            f"McNemar on {'steps' if steps else 'TSR'}: only a {test['only_a']}, only b {test['only_b']}, p = {test['p']:.3g}"
        )
    else:
        out.print("McNemar needs one repeat on each side")
    for side in ("a", "b"):
        flips = result[f"only_{side}"]
        if flips:
            more = f" and {len(flips) - SHOWN} more (--json lists them)" if len(flips) > SHOWN else ""
            out.print(f"better in {side} (episodes): " + ", ".join(safe(f, 40) for f in flips[:SHOWN]) + more)
