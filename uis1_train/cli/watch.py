"""`uis1-train watch`: evaluate checkpoints as they appear."""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sopbench.errors import UsageError

if TYPE_CHECKING:
    from uis1_train.validation.watch import Evaluated

HELP = """Evaluate the checkpoints in a trainer's folder as they appear, here or on another machine that sees the folder. Keep the best by SOP.

Only whole checkpoints are taken: those that verl's tracker file names, or that nobody has written to for a while. Each is evaluated once; started again, the
watcher goes on where it was. Sharded checkpoints are merged into a temporary folder. The model is played in this process, or with --serve by a server that is
started for it (by default vLLM; --serve-command names another, with {model}, {name}, {port} and {limits}).

Results are ordinary sopbench runs in --out, one folder a step, and lines of scalars in --out/watch.jsonl. Exit status 1 where an evaluation failed.

Examples:

  uis1-train watch checkpoints/uis1/uis1_7b --suite pocket --serve

  uis1-train watch checkpoints/uis1/uis1_7b --suite sop --data sop.jsonl --images screens/ --limit 200 --static androidcontrol-high --serve

  uis1-train watch out/rl --suite pocket --online pocket-online --once
"""
FAILED = 1
LOG = "watch.jsonl"


def register(app: typer.Typer) -> None:
    @app.command(help=HELP)
    def watch(
        folder: Annotated[Path, typer.Argument(help="The folder in which the trainer makes its global_step_N.")],
        suite: Annotated[str, typer.Option(help="The SOP suite: pocket, pocket-large, or sop with --data.")] = "pocket",
        static: Annotated[
            str | None,
            typer.Option(help="Also a static suite on the same data, such as androidcontrol-high.", show_default=False),
        ] = None,
        online: Annotated[
            str | None, typer.Option(help="Also an online suite, such as pocket-online.", show_default=False)
        ] = None,
        data: Annotated[Path | None, typer.Option(help="Trajectory file (JSONL), for suites that need one.")] = None,
        images: Annotated[Path | None, typer.Option(help="Folder of the screens of --data.")] = None,
        image_pattern: Annotated[str, typer.Option(help="How screens are named there.")] = "{name}",
        limit: Annotated[
            int | None, typer.Option(help="Only the first N trajectories, the same ones every time.", min=1)
        ] = None,
        profile: Annotated[str | None, typer.Option(help="The scoring profile (default: each suite's own).")] = None,
        adapter: Annotated[str, typer.Option(help="The model family's language.")] = "uis1",
        prompts: Annotated[
            str, typer.Option(help="Whose words: auto, official or builtin, as in `sopbench run`.")
        ] = "auto",
        history_images: Annotated[
            int | None, typer.Option(help="Screens a request carries (default: the adapter's).", min=0)
        ] = None,
        max_tokens: Annotated[int, typer.Option(help="Most tokens of one reply.", min=1)] = 512,
        concurrency: Annotated[int, typer.Option(help="Trajectories in flight.", min=1)] = 16,
        serve: Annotated[
            bool,
            typer.Option("--serve", help="Start a server for each checkpoint instead of playing it in this process."),
        ] = False,
        serve_command: Annotated[
            str | None, typer.Option(help="The server's command (implies --serve).", show_default=False)
        ] = None,
        out: Annotated[
            Path | None, typer.Option(help="Folder of the runs (default: FOLDER/watched).", show_default=False)
        ] = None,
        keep_best: Annotated[
            str, typer.Option(help="What is kept of the best checkpoint: copy, link, pointer, off.")
        ] = "copy",
        every: Annotated[float, typer.Option(help="Seconds between looks.", min=0.1)] = 30.0,
        quiet_for: Annotated[
            float,
            typer.Option(
                help="Without a tracker file, a checkpoint is whole when its files were left alone so many seconds.",
                min=0,
            ),
        ] = 30.0,
        newest_first: Annotated[
            bool, typer.Option("--newest-first", help="After a pause, the latest checkpoint first.")
        ] = False,
        until_step: Annotated[
            int | None, typer.Option(help="Stop when this step is evaluated.", show_default=False)
        ] = None,
        once: Annotated[bool, typer.Option("--once", help="Evaluate what is there, and stop.")] = False,
        as_json: Annotated[bool, typer.Option("--json", help="One JSON object a checkpoint.")] = False,
    ) -> None:
        from sopbench.suites import get_suite
        from uis1_train.validation.settings import ValidationSettings
        from uis1_train.validation.watch import Watcher

        source = {"data": data, "images": images, "image_pattern": image_pattern, "limit": limit, "profile": profile}
        static_source: dict[str, Any] = source
        if static is not None and not get_suite(static).needs_data:
            static_source = {"limit": limit, "profile": profile}
        elif static is not None and data is None:
            if suite != "pocket":
                raise UsageError(f"suite {static} needs --data FILE")
            static_source = source | {"data": "builtin:pocket", "profile": profile or "strict"}
        options: dict[str, Any] = {
            "sop": source | {"suite": suite},
            "static": static_source | {"suite": static} if static else None,
            "online": {"suite": online, "limit": limit} if online else None,
            "adapter": adapter,
            "prompts": prompts,
            "history_images": history_images,
            "max_tokens": max_tokens,
            "concurrency": concurrency,
            "out": out or folder / "watched",
            "keep_best": keep_best,
            "how": "serve" if serve or serve_command else "local",
        }
        if serve_command:
            options["serve_command"] = serve_command
        settings = ValidationSettings.read(options)
        logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
        failed = False
        watcher = Watcher(folder, settings, newest_first=newest_first, quiet_seconds=quiet_for)
        for evaluated in watcher.watch(every=every, until_step=until_step, once=once):
            _tell(evaluated, settings.out, as_json=as_json)
            failed |= bool(evaluated.result.failures)
        if failed:
            raise typer.Exit(FAILED)


def _tell(evaluated: Evaluated, out: Path, *, as_json: bool) -> None:
    from sopbench.cli.terminal import print_json, safe

    result = evaluated.result
    facts = {
        "step": result.step,
        "checkpoint": str(evaluated.checkpoint),
        "best": evaluated.is_best,
        "scalars": result.scalars,
        "runs": {name: str(path) for name, path in result.runs.items()},
        "failures": result.failures,
    }
    out.mkdir(parents=True, exist_ok=True)
    with (out / LOG).open("a", encoding="utf-8") as handle:
        handle.write(json.dumps(facts) + "\n")
    if as_json:
        print_json(facts)
        return
    shown = "  ".join(
        f"{name.removeprefix('val/')} {value:g}"
        for name, value in result.scalars.items()
        if name not in ("val/failed", "val/seconds")
    )
    print(safe(f"step {result.step}  {shown}{'  best so far' if evaluated.is_best else ''}", 1000), flush=True)
    for name, why in result.failures.items():
        print(safe(f"  {name} failed: {why}", 1000), file=sys.stderr, flush=True)
