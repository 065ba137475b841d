"""What can go wrong with a phone, on demand: for testing whoever must notice it and repair it."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias, get_args

Fault: TypeAlias = Literal["hang", "offline", "black_screen", "slow_boot", "no_forest", "adb_garbage", "crash"]
FAULTS: Final[tuple[str, ...]] = get_args(Fault)
ABOUT: Final[Mapping[str, str]] = {
    "hang": "adb and gRPC take requests and never answer",
    "offline": "adb's connections are cut and none is taken",
    "black_screen": "screenshots are black",
    "slow_boot": "after the next start sys.boot_completed stays 0 for the fault's seconds",
    "no_forest": "the accessibility forwarder sends nothing",
    "adb_garbage": "adb gets noise instead of packets",
    "crash": "the process ends at once, without a word",
}


class Faults:
    """Which faults are on, and until when. Safe to use from any thread."""

    def __init__(self) -> None:
        self._until: dict[str, float] = {}
        self._seconds: dict[str, float] = {}
        self._changed = threading.Condition()

    def set(self, fault: str, seconds: float = float("inf")) -> None:
        """Switch a fault on for `seconds` from now. Raises `ValueError` for one that there is none of."""
        if fault not in FAULTS:
            raise ValueError(f"no fault {fault[:40]!r}; there are {', '.join(FAULTS)}")
        with self._changed:
            self._until[fault] = time.monotonic() + seconds
            self._seconds[fault] = seconds
            self._changed.notify_all()

    def clear(self, fault: str | None = None) -> None:
        with self._changed:
            if fault is None:
                self._until.clear()
            else:
                self._until.pop(fault, None)
            self._changed.notify_all()

    def on(self, fault: Fault) -> bool:
        with self._changed:
            return self._until.get(fault, 0.0) > time.monotonic()

    def active(self) -> list[str]:
        now = time.monotonic()
        with self._changed:
            return sorted(fault for fault, until in self._until.items() if until > now)

    def take_boot_delay(self) -> float:
        """Seconds that the boot beginning now is to take longer; asked once a boot."""
        with self._changed:
            if self._until.pop("slow_boot", 0.0) <= 0.0:
                return 0.0
            return self._seconds["slow_boot"]

    def wait_while(self, fault: Fault, gone: threading.Event) -> None:
        """Block as long as `fault` is on; returns early when `gone` is set."""
        while not gone.is_set() and self.on(fault):
            with self._changed:
                self._changed.wait(0.1)
