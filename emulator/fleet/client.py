"""A fleet that runs as a service, from another process: started, asked, and lent from."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from emulator.adb import AdbClient, AdbServer
from emulator.adb_device import AdbDevice
from emulator.android_hands import AndroidHands
from emulator.device import Address, Device, DeviceFailed, Facts, FailureKind
from emulator.fleet.service import MAX_LINE
from emulator.fleet.state import FleetError, StateFolder
from emulator.orphans import MARK, ROOT, Process, end_all, identified

MAX_ANSWER: Final = 16 * 1024 * 1024
GRACE: Final = 10.0
"""Seconds that an answer may take beyond what was asked for."""


def bring_up(state: StateFolder, options: Sequence[str], within: float = 60.0) -> None:
    """Start a service with these options of `emulator.fleet.service`, and wait until it answers (its devices boot on).

    What a dead one left in the folder is ended first. Raises `FleetError`.
    """
    state.make()
    if state.busy:
        raise FleetError(
            f"a fleet runs in {state.path} already: see `sopbench devices status`, end it with `sopbench devices down`, or name another folder with --state"
        )
    state.end_leftovers()
    with open(state.log, "wb") as log:
        child = subprocess.Popen(
            [sys.executable, "-m", "emulator.fleet.service", "--state", str(state.path.absolute()), *options],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=ROOT,
            env=os.environ | {MARK: secrets.token_hex(16)},
            start_new_session=True,
        )
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        if child.poll() is not None:
            said = state.log.read_text(errors="replace").strip().splitlines()[-3:]
            raise FleetError("the fleet did not start: " + (" / ".join(said) or "it said nothing"))
        with contextlib.suppress(FleetError), contextlib.closing(FleetClient(state)) as client:
            client.ask("status")
            return
        time.sleep(0.05)
    end_all(identified([child.pid]))
    raise FleetError(f"the fleet's service did not answer within {within:g} s; its log is {state.log}")


def bring_down(state: StateFolder, within: float = 60.0) -> tuple[bool, tuple[Process, ...]]:
    """End the service and its devices. Whether one ran, and which processes were left over and had to be ended."""
    ran = state.busy
    if ran:
        with contextlib.suppress(FleetError), contextlib.closing(FleetClient(state)) as client:
            client.ask("stop")
        deadline = time.monotonic() + within
        while state.busy and time.monotonic() < deadline:
            time.sleep(0.05)
    if not state.path.is_dir():
        return False, ()
    return ran, state.end_leftovers()


class FleetClient:
    """One connection to a service. What is lent over it comes back when it is closed."""

    def __init__(self, state: StateFolder) -> None:
        self._state = state
        self._wire: socket.socket | None = None
        self._lock = threading.Lock()

    def ask(self, op: str, timeout: float = GRACE, **more: Any) -> dict[str, Any]:
        """Raises `FleetError`, or `DeviceFailed` for what the fleet refuses."""
        with self._lock:
            try:
                said = self._exchange({"op": op, "token": self._state.token(), **more}, timeout)
            except (OSError, ValueError) as error:
                self._drop()
                raise FleetError(
                    f"the fleet in {self._state.path} does not answer ({error}): `sopbench devices down` ends what is left of it"
                ) from error
        if said.get("ok") is True:
            return said
        kind = str(said.get("kind"))[:40]
        if kind in ("denied", "bad_request"):
            raise FleetError(f"the fleet in {self._state.path} refuses: {str(said.get('error'))[:200]}")
        raise DeviceFailed(kind, str(said.get("error"))[:500])  # type: ignore[arg-type]  # as the fleet said it

    def _exchange(self, request: dict[str, Any], within: float) -> dict[str, Any]:
        if self._wire is None:
            record = self._state.read()
            if record is None:
                raise FleetError(f"no fleet in {self._state.path}: start one with `sopbench devices up`")
            self._wire = socket.create_connection(("127.0.0.1", record.port), GRACE)
        self._wire.settimeout(within)
        line = json.dumps(request).encode() + b"\n"
        if len(line) > MAX_LINE:
            raise ValueError("a request that is too long")
        self._wire.sendall(line)
        data = b""
        while not data.endswith(b"\n"):
            more = self._wire.recv(65536)
            if not more or len(data) > MAX_ANSWER:
                raise OSError("the connection was closed")
            data += more
        said = json.loads(data)
        if not isinstance(said, dict):
            raise ValueError("an answer that is no object")
        return said

    def _drop(self) -> None:
        wire, self._wire = self._wire, None
        if wire is not None:
            wire.close()

    def close(self) -> None:
        with self._lock:
            self._drop()


class RemoteFleet:
    """A service's fleet with the calls of `Fleet` that a run needs. Each lent device has a connection of its own: it comes back if this process dies."""

    def __init__(self, path: Path) -> None:
        self._state = StateFolder(path)
        self._lent: dict[str, FleetClient] = {}

    def start(self) -> None:
        """See that it is there. Raises `FleetError`."""
        client = FleetClient(self._state)
        client.ask("status")
        client.close()

    def lend(self, within: float | None = None) -> Device:
        client = FleetClient(self._state)
        allowed = 600.0 if within is None else within
        try:
            told = client.ask("lend", allowed + GRACE, within=allowed)["device"]
            device = (LentPhone if told["backend"] == "sim" else LentAndroid)(told, client)
        except FleetError as error:
            client.close()
            raise DeviceFailed("offline", str(error)) from error
        except BaseException:
            client.close()
            raise
        self._lent[device.name] = client
        return device

    def give_back(self, device: Device, *, broken: bool = False) -> None:
        client = self._lent.pop(device.name, None)
        if client is None:
            return
        try:
            client.ask("give_back", name=device.name, broken=broken)
        except (FleetError, DeviceFailed):
            pass  # the service has gone; so has the device
        finally:
            client.close()

    def stop(self) -> None:
        """Give everything back; the fleet lives on."""
        lent, self._lent = dict(self._lent), {}
        for client in lent.values():
            client.close()


