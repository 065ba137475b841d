"""`sopbench doctor`: is this endpoint fit for a run?"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from sopbench.errors import EXIT_BAD_INPUT, EXIT_COMPLETE

if TYPE_CHECKING:
    from sopbench.adapters.base import Adapter
    from sopbench.clients.doctor import Check
    from sopbench.geometry import Size

HELP = """Ask an endpoint a few questions that find early what a run would find late.

Is it reachable, which model does it serve, does it take as many screens as a request carries, are images resized to the size that the adapter counts
in, how long does an answer take. Exit status: 0 all is well, 2 there is a problem.

Example: sopbench doctor --base-url http://localhost:8000/v1
"""

_MARKS = {"ok": "ok  ", "note": "note", "problem": "FAIL"}


def register(app: typer.Typer) -> None:
    @app.command(help=HELP)
    def doctor(
        base_url: Annotated[
            str,
            typer.Option(
                help="Address of the OpenAI-compatible endpoint, such as http://localhost:8000/v1.", show_default=False
            ),
        ],
        model: Annotated[
            str | None, typer.Option(help="The model's name (default: the one that the endpoint serves).")
        ] = None,
        adapter: Annotated[
            str, typer.Option(help="The model family's language; `sopbench adapters` lists them.")
        ] = "uis1",
        history_images: Annotated[
            int | None,
            typer.Option(min=0, max=100, help="How many screens a request carries (default: the adapter's choice)."),
        ] = None,
        screen: Annotated[str, typer.Option(help="Size of the test screens in pixels, as WIDTHxHEIGHT.")] = "1080x2400",
        timeout: Annotated[float, typer.Option(min=0.1, help="Seconds to wait for one answer.")] = 120.0,
        prompts: Annotated[
            str, typer.Option(help="Whose words: official, builtin, or auto, as in `sopbench run`.")
        ] = "auto",
        as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    ) -> None:
        import asyncio

        from sopbench.cli.prompts import described, shown, worded_here
        from sopbench.cli.terminal import print_json
        from sopbench.clients.urls import normalise_base_url
        from sopbench.geometry import Size

        family, choice = worded_here(adapter, prompts)
        show = _silent if as_json else _print_check
        checks = asyncio.run(_examine(base_url, model, family, history_images, Size.parse(screen), timeout, show))
        ok = all(check.status != "problem" for check in checks)
        if as_json:
            print_json(
                {
                    "base_url": normalise_base_url(base_url),
                    "adapter": family.name,
                    "ok": ok,
                    "checks": [check.as_dict() for check in checks],
                    "prompt": described(choice),
                    "server_flags": list(family.server_flags),
                }
            )
        else:
            print(f"note  prompt: {shown(choice)}")
            for line in (choice.warning() or "").splitlines():
                print(f"      -> {line.strip()}")
            if family.server_flags:
                print(f"\nvllm serve flags for adapter {family.name}: {' '.join(family.server_flags)}")
            print("this endpoint is fit for a run" if ok else "this endpoint is not fit for a run yet")
        raise typer.Exit(EXIT_COMPLETE if ok else EXIT_BAD_INPUT)


async def _examine(
    base_url: str,
    model: str | None,
    adapter: Adapter,
    images: int | None,
    screen: Size,
    patience: float,
    show: Callable[[Check], None],
) -> list[Check]:
    from sopbench.clients.doctor import examine
    from sopbench.clients.keys import api_key_from_environment

    checks = []
    async for check in examine(
        base_url,
        model=model,
        adapter=adapter,
        api_key=api_key_from_environment(),
        images=images,
        screen=screen,
        patience=patience,
    ):
        show(check)
        checks.append(check)
    return checks


def _print_check(check: Check) -> None:
    from sopbench.cli.terminal import safe

    print(f"{_MARKS[check.status]}  {check.name}: {safe(check.detail, 1500)}", flush=True)
    if check.fix is not None:
        print(f"      -> {safe(check.fix, 1500)}", flush=True)


def _silent(check: Check) -> None:
    """With --json, only the object at the end is printed."""
