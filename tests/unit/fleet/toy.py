"""A device without a phone: what breaks, and what mends it, is set by the test."""

from __future__ import annotations

import threading
import time

from emulator.adb import AdbResult
from emulator.device import Address, Device, DeviceFailed, Facts, FailureKind, Health, Limits
from emulator.fleet import Rules
from sopbench.actions import Action
from sopbench.screen import Screen

QUICK = Rules(
    check_every=0.05, boot=1, health=1, reconnect=1, reload=1, restart=1, reclone=1, rounds=2, pause=0.01, breaks=10_000
)


class Toy(Device):
    """`broken`: what its ladder says. `mended_by`: the remedy after which it is well again; None: none is. `calls`: what was asked of it."""

    limits = Limits(start=1, stop=1, health=1, snapshot=1)

    def __init__(self, name: str = "toy", *, forgets: bool = True, snapshots: bool = True, clones: bool = True) -> None:
        self._name = name
        self.forgets = forgets
        self.snapshots = snapshots
        self.clones = clones
        self.kept: set[str] = set()
        self.running = False
        self.broken: FailureKind | None = None
        self.mended_by: str | None = None
        self.boots_badly: FailureKind | None = None
        self.calls: list[str] = []
        self.hold = threading.Event()
        self.hold.set()

    def break_(self, kind: FailureKind, mended_by: str | None) -> None:
        self.mended_by, self.broken = mended_by, kind

    def _remedy(self, name: str) -> None:
        self.calls.append(name)
        if name == self.mended_by:
            self.broken = None

    @property
    def name(self) -> str:
        return self._name

    @property
    def facts(self) -> Facts:
        return Facts("toy")

    @property
    def address(self) -> Address:
        if not self.running:
            raise DeviceFailed("not_started", "off")
        return Address("toy-1", 1)

    @property
    def pids(self) -> tuple[int, ...]:
        return ()

    def start(self, *, within: float | None = None) -> None:
        self.calls.append("start")
        assert self.hold.wait(10)
        if self.boots_badly:
            raise DeviceFailed(self.boots_badly, "it does not boot")
        self.running = True

    def stop(self, *, within: float | None = None) -> None:
        self.hold.set()
        self.running = False
        if self.forgets:
            self.kept.clear()

    def health(self, *, within: float | None = None) -> Health:
        if not self.running:
            return Health((), 0.0, "process", "died", "off")
        if self.broken:
            return Health(("process",), 0.0, "adb", self.broken, "broken")
        return Health(("process", "adb"), 0.0)

    def snapshot_save(self, name: str, *, within: float | None = None) -> None:
        if not self.snapshots:
            raise DeviceFailed("unsupported", "no snapshots")
        self.calls.append("save")
        self.kept.add(name)

    def snapshot_load(self, name: str, *, within: float | None = None) -> None:
        if not self.snapshots:
            raise DeviceFailed("unsupported", "no snapshots")
        if name not in self.kept:
            raise DeviceFailed("no_snapshot", name)
        self._remedy("reload")

    def reconnect(self, *, within: float | None = None) -> None:
        self._remedy("reconnect")

    def restart(self, *, within: float | None = None) -> None:
        if self.forgets:
            self.kept.clear()
        if self.boots_badly:
            raise DeviceFailed(self.boots_badly, "it does not boot")
        self.running = True
        self._remedy("restart")

    def reclone(self, *, within: float | None = None) -> None:
        if not self.clones:
            raise DeviceFailed("unsupported", "no clones")
        self.kept.clear()
        self.boots_badly = None
        self.running = True
        self._remedy("reclone")

    def screenshot(self, *, within: float | None = None) -> Screen:
        raise DeviceFailed("unsupported", "a toy")

    def act(self, action: Action, *, within: float | None = None) -> None:
        raise DeviceFailed("unsupported", "a toy")

    def adb(self, *arguments: str | bytes, stdin: bytes = b"", within: float | None = None) -> AdbResult:
        raise DeviceFailed("unsupported", "a toy")


def eventually(holds: object, within: float = 5.0) -> None:
    """Wait until `holds()`; fails at the deadline."""
    assert callable(holds)
    deadline = time.monotonic() + within
    while not holds():
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.005)
