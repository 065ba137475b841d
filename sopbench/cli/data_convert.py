"""`sopbench data convert`: published files become trajectories and screens."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sopbench.errors import EXIT_BAD_INPUT, UsageError

if TYPE_CHECKING:
    from sopbench.datasets.converted import Converted
    from sopbench.datasets.shards import Told

ANDROIDCONTROL_HELP = """Convert AndroidControl's shards.

Writes OUT/trajectories.jsonl, OUT/images/EPISODE_STEP.png and OUT/conversion.json, and then checks them. Give the same command again after an interruption: finished shards are not read again.

Examples:

  sopbench data convert androidcontrol --from DIR --out ac-sop --sop android_control_evaluation_std.jsonl --only-sop

  sopbench data convert androidcontrol --from DIR --out ac-test --split test
"""
ODYSSEY_HELP = """Convert GUI-Odyssey (annotations/, splits/, screenshots/; both releases).

Example: sopbench data convert gui-odyssey --from DIR --out odyssey --split random_split
"""
SCREENSPOT_HELP = """Convert ScreenSpot-v2 or ScreenSpot-Pro, whichever the folder holds.

Example: sopbench data convert screenspot --from DIR --out screenspot-pro
"""
AITW_HELP = """Convert Android in the Wild: one subset's shards, or DigiRL's lists of instructions (*.txt).

Examples:

  sopbench data convert aitw --from DIR/general --out aitw-general --splits DIR/splits/standard.json --split test --limit 200

  sopbench data convert aitw --from TASKS --out aitw-tasks --limit 96
