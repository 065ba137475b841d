"""What a fleet promises, on devices that break to order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest

from emulator.device import Device, DeviceFailed, FailureKind
from emulator.fleet import REMEDIES, Fleet, SlotStatus
from emulator.fleet.slot import SlotState
from tests.unit.fleet.toy import QUICK, Toy, eventually

Fleets = Callable[..., Fleet]


@pytest.fixture
def fleet() -> Iterator[Fleets]:
    with ExitStack() as stack:

        def make(*toys: Toy, **options: object) -> Fleet:
            given = {"rules": QUICK} | options
            return stack.enter_context(Fleet(lambda number: toys[number], len(toys), **given))  # type: ignore[arg-type]

        yield make


def first(fleet: Fleet) -> SlotStatus:
    return fleet.status().slots[0]


def reaches(fleet: Fleet, state: SlotState) -> None:
    eventually(lambda: first(fleet).state == state)


def tried(fleet: Fleet) -> dict[str, tuple[int, int]]:
    return {remedy: (t.tried, t.mended) for remedy, t in first(fleet).remedies.items() if t.tried}


def test_a_device_is_handed_out_clean_and_goes_to_the_next(fleet: Fleets) -> None:
    toy = Toy()
    row = fleet(toy)
    for lends in (1, 2):
        toy.calls.clear()
        device = row.lend(5)
        assert device is toy
        assert "reload" in toy.calls
        assert (first(row).state, first(row).lends) == ("lent", lends)
        row.give_back(device)
        reaches(row, "idle")


def test_without_golden_it_is_handed_out_as_it_came_back(fleet: Fleets) -> None:
    toy = Toy()
    row = fleet(toy, golden=False)
    row.lend(5)
    assert "reload" not in toy.calls


def test_nobody_gets_a_device_that_another_has(fleet: Fleets) -> None:
    row = fleet(Toy("a"), Toy("b"))
    one, two = row.lend(5), row.lend(5)
    assert {one.name, two.name} == {"a", "b"}
    with pytest.raises(DeviceFailed, match="a is lent, b is lent") as error:
        row.lend(0.05)
    assert error.value.kind == "timeout"
    row.give_back(one)
    assert row.lend(5) is one


@pytest.mark.parametrize(
    ("kind", "mended_by", "expected"),
    [
        ("offline", "reconnect", {"reconnect": (1, 1)}),
        ("timeout", "reload", {"reconnect": (1, 0), "reload": (1, 1)}),
        ("offline", "restart", {"reconnect": (1, 0), "reload": (1, 0), "restart": (1, 1)}),
        ("bad_reply", "reclone", {"reconnect": (1, 0), "reload": (1, 0), "restart": (1, 0), "reclone": (1, 1)}),
        ("black_screen", "reload", {"reload": (1, 1)}),
        ("no_forest", "restart", {"reload": (1, 0), "restart": (1, 1)}),
        ("died", "restart", {"restart": (1, 1)}),
        ("boot_failed", "reclone", {"restart": (1, 0), "reclone": (1, 1)}),
    ],
)
def test_an_idle_device_that_breaks_is_repaired_by_the_mildest_remedy_that_helps(
    fleet: Fleets, kind: FailureKind, mended_by: str, expected: dict[str, tuple[int, int]]
) -> None:
    toy = Toy()
    row = fleet(toy)
    reaches(row, "idle")
    toy.break_(kind, mended_by)
    eventually(lambda: toy.broken is None)
    reaches(row, "idle")
    assert tried(row) == expected
    assert first(row).broke == {kind: 1}
    assert row.lend(5) is toy


def test_a_device_that_broke_on_loan_is_found_when_it_comes_back(fleet: Fleets) -> None:
    toy = Toy()
    row = fleet(toy)
    row.lend(5)
    toy.break_("black_screen", "restart")
    row.give_back(toy)
    assert row.lend(5) is toy
    assert tried(row) == {"reload": (1, 0), "restart": (1, 1)}


def test_a_device_said_to_be_broken_is_booted_where_its_ladder_sees_nothing(fleet: Fleets) -> None:
    toy = Toy()
    row = fleet(toy)
    row.lend(5)
    row.give_back(toy, broken=True)
    row.lend(5)
    assert tried(row) == {"restart": (1, 1)}


def test_one_that_breaks_while_it_is_handed_out_is_repaired_and_another_is_given(fleet: Fleets) -> None:
    bad, good = Toy("bad"), Toy("good")
    good.hold.clear()
    row = fleet(bad, good, rules=replace(QUICK, check_every=60))
    reaches(row, "idle")
    bad.break_("offline", None)
    good.hold.set()
    assert row.lend(5) is good


def test_what_no_remedy_helps_is_set_aside_with_its_reason_and_the_others_go_on(fleet: Fleets) -> None:
    bad, good = Toy("bad"), Toy("good")
    row = fleet(bad, good)
    assert row.wait_until_up(5)
    bad.break_("offline", None)
    reaches(row, "failed")
    assert tried(row) == dict.fromkeys(REMEDIES, (QUICK.rounds, 0))
    assert "2 rounds of repair did not help" in first(row).reason
    assert not bad.running
    assert row.lend(5) is good


def test_with_every_device_set_aside_the_asker_is_told_at_once(fleet: Fleets) -> None:
    toy = Toy(clones=False)
    toy.boots_badly = "boot_failed"
    row = fleet(toy)
    with pytest.raises(DeviceFailed, match=r"all devices were given up; toy: .*it does not boot"):
        row.lend(60)
    assert first(row).state == "failed"


def test_what_is_not_installed_is_not_tried_again(fleet: Fleets) -> None:
    toy = Toy()
    toy.boots_badly = "not_installed"
    row = fleet(toy)
    reaches(row, "failed")
    assert toy.calls == ["start"]
    assert tried(row) == {}


def test_one_that_is_mended_each_time_and_breaks_again_is_set_aside(fleet: Fleets) -> None:
    toy = Toy()
    row = fleet(toy, rules=replace(QUICK, breaks=3))
    for _ in range(4):
        row.lend(5)
        row.give_back(toy, broken=True)
    reaches(row, "failed")
    assert "it broke 4 times in 600 s" in first(row).reason


def test_a_device_that_did_not_boot_is_mended_and_has_a_clean_snapshot_then(fleet: Fleets) -> None:
    toy = Toy()
    toy.boots_badly = "boot_failed"
    row = fleet(toy)
    assert row.lend(5) is toy
    assert first(row).golden
    assert toy.calls[-1] == "reload"


def test_a_device_that_keeps_its_state_is_cleaned_after_a_boot_not_snapshot_again(fleet: Fleets) -> None:
    toy = Toy(forgets=False)
    row = fleet(toy)
    reaches(row, "idle")
    assert toy.calls.count("save") == 1
    toy.break_("died", "restart")
    eventually(lambda: toy.broken is None)
    reaches(row, "idle")
    assert toy.calls[-2:] == ["restart", "reload"]
    assert toy.calls.count("save") == 1


def test_a_fleet_started_again_uses_the_snapshot_that_is_there(fleet: Fleets) -> None:
    toy = Toy(forgets=False)
    toy.kept.add("golden")
    row = fleet(toy)
    reaches(row, "idle")
    assert toy.calls == ["start", "reload"]


def test_a_backend_without_snapshots_is_lent_as_it_is(fleet: Fleets) -> None:
    row = fleet(Toy(snapshots=False))
    row.lend(5)
    assert not first(row).golden


def test_what_is_to_be_done_once_is_done_before_the_snapshot(fleet: Fleets) -> None:
    toy = Toy()

    def prepare(device: Device) -> None:
        toy.calls.append("prepare")

    row = fleet(toy, prepare=prepare)
    reaches(row, "idle")
    assert toy.calls == ["start", "prepare", "save"]


def test_a_backend_that_raises_what_it_should_not_costs_its_slot_only(fleet: Fleets) -> None:
    bad, good = Toy("bad"), Toy("good")
    bad.health = lambda within=None: 1 / 0  # type: ignore[assignment,method-assign,return-value]
    row = fleet(bad, good)
    reaches(row, "failed")
    assert first(row).reason == "ZeroDivisionError: division by zero"
    assert row.lend(5) is good


def test_a_stranger_is_not_taken_back(fleet: Fleets) -> None:
    with pytest.raises(ValueError, match="none of this fleet"):
        fleet(Toy()).give_back(Toy("stranger"))


def test_giving_back_twice_changes_nothing(fleet: Fleets) -> None:
    toy = Toy()
    row = fleet(toy)
    row.lend(5)
    row.give_back(toy)
    row.give_back(toy, broken=True)
    reaches(row, "idle")
    assert tried(row) == {}


def test_stopping_in_the_middle_of_a_boot_leaves_nothing_running() -> None:
    toy = Toy()
    toy.hold.clear()
    row = Fleet(lambda number: toy, 1, rules=QUICK)
    row.start()
    reaches(row, "booting")
    row.stop()
    assert not toy.running
    assert first(row).state == "stopped"
    with pytest.raises(DeviceFailed, match="not running"):
        row.lend(5)


def test_the_status_counts_and_is_json(fleet: Fleets) -> None:
    row = fleet(Toy("a"), Toy("b"))
    assert row.wait_until_up(5)
    row.lend(5)
    told = row.status().as_json()
    assert (told["devices"], told["lent"], told["idle"], told["failed"]) == (2, 1, 1, 0)
    assert told["slots"][0]["serial"] == "toy-1"
    assert told["remedies"]["restart"] == {"tried": 0, "mended": 0, "seconds": 0.0, "longest": 0.0}
