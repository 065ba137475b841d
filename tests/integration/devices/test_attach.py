"""`attach` on a phone that somebody else runs: here the simulated one, through the genuine adb."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from emulator.attach import AttachDevice
from emulator.device import DeviceFailed
from emulator.sim import SimDevice
from sopbench.actions import Open, Type

Keep = Callable[[Any], Any]
HOSTILE = "'; rm -rf /sdcard; $(reboot) `id` \"&| --help"


@pytest.fixture
def theirs(adb: Path, keep: Keep) -> SimDevice:
    device = keep(SimDevice("theirs", "androidworld", adb=adb))
    device.start()
    return device


@pytest.fixture
def ours(theirs: SimDevice, keep: Keep) -> AttachDevice:
    assert theirs.address.console_port is not None
    device = keep(AttachDevice("ours", theirs.address.console_port))
    device.start(within=20)
    return device


def test_it_is_reached_and_never_ended(theirs: SimDevice, ours: AttachDevice) -> None:
    assert ours.address.adb_server_port != theirs.address.adb_server_port
    health = ours.health()
    assert (health.ok, health.passed) == (True, ("process", "adb", "boot", "screen"))
    assert ours.screenshot().size == theirs.screenshot().size
    with pytest.raises(DeviceFailed) as refused:
        ours.restart()
    assert refused.value.kind == "unsupported"
    server = ours.pids[0]
    ours.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(server, 0)
    assert theirs.health().ok


def test_snapshots_through_the_console(ours: AttachDevice) -> None:
    ours.shell("settings", "put", "global", "mark", "before")
    ours.snapshot_save("clean")
    ours.shell("settings", "put", "global", "mark", "after")
    ours.snapshot_load("clean")
    assert ours.shell("settings", "get", "global", "mark").text == "before"
    for name in ("never", "a b", "x\nkill", "-x", ""):
        with pytest.raises(DeviceFailed) as failed:
            ours.snapshot_load(name)
        assert failed.value.kind == "no_snapshot"
    assert ours.health().ok


def test_a_phone_that_comes_back_is_found_by_reconnecting(theirs: SimDevice, ours: AttachDevice) -> None:
    theirs.host.stop(0.0)
    gone = ours.health(within=3)
    assert (gone.failed, gone.ok) == ("adb", False)
    theirs.restart()
    ours.reconnect(within=15)
    assert ours.health().ok


def test_hostile_words_stay_words(ours: AttachDevice) -> None:
    ours.shell("mkdir", "-p", "/sdcard/kept")
    ours.act(Open(HOSTILE))
    ours.act(Type(HOSTILE))
    assert ours.shell("echo", HOSTILE).text == HOSTILE
    assert "kept" in ours.shell("ls", "/sdcard").text


def test_apps_are_opened_by_name_or_package(ours: AttachDevice) -> None:
    assert ours.package_of("  Markor ") == "net.gsantner.markor"
    assert ours.package_of("com.android.settings") == "com.android.settings"
    assert ours.package_of(HOSTILE) is None
    ours.act(Open("Markor"))
    assert "net.gsantner.markor" in ours.shell("dumpsys", "activity", "activities").text


def test_letters_that_input_refuses_need_a_keyboard_app(ours: AttachDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    ours.act(Type("naïve"))  # the simulated phone's `input` knows them
    real = ours.line

    def as_android_does(command: str, within: float | None = None) -> Any:
        return real("false" if command.startswith("input text") else command, within)

    monkeypatch.setattr(ours, "line", as_android_does)
    with pytest.raises(DeviceFailed, match="ADBKeyboard") as failed:
        ours.act(Type("naïve"))
    assert failed.value.kind == "unsupported"


def test_nobody_there(adb: Path, keep: Keep) -> None:
    device = keep(AttachDevice("nobody", 30002))
    with pytest.raises(DeviceFailed) as failed:
        device.start(within=1.5)
    assert failed.value.kind == "boot_failed"
    assert device.pids == ()
