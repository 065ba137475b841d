"""Devices by a word of a command line: `sim:4`, or what `emulator.backends` knows."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from emulator.device import Device
from sopbench.errors import UsageError

MOST: Final = 64
"""Devices of one fleet."""
BACKENDS: Final = "emulator.backends"


@dataclass(frozen=True, slots=True)
class Chosen:
    make: Callable[[int], Device]
    count: int


def devices_named(
    words: str, *, screen: str = "pocket", grpc: bool = False, python: Path | None = None, **options: Any
) -> Chosen:
    """What `--devices` says. `screen`, `python`: of simulated phones. Raises `UsageError`."""
    kind, _, number = words.partition(":")
    if kind != "sim":
        if importlib.util.find_spec(BACKENDS) is None:
            raise UsageError(f"devices {words[:60]!r}: this version knows sim:N only")
        make, count = importlib.import_module(BACKENDS).devices_from(words, grpc=grpc, **options)
        return Chosen(make, count)
    from emulator.sim import SimDevice
    from emulator.sim.screens.choosing import NAMES

    if not (number.isascii() and number.isdigit() and 1 <= int(number[:9]) <= MOST):
        raise UsageError(f"devices {words[:60]!r}: say how many, 1 to {MOST}, as in sim:4")
    if screen not in NAMES:
        raise UsageError(f"no screen {screen[:60]!r}; there are {', '.join(NAMES)}")
    return Chosen(lambda slot: SimDevice(f"sim-{slot}", screen, grpc=grpc, python=python), int(number))