"""

From = Annotated[Path, typer.Option("--from", help="Folder with the published files.", show_default=False)]
Out = Annotated[Path, typer.Option(help="Folder for what is made of them.", show_default=False)]
Jobs = Annotated[
    int | None, typer.Option(min=1, max=256, help="Processes.", show_default="one for every processor core")
]
Limit = Annotated[int | None, typer.Option(min=1, help="The first N episodes.")]
Partial = Annotated[bool, typer.Option("--partial", help="Take the shards that are here, though some are missing.")]
SkipFaulty = Annotated[
    bool, typer.Option("--skip-faulty", help="Leave out episodes that are not as published, and list them.")
]
NoSpaceCheck = Annotated[bool, typer.Option("--no-space-check", help="Begin even if the disk looks too small.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")]


def register(data: typer.Typer) -> None:
    convert = typer.Typer(help="Turn published files into trajectories and screens.", no_args_is_help=True)

    @convert.command(help=ANDROIDCONTROL_HELP)
    def androidcontrol(
        source: From,
        out: Out,
        sop: Annotated[Path | None, typer.Option(help="The released SOP file, to compare with.")] = None,
        only_sop: Annotated[
            bool, typer.Option("--only-sop", help="Just the screens that the SOP file needs, and that file itself.")
        ] = False,
        split: Annotated[str | None, typer.Option(help="train, validation or test (needs splits.json).")] = None,
        horizontal: Annotated[
            str,
            typer.Option(
                help="Scrolls left and right: `released` moves the finger as the SOP file does, `consistent` moves the content, as up and down do."
            ),
        ] = "released",
        terminate: Annotated[
            bool, typer.Option("--terminate", help="End every episode with a step that says it is done.")
        ] = False,
        jobs: Jobs = None,
        limit: Limit = None,
        partial: Partial = False,
        skip_faulty: SkipFaulty = False,
        no_space_check: NoSpaceCheck = False,
        as_json: AsJson = False,
    ) -> None:
        from sopbench.cli.data_meter import Meter
        from sopbench.datasets.from_androidcontrol import convert_androidcontrol

        with Meter("converting") as meter:
            made = convert_androidcontrol(
                source,
                out,
                sop=sop,
                only_sop=only_sop,
                split=split,
                horizontal=_horizontal(horizontal),
                terminate=terminate,
                jobs=_jobs(jobs),
                limit=limit,
                partial=partial,
                skip_faulty=skip_faulty,
                space_check=not no_space_check,
                watch=lambda told, total: _show(meter, told, total),
                checking=meter.count,
            )
        _end(made, as_json)

    @convert.command("gui-odyssey", help=ODYSSEY_HELP)
    def gui_odyssey(
        source: From,
        out: Out,
        split: Annotated[
            str | None, typer.Option(help="A file of splits/: random_split, app_split, device_split, task_split.")
        ] = None,
        part: Annotated[str, typer.Option(help="A list in that file.")] = "test",
        limit: Limit = None,
        skip_faulty: SkipFaulty = False,
        no_space_check: NoSpaceCheck = False,
        as_json: AsJson = False,
    ) -> None:
        from sopbench.datasets.odyssey import convert_odyssey

        made = convert_odyssey(
            source,
            out,
            split=split,
            part=part,
            limit=limit,
            skip_faulty=skip_faulty,
            space_check=not no_space_check,
            checking=_checking,
        )
        _end(made, as_json)

    @convert.command(help=SCREENSPOT_HELP)
    def screenspot(
        source: From,
        out: Out,
        language: Annotated[str, typer.Option(help="Of ScreenSpot-Pro's instructions: en or cn.")] = "en",
        limit: Limit = None,
        skip_faulty: SkipFaulty = False,
        no_space_check: NoSpaceCheck = False,
        as_json: AsJson = False,
    ) -> None:
        from sopbench.datasets.screenspot import convert_screenspot

        made = convert_screenspot(
            source,
            out,
            language=_language(language),
            limit=limit,
            skip_faulty=skip_faulty,
            space_check=not no_space_check,
            checking=_checking,
        )
        _end(made, as_json)

    @convert.command(help=AITW_HELP)
    def aitw(
        source: From,
        out: Out,
        splits: Annotated[Path | None, typer.Option(help="One of the published split files.")] = None,
        split: Annotated[str | None, typer.Option(help="A name in it: train, validation or test.")] = None,
        jobs: Jobs = None,
        limit: Limit = None,
        partial: Partial = False,
        skip_faulty: SkipFaulty = False,
        no_space_check: NoSpaceCheck = False,
        as_json: AsJson = False,
    ) -> None:
        from sopbench.cli.data_meter import Meter
        from sopbench.cli.terminal import console, print_json, safe
        from sopbench.datasets.from_aitw import convert_aitw, convert_tasks

        if source.is_dir() and any(source.glob("*.txt")):
            tasks = convert_tasks(source, out, limit=limit)
            if as_json:
                print_json({"file": str(tasks.file), "tasks": tasks.count, "lists": list(tasks.lists)})
            else:
                console().print(f"{tasks.count:,} tasks from {len(tasks.lists)} lists: {safe(tasks.file, 500)}")
            return
        with Meter("converting") as meter:
            made = convert_aitw(
                source,
                out,
                splits=splits,
                split=split,
                jobs=_jobs(jobs),
                limit=limit,
                partial=partial,
                skip_faulty=skip_faulty,
                space_check=not no_space_check,
                watch=lambda told, total: _show(meter, told, total),
                checking=meter.count,
            )
        _end(made, as_json)

    data.add_typer(convert, name="convert")


def _jobs(asked: int | None) -> int:
    return asked if asked is not None else len(os.sched_getaffinity(0))


def _horizontal(word: str) -> Literal["released", "consistent"]:
    if word == "released":
        return "released"
    if word == "consistent":
        return "consistent"
    raise UsageError(f"--horizontal {word}: it is `released` or `consistent`")


def _language(word: str) -> Literal["en", "cn"]:
    if word == "en":
        return "en"
    if word == "cn":
        return "cn"
    raise UsageError(f"--language {word}: it is `en` or `cn`")


def _show(meter: object, told: Told, total: int) -> None:
    from sopbench.cli.data_meter import Meter
    from sopbench.datasets.output import size

    assert isinstance(meter, Meter)
    meter(told.read, total, told.before, f"{told.episodes:,} episodes, {size(told.written)} of screens")


def _checking(what: str, done: int, total: int) -> None:
    """A counter on standard error, on a terminal only."""
    if sys.stderr.isatty() and (done % 100 == 0 or done == total):
        end = "\r\x1b[K" if done == total else "\r"
        print(f"\r{what}: {done}/{total}", end=end, file=sys.stderr, flush=True)


def _end(made: Converted, as_json: bool) -> None:
    """What was made, what was left out, and whether the check is clean; exit status 2 where it has errors."""
    from sopbench.cli.terminal import print_json

    if as_json:
        print_json(made.as_dict())
    else:
        _print(made)
    if not made.check.ok:
        raise typer.Exit(EXIT_BAD_INPUT)


def _print(made: Converted) -> None:
    from sopbench.cli.terminal import console, safe
    from sopbench.datasets.output import size
    from sopbench.errors import command

    out = console()
    out.print(f"{made.name}: {made.episodes:,} episodes, {made.steps:,} steps", style="bold")
    out.print(f"trajectories  {safe(made.file, 500)}")
    out.print(f"screens       {safe(made.images, 500)}  ({made.screens:,} files, {size(made.screen_bytes)})")
    if made.skipped:
        out.print(f"left out      {len(made.skipped):,} episodes (conversion.json lists them), for example:")
        for item in made.skipped[:3]:
            out.print(" " * 14 + safe(f"{item['where']}: {item['reason']}", 160), style="dim")
    for note in made.notes:
        out.print(f"note          {safe(note, 300)}")
    again = command("sopbench", "data", "check", made.file, "--images", made.images)
    errors = [f for f in made.check.findings if f.level == "error"]
    warnings = len(made.check.findings) - len(errors)
    if errors:
        for finding in errors:
            out.print(f"error         {len(finding.places):,} {finding.summary}", style="red")
        out.print(f"The check is not clean: {safe(again, 1000)}")
    elif warnings:
        out.print(f"The check is clean, with {warnings} kinds of warnings: {safe(again, 1000)} lists them")
    else:
        out.print("The check is clean.")
    out.print(
        f"next: {safe(command('sopbench', 'run', '--suite', _suite(made.name), '--data', made.file, '--images', made.images), 1000)}"
    )


def _suite(name: str) -> str:
    return name if name in ("gui-odyssey", "screenspot-v2", "screenspot-pro") else "sop"
