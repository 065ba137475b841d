"""Start one simulated phone in this terminal.

    python -m emulator.sim                                     PocketPhone, free ports, found by the adb server on 5037
    python -m emulator.sim --screen chromium --url https://example.org/
    python -m emulator.sim --port 5554 --grpc-port 8554        what android-env expects (needs grpcio)

Then, in another terminal: `adb devices`, `adb -s emulator-PORT shell`, `adb -s emulator-PORT exec-out screencap -p > screen.png`.
Ctrl-C ends it. It is a simulation: no Android runs here.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import threading
from collections.abc import Sequence

from emulator.sim.phone import Ports, SimPhone, free_ports
from emulator.sim.screens.choosing import NAMES, screen_maker
from sopbench.errors import SopbenchError

CHECK_EVERY = 1.0


def main(argv: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(argv)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    try:
        ports = free_ports() if options.port is None else Ports(options.port)
        phone = SimPhone(
            screen_maker(options.screen, seed=options.seed, url=options.url),
            Ports(ports.console, options.grpc_port),
            adb_server_port=options.adb_server,
            boot_seconds=options.boot_seconds,
            crash=lambda: os._exit(70),
        )
        phone.start()
    except SopbenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    try:
        _tell(phone, options.json)
        _wait(phone, stop, options.parent)
    finally:
        phone.stop()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m emulator.sim", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--port", type=_even, help="console port, even; adb's is the next one (default: free ones)")
    parser.add_argument("--grpc-port", type=int, help="also serve the emulator's gRPC there")
    parser.add_argument("--screen", choices=NAMES, default="pocket", help="what it shows (default: pocket)")
    parser.add_argument("--seed", type=int, default=0, help="of PocketPhone's content")
    parser.add_argument("--url", default="about:blank", help="the page that --screen chromium shows first")
    parser.add_argument(
        "--adb-server",
        type=int,
        default=_server_port(),
        help="port of the adb server to be known to (default: ANDROID_ADB_SERVER_PORT or 5037)",
    )
    parser.add_argument("--boot-seconds", type=float, default=0.0, help="how long the boot takes")
    parser.add_argument("--json", action="store_true", help="say where it is as one line of JSON")
    parser.add_argument("--parent", type=int, help="end when the process with this id is gone")
    return parser


def _even(text: str) -> int:
    port = int(text)
    if port % 2 or not 1024 <= port < 65535:
        raise argparse.ArgumentTypeError(f"{port} is no even port above 1023")
    return port


def _server_port() -> int:
    text = os.environ.get("ANDROID_ADB_SERVER_PORT", "")
    return int(text) if text.isdigit() else 5037


def _tell(phone: SimPhone, as_json: bool) -> None:
    ports = phone.ports
    size = phone.android.screen.size
    if as_json:
        facts = {
            "serial": ports.serial,
            "console": ports.console,
            "adb": ports.adb,
            "grpc": ports.grpc,
            "pid": os.getpid(),
            "size": str(size),
        }
        print(json.dumps(facts), flush=True)
        return
    grpc = f", gRPC on {ports.grpc}" if ports.grpc else ""
    print(
        f"simulated phone {ports.serial}: {size}, screen {phone.android.screen.name}, adb on port {ports.adb}{grpc}. Ctrl-C ends it",
        flush=True,
    )


def _wait(phone: SimPhone, stop: threading.Event, parent: int | None) -> None:
    """Until a signal, until the phone was told to end, or until its parent is gone."""
    while not stop.wait(CHECK_EVERY):
        if parent is not None and os.getppid() != parent:
            return
        if phone.done.is_set():
            return


if __name__ == "__main__":
    sys.exit(main())
