"""`sopbench androidworld install|status|apks`: AndroidWorld's environment on this machine."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

INSTALL_HELP = """Make the environment in which AndroidWorld runs: the pinned commit d9c569f of google-research/android_world and its pinned packages (0.5 GB).

Without --from the publisher's archive is downloaded. A clone or a download is used only if git's hash of its files is the pinned one. Nothing of it is
installed into sopbench's own environment.

Examples:

  sopbench androidworld install

  sopbench androidworld install --from ~/src/android_world

  SOPBENCH_ANDROIDWORLD_ENV=/data/aw sopbench androidworld install
"""
STATUS_HELP = (
    """Say whether AndroidWorld's environment is there, and what belongs to it. Exit status 0 if it is, 2 if not."""
)
APKS_HELP = """List the files that AndroidWorld's set-up of a device needs and that are kept here; with --from take those of a folder.

A set-up downloads what is missing from the publisher's storage; on a machine without a way there, bring the files yourself.

Examples:

  sopbench androidworld apks

  sopbench androidworld apks --from ~/Downloads/androidworld-apks
"""
STAGES = {
    "packages": "packages",
    "download": "downloading android_world",
    "source": "unpacking android_world",
    "tasks": "listing tasks, family",
}


def register(app: typer.Typer) -> None:
    group = typer.Typer(help="AndroidWorld's environment: make it, look at it.", no_args_is_help=True)

    @group.command(help=INSTALL_HELP)
    def install(
        source: Annotated[
            Path | None, typer.Option("--from", help="A clone of google-research/android_world, or an archive of it.")
        ] = None,
        into: Annotated[
            Path | None,
            typer.Option(help="Folder for the environment.", show_default="in the cache; or SOPBENCH_ANDROIDWORLD_ENV"),
        ] = None,
        again: Annotated[bool, typer.Option("--again", help="Make it anew, even if it is there.")] = False,
        as_json: Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")] = False,
    ) -> None:
        from sopbench.cli.terminal import print_json
        from sopbench.online.androidworld.install import install as make
        from sopbench.online.androidworld.install import place

        began = time.monotonic()
        made = make(source, into, _Stages(began), again=again)
        if as_json:
            print_json({"folder": str(made.folder), "installed": True, **made.facts})
            return
        print(f"AndroidWorld is installed in {made.folder} ({made.facts['commit'][:7]})")
        if made.folder != place():
            print(f"For sopbench to find it there: export SOPBENCH_ANDROIDWORLD_ENV={made.folder}")

    @group.command(help=STATUS_HELP)
    def status(
        as_json: Annotated[bool, typer.Option("--json", help="Print everything as one JSON object.")] = False,
    ) -> None:
        from sopbench.cli.terminal import print_json
        from sopbench.errors import EXIT_BAD_INPUT
        from sopbench.online.androidworld import apks
        from sopbench.online.androidworld.install import COMMAND, look, place
        from sopbench.online.androidworld.pins import COMMIT, FAMILIES

        found = look()
        told: dict[str, Any] = {
            "folder": str(place()),
            "commit": COMMIT,
            "installed": not isinstance(found, str),
            "apks": {"folder": str(apks.folder()), "files": len(apks.kept())},
            "families": FAMILIES,
        }
        told |= {"why": found} if isinstance(found, str) else {"versions": found.facts.get("versions")}
        if as_json:
            print_json(told)
        elif isinstance(found, str):
            print(f"AndroidWorld is not installed: {found}. Make its environment with: {COMMAND}")
        else:
            versions = ", ".join(f"{name} {version}" for name, version in (told["versions"] or {}).items())
            print(f"AndroidWorld {COMMIT[:7]} is installed in {found.folder} ({versions})")
            print(f"Files for its set-up of devices: {told['apks']['files']} in {told['apks']['folder']}")
        if isinstance(found, str):
            raise typer.Exit(EXIT_BAD_INPUT)

    @group.command("apks", help=APKS_HELP)
    def apks_(
        source: Annotated[
            Path | None, typer.Option("--from", help="A folder with such files, which are copied.")
        ] = None,
        as_json: Annotated[bool, typer.Option("--json", help="Print the list as one JSON object.")] = False,
    ) -> None:
        from sopbench.cli.terminal import print_json
        from sopbench.online.androidworld import apks

        files = apks.take(source) if source is not None else apks.kept()
        if as_json:
            rows = [{"name": f.name, "bytes": f.bytes, "sha256": f.sha256} for f in files]
            print_json({"folder": str(apks.folder()), "files": rows})
            return
        for file in files:
            print(f"{file.sha256[:16]}  {file.bytes:>12,}  {ascii(file.name)[1:-1]}")
        print(f"{len(files)} files in {apks.folder()}")

    app.add_typer(group, name="androidworld")


class _Stages:
    """Says how far the installation came, on stderr: one line a stage, or one that is rewritten where a terminal looks."""

    def __init__(self, began: float) -> None:
        self._began, self._stage, self._since, self._told = began, "", began, 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        now = time.monotonic()
        if stage != self._stage:
            self._stage, self._since, self._told = stage, now, 0.0
        elif now - self._told < 1.0 and done != total:
            return
        self._told = now
        text = STAGES.get(stage, stage)
        if total:
            text += f" {done} of {total}"
            if 0 < done < total and now > self._since:
                rate = done / (now - self._since)
                text += f", {rate:.1f}/s, {(total - done) / rate:.0f} s to go"
        elif done:
            text += f" {done / 1e6:.1f} MB, {done / 1e6 / max(0.1, now - self._since):.1f} MB/s"
        print(f"[{now - self._began:5.0f} s] {text}", file=sys.stderr, flush=True)
