"""`sopbench score`: judge a run's replies under another profile, without the model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sopbench.errors import EXIT_COMPLETE, EXIT_UNSCORED, command

HELP = """Re-score a run: its raw replies are parsed and judged again, under any profile.

Under a more lenient profile some trajectories of a semi-online run would go on past the last recorded reply; those are not scored, and bounds are given. Play with --after-mismatch continue to avoid that.

Example: sopbench score runs/my-run --profile strict
"""


def register(app: typer.Typer) -> None:
    @app.command(help=HELP)
    def score(
        run: Annotated[Path, typer.Argument(help="Folder of the run.", show_default=False)],
        profile: Annotated[str, typer.Option(help="The profile to judge by.", show_default=False)],
        data: Annotated[Path | None, typer.Option(help="Where the trajectory file is now.")] = None,
        out: Annotated[
            Path | None, typer.Option(help="Folder of the re-scored run (default: RUN/rescored/PROFILE).")
        ] = None,
        as_json: Annotated[bool, typer.Option("--json", help="Print the summary as one JSON object.")] = False,
    ) -> None:
        from sopbench.api import rescore
        from sopbench.cli.show import print_summary
        from sopbench.cli.terminal import print_json
        from sopbench.suites import DataSource

        rescored = rescore(run, profile, source=DataSource(data) if data else None, out=out)
        if as_json:
            print_json(rescored.summary)
        else:
            print_summary(rescored.summary)
            if "beyond_recording" in rescored.summary["not_scored_reasons"]:
                print(
                    "beyond_recording: under this profile they go on past their last reply; --after-mismatch continue records all"
                )
            print(f"\nrun     {rescored.path}\nreport  write it with: {command('sopbench', 'report', rescored.path)}")
        raise typer.Exit(EXIT_COMPLETE if rescored.summary["complete"] else EXIT_UNSCORED)
