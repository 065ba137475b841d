"""`sopbench verify`: whether a submission's numbers are what its replies give."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sopbench.errors import EXIT_BAD_INPUT, UsageError

if TYPE_CHECKING:
    from sopbench.leaderboard.verifying import Result, Verification

HELP = """Verify a submission: a folder, or a .zip or .tar(.gz, .xz) of one. Nothing is unpacked, run or fetched.

Every rule is checked by name; the first that is broken says what to fix. Exit status 0: verified; 2: refused.

Examples:

  sopbench verify submissions/2026-01-31_Example-Lab_UI-S1-7B

  sopbench verify submission.zip --data android_control_evaluation_std.jsonl --images images/ --json

  sopbench verify submissions/2026-01-31_Example-Lab_UI-S1-7B --data android_control_evaluation_std.jsonl --images images/ --replay 200 --base-url http://localhost:8000/v1 --model UI-S1-7B
"""
SIGNS = {"passed": "ok", "refused": "FIX", "skipped": "--", "not reached": "  "}


def register(app: typer.Typer) -> None:
    @app.command(help=HELP)
    def verify(
        submission: Annotated[Path, typer.Argument(help="The submission's folder or archive.", show_default=False)],
        data: Annotated[
            Path | None, typer.Option(help="The board's trajectory file, where the board brings none.")
        ] = None,
        images: Annotated[
            Path | None, typer.Option(help="Folder of its screens; without it they are not compared.")
        ] = None,
        image_pattern: Annotated[
            str, typer.Option(help="How screens are named there, from {name}, {episode}, {step}.")
        ] = "{name}",
        every_screen: Annotated[
            bool,
            typer.Option("--every-screen", help="Online: draw and compare every screen, not those of a few episodes."),
        ] = False,
        boards: Annotated[
            Path | None, typer.Option(help="The folder `leaderboards` (default: this checkout's).", show_default=False)
        ] = None,
        replay: Annotated[
            int | None,
            typer.Option(help="Ask an open checkpoint N of the recorded requests again.", show_default=False),
        ] = None,
        base_url: Annotated[list[str] | None, typer.Option(help="With --replay: where the model is served.")] = None,
        model: Annotated[str | None, typer.Option(help="With --replay: the name under which it is served.")] = None,
        sample_seed: Annotated[
            int | None, typer.Option(help="With --replay: chooses the sample (default: by chance).", show_default=False)
        ] = None,
        as_json: Annotated[bool, typer.Option("--json", help="Print everything as one JSON object.")] = False,
        as_comment: Annotated[
            bool, typer.Option("--comment", help="Print the comment that CI posts (Markdown).")
        ] = False,
    ) -> None:
        from sopbench.cli.terminal import print_json
        from sopbench.leaderboard import verify as check
        from sopbench.leaderboard.boards import load_boards
        from sopbench.leaderboard.comment import comment
        from sopbench.suites.base import DataSource

        if as_json and as_comment:
            raise UsageError("--json and --comment both want standard output: choose one")
        if replay is not None and not (base_url and model):
            raise UsageError("--replay needs --base-url URL and --model NAME")
        known = load_boards(boards)
        source = DataSource(data, images, image_pattern) if data or images else None
        quiet = as_json or as_comment
        found = check(
            submission, boards=known, source=source, every_screen=every_screen, told=None if quiet else print_result
        )
        again: dict[str, Any] | None = None
        if found.ok and replay is not None:
            again = _replayed(submission, replay, base_url or [], model or "", known, source, sample_seed, quiet=quiet)
        if as_json:
            print_json(found.as_dict() | ({"replay": again} if again else {}))
        elif as_comment:
            print(comment(found, known), end="")
        else:
            print_verdict(found)
        if not found.ok:
            raise typer.Exit(EXIT_BAD_INPUT)


def print_result(result: Result) -> None:
    from sopbench.cli.terminal import safe

    if result.outcome == "not reached":
        return
    print(f"{SIGNS[result.outcome]:>3}  {result.rule:12} {safe(result.detail, 600)}", flush=True)


def print_verdict(found: Verification) -> None:
    from sopbench.cli.terminal import safe
    from sopbench.leaderboard.comment import number

    row = found.row
    if row is None:
        left = sum(result.outcome == "not reached" for result in found.results)
        what = "could not be judged here" if found.unjudged else "refused"
        print(f"\n{what}; {left} rules were not reached")
        return
    numbers = ", ".join(f"{name} {number(row, name)}" for name in (row.values or row.bounds))
    print(f"\nverified: {row.board}: {safe(row.model)} ({safe(row.organisation)}), {numbers}, n {row.n:,}")


def _replayed(
    submission: Path,
    n: int,
    base_urls: list[str],
    model: str,
    boards: Any,
    source: Any,
    seed: int | None,
    *,
    quiet: bool,
) -> dict[str, Any]:
    from sopbench.cli.terminal import safe
    from sopbench.leaderboard.replaying import entry, replay

    def progress(done: int, total: int) -> None:
        if sys.stderr.isatty():
            print(f"\rasked {done:,} of {total:,}", end="\n" if done == total else "", file=sys.stderr, flush=True)

    found = replay(
        submission, n, base_urls=base_urls, model=model, boards=boards, source=source, seed=seed, progress=progress
    )
    told = found.as_dict()
    if not quiet:
        print(f"\nasked {found.asked} requests again (sample seed {found.seed}), {found.failed} had no answer")
        for name in ("same_reply", "same_action"):
            low, high = (100 * v for v in told[name]["ci95"])
            print(
                f"  {name.replace('_', ' '):12} {told[name]['n']} of {found.asked} (95 % interval {low:.1f} to {high:.1f} %)"
            )
        for one in found.differences[:5]:
            print(
                f"  {safe(one.episode)} step {one.step}: recorded {safe(one.recorded, 150)}\n    now {safe(one.answered, 150)}"
            )
        if submission.is_dir() and found.asked:
            today = datetime.now(UTC).date().isoformat()
            print(
                f"\na maintainer who is content with this adds to reruns.yaml of the board:\n\n{entry(submission, found, model, 'YOU', today)}"
            )
    return told
