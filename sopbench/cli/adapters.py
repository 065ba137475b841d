"""`sopbench adapters`: the model families, their facts, and what each can reach on a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from sopbench.adapters.base import Adapter
    from sopbench.prompts.choosing import Choice

HELP = """List the adapters, or show one with its coordinate frame, history, action kinds, prompt source and server flags.

With --ceiling --data FILE: the best PG and TSR that each can reach on the file, and the expert's actions that it has no words for.

Example: sopbench adapters --ceiling --data android_control_evaluation_std.jsonl
"""


def register(app: typer.Typer) -> None:
    @app.command(help=HELP)
    def adapters(
        name: Annotated[str | None, typer.Argument(help="Adapter to show.", show_default=False)] = None,
        as_json: Annotated[bool, typer.Option("--json", help="Print it as one JSON object.")] = False,
        ceiling: Annotated[bool, typer.Option("--ceiling", help="Work out the ceiling on --data.")] = False,
        data: Annotated[Path | None, typer.Option(help="A file of trajectories (JSONL), for --ceiling.")] = None,
    ) -> None:
        from sopbench.adapters import ADAPTERS
        from sopbench.cli.prompts import worded_here
        from sopbench.cli.terminal import print_json
        from sopbench.errors import UsageError

        if ceiling != (data is not None):
            raise UsageError("--ceiling and --data FILE go together")
        chosen = [worded_here(known) for known in ([name] if name is not None else ADAPTERS)]
        families = [family for family, _ in chosen]
        found = {family.name: facts(family, choice) for family, choice in chosen}
        if data is not None:
            for family in families:
                found[family.name]["ceiling"] = _ceiling(family, data)
        if as_json:
            print_json(found[families[0].name] if name is not None else found)
        elif name is not None:
            _print_one(found[families[0].name])
        else:
            _print_list(found)


def facts(adapter: Adapter, choice: Choice) -> dict[str, Any]:
    """Everything that an adapter declares, and the words that a run would use here, ready for JSON."""
    from sopbench.cli.prompts import described

    return {
        "name": adapter.name,
        "summary": adapter.summary,
        "frame": adapter.frame,
        "history": adapter.history,
        "expresses": sorted(adapter.expresses),
        "default_images": adapter.default_images,
        "prompt": described(choice),
        "server_flags": list(adapter.server_flags),
        "default_sampling": dict(adapter.default_sampling),
        "leaves_out": sorted(adapter.leaves_out),
    }


def _ceiling(adapter: Adapter, data: Path) -> dict[str, Any]:
    from sopbench.runs.summary import ceiling
    from sopbench.trajectory import load_trajectories

    trajectories = load_trajectories(data)
    return {"n": len(trajectories), **ceiling(trajectories, adapter)}


def _print_list(found: dict[str, dict[str, Any]]) -> None:
    from sopbench.cli.terminal import console

    out = console()
    for f in found.values():
        images = f"{f['default_images']} image{'s' if f['default_images'] != 1 else ''}"
        out.print(f"{f['name']:<18}{f['summary']} ({images}, {f['prompt']['kind']} prompt)")
        if "ceiling" in f:
            out.print(f"{'':<18}ceiling {_ceiling_line(f['ceiling'])}")


def _print_one(found: dict[str, Any]) -> None:
    from sopbench.cli.terminal import console

    prompt = found["prompt"]
    lines = {
        "coordinates": found["frame"],
        "history": found["history"],
        "images": f"the last {found['default_images']} by default",
        "can say": ", ".join(found["expresses"])
        + (f" (without {', '.join(found['leaves_out'])})" if found["leaves_out"] else ""),
        "prompt": f"{prompt['kind']} {prompt['sha256'][:12]} ({'; '.join(filter(None, (prompt['note'], prompt['origin'])))})",
        "vllm serve": "  ".join(found["server_flags"]) or "no flag needed",
        "sampling": ", ".join(f"{name} {value}" for name, value in found["default_sampling"].items())
        + (" (advice: nothing is set by itself)" if found["default_sampling"] else "left to the server"),
    }
    if prompt["missed"]:
        lines["official"] = "; ".join(prompt["missed"])
    if "ceiling" in found:
        lines["ceiling"] = _ceiling_line(found["ceiling"])
    out = console()
    out.print(f"{found['name']}  {found['summary']}", style="bold")
    for title, line in lines.items():
        out.print(f"{title:<12}{line}")


def _ceiling_line(ceiling: dict[str, Any]) -> str:
    lost = ", ".join(f"{kind} {n}" for kind, n in ceiling["missing"].items())
    line = f"PG {ceiling['pg']}, TSR {ceiling['tsr']} (n = {ceiling['n']})"
    return f"{line}; cannot say {lost}" if lost else line
