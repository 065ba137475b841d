"""Several devices side by side: started, watched, repaired, lent out clean and taken back.

    with Fleet(lambda number: SimDevice(f"phone-{number}"), 4) as fleet:
        device = fleet.lend(within=120)
        try:
            device.act(...)
        finally:
            fleet.give_back(device)

Every slot has a thread of its own, so a device that is being repaired holds up no other.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from emulator.device import Device, DeviceFailed
from emulator.fleet.repair import Mender, Prepare, nothing
from emulator.fleet.rules import HOPELESS, Remedy, Rules
from emulator.fleet.slot import FleetStatus, Job, Slot
from emulator.orphans import Guard, identified

TOLD_EVERY: Final = 0.5
"""Seconds between two looks at which processes the devices have, for the guard."""

Listener = Callable[[str], None]
"""Hears one line for people about what happened."""


def silent(line: str) -> None:
    return


class Fleet:
    """`make(number)` makes a device that has not been started, with a name of its own. `guard` ends the devices' processes when this one is killed.

    golden: hand devices out with the clean snapshot loaded; else as they came back. prepare: done once to each device before that snapshot is made.
    """

    def __init__(
        self,
        make: Callable[[int], Device],
        count: int,
        *,
        rules: Rules | None = None,
        golden: bool = True,
        prepare: Prepare = nothing,
        listener: Listener = silent,
        guard: Guard | None = None,
    ) -> None:
        if count < 1:
            raise ValueError("a fleet has at least one device")
        self.rules = rules or Rules()
        self._slots = [Slot(number, make(number)) for number in range(count)]
        self._golden = golden
        self._mender = Mender(self.rules, prepare)
        self._listener = listener
        self._changed = threading.Condition()
        self._stopping = False
        self._threads: list[threading.Thread] = []
        self._guard = guard or Guard()

    # ---- life
    def start(self) -> None:
        """Begin to boot them all; returns at once. `lend` waits for the first that is up, `wait_until_up` for all."""
        with self._changed:
            if self._threads:
                return
            self._stopping = False
            self._guard.start()
            self._threads = [
                threading.Thread(target=self._look_after, args=(slot,), name=f"fleet {slot.device.name}", daemon=True)
                for slot in self._slots
            ]
            self._threads.append(threading.Thread(target=self._tell_guard, name="fleet guard", daemon=True))
            for thread in self._threads:
                thread.start()

    def stop(self) -> None:
        """End all devices, lent ones, too. Nothing of them is left."""
        with self._changed:
            if not self._threads:
                return
            self._stopping = True
            threads, self._threads = self._threads, []
            self._changed.notify_all()
        enders = [
            threading.Thread(target=slot.device.stop, name=f"end {slot.device.name}", daemon=True)
            for slot in self._slots
        ]
        for thread in enders:
            thread.start()
        for thread in (*enders, *threads):
            thread.join()
        self._guard.stop()

    def wait_until_up(self, within: float | None = None) -> bool:
        """Wait until every slot is up or was given up; false at the deadline."""
        with self._changed:
            return self._changed.wait_for(lambda: self._stopping or self._status().ready, within)

    # ---- lending
    def lend(self, within: float | None = None) -> Device:
        """A healthy, clean device. Raises `DeviceFailed` at the deadline, or where every slot has been given up."""
        deadline = None if within is None else time.monotonic() + within
        while True:
            slot = self._take(deadline)
            try:
                health = self._mender.ready(slot.device, golden=slot.golden and self._golden)
            except DeviceFailed as error:
                self._put(slot, "repair", error)
                continue
            except BaseException:
                self._put(slot, "check")
                raise
            with self._changed:
                slot.health, slot.checked = health, time.monotonic()
                slot.lends += 1
            return slot.device

    def _take(self, deadline: float | None) -> Slot:
        with self._changed:
            while True:
                if self._stopping or not self._threads:
                    raise DeviceFailed("not_started", "the fleet is not running: start it")
                idle = [slot for slot in self._slots if slot.state == "idle"]
                if idle:
                    slot = min(idle, key=lambda slot: slot.since)
                    slot.become("lent")
                    return slot
                if all(slot.state == "failed" for slot in self._slots):
                    first = self._slots[0]
                    raise DeviceFailed(
                        first.kind or "boot_failed", f"all devices were given up; {first.device.name}: {first.reason}"
                    )
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    raise DeviceFailed("timeout", f"no device became free in time: {self._told()}")
                self._changed.wait(left)

    def _told(self) -> str:
        return ", ".join(f"{slot.device.name} is {slot.state}" for slot in self._slots)

    def give_back(self, device: Device, *, broken: bool = False) -> None:
        """Take it back: it is looked at before anybody gets it again, and repaired where `broken` or where that look fails. Returns at once."""
        with self._changed:
            slot = next((slot for slot in self._slots if slot.device is device), None)
            if slot is None:
                raise ValueError(f"{device.name} is none of this fleet")
            if slot.state != "lent":
                return
        said = DeviceFailed("bad_reply", "whoever had it says that it is broken")
        self._put(slot, "repair" if broken else "check", said if broken else None)

    def _put(self, slot: Slot, job: Job, failure: DeviceFailed | None = None) -> None:
        with self._changed:
            slot.become("repairing" if job == "repair" else "checking")
            slot.job = job
            if failure is not None:
                slot.blame(failure.kind, failure.detail)
            self._changed.notify_all()

    # ---- looking after one slot
    def _look_after(self, slot: Slot) -> None:
        try:
            self._boot(slot)
            while (job := self._next_job(slot)) is not None:
                if job == "repair":
                    self._repair(slot, self._told_broken(slot))
                else:
                    self._check(slot)
        except Exception as error:  # noqa: BLE001  # the boundary to a backend's code: its slot is set aside, the others go on
            if not self._stopping:  # a device that is stopped in the middle of its boot may say anything
                self._give_up(slot, f"{type(error).__name__}: {error}")
                self._next_job(slot)
        finally:
            slot.device.stop()
            with self._changed:
                slot.become("stopped")
                self._changed.notify_all()

    def _next_job(self, slot: Slot) -> Job | None:
        """What is to be done; an idle device is taken out of the row when its look is due. None: the end."""
        with self._changed:
            while not self._stopping:
                if slot.job is not None:
                    job, slot.job = slot.job, None
                    return job
                if slot.state == "idle":
                    left = slot.checked + self.rules.check_every - time.monotonic()
                    if left <= 0:
                        slot.become("checking")
                        return "check"
                    self._changed.wait(left)
                else:
                    self._changed.wait()
            return None

    def _boot(self, slot: Slot) -> None:
        with self._changed:
            slot.become("booting")
        self._listener(f"{slot.device.name}: booting")
        try:
            slot.golden = self._mender.boot(slot.device)
        except DeviceFailed as error:
            self._repair(slot, error)
            return
        slot.boots += 1
        self._well(slot, "up")

    def _check(self, slot: Slot) -> None:
        failure = self._look(slot)
        if failure is None:
            self._well(slot)
        else:
            self._repair(slot, failure)

    def _look(self, slot: Slot) -> DeviceFailed | None:
        """What the ladder says is wrong with it."""
        health = self._mender.health(slot.device)
        slot.health = health
        return None if health.ok else DeviceFailed(health.kind or "offline", f"rung {health.failed}: {health.detail}")

    def _told_broken(self, slot: Slot) -> DeviceFailed:
        """What is wrong with a device that its lender, or the way to him, found broken. Where the ladder holds nothing milder than a boot is believed in."""
        return self._look(slot) or DeviceFailed("died", f"its ladder holds, but {slot.reason}")

    def _repair(self, slot: Slot, failure: DeviceFailed) -> None:
        """Rounds of remedies until the device is well or given up."""
        self._broke(slot, failure)
        while not self._stopping and slot.state == "repairing":
            if failure.kind in HOPELESS:
                self._give_up(slot, failure.detail)
                return
            try:
                self._mender.mend(slot.device, failure, lambda *told: self._tried(slot, *told), lambda: self._stopping)
                slot.golden = slot.golden or self._mender.settle(slot.device, fresh=False)
            except DeviceFailed as error:
                failure = error
            else:
                self._well(slot, "repaired")
                return
            with self._changed:
                slot.rounds += 1
                slot.blame(failure.kind, failure.detail)
            if slot.rounds >= self.rules.rounds:
                self._give_up(slot, f"{slot.rounds} rounds of repair did not help; the last: {failure.detail}")
                return
            with self._changed:
                self._changed.wait_for(lambda: self._stopping, self.rules.pause)
            failure = self._look(slot) or DeviceFailed("died", failure.detail)

    def _broke(self, slot: Slot, failure: DeviceFailed) -> None:
        now = time.monotonic()
        with self._changed:
            slot.become("repairing")
            slot.blame(failure.kind, failure.detail)
            slot.broke[failure.kind] += 1
            slot.recent.append(now)
            while slot.recent and slot.recent[0] < now - self.rules.window:
                slot.recent.popleft()
            often = len(slot.recent)
        self._listener(f"{slot.device.name}: broke ({failure.kind}: {failure.detail})")
        if often > self.rules.breaks:
            self._give_up(slot, f"it broke {often} times in {self.rules.window:g} s; the last: {failure.detail}")

    def _tried(self, slot: Slot, remedy: Remedy, seconds: float, failure: DeviceFailed | None) -> None:
        with self._changed:
            tally = slot.remedies[remedy]
            tally.tried += 1
            tally.mended += failure is None
            tally.seconds += seconds
            tally.longest = max(tally.longest, seconds)
            if remedy in ("restart", "reclone"):
                slot.boots += 1
        said = "mended it" if failure is None else f"did not help ({failure.kind}: {failure.detail})"
        self._listener(f"{slot.device.name}: {remedy} {said}, {seconds:.1f} s")

    def _well(self, slot: Slot, said: str = "") -> None:
        with self._changed:
            if self._stopping:
                return
            slot.rounds = 0
            slot.checked = time.monotonic()
            slot.become("idle")
            self._changed.notify_all()
        if said:
            self._listener(f"{slot.device.name}: {said}")

    def _give_up(self, slot: Slot, reason: str) -> None:
        slot.device.stop()
        with self._changed:
            slot.reason = reason
            slot.become("failed")
            self._changed.notify_all()
        self._listener(f"{slot.device.name}: set aside: {reason}")

    # ---- telling
    def status(self) -> FleetStatus:
        with self._changed:
            return self._status()

    def _status(self) -> FleetStatus:
        return FleetStatus(tuple(slot.status() for slot in self._slots))

    def logs(self, name: str, lines: int = 200) -> list[str]:
        """What a device's own program said last. Raises `KeyError` for a name that there is none of."""
        for slot in self._slots:
            if slot.device.name == name:
                return slot.device.logs(lines)
        raise KeyError(name)

    @property
    def devices(self) -> tuple[Device, ...]:
        return tuple(slot.device for slot in self._slots)

    def _tell_guard(self) -> None:
        told: tuple[int, ...] = ()
        while True:
            with self._changed:
                if self._changed.wait_for(lambda: self._stopping, TOLD_EVERY):
                    return
            pids = tuple(pid for slot in self._slots for pid in slot.device.pids)
            if pids != told:
                told = pids
                self._guard.tell(identified(pids))

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