class _TheirServer(AdbServer):
    """An adb server that another process owns."""

    @property
    def pid(self) -> int | None:
        return 0 if self._answers() else None

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1.0):
                return True
        except OSError:
            return False

    def start(self, within: float = 15.0) -> None:
        return

    def stop(self, within: float = 5.0) -> None:
        return


class LentDevice(AdbDevice):
    """A device of a service, reached by adb; what only its owner can do is asked of him."""

    def __init__(self, told: dict[str, Any], client: FleetClient) -> None:
        self._name = str(told["name"])
        self._facts = Facts(str(told["backend"]), told["facts"])
        self._address = Address(
            told["serial"], told["adb_server_port"], told["console_port"], told["grpc_port"], told["host"]
        )
        self._pids = tuple(told["pids"])
        self._fleet = client
        self._server = _TheirServer(self._address.adb_server_port)
        self._client = AdbClient(self._server, self._address.serial)

    @property
    def name(self) -> str:
        return self._name

    @property
    def facts(self) -> Facts:
        return self._facts

    @property
    def address(self) -> Address:
        return self._address

    @property
    def pids(self) -> tuple[int, ...]:
        return self._pids

    def start(self, *, within: float | None = None) -> None:
        return

    def stop(self, *, within: float | None = None) -> None:
        """Its owner ends it."""
        return

    def reconnect(self, *, within: float | None = None) -> None:
        raise DeviceFailed("unsupported", f"{self.name}: its fleet repairs it")

    def restart(self, *, within: float | None = None) -> None:
        raise DeviceFailed("unsupported", f"{self.name}: its fleet repairs it")

    def snapshot_save(self, name: str, *, within: float | None = None) -> None:
        self._snapshot(name, within, save=True)

    def snapshot_load(self, name: str, *, within: float | None = None) -> None:
        self._snapshot(name, within, save=False)

    def _snapshot(self, name: str, within: float | None, *, save: bool) -> None:
        allowed = self.limits.snapshot if within is None else within
        try:
            self._fleet.ask("reload", allowed, name=self.name, snapshot=name, save=save)
        except FleetError as error:
            raise DeviceFailed("offline", str(error)) from error

    def _gone(self) -> FailureKind | None:
        return None


class LentPhone(LentDevice):
    """A simulated phone."""

    def package_of(self, app: str) -> str | None:
        if not str(self.facts.details.get("screen")).startswith("pocket"):
            return None
        from emulator.sim.device import pocket_package

        return pocket_package(app)


class LentAndroid(AndroidHands, LentDevice):
    """A device of real Android."""
