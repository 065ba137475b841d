"""`sopbench devices`: a fleet in the background, and what is left where it, or its guard, is killed: nothing."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from commands import assert_clear_error, sopbench

from emulator.backends import devices_from
from emulator.device import DeviceFailed
from emulator.fleet.client import FleetClient, LentDevice, RemoteFleet, bring_down
from emulator.fleet.state import FleetError, StateFolder
from sopbench.actions import Open
from sopbench.errors import SopbenchError
from sopbench.online.pocket_adb import AdbPocketEnvironment, PocketFleet


@pytest.fixture
def state(tmp_path: Path) -> Iterator[StateFolder]:
    folder = StateFolder(tmp_path / "fleet")
    yield folder
    bring_down(folder)


def up(state: StateFolder, count: int = 1) -> dict[str, Any]:
    done = sopbench(
        "devices", "up", "--backend", f"sim:{count}", "--check-every", "0.5", "--state", state.path, "--json"
    )
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def processes(state: StateFolder, status: dict[str, Any]) -> list[psutil.Process]:
    """The service, its guard, and all phones and adb servers."""
    record = state.read()
    assert record is not None
    service = psutil.Process(record.service.pid)
    found = [service, *service.children(recursive=True)]
    assert {pid for slot in status["slots"] for pid in slot["pids"]} < {process.pid for process in found}
    return found


def gone(found: list[psutil.Process], within: float = 20.0) -> bool:
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        if not any(process.is_running() and process.status() != psutil.STATUS_ZOMBIE for process in found):
            return True
        time.sleep(0.1)
    return False


def test_up_status_logs_down(state: StateFolder) -> None:
    told = up(state, 2)
    assert (told["devices"], told["idle"]) == (2, 2)
    found = processes(state, told)
    status = sopbench("devices", "status", "--state", state.path)
    assert status.returncode == 0
    assert "sim-0" in status.stdout
    assert "sim-1" in status.stdout
    assert "sim-0: up" in sopbench("devices", "logs", "--state", state.path).stdout
    of_device = sopbench("devices", "logs", "sim-0", "--state", state.path, "--json")
    assert json.loads(of_device.stdout)["name"] == "sim-0"
    assert_clear_error(sopbench("devices", "logs", "sim-7", "--state", state.path), "no device 'sim-7'", "sim-0, sim-1")
    assert_clear_error(sopbench("devices", "up", "--state", state.path), "runs in", "--state")
    down = sopbench("devices", "down", "--state", state.path, "--json")
    assert json.loads(down.stdout) == {"state": str(state.path), "ran": True, "leftovers": []}
    assert gone(found, 1.0)
    assert_clear_error(sopbench("devices", "status", "--state", state.path), "no fleet in", "devices up")


@pytest.mark.parametrize(
    "words", ["sim", "sim:", "sim:0", "sim:-1", "sim:65", "sim:x", "sim:1e1", "sim:\u0664", "toaster:1"]
)
def test_words_that_name_no_devices_are_told(words: str) -> None:
    with pytest.raises(SopbenchError, match="sim:"):
        devices_from(words)


def test_a_wrong_word_starts_nothing(tmp_path: Path) -> None:
    assert_clear_error(sopbench("devices", "up", "--backend", "sim:0", "--state", tmp_path / "s"), "sim:4")
    assert_clear_error(sopbench("devices", "up", "--screen", "toast", "--state", tmp_path / "s"), "'toast'", "pocket")
    assert not (tmp_path / "s").exists()


def test_a_killed_service_takes_its_devices_along(state: StateFolder) -> None:
    found = processes(state, up(state))
    os.kill(found[0].pid, signal.SIGKILL)
    assert gone(found)
    assert_clear_error(sopbench("devices", "status", "--state", state.path), "does not answer", "devices down")
    up(state)


def test_what_is_left_where_the_guard_was_killed_too_is_found_by_the_next(state: StateFolder) -> None:
    told = up(state)
    found = processes(state, told)
    guards = [process for process in found if "emulator.orphans" in process.cmdline()]
    servers = [process for process in found if process.name() == "adb"]
    assert (len(guards), len(servers)) == (1, 1)
    guards[0].kill()
    os.kill(found[0].pid, signal.SIGKILL)
    assert gone([guards[0], found[0]])
    assert servers[0].is_running(), "adb's server watches nobody: it is what is left"
    down = sopbench("devices", "down", "--state", state.path, "--json")
    assert {process.pid for process in servers} <= set(json.loads(down.stdout)["leftovers"])
    assert gone(found)


def test_another_process_lends_from_it(state: StateFolder) -> None:
    up(state)
    fleet = RemoteFleet(state.path)
    fleet.start()
    device = fleet.lend(60)
    assert isinstance(device, LentDevice)
    assert device.health().ok
    device.act(Open("notes"))
    device.snapshot_save("mine")
    device.snapshot_load("mine")
    with pytest.raises(DeviceFailed, match="no device became free"):
        RemoteFleet(state.path).lend(0.1)
    fleet.give_back(device)
    environment = AdbPocketEnvironment(PocketFleet(fleet, 60), "notes.unpin", 1)
    environment.reset()
    while (action := environment.expert()) is not None:
        environment.perform(action)
    assert environment.score() == 1
    fleet.stop()  # as if this process had died: the connection closes
    device = RemoteFleet(state.path).lend(60)
    assert device.shell("getprop", "sys.boot_completed").text == "1"


def test_without_the_token_nothing_is_answered(state: StateFolder) -> None:
    up(state)
    (state.path / "token").write_text("guessed")
    client = FleetClient(state)
    with pytest.raises(FleetError, match="wrong token"):
        client.ask("stop")
    client.close()
    assert state.busy
    record = state.read()
    assert record is not None
    os.kill(record.service.pid, signal.SIGTERM)
    deadline = time.monotonic() + 20
    while state.busy and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not state.busy
