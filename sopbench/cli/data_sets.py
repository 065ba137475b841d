"""`sopbench data list|pull|where`: the public data sets, and getting them onto this machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from sopbench.datasets.pulling import Pulled
    from sopbench.datasets.registry import DataSet

LIST_HELP = """List the public data sets: publisher, licence, size, and what each becomes."""
PULL_HELP = """Download a data set from its publisher: resumes, compares sizes and hashes, and gives no file its name before it is whole.

SOPBENCH_MIRROR names another server with the same paths; SOPBENCH_DATA another folder to keep data sets in.

Examples:

  sopbench data pull androidcontrol-sop

  sopbench data pull androidcontrol --to /data/androidcontrol

  sopbench data pull androidcontrol --only '*-00000-of-*' --only splits.json
"""
WHERE_HELP = """Print the folders in which data sets are kept, and what is in them."""


def register(data: typer.Typer) -> None:
    @data.command("list", help=LIST_HELP)
    def list_(
        as_json: Annotated[bool, typer.Option("--json", help="Print everything as one JSON object.")] = False,
    ) -> None:
        from sopbench.cli.terminal import print_json
        from sopbench.datasets.registry import DATA_SETS

        if as_json:
            print_json({"data_sets": [_as_dict(data_set) for data_set in DATA_SETS.values()]})
        else:
            _print_list(list(DATA_SETS.values()))

    @data.command(help=PULL_HELP)
    def pull(
        name: Annotated[str, typer.Argument(help="Its name, see `sopbench data list`.", show_default=False)],
        to: Annotated[
            Path | None, typer.Option(help="Folder for its files.", show_default="see `sopbench data where`")
        ] = None,
        only: Annotated[
            list[str] | None, typer.Option(help="Files that fit this pattern; may be given more than once.")
        ] = None,
        verify: Annotated[
            bool, typer.Option("--verify", help="Read files that are here already and compare them again.")
        ] = False,
        no_space_check: Annotated[
            bool, typer.Option("--no-space-check", help="Begin even if the disk looks too small.")
        ] = False,
        as_json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")] = False,
    ) -> None:
        from sopbench.cli.data_meter import Meter
        from sopbench.cli.terminal import print_json
        from sopbench.datasets.pulling import pull as get
        from sopbench.datasets.registry import get_data_set

        data_set = get_data_set(name)
        with Meter("pulling") as meter:
            pulled = get(
                data_set,
                to,
                only=only or (),
                verify=verify,
                space_check=not no_space_check,
                watch=lambda t: meter(t.bytes, t.total, t.resumed, f"{t.files + 1}/{t.of_files} {t.file}"),
            )
        if as_json:
            print_json(
                {
                    "name": name,
                    "folder": str(pulled.folder),
                    "files": pulled.files,
                    "fetched": pulled.fetched,
                    "bytes": pulled.bytes,
                    "verified": dict(pulled.verified),
                }
            )
        else:
            _print_pulled(data_set, pulled)

    @data.command(help=WHERE_HELP)
    def where(
        name: Annotated[str | None, typer.Argument(help="One data set; by default all.", show_default=False)] = None,
        as_json: Annotated[bool, typer.Option("--json", help="Print everything as one JSON object.")] = False,
    ) -> None:
        from sopbench.cli.terminal import console, print_json, safe
        from sopbench.datasets.output import size
        from sopbench.datasets.pulling import held, home
        from sopbench.datasets.registry import DATA_SETS, get_data_set

        sets = [get_data_set(name)] if name is not None else list(DATA_SETS.values())
        if as_json:
            rows = [held(s) for s in sets]
            found = {
                s.name: {"folder": str(h.folder), "files": h.files, "bytes": h.bytes}
                for s, h in zip(sets, rows, strict=True)
            }
            print_json({"home": str(home()), "data_sets": found})
            return
        out = console()
        for data_set in sets:
            there = held(data_set)
            what = f"{there.files:,} files, {size(there.bytes)}" if there.files else "not pulled"
            out.print(f"{data_set.name:<20}{safe(there.folder, 500)}  ({what})")


def _as_dict(data_set: DataSet) -> dict[str, Any]:
    return {
        "name": data_set.name,
        "title": data_set.title,
        "publisher": data_set.page,
        "licence": data_set.licence,
        "bytes": data_set.size,
        "becomes": data_set.becomes,
        "convert": data_set.convert,
        "by_hand": data_set.after or None,
        "files": [
            {"path": file.path, "url": file.url, "bytes": file.size, "sha256": file.sha256, "md5": file.md5}
            for file in data_set.files
        ],
        "listed": [place.listing for place in data_set.listed],
    }


def _print_list(sets: list[DataSet]) -> None:
    from sopbench.cli.terminal import console
    from sopbench.datasets.output import size

    out = console()
    for data_set in sets:
        amount = "size not published" if data_set.size is None else size(data_set.size)
        out.print(f"{data_set.name}  ({amount}, licence: {data_set.licence})", style="bold")
        for label, text in (
            ("", data_set.title),
            ("publisher", data_set.page),
            ("becomes", data_set.becomes),
            ("convert", data_set.convert),
        ):
            out.print(f"  {label:<11}{text}" if label else f"  {text}")


def _print_pulled(data_set: DataSet, pulled: Pulled) -> None:
    from sopbench.cli.terminal import console, safe
    from sopbench.datasets.output import size

    out = console()
    new = f"{pulled.fetched:,} fetched now" if pulled.fetched else "all were here"
    out.print(f"{data_set.name}: {pulled.files:,} files, {size(pulled.bytes)}, {new}: {safe(pulled.folder, 500)}")
    by = ", ".join(f"{count:,} by {name}" for name, count in sorted(pulled.verified.items()))
    out.print(f"compared with the publisher's: {by}")
    if "length" in pulled.verified:
        out.print(
            "(by length alone where the publisher's server gives no hash; pull.json has the SHA-256 of what came)"
        )
    if data_set.after:
        out.print(f"Left to do by hand: {data_set.after}")
    if data_set.convert.startswith("sopbench "):
        out.print(f"next: {data_set.convert} --from {safe(pulled.folder, 500)} --out FOLDER")
