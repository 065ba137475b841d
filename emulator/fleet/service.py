"""A fleet as a background service: `python -m emulator.fleet.service --state DIR --devices sim:4`, which `sopbench devices up` starts.

Answers on a port of the loopback interface, one JSON object a line: {"token": ..., "op": "status" | "logs" | "lend" | "give_back" | "stop", ...}.
What a connection has lent comes back when that connection ends.
"""

from __future__ import annotations

import argparse
import hmac
import json
import os
import signal
import socketserver
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from emulator.backends import devices_from
from emulator.device import Device, DeviceFailed
from emulator.fleet.fleet import Fleet
from emulator.fleet.rules import Rules
from emulator.fleet.state import FleetError, Record, StateFolder
from emulator.orphans import MARK, Guard, Process, began, identified
from sopbench.errors import SopbenchError

MAX_LINE: Final = 64 * 1024
MOST_LINES: Final = 10_000
LONGEST_WAIT: Final = 3600.0
WRITE_EVERY: Final = 0.5


class Service:
    """A fleet and who may ask it."""

    def __init__(self, fleet: Fleet, token: str) -> None:
        self.fleet = fleet
        self.stopped = threading.Event()
        self._token = token.encode()

    def answer(self, request: Mapping[str, Any], lent: dict[str, Device]) -> dict[str, Any]:
        """One request of a connection that holds `lent`. What cannot be done is {"ok": false, "kind", "error"}."""
        token = request.get("token")
        if not isinstance(token, str) or not hmac.compare_digest(token.encode("utf-8", "replace"), self._token):
            return _refused("denied", "wrong token")
        try:
            return {"ok": True, **self._do(request.get("op"), request, lent)}
        except DeviceFailed as error:
            return _refused(error.kind, error.detail)
        except (KeyError, ValueError, TypeError) as error:
            return _refused("bad_request", str(error)[:200])

    def _do(self, op: object, request: Mapping[str, Any], lent: dict[str, Device]) -> dict[str, Any]:
        match op:
            case "status":
                return {"status": self.fleet.status().as_json()}
            case "logs":
                lines = min(max(int(request.get("lines", 200)), 1), MOST_LINES)
                return {"lines": self.fleet.logs(str(request["name"]), lines)}
            case "lend":
                device = self.fleet.lend(min(max(float(request.get("within", 600.0)), 0.0), LONGEST_WAIT))
                lent[device.name] = device
                return {"device": _described(device)}
            case "give_back":
                device = lent.pop(str(request["name"]))
                self.fleet.give_back(device, broken=request.get("broken") is True)
                return {}
            case "reload" | "health":
                device = lent[str(request["name"])]
                return {"health": device.health().as_json()} if op == "health" else self._snapshot(device, request)
            case "stop":
                self.stopped.set()
                return {}
            case _:
                raise ValueError("no such request")

    def _snapshot(self, device: Device, request: Mapping[str, Any]) -> dict[str, Any]:
        name = str(request["snapshot"])
        if request.get("save") is True:
            device.snapshot_save(name)
        else:
            device.snapshot_load(name)
        return {}


def _refused(kind: str, error: str) -> dict[str, Any]:
    return {"ok": False, "kind": kind, "error": error}


def _described(device: Device) -> dict[str, Any]:
    address = device.address
    return {
        "name": device.name,
        "backend": device.facts.backend,
        "facts": dict(device.facts.details),
        "serial": address.serial,
        "adb_server_port": address.adb_server_port,
        "console_port": address.console_port,
        "grpc_port": address.grpc_port,
        "host": address.host,
        "pids": list(device.pids),
    }


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    allow_reuse_address = True

    def __init__(self, service: Service) -> None:
        self.service = service
        super().__init__(("127.0.0.1", 0), _Connection)


class _Connection(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        assert isinstance(self.server, _Server)
        service = self.server.service
        lent: dict[str, Device] = {}
        try:
            while line := self.rfile.readline(MAX_LINE):
                try:
                    request = json.loads(line)
                except (ValueError, RecursionError):
                    request = None
                if not isinstance(request, dict):
                    said = _refused("bad_request", "one JSON object a line")
                else:
                    said = service.answer(request, lent)
                self.wfile.write(json.dumps(said).encode() + b"\n")
                if said.get("kind") in ("denied", "bad_request") and not lent:
                    return
        except OSError:
            return  # whoever asked has gone
        finally:
            for device in lent.values():
                service.fleet.give_back(device)


def serve(state: StateFolder, devices: str, fleet: Fleet, mark: str) -> None:
    """Run until a signal or a request to stop. Raises `FleetError` where another one has the folder."""
    state.make()
    lock = state.lock()
    if lock is None:
        raise FleetError(f"a fleet runs in {state.path} already")
    own = began(os.getpid())
    assert own is not None
    with lock:
        service = Service(fleet, state.new_token())
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda *_: service.stopped.set())
        with _Server(service) as server:
            threading.Thread(target=server.serve_forever, name="answers", daemon=True).start()
            record = Record(server.server_address[1], devices, mark, Process(os.getpid(), own))
            state.write(record)
            try:
                with fleet:
                    _keep_record(state, record, fleet, service.stopped)
            finally:
                server.shutdown()
                state.clear()


def _keep_record(state: StateFolder, record: Record, fleet: Fleet, stopped: threading.Event) -> None:
    told: tuple[int, ...] = ()
    while not stopped.wait(WRITE_EVERY):
        pids = tuple(pid for device in fleet.devices for pid in device.pids)
        if pids != told:
            told = pids
            state.write(Record(record.port, record.backend, record.mark, record.service, identified(pids)))


def _log(line: str) -> None:
    print(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {line}", flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m emulator.fleet.service", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--state", type=Path, required=True)
    parser.add_argument("--devices", required=True)
    parser.add_argument("--screen", default="pocket")
    parser.add_argument("--grpc", action="store_true")
    parser.add_argument("--python", type=Path)
    parser.add_argument("--check-every", type=float, default=10.0)
    options = parser.parse_args(argv)
    mark = os.environ.get(MARK, "")
    try:
        make, count = devices_from(options.devices, screen=options.screen, grpc=options.grpc, python=options.python)
        fleet = Fleet(
            make,
            count,
            rules=Rules(check_every=options.check_every),
            listener=_log,
            guard=Guard(mark),
        )
        serve(StateFolder(options.state), options.devices, fleet, mark)
    except SopbenchError as error:
        _log(f"error: {error}")
        return error.exit_code
    _log("down")
    return 0


if __name__ == "__main__":
    sys.exit(main())
