"""PocketPhone's tasks played through the genuine adb: actions go to a simulated phone as `adb shell input ...`, screens come back by
`screencap`, and the task's own check scores the phone's state there.

A phone is started when the first environment needs one and handed on to the next: `PocketPhones` lends them, one at a time to each
environment, as many as are played at once.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Protocol, Self

from emulator.adb import quoted
from emulator.device import Device, DeviceFailed
from emulator.sim import SimDevice
from emulator.sim.screens.pocket import PREFIX
from sopbench.actions import Action, Answer, Terminate, from_released
from sopbench.errors import ActionError
from sopbench.geometry import Size
from sopbench.online.base import EnvironmentFailed, OnlineEnvironment, OnlineTask
from sopbench.screen import Screen

_RESULT: Final = re.compile(r'Broadcast completed: result=(-?\d+), data="(.*)"', re.DOTALL)
OK: Final = -1

MakeDevice = Callable[[str], Device]


class Phones(Protocol):
    """Who lends phones by display."""

    def lend(self, display: str) -> Device: ...

    def give_back(self, device: Device, display: str) -> None: ...


class Lender(Protocol):
    """A fleet, as far as it matters here (`emulator.fleet.Fleet`)."""

    def lend(self, within: float | None = None) -> Device: ...

    def give_back(self, device: Device, *, broken: bool = False) -> None: ...


def _simulated(display: str) -> Device:
    return SimDevice(f"pocket-{display}", "pocket-large" if display == "large" else "pocket")


class PocketPhones:
    """Phones for `AdbPocketEnvironment`, by display. `make` makes one that has not been started.

    A phone that broke is stopped when it is given back; the next one asked for is a new one. Close it at the end: it owns the processes.
    """

    def __init__(self, make: MakeDevice = _simulated) -> None:
        self._make = make
        self._free: dict[str, list[Device]] = {}
        self._all: list[Device] = []
        self._lock = threading.Lock()
        self._closed = False

    def lend(self, display: str) -> Device:
        """A running phone. Raises `DeviceFailed`."""
        with self._lock:
            if self._closed:
                raise DeviceFailed("not_started", "the phones were put away already")
            waiting = self._free.get(display, [])
            device = waiting.pop() if waiting else None
        if device is None:
            device = self._make(display)
            with self._lock:
                self._all.append(device)
        try:
            device.start()
        except DeviceFailed:
            self.put_away(device)
            raise
        return device

    def give_back(self, device: Device, display: str) -> None:
        """A phone that works goes to the next; one that does not is stopped."""
        if not device.health().ok:
            self.put_away(device)
            return
        with self._lock:
            if not self._closed:
                self._free.setdefault(display, []).append(device)
                return
        self.put_away(device)

    def put_away(self, device: Device) -> None:
        device.stop()
        with self._lock:
            if device in self._all:
                self._all.remove(device)

    def close(self) -> None:
        """Stop them all."""
        with self._lock:
            self._closed = True
            devices, self._all = self._all, []
            self._free.clear()
        for device in devices:
            device.stop()

    def environment(self, task: OnlineTask) -> OnlineEnvironment:
        """The environment of a task of `pocket-online` and its kin: the same signature as `Suite.environment`."""
        facts = task.facts
        return AdbPocketEnvironment(self, facts["template"], facts["seed"], facts["display"])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class PocketFleet:
    """The same over a fleet, whose phones all have the display that is asked for: a phone that breaks is repaired, and the fleet is somebody else's."""

    def __init__(self, fleet: Lender, within: float | None = None) -> None:
        self._fleet, self._within = fleet, within

    def lend(self, display: str) -> Device:
        return self._fleet.lend(self._within)

    def give_back(self, device: Device, display: str) -> None:
        self._fleet.give_back(device)

    def environment(self, task: OnlineTask) -> OnlineEnvironment:
        facts = task.facts
        return AdbPocketEnvironment(self, facts["template"], facts["seed"], facts["display"])


