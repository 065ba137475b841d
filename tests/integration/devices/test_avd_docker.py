"""`avd` and `docker` with STAND-INS for their programs (no Android runs here): flags, clones, ports, deadlines, no orphans."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from emulator import kvm
from emulator.avd import AvdDevice
from emulator.device import DeviceFailed
from emulator.docker import DockerDevice
from emulator.fleet import Fleet
from tests.integration.devices.conftest import StandIns

Keep = Callable[[Any], Any]
Avd = Callable[..., AvdDevice]


@pytest.fixture(autouse=True)
def usable_kvm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kvm, "probe", lambda: kvm.Kvm(True, "as the test says", 104))


@pytest.fixture
def avd(standins: StandIns, avds: Path, tmp_path: Path, adb: Path, keep: Keep) -> Avd:
    def make(slot: int = 20, **options: Any) -> AvdDevice:
        device = AvdDevice(
            f"avd-{slot}", "Gold", slot, home=avds, clones=tmp_path / "clones", emulator=standins.emulator, **options
        )
        return keep(device)  # type: ignore[no-any-return]

    return make


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_clone_runs_with_the_flags_of_the_design(avd: Avd, standins: StandIns, tmp_path: Path) -> None:
    device = avd()
    device.start(within=30)
    ports = device.address
    [call] = standins.calls("emulator")
    words = call["words"]
    assert words[:2] == ["-avd", "sopbench-Gold-20"]
    assert call["home"] == str(tmp_path / "clones")
    for flag in ("-no-window", "-no-audio", "-no-boot-anim", "-no-snapshot-save"):
        assert flag in words
    for flag, value in {"-gpu": "swiftshader_indirect", "-grpc": str(ports.grpc_port), "-snapshot": "golden"}.items():
        assert words[words.index(flag) + 1] == value
    assert words[words.index("-ports") + 1] == f"{ports.console_port},{ports.console_port + 1}"  # type: ignore[operator]
    clone = tmp_path / "clones" / "sopbench-Gold-20.avd"
    assert (clone / "userdata-qemu.img").read_bytes() == b"\0golden\xff" * 100
    assert str(clone) in (clone / "snapshots" / "golden" / "hardware.ini").read_text()
    assert "AvdId=sopbench-Gold-20" in (clone / "config.ini").read_text()
    assert not list(clone.rglob("*.lock"))
    assert device.facts.details["hw.device.name"] == "pixel_6"
    device.snapshot_save("mine")
    device.snapshot_load("mine")
    pids = device.pids
    assert len(pids) == 2
    device.stop()
    assert not any(alive(pid) for pid in pids)


def test_a_killed_emulator_is_noticed_and_booted_again_from_its_clone(
    avd: Avd, standins: StandIns, tmp_path: Path
) -> None:
    device = avd()
    device.start(within=30)
    mine = tmp_path / "clones" / "sopbench-Gold-20.avd" / "mine"
    mine.touch()
    os.kill(device.pids[0], signal.SIGKILL)
    deadline = time.monotonic() + 5
    while device.health(within=3).ok and time.monotonic() < deadline:
        time.sleep(0.05)
    health = device.health(within=3)
    assert (health.failed, health.kind) == ("process", "died")
    device.restart(within=30)
    assert device.shell("echo", "up").text == "up"
    assert mine.exists()
    device.reclone(within=30)
    assert device.shell("echo", "up").text == "up"
    assert not mine.exists()


def test_a_clone_has_one_holder_and_a_running_golden_is_not_copied(avd: Avd, avds: Path) -> None:
    first, second = avd(), avd()
    lock = avds / "Gold.avd" / "hardware-qemu.ini.lock"
    lock.mkdir()
    (lock / "pid").write_text(str(os.getpid()))
    with pytest.raises(DeviceFailed, match="end it before it is copied"):
        first.start(within=10)
    (lock / "pid").write_text("999999999")
    first.start(within=30)
    with pytest.raises(DeviceFailed, match="belongs to another run"):
        second.start(within=10)
    health = first.health(within=5)
    assert (health.ok, health.passed) == (True, ("process", "adb", "boot", "screen", "grpc"))


def test_read_only_shares_the_golden_and_saves_nothing(avd: Avd, standins: StandIns) -> None:
    device = avd(mode="read-only")
    device.start(within=30)
    [call] = standins.calls("emulator")
    assert call["words"][:2] == ["-avd", "Gold"]
    assert "-read-only" in call["words"]
    for forbidden in (lambda: device.snapshot_save("x"), device.reclone):
        with pytest.raises(DeviceFailed) as failed:
            forbidden()
        assert failed.value.kind == "unsupported"


def test_what_an_emulator_says_as_it_dies_is_told(avd: Avd, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STANDIN_FAULT", "die")
    device = avd()
    began = time.monotonic()
    with pytest.raises(DeviceFailed, match="PANIC: the stand-in") as failed:
        device.start(within=30)
    assert failed.value.kind == "boot_failed"
    assert time.monotonic() - began < 15
    assert device.pids == ()


def test_without_kvm_nothing_is_started(avd: Avd, standins: StandIns, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kvm, "probe", lambda: kvm.Kvm(False, "there is none"))
    with pytest.raises(DeviceFailed, match="accel=off") as failed:
        avd().start(within=10)
    assert failed.value.kind == "not_installed"
    assert standins.calls("emulator") == []


def test_a_container_publishes_on_loopback_and_ends_with_its_owner(standins: StandIns, keep: Keep) -> None:
    device = keep(DockerDevice("docker-21", 21, docker=standins.docker))
    device.start(within=30)
    console = device.address.console_port
    [call] = standins.calls("docker", "run")
    words = call["words"]
    published = [words[place + 1] for place, word in enumerate(words) if word == "-p"]
    assert published[:2] == [f"127.0.0.1:{console}:15554", f"127.0.0.1:{console + 1}:15555"]
    assert all(each.startswith("127.0.0.1:") for each in published)
    assert words[words.index("--device") + 1] == "/dev/kvm"
    assert words[words.index("--group-add") + 1] == "104"
    assert device.facts.details["id"] == "sha256:standin"
    pids = device.pids
    device.stop()
    assert not any(alive(pid) for pid in pids)
    [removed] = standins.calls("docker", "rm")
    assert removed["words"] == ["rm", "-f", words[words.index("--name") + 1]]


def test_a_fleet_mends_clones_and_containers(avd: Avd, standins: StandIns, keep: Keep) -> None:
    devices = [avd(23), keep(DockerDevice("docker-24", 24, docker=standins.docker))]
    began: list[str] = []
    with Fleet(lambda slot: devices[slot], 2, prepare=lambda device: began.append(device.name)) as fleet:
        assert fleet.wait_until_up(60)
        lent = [fleet.lend(30), fleet.lend(30)]
        assert {device.name for device in lent} == set(began) == {"avd-23", "docker-24"}
        for device in lent:
            os.kill(device.pids[0], signal.SIGKILL)
            fleet.give_back(device, broken=True)
        again = [fleet.lend(60), fleet.lend(60)]
        assert all(device.health().ok for device in again)
        pids = [pid for device in again for pid in device.pids]
        assert len(pids) == 4
    assert not any(alive(pid) for pid in pids)


@pytest.mark.parametrize(("fault", "words"), [("no-image", "docker build"), ("no-daemon", "start its daemon")])
def test_what_docker_lacks_is_said(
    standins: StandIns, keep: Keep, monkeypatch: pytest.MonkeyPatch, fault: str, words: str
) -> None:
    monkeypatch.setenv("STANDIN_FAULT", fault)
    with pytest.raises(DeviceFailed, match=words) as failed:
        keep(DockerDevice("docker-22", 22, docker=standins.docker)).start(within=10)
    assert failed.value.kind == "not_installed"
