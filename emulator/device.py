"""A phone that can be started, looked at and acted on, whatever it is made of: the one interface below the online environments.

Backends: a local emulator, a container, one that somebody else runs, or the simulated phone (`emulator.sim`). All calls are
synchronous and bounded: each takes `within`, the seconds that it may take, and raises `DeviceFailed("timeout", ...)` past them.
One caller at a time, except for `health` and `stop`, which a watcher may call from a thread of its own.

    with device:                      # start ... stop
        device.snapshot_load("clean")
        device.act(Click(Point(0.5, 0.2)))
        device.screenshot().size
        device.shell("settings", "get", "global", "wifi_on").text
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Literal, Self, TypeAlias, get_args

from emulator.adb import AdbResult, quoted
from sopbench.actions import Action
from sopbench.online.base import EnvironmentFailed
from sopbench.screen import Screen

FailureKind: TypeAlias = Literal[
    "not_installed",  # a binary, an image or a package that this backend needs is not on this machine
    "not_started",  # asked of a device that is stopped
    "boot_failed",  # it started and never became usable
    "died",  # its process is gone
    "offline",  # the process lives, adb or gRPC cannot reach it
    "timeout",  # no answer within the time allowed
    "adb_failed",  # adb answered, with an error that is not the command's own
    "bad_reply",  # an answer that is not what was asked for (a screenshot that is no picture)
    "black_screen",
    "no_forest",  # the accessibility tree does not arrive
    "no_snapshot",  # no snapshot of that name
    "unsupported",  # this backend cannot do that
]
FAILURE_KINDS: Final[tuple[str, ...]] = get_args(FailureKind)
GONE: Final[frozenset[str]] = frozenset({"not_installed", "not_started", "boot_failed", "died"})
"""Kinds after which only another `start` can help (or, for `not_installed`, the user); after the others reconnecting or a snapshot may."""


class DeviceFailed(EnvironmentFailed):
    """The device broke: an infrastructure outcome, never the agent's failure. `kind` is one of `FAILURE_KINDS`."""

    kind: FailureKind

    def __init__(self, kind: FailureKind, detail: str) -> None:
        super().__init__(kind, detail)


@dataclass(frozen=True, slots=True)
class Address:
    """Where a device is reached. Every device has an adb server of its own, so one that hangs disturbs no other.

    `adb_server_port` goes to other programs as ANDROID_ADB_SERVER_PORT; `console_port` is even and adb's is the next one, as
    emulators have it, where there is a console.
    """

    serial: str
    adb_server_port: int
    console_port: int | None = None
    grpc_port: int | None = None
    host: str = "127.0.0.1"


Rung: TypeAlias = Literal["process", "adb", "boot", "screen", "grpc", "forest"]
LADDER: Final[tuple[str, ...]] = get_args(Rung)
"""What `health` tries, in this order, each standing on the ones before."""


@dataclass(frozen=True, slots=True)
class Health:
    """How far up the ladder a device came. `failed` is the first rung that did not hold, with the kind of failure and its detail."""

    passed: tuple[Rung, ...]
    seconds: float
    failed: Rung | None = None
    kind: FailureKind | None = None
    detail: str = ""

    @property
    def ok(self) -> bool:
        return self.failed is None

    def as_json(self) -> dict[str, Any]:
        return {
            "ok": self.ok,
            "passed": list(self.passed),
            "failed": self.failed,
            "kind": self.kind,
            "detail": self.detail,
            "seconds": round(self.seconds, 3),
        }


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds that the calls of a device may take where a call names none."""

    start: float = 300.0
    stop: float = 20.0
    health: float = 15.0
    snapshot: float = 60.0
    screenshot: float = 15.0
    act: float = 20.0
    adb: float = 30.0


@dataclass(frozen=True, slots=True)
class Facts:
    """What a device says about itself for the run folder: `backend` and whatever defines it (image, API level, screen)."""

    backend: str
    details: Mapping[str, Any] = field(default_factory=dict)


class Device(ABC):
    """One phone. Everything but `health`, `stop` and the properties raises `DeviceFailed`; `within` None is the device's limit."""

    limits: Limits = Limits()
    forgets: bool = False
    """Whether `stop` loses all state: what boots then is clean, and its snapshots are gone."""

    @property
    @abstractmethod
    def name(self) -> str:
        """What people call it: the slot of a fleet."""

    @property
    @abstractmethod
    def facts(self) -> Facts: ...

    @property
    @abstractmethod
    def address(self) -> Address:
        """Where it is; raises `DeviceFailed("not_started")` before `start`."""

    @property
    @abstractmethod
    def pids(self) -> tuple[int, ...]:
        """Processes of this machine that belong to it, for a manager that must not leave orphans."""

    @abstractmethod
    def start(self, *, within: float | None = None) -> None:
        """Boot it and wait until it can be used; nothing to do where it runs. What was begun is torn down where that fails."""

    @abstractmethod
    def stop(self, *, within: float | None = None) -> None:
        """End it and everything that belongs to it; nothing to do where it does not run. Never raises: past `within` it kills."""

    @abstractmethod
    def health(self, *, within: float | None = None) -> Health:
        """Climb the ladder as far as it goes; the rungs that this backend has not are left out. Never raises."""

    @abstractmethod
    def snapshot_save(self, name: str, *, within: float | None = None) -> None:
        """Keep the whole state under `name`, replacing one that is there."""

    @abstractmethod
    def snapshot_load(self, name: str, *, within: float | None = None) -> None:
        """Go back to a kept state, and wait until the device can be used."""

    # ---- remedies, for a fleet: each mends more than the one before, and leaves the device usable or raises `DeviceFailed`
    def reconnect(self, *, within: float | None = None) -> None:
        """Make the way to it anew and leave its state alone. `unsupported` where there is nothing to make anew."""
        raise DeviceFailed("unsupported", f"{self.name}: nothing to reconnect")

    def restart(self, *, within: float | None = None) -> None:
        """Kill it and boot it again, where it was if that can be."""
        deadline = time.monotonic() + (self.limits.start if within is None else within)
        self.stop(within=0.0)
        self.start(within=max(0.5, deadline - time.monotonic()))

    def reclone(self, *, within: float | None = None) -> None:
        """Throw it away and make it anew from what it was made from; it is clean then. `unsupported` where it has no such thing."""
        raise DeviceFailed("unsupported", f"{self.name}: nothing to clone it from")

    @abstractmethod
    def screenshot(self, *, within: float | None = None) -> Screen: ...

    @abstractmethod
    def act(self, action: Action, *, within: float | None = None) -> None:
        """Perform one action (unit coordinates). `answer` and `terminate` are no business of a device: they do nothing."""

    @abstractmethod
    def adb(self, *arguments: str | bytes, stdin: bytes = b"", within: float | None = None) -> AdbResult:
        """Run `adb ARGUMENTS` on this device. A command's own exit code is in the result, not raised."""

    def shell(self, *words: str, stdin: bytes = b"", within: float | None = None) -> AdbResult:
        """Run one command of the device's shell, each word quoted: nothing in a word is read as shell syntax."""
        return self.adb("shell", quoted(*words), stdin=stdin, within=within)

    def logs(self, lines: int = 200) -> list[str]:
        """The last lines of what the device's own program said; none where it keeps none."""
        return []

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
