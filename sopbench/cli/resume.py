"""`sopbench resume`: play what a run still misses."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

HELP = """Continue an interrupted run, or try again what infrastructure failed.

Only settings may change (endpoints, concurrency, timeouts, where the data is); anything that would change the meaning of the numbers is refused, by name.

Example: sopbench resume runs/pocket-ui-s1 --base-url http://other:8000/v1
"""


def register(app: typer.Typer) -> None:
    @app.command(help=HELP)
    def resume(
        run: Annotated[Path, typer.Argument(help="Folder of the run.", show_default=False)],
        base_url: Annotated[list[str] | None, typer.Option(help="Other endpoints that serve the same model.")] = None,
        concurrency: Annotated[int | None, typer.Option(help="Most trajectories in flight.")] = None,
        executor: Annotated[str | None, typer.Option(help="Who plays: local or ray.", show_default=False)] = None,
        ray_address: Annotated[str | None, typer.Option(help="Of the Ray cluster.", show_default=False)] = None,
        timeout: Annotated[float | None, typer.Option(help="Seconds that one attempt may take.")] = None,
        deadline: Annotated[float | None, typer.Option(help="Seconds that one request may take.")] = None,
        data: Annotated[Path | None, typer.Option(help="Where the trajectory file is now.")] = None,
        images: Annotated[Path | None, typer.Option(help="Where its screens are now.")] = None,
        image_pattern: Annotated[str | None, typer.Option(help="How screens are named there.")] = None,
        report: Annotated[
            bool | None,
            typer.Option(
                "--report/--no-report",
                help="Write report.html at the end (default: unless --json).",
                show_default=False,
            ),
        ] = None,
        as_json: Annotated[
            bool, typer.Option("--json", help="Print the summary as one JSON object on standard output.")
        ] = False,
        quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
    ) -> None:
        from sopbench import api
        from sopbench.cli.run import play

        asked: dict[str, Any] = {
            "base_urls": tuple(base_url) if base_url else None,
            "concurrency": concurrency,
            "executor": executor,
            "ray_address": ray_address,
            "attempt_timeout": timeout,
            "deadline": deadline,
            "data": data,
            "images": images,
            "image_pattern": image_pattern,
        }
        overrides = {key: value for key, value in asked.items() if value is not None}
        play(
            lambda listener: api.resume(run, listener=listener, **overrides),
            as_json=as_json,
            quiet=quiet,
            report=report,
        )
