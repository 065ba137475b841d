"""`sopbench devices`: a fleet of devices that runs in the background."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from emulator.fleet.state import StateFolder

HELP = """Start, watch and end devices that run in the background.

Examples:

sopbench devices up --backend sim:4

sopbench devices status

sopbench devices logs sim-0

sopbench devices down
"""
UP = """Start a fleet and wait until its devices are up. It lives on in the background: it looks after its devices, and ends them when it is ended or killed.

Exit status 3: it runs, and some devices did not come up.

Examples:

sopbench devices up --backend sim:4

sopbench devices up --backend sim:2 --screen androidworld --grpc --python .venv-android/bin/python

sopbench devices up --backend sim:1 --state ./fleet --json
"""
StateOption = Annotated[
    Path | None,
    typer.Option(
        "--state", help="The fleet's folder (default: `devices` in the user's cache folder).", show_default=False
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def register(app: typer.Typer) -> None:
    devices = typer.Typer(help=HELP, no_args_is_help=True)

    @devices.command(help=UP)
    def up(
        backend: Annotated[
            str,
            typer.Option(
                help="Which devices and how many: sim:N (simulated phones), avd:N, docker:N, attach:HOST:PORT[,...]; options follow as NAME=VALUE (docs/emulators.md)."
            ),
        ] = "sim:1",
        screen: Annotated[str, typer.Option(help="What a simulated phone shows.")] = "pocket",
        grpc: Annotated[bool, typer.Option("--grpc", help="Simulated phones serve the emulator's gRPC, too.")] = False,
        python: Annotated[
            Path | None,
            typer.Option(help="A Python with grpcio, for --grpc (default: this one).", show_default=False),
        ] = None,
        check_every: Annotated[
            float, typer.Option(min=0.5, help="Seconds between two looks at an idle device.")
        ] = 10.0,
        within: Annotated[float, typer.Option(min=0, help="Seconds to wait for the devices.")] = 600.0,
        state: StateOption = None,
        as_json: JsonOption = False,
    ) -> None:
        from emulator.backends import devices_from
        from emulator.fleet.client import bring_up
        from sopbench.cli.terminal import console, print_json
        from sopbench.errors import EXIT_UNSCORED

        folder = _folder(state)
        devices_from(backend, screen=screen, grpc=grpc, python=python)
        words = ["--devices", backend, "--screen", screen, "--check-every", str(check_every)]
        words += ["--grpc"] if grpc else []
        words += ["--python", str(python.absolute())] if python else []
        bring_up(folder, words)
        status = _wait(folder, within)
        if as_json:
            print_json({"state": str(folder.path), **status})
        else:
            console().print(_table(status))
            print(
                f"running in the background; its state is in {folder.path}. `sopbench devices down` ends it",
                file=sys.stderr,
            )
        if status["idle"] + status["lent"] < status["devices"]:
            raise typer.Exit(EXIT_UNSCORED)

    @devices.command(
        help="Show every device: its state, what broke, what repaired it.\n\nExample: sopbench devices status --json"
    )
    def status(state: StateOption = None, as_json: JsonOption = False) -> None:
        from sopbench.cli.terminal import console, print_json

        folder = _folder(state)
        told = _ask(folder, "status")["status"]
        if as_json:
            print_json({"state": str(folder.path), **told})
        else:
            console().print(_table(told))

    @devices.command(
        help="Show what a device's own program said last, or without a NAME what the fleet did.\n\nExample: sopbench devices logs sim-0 --lines 50"
    )
    def logs(
        name: Annotated[str | None, typer.Argument(help="A device, as `status` names it.", show_default=False)] = None,
        lines: Annotated[int, typer.Option(min=1, max=10_000, help="How many of the last lines.")] = 200,
        state: StateOption = None,
        as_json: JsonOption = False,
    ) -> None:
        from sopbench.cli.terminal import print_json, safe

        folder = _folder(state)
        said = _fleet_log(folder, lines) if name is None else _device_log(folder, name, lines)
        if as_json:
            print_json({"name": name, "lines": said})
            return
        for line in said:
            print(safe(line, 2000))

    @devices.command(
        help="End the fleet and all its devices, also what a killed fleet has left.\n\nExample: sopbench devices down"
    )
    def down(state: StateOption = None, as_json: JsonOption = False) -> None:
        from emulator.fleet.client import bring_down
        from sopbench.cli.terminal import print_json

        folder = _folder(state)
        ran, leftovers = bring_down(folder)
        if as_json:
            print_json({"state": str(folder.path), "ran": ran, "leftovers": [process.pid for process in leftovers]})
        elif leftovers:
            print(f"ended {len(leftovers)} processes that a killed fleet had left")
        else:
            print("the fleet is down" if ran else f"no fleet runs in {folder.path}")

    app.add_typer(devices, name="devices")


def _folder(state: Path | None) -> StateFolder:
    from emulator.fleet.state import StateFolder, default_state

    return StateFolder(default_state() if state is None else state)


def _ask(folder: StateFolder, op: str, **more: Any) -> dict[str, Any]:
    from contextlib import closing

    from emulator.fleet.client import FleetClient

    with closing(FleetClient(folder)) as client:
        return client.ask(op, **more)


def _fleet_log(folder: StateFolder, lines: int) -> list[str]:
    from sopbench.errors import UsageError

    try:
        return folder.log.read_text(errors="replace").splitlines()[-lines:]
    except FileNotFoundError:
        raise UsageError(f"no fleet has run in {folder.path}: start one with `sopbench devices up`") from None


def _device_log(folder: StateFolder, name: str, lines: int) -> list[str]:
    from sopbench.errors import UsageError, shown

    names = [slot["name"] for slot in _ask(folder, "status")["status"]["slots"]]
    if name not in names:
        raise UsageError(f"no device {shown(name)} in this fleet; there are {', '.join(names)}")
    return list(_ask(folder, "logs", name=name, lines=lines)["lines"])


def _wait(folder: StateFolder, within: float) -> dict[str, Any]:
    """Wait until every device is up or was given up, with progress on standard error. The last status."""
    began = told = time.monotonic()
    last = -1
    while True:
        status: dict[str, Any] = _ask(folder, "status")["status"]
        up, now = status["idle"] + status["lent"], time.monotonic()
        if up != last or now > told + 10:
            last, told = up, now
            left = (
                f", about {(now - began) / up * (status['devices'] - up):.0f} s left"
                if 0 < up < status["devices"]
                else ""
            )
            print(f"{up}/{status['devices']} devices up, {now - began:.0f} s{left}", file=sys.stderr, flush=True)
        if not status["booting"] + status["repairing"] or now > began + within:
            return status
        time.sleep(0.1)


def _table(status: dict[str, Any]) -> Any:
    from sopbench.cli.show import table

    rows = []
    for slot in status["slots"]:
        mended = [
            f"{name} {tally['mended']}/{tally['tried']}" for name, tally in slot["remedies"].items() if tally["tried"]
        ]
        broke = [f"{kind} {count}" for kind, count in slot["broke"].items()]
        rows.append(
            (
                slot["name"],
                slot["state"],
                slot["serial"] or "",
                slot["adb_server_port"] or "",
                slot["lends"],
                ", ".join(broke),
                ", ".join(mended),
                slot["reason"] if slot["state"] in ("failed", "repairing") else "",
            )
        )
    columns = ("device", "state", "serial", "server", "lent", "broke", "mended/tried", "reason")
    told = [k for k in range(len(columns)) if k < 5 or any(row[k] for row in rows)]
    return table("", [columns[k] for k in told], [[row[k] for k in told] for row in rows], texts=True)
