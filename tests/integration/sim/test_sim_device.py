"""The simulated phone as a device: its life, its health ladder, and every fault detected and overcome."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from conftest import ROOT, Phones

from emulator.device import FAILURE_KINDS, DeviceFailed
from emulator.sim import FAULTS, SimDevice
from sopbench.actions import Answer, Open, Terminate


def alive(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def wait_until_well(device: SimDevice, within: float = 30.0) -> None:
    deadline = time.monotonic() + within
    while not (health := device.health(within=5)).ok:
        assert time.monotonic() < deadline, health
        time.sleep(0.1)


def test_a_child_process_lives_and_leaves_nothing(phones: Phones) -> None:
    device = phones()
    pids = device.pids
    assert len(pids) == 2
    assert all(alive(pid) for pid in pids)
    health = device.health()
    assert health.ok, health
    assert health.passed == ("process", "adb", "boot", "screen")
    device.act(Open("notes"))
    device.act(Answer("nothing"))
    device.act(Terminate("success"))
    screen = device.screenshot()
    assert str(screen.size) == "540x1200"
    device.snapshot_save("notes")
    device.act(Open("clock"))
    assert device.screenshot().sha256 != screen.sha256
    device.snapshot_load("notes")
    assert device.screenshot().sha256 == screen.sha256
    with pytest.raises(DeviceFailed) as missing:
        device.snapshot_load("none")
    assert missing.value.kind == "no_snapshot"
    device.stop()
    device.stop()
    assert not any(alive(pid) for pid in pids)
    with pytest.raises(DeviceFailed) as off:
        device.screenshot()
    assert off.value.kind == "not_started"
    assert device.health().failed == "process"


@pytest.mark.parametrize(
    ("fault", "rung", "kinds"),
    [
        ("black_screen", "screen", {"black_screen"}),
        ("offline", "adb", {"offline"}),
        ("hang", "adb", {"timeout"}),
        ("adb_garbage", "adb", {"offline"}),
    ],
)
def test_each_fault_fails_its_rung_and_passes(phone: SimDevice, fault: str, rung: str, kinds: set[str]) -> None:
    phone.inject(fault)
    health = phone.health(within=3)
    assert (health.ok, health.failed) == (False, rung)
    assert health.kind in kinds
    assert health.kind in FAILURE_KINDS
    assert health.seconds < 10
    phone.heal()
    wait_until_well(phone)


def test_a_fault_may_last_for_some_seconds(phone: SimDevice) -> None:
    phone.inject("black_screen", 1.0)
    assert phone.health().kind == "black_screen"
    wait_until_well(phone)


def test_a_phone_that_crashed_is_died_and_can_be_restarted(phones: Phones) -> None:
    device = phones()
    (child, server) = device.pids
    device.inject("crash")
    deadline = time.monotonic() + 10
    while device.health().kind != "died":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    with pytest.raises(DeviceFailed) as died:
        device.shell("echo", "x")
    assert died.value.kind == "died"
    device.restart()
    assert device.health().ok
    assert device.pids[1] == server, "the adb server goes on and finds the new phone"
    assert device.pids[0] != child


def test_a_slow_boot_is_waited_for_and_a_slower_one_is_given_up(phones: Phones, adb: Path) -> None:
    device = phones(in_process=True)
    device.inject("slow_boot", 2.0)
    began = time.monotonic()
    device.restart()
    assert time.monotonic() - began >= 2.0
    device.stop()
    slow = SimDevice("slow", in_process=True, adb=adb, boot_seconds=60)
    with pytest.raises(DeviceFailed) as error:
        slow.start(within=2)
    assert error.value.kind == "boot_failed"
    assert slow.pids == ()


def test_the_child_ends_when_its_parent_is_gone(adb: Path) -> None:
    """A manager that was killed leaves no phones behind."""
    script = (
        "import os\nfrom emulator.sim import ChildPhone, free_ports\n"
        "phone = ChildPhone('desk')\nphone.start(free_ports(), 1, 60)\nprint(phone.pid, flush=True)\nos.kill(os.getpid(), 9)\n"
    )
    result = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert result.returncode == -signal.SIGKILL, result.stderr
    pid, deadline = int(result.stdout), time.monotonic() + 20
    while alive(pid):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_the_command_line_starts_one_and_ends_it(adb: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "emulator.sim", "--json", "--screen", "desk"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        assert '"serial": "emulator-' in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


def test_a_taken_port_is_told(phone: SimDevice) -> None:
    port = phone.address.console_port
    result = subprocess.run(
        [sys.executable, "-m", "emulator.sim", "--port", str(port)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 2
    assert "cannot be opened" in result.stderr
    assert "Traceback" not in result.stderr


def test_every_fault_has_a_test() -> None:
    here = Path(__file__).read_text() + (Path(__file__).parent / "test_sim_android_env.py").read_text()
    assert all(f'"{fault}"' in here for fault in FAULTS)