class AdbPocketEnvironment(OnlineEnvironment):
    """One PocketPhone task on a simulated phone, reached by nothing but adb."""

    def __init__(self, phones: Phones, template: str, seed: int, display: str = "regular") -> None:
        self._phones = phones
        self._template, self._seed, self._display = template, seed, display
        self._device: Device | None = None
        self._size: Size | None = None
        self.told = ""
        """The task in the phone's own words, once it has been started."""

    @property
    def device(self) -> Device:
        if self._device is None:
            raise EnvironmentFailed("not_started", "reset() first")
        return self._device

    def reset(self) -> Screen:
        if self._device is None:
            self._device = self._phones.lend(self._display)
        self.told = self._order(
            "START",
            "--es",
            "template",
            self._template,
            "--ei",
            "seed",
            str(self._seed),
            "--es",
            "display",
            self._display,
        )
        return self._look()

    def act(self, action: Action) -> Screen:
        self.perform(action)
        return self._look()

    def perform(self, action: Action) -> None:
        match action:
            case Answer(text):
                coded = base64.b64encode(text.encode("utf-8", "surrogatepass")).decode()
                self._order("ANSWER", "--es", "text64", coded)
            case Terminate(status):
                self._order("FINISH", "--es", "status", status)
            case _:
                self.device.act(action)

    def score(self) -> float:
        said = self._order("SCORE")
        try:
            value = float(said)
        except ValueError:
            value = math.nan
        if not 0 <= value <= 1:
            raise EnvironmentFailed("bad_reply", f"the phone's verdict is {said[:60]!r}")
        return value

    def expert(self) -> Action | None:
        told = self._json("EXPERT")
        if told is None:
            return None
        try:
            return from_released(told, self._size or self._look().size)
        except (ActionError, AttributeError) as error:
            raise EnvironmentFailed("bad_reply", f"the phone's expert said {str(told)[:80]}: {error}") from error

    def state(self) -> dict[str, Any]:
        """PocketPhone's whole state as JSON, for comparing."""
        told = self._json("STATE")
        if not isinstance(told, dict):
            raise EnvironmentFailed("bad_reply", "the phone's state is no object")
        return told

    def close(self) -> None:
        device, self._device = self._device, None
        if device is not None:
            self._phones.give_back(device, self._display)

    # ---- adb
    def _look(self) -> Screen:
        screen = self.device.screenshot()
        self._size = screen.size
        if screen.decode().getbbox() is None:
            raise DeviceFailed(
                "black_screen", f"{self.device.name}'s screen is black, which no screen of PocketPhone is"
            )
        return Screen.from_bytes(screen.read(), f"{self._template}-{self._seed}")

    def _order(self, verb: str, *extras: str) -> str:
        """A broadcast to the phone's task receiver, and the data of its result."""
        line = quoted("am", "broadcast", "-a", f"{PREFIX}.{verb}", *extras)
        result = self.device.adb("shell", line)
        found = _RESULT.search(result.stdout.decode("utf-8", "replace"))
        if found is None:
            raise EnvironmentFailed(
                "bad_reply", f"the order {verb} came back as {result.text[-120:]!r} {result.error[:80]}"
            )
        data = _decoded(found.group(2))
        if int(found.group(1)) != OK:
            raise EnvironmentFailed("refused", f"the order {verb}: {data[:200]}")
        return data

    def _json(self, verb: str) -> Any:
        try:
            return json.loads(self._order(verb))
        except ValueError:
            raise EnvironmentFailed("bad_reply", f"the order {verb} brought no JSON") from None


def _decoded(data: str) -> str:
    if not data.startswith("base64:"):
        return data
    try:
        return base64.b64decode(data.removeprefix("base64:"), validate=True).decode("utf-8", "surrogatepass")
    except (binascii.Error, UnicodeDecodeError):
        raise EnvironmentFailed("bad_reply", "a result in base64 that is none") from None
