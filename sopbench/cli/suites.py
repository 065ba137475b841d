"""`sopbench suites`: the benchmarks that can be run."""

from __future__ import annotations

from typing import Annotated

import typer


def register(app: typer.Typer) -> None:
    @app.command(help="List the suites.")
    def suites(as_json: Annotated[bool, typer.Option("--json", help="Print them as one JSON object.")] = False) -> None:
        from sopbench.cli.show import table
        from sopbench.cli.terminal import console, print_json
        from sopbench.suites import SUITES

        if as_json:
            print_json(
                {
                    name: {
                        "protocol": s.protocol,
                        "default_profile": s.default_profile,
                        "needs_data": s.needs_data,
                        "summary": s.summary,
                    }
                    for name, s in SUITES.items()
                }
            )
            return
        rows = [(name, s.protocol, s.default_profile or "the environment", s.summary) for name, s in SUITES.items()]
        console().print(table("", ("suite", "protocol", "scored by", "what"), rows, texts=True))
