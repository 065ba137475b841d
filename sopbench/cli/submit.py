"""`sopbench submit`: from a run to a folder that can be sent to a board."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sopbench.errors import UsageError

if TYPE_CHECKING:
    from sopbench.leaderboard.submitting import Submitted

HELP = """Make the submission of a finished run: a folder that anybody can re-score.

What the board shows of the model is asked for on a terminal, or given by options or in a YAML file (--metadata). Keys, addresses and folders of this machine are left out. The result is verified before it is kept.

Examples:

  sopbench submit runs/my-run --out submissions

  sopbench submit runs/my-run --out submissions --metadata model.yaml

  sopbench submit runs/my-run --out submissions --model "UI-S1-7B" --organisation "Example Lab" --contact @example --weights-open --training-data "AndroidControl, train split" --trained-on-benchmark no
"""
LINKS = ("paper", "code", "weights")


def register(app: typer.Typer) -> None:
    @app.command(help=HELP)
    def submit(
        run: Annotated[Path, typer.Argument(help="Folder of the run.", show_default=False)],
        out: Annotated[Path, typer.Option(help="Where the submission's folder is put.")] = Path("submissions"),
        metadata: Annotated[
            Path | None, typer.Option(help="YAML file with any of the fields below (options win).", show_default=False)
        ] = None,
        model: Annotated[str | None, typer.Option(help="The model's name, as the board shows it.")] = None,
        organisation: Annotated[str | None, typer.Option(help="Who made or submits it.")] = None,
        contact: Annotated[
            str | None, typer.Option(help="A mail address, an https:// address or an @handle; public.")
        ] = None,
        weights_open: Annotated[
            bool | None,
            typer.Option("--weights-open/--weights-closed", help="Can anybody have the weights?", show_default=False),
        ] = None,
        training_data: Annotated[str | None, typer.Option(help="What it was trained on, in words.")] = None,
        trained_on_benchmark: Annotated[
            str | None, typer.Option(help="no, yes or unknown: was it trained on this board's test data?")
        ] = None,
        parameters: Annotated[str | None, typer.Option(help="Size, such as 7B. Optional.")] = None,
        base_model: Annotated[str | None, typer.Option(help="What it was trained from. Optional.")] = None,
        paper: Annotated[str | None, typer.Option(help="https:// address. Optional.")] = None,
        code: Annotated[str | None, typer.Option(help="https:// address. Optional.")] = None,
        weights: Annotated[str | None, typer.Option(help="https:// address. Optional.")] = None,
        notes: Annotated[str | None, typer.Option(help="Anything else that readers should know. Optional.")] = None,
        date: Annotated[str | None, typer.Option(help="YYYY-MM-DD (default: today).", show_default=False)] = None,
        board: Annotated[
            str | None, typer.Option(help="The board (default: the one that takes such runs).", show_default=False)
        ] = None,
        boards: Annotated[
            Path | None, typer.Option(help="The folder `leaderboards` (default: this checkout's).", show_default=False)
        ] = None,
        data: Annotated[
            Path | None, typer.Option(help="Where the trajectory file is now (default: where the run found it).")
        ] = None,
        images: Annotated[Path | None, typer.Option(help="Where its screens are now.")] = None,
        as_json: Annotated[bool, typer.Option("--json", help="Print what was made as one JSON object.")] = False,
    ) -> None:
        from sopbench.cli.terminal import print_json
        from sopbench.leaderboard import submit as make

        given = {
            "model": model,
            "organisation": organisation,
            "contact": contact,
            "weights_open": weights_open,
            "training_data": training_data,
            "trained_on_benchmark": trained_on_benchmark,
            "parameters": parameters,
            "base_model": base_model,
            "notes": notes,
            "date": date,
        }
        links = {name: text for name, text in zip(LINKS, (paper, code, weights), strict=True) if text is not None}
        told = _told(metadata, {name: value for name, value in given.items() if value is not None}, links)
        told = _complete(told, ask=sys.stdin.isatty() and sys.stderr.isatty() and not as_json)
        made = make(run, out, told, boards=boards, board=board, source=_source(run, data, images))
        if as_json:
            row = made.verification.row
            print_json({"path": str(made.path), "left_out": list(made.left_out), "row": row.as_dict() if row else None})
        else:
            _tell(made)


def _told(file: Path | None, given: dict[str, Any], links: dict[str, str]) -> dict[str, Any]:
    """The metadata so far: the file's, then what options say."""
    from sopbench.errors import DataError
    from sopbench.files import open_regular, why
    from sopbench.leaderboard.yaml_text import MAX_BYTES, read_yaml

    told: dict[str, Any] = {}
    if file is not None:
        try:
            with open_regular(file) as handle:
                told = read_yaml(handle.read(MAX_BYTES + 1), str(file))
        except OSError as error:
            raise DataError(f"cannot read {file} ({why(error)})") from error
    told |= given
    if links:
        known = told.get("links")
        told["links"] = {**(known if isinstance(known, dict) else {}), **links}
    told.pop("board", None)
    return told


def _complete(told: dict[str, Any], *, ask: bool) -> dict[str, Any]:
    """`told` with what is missing: asked for, where somebody is there to answer; else an error that names it all."""
    from sopbench.leaderboard.metadata import FIELDS

    missing = [name for name in FIELDS if name not in told]
    if not missing:
        return told
    if not ask:
        lines = "".join(f"\n  --{name.replace('_', '-')}: {FIELDS[name]}" for name in missing)
        raise UsageError(
            f"the board wants to know more about the model; give these options, or --metadata FILE:{lines}"
        )
    return told | {name: _asked(name, FIELDS[name]) for name in missing}


def _asked(name: str, question: str) -> str:
    """One answer, asked again until it is one that the board takes."""
    from sopbench.errors import DataError
    from sopbench.leaderboard.metadata import check_field

    while True:
        answer = str(typer.prompt(f"{name.replace('_', ' ')} ({question})", err=True)).strip()
        try:
            check_field(name, answer)
        except DataError as error:
            print(f"  {error}", file=sys.stderr)
        else:
            return answer


def _source(run: Path, data: Path | None, images: Path | None) -> Any:
    if data is None and images is None:
        return None
    from dataclasses import replace

    from sopbench.api import load_run
    from sopbench.suites import source_of

    known = source_of(load_run(run).info)
    return replace(known, file=data or known.file, images=images or known.images)


def _tell(made: Submitted) -> None:
    from sopbench.cli.terminal import safe
    from sopbench.errors import command
    from sopbench.leaderboard.comment import number

    row = made.verification.row
    print(made.path)
    if row is not None:
        print(f"\n{row.board}   {safe(row.model)}   {safe(row.organisation)}   n {row.n:,}")
        for name in row.values or row.bounds:
            print(f"  {name:8} {number(row, name)}")
    if made.left_out:
        print(f"\nleft out, since it tells of this machine: {', '.join(made.left_out)}")
    skipped = [f"{r.rule} ({r.detail})" for r in made.verification.results if r.outcome == "skipped"]
    for line in skipped:
        print(f"not checked here: {safe(line)}")
    board = row.board if row is not None else "BOARD"
    print(
        f"""
verified by all its rules. Next:
  read {made.path / "metadata.yaml"}, which the board shows
  check it as CI will:  {command("sopbench", "verify", made.path)}
  put it into leaderboards/{board}/submissions/ of the repository, and open a pull request"""
    )
