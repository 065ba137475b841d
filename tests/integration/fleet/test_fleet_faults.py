"""Every fault of the simulated phone, seen through the genuine adb: noticed, repaired within the deadline, and the episode is played again."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

import sopbench
from emulator.device import DeviceFailed
from emulator.fleet import Fleet, Rules, SlotStatus
from emulator.sim import SimDevice
from sopbench.online.base import OnlineEnvironment, OnlineTask
from sopbench.online.pocket_adb import AdbPocketEnvironment, PocketFleet
from sopbench.runs.records import EpisodeEnd
from sopbench.suites.pocket import PocketOnlineSuite

RULES = Rules(check_every=0.5, health=4.0, reconnect=1.0, reload=4.0, restart=20.0, reclone=30.0)
FAULTS = {
    "hang": ("timeout", "restart"),
    "offline": ("offline", "restart"),
    "adb_garbage": ("offline", "restart"),
    "black_screen": ("black_screen", "restart"),
    "crash": ("died", "restart"),
}
"""Fault, the kind of failure that the ladder makes of it, and what mends it where it does not pass by itself."""


@pytest.fixture(scope="module")
def fleet() -> Iterator[Fleet]:
    with Fleet(lambda number: SimDevice(f"phone-{number}"), 2, rules=RULES) as fleet:
        assert fleet.wait_until_up(120)
        yield fleet
        left = [psutil.Process(pid) for device in fleet.devices for pid in device.pids]
    assert not any(process.is_running() for process in left)


def phone(fleet: Fleet, number: int = 0) -> SimDevice:
    device = fleet.devices[number]
    assert isinstance(device, SimDevice)
    return device


def slot(fleet: Fleet, number: int = 0) -> SlotStatus:
    return fleet.status().slots[number]


def mended(fleet: Fleet, number: int, remedy: str, before: SlotStatus) -> None:
    """Wait until the remedy has helped once more, no longer than the rules allow."""
    deadline = time.monotonic() + RULES.check_every + 4.0 + RULES.repair_within(phone(fleet).limits)
    while True:
        now = slot(fleet, number)
        if now.remedies[remedy].mended > before.remedies[remedy].mended and now.state == "idle":  # type: ignore[index]
            return
        assert time.monotonic() < deadline, now.as_json()
        time.sleep(0.05)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_an_idle_phone_is_noticed_and_repaired(fleet: Fleet, fault: str) -> None:
    kind, remedy = FAULTS[fault]
    before = slot(fleet)
    phone(fleet).inject(fault)
    mended(fleet, 0, remedy, before)
    now = slot(fleet)
    assert set(now.broke) - set(before.broke) <= {kind}
    assert now.broke[kind] == before.broke.get(kind, 0) + 1
    assert phone(fleet).health().ok


def test_a_slow_boot_is_given_up_and_another_phone_takes_its_place() -> None:
    with Fleet(lambda number: SimDevice("slow"), 1, rules=Rules(check_every=0.3, restart=2.5)) as fleet:
        assert fleet.wait_until_up(120)
        before, was = slot(fleet), phone(fleet).address
        phone(fleet).inject("slow_boot", 60)
        phone(fleet).inject("crash")
        mended(fleet, 0, "reclone", before)
        assert slot(fleet).remedies["restart"].tried == 1
        assert slot(fleet).remedies["restart"].longest < 2.5 + 1
        assert phone(fleet).address != was


def test_a_dead_adb_server_is_reconnected_and_the_phone_keeps_its_state(fleet: Fleet) -> None:
    before, device = slot(fleet), phone(fleet)
    device.shell("touch", "/sdcard/kept")
    server = device._server
    assert server is not None
    assert server.pid is not None
    psutil.Process(server.pid).kill()
    mended(fleet, 0, "reconnect", before)
    assert device.shell("ls", "/sdcard/kept").code == 0


def test_a_forest_that_does_not_arrive_is_seen_by_whoever_receives_it(fleet: Fleet) -> None:
    before, device = slot(fleet), phone(fleet)
    pid = device.host.pid

    def probe(within: float) -> None:
        if device.host.pid == pid:
            raise DeviceFailed("no_forest", "no forest arrived")

    device.forest_probe = probe
    try:
        mended(fleet, 0, "restart", before)
    finally:
        device.forest_probe = None
    assert slot(fleet).broke["no_forest"] == 1


def test_what_one_borrower_did_the_next_does_not_see(fleet: Fleet) -> None:
    device = fleet.lend(60)
    device.shell("touch", "/sdcard/left-behind")
    fleet.give_back(device)
    others = [fleet.lend(60), fleet.lend(60)]
    assert device in others
    assert all(other.shell("ls", "/sdcard/left-behind").code != 0 for other in others)
    for other in others:
        fleet.give_back(other)


@pytest.mark.parametrize("fault", ["crash", "offline", "black_screen"])
def test_an_episode_that_met_a_fault_is_begun_again_and_nothing_is_lost(
    fleet: Fleet, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    phones = PocketFleet(fleet, within=120)
    once = threading.Lock()
    usual = AdbPocketEnvironment.act

    def environment(self: PocketOnlineSuite, task: OnlineTask) -> OnlineEnvironment:
        return phones.environment(task)

    def act(self: AdbPocketEnvironment, action: object) -> object:
        if once.acquire(blocking=False):
            device = self.device
            assert isinstance(device, SimDevice)
            device.inject(fault)
            time.sleep(0.2)
        return usual(self, action)  # type: ignore[arg-type]

    monkeypatch.setattr(PocketOnlineSuite, "environment", environment)
    monkeypatch.setattr(AdbPocketEnvironment, "act", act)
    asked = {"suite": "pocket-online", "model": "builtin:oracle", "limit": 3, "concurrency": 2}
    run = sopbench.run(**asked, out=tmp_path / "run")
    assert (run.summary["success"], run.summary["complete"], run.summary["not_scored_trajectories"]) == (100.0, True, 0)
    assert sum(run.summary["environment_failures"].values()) == 1
    ends = [record for record in run.folder.records() if isinstance(record, EpisodeEnd)]
    assert sorted(end.outcome for end in ends) == ["not_scored", "scored", "scored", "scored"]
