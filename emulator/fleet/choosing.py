"""The devices that a word of a command line names, as a fleet wants them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from emulator.backends import devices_from, parse
from emulator.device import Device
from sopbench.errors import UsageError


@dataclass(frozen=True, slots=True)
class Chosen:
    make: Callable[[int], Device]
    count: int


def devices_named(words: str, *, screen: str = "pocket", grpc: bool = False, python: Path | None = None) -> Chosen:
    """What `--devices` says (`emulator.backends`). `screen`, `python`: of simulated phones. Raises `UsageError`."""
    if parse(words).backend == "sim":
        from emulator.sim.screens.choosing import NAMES

        if screen not in NAMES:
            raise UsageError(f"no screen {screen[:60]!r}; there are {', '.join(NAMES)}")
    make, count = devices_from(words, screen=screen, grpc=grpc, python=python)
    return Chosen(make, count)
