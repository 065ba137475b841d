"""`uis1-train doctor`: what this machine lacks for training."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sopbench.errors import EXIT_BAD_INPUT

if TYPE_CHECKING:
    from uis1_train.merge.checks import Check

HELP = """Look at this machine and say what training would stumble over, with what to do about it.

Python and the pinned packages, the device and its bfloat16, Ray's needs, free disk; with --model also the model's folder: whole, a chat template, a processor
that makes prompts, and images resized as the adapter counts its coordinates.

Exit status: 0 all is well (there may be notes), 2 there is a problem.

Examples:

  uis1-train doctor

  uis1-train doctor --model Qwen2.5-VL-7B-Instruct --adapter uis1 --out checkpoints
"""
MARKS = {"ok": "ok  ", "note": "note", "problem": "FAIL"}


def register(app: typer.Typer) -> None:
    @app.command(help=HELP)
    def doctor(
        model: Annotated[
            Path | None, typer.Option(help="The model that training starts from.", show_default=False)
        ] = None,
        adapter: Annotated[str, typer.Option(help="The model family's language.")] = "uis1",
        out: Annotated[Path, typer.Option(help="Where checkpoints will go: is there room?")] = Path("checkpoints"),
        embedded: Annotated[
            bool, typer.Option("--embedded", help="For the one-process trainer: Ray, verl and vLLM are not asked for.")
        ] = False,
        as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    ) -> None:
        from sopbench.adapters import get_adapter
        from sopbench.cli.terminal import print_json, safe
        from uis1_train.plan.environment import environment_checks, model_checks

        family = get_adapter(adapter)
        checks: list[Check] = []

        def take(found: Iterable[Check]) -> None:
            for check in found:
                checks.append(check)
                if not as_json:
                    print(safe(f"{MARKS[check.status]}  {check.name}: {check.detail}", 1500), flush=True)
                    if check.fix is not None:
                        print(safe(f"      -> {check.fix}", 1500), flush=True)

        take(environment_checks(out, embedded=embedded))
        if model is not None:
            take(model_checks(model, family))
        sound = all(check.status != "problem" for check in checks)
        if as_json:
            print_json({"ok": sound, "checks": [check.as_dict() for check in checks]})
        else:
            print("this machine is fit for training" if sound else "this machine is not fit for training yet")
        raise typer.Exit(0 if sound else EXIT_BAD_INPUT)
