"""`sopbench doctor`: is this endpoint fit for a run?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sopbench.errors import EXIT_BAD_INPUT, EXIT_COMPLETE

if TYPE_CHECKING:
    from sopbench.adapters.base import Adapter
    from sopbench.clients.doctor import Check
    from sopbench.geometry import Size

HELP = """Ask an endpoint a dozen questions that find early what a run would find late, and name the flag to change.

Is it reachable, which model does it serve, does it take as many screens as a request carries and call tools where the adapter needs that, does the
longest episode fit its context, are images resized to the size that the adapter counts in, does the model tap where a coloured square is, does it honour a seed, how long
does an answer take. Exit status: 0 all is well, 2 there is a problem.

Example: sopbench doctor --base-url http://localhost:8000/v1 --adapter uis1 --suite pocket
"""

_MARKS = {"ok": "ok  ", "note": "note", "problem": "FAIL"}


def register(app: typer.Typer) -> None:
    @app.command(help=HELP)
    def doctor(
        base_url: Annotated[
            str | None,
            typer.Option(
                help="Address of the OpenAI-compatible endpoint, such as http://localhost:8000/v1.", show_default=False
            ),
        ] = None,
        model: Annotated[
            str | None,
            typer.Option(
                help="The model's name (default: the one that the endpoint serves), or the endpoint's address, as in `sopbench run`.",
                show_default=False,
            ),
        ] = None,
        adapter: Annotated[
            str, typer.Option(help="The model family's language; `sopbench adapters` lists them.")
        ] = "uis1",
        history_images: Annotated[
            int | None,
            typer.Option(min=0, max=100, help="How many screens a request carries (default: the adapter's choice)."),
        ] = None,
        suite: Annotated[
            str | None,
            typer.Option(
                help="The benchmark to be run: its longest episode has to fit the context (default: 24 steps).",
                show_default=False,
            ),
        ] = None,
        data: Annotated[Path | None, typer.Option(help="Trajectory file (JSONL), for suites that need one.")] = None,
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

        base_url, model = _endpoint(base_url, model)
        family, choice = worded_here(adapter, prompts)
        show = _silent if as_json else _print_check
        asked = _Asked(base_url, model, family, history_images, Size.parse(screen), _longest(suite, data), timeout)
        checks = asyncio.run(_examine(asked, show))
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


@dataclass(frozen=True)
class _Asked:
    base_url: str
    model: str | None
    adapter: Adapter
    images: int | None
    screen: Size
    steps: int | None
    patience: float


def _endpoint(base_url: str | None, model: str | None) -> tuple[str, str | None]:
    """Address and name, from the two ways in which `run` takes them."""
    from sopbench.clients.urls import is_url
    from sopbench.errors import UsageError

    if base_url is None:
        if model is None or not is_url(model):
            raise UsageError("which endpoint? Give --base-url http://host:8000/v1, or its address as --model")
        return model, None
    if model is not None and is_url(model):
        raise UsageError("--model is an address and --base-url gives another: name the model with --model NAME")
    return base_url, model


def _longest(suite: str | None, data: Path | None) -> int | None:
    """Steps of the suite's longest episode, or the most that it may take; None where no suite is named."""
    from sopbench.errors import UsageError
    from sopbench.suites import DataSource, get_suite

    if suite is None:
        if data is not None:
            raise UsageError("--data FILE needs a --suite to go with it")
        return None
    loaded = get_suite(suite).load(DataSource(data))
    return max([*(len(t) for t in loaded.trajectories), *(t.budget for t in loaded.tasks), 1])


async def _examine(asked: _Asked, show: Callable[[Check], None]) -> list[Check]:
    from sopbench.clients.doctor import DEFAULT_STEPS, examine
    from sopbench.clients.keys import api_key_from_environment

    checks = []
    async for check in examine(
        asked.base_url,
        model=asked.model,
        adapter=asked.adapter,
        api_key=api_key_from_environment(),
        images=asked.images,
        screen=asked.screen,
        steps=asked.steps or DEFAULT_STEPS,
        patience=asked.patience,
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
