"""`--devices` of the suite: who lends the devices."""

from __future__ import annotations

import importlib.util
import sys
from functools import partial
from pathlib import Path
from typing import Final

from emulator.backends import Make, devices_from
from emulator.fleet import Fleet
from sopbench.errors import UsageError
from sopbench.online.androidworld.slots import prepare

PHONE_PYTHON: Final = "SOPBENCH_PHONE_PYTHON"
"""Names a Python with grpcio for simulated phones; else `.venv-android` of the repository is taken."""


def phone_python() -> Path | None:
    """A Python in which a simulated phone can serve gRPC; None: this one. Raises `UsageError` where there is none."""
    import os

    named = os.environ.get(PHONE_PYTHON, "").strip()
    if named:
        return Path(named)
    beside = Path(__file__).resolve().parents[3] / ".venv-android" / "bin" / "python"
    if beside.exists():
        return beside
    if importlib.util.find_spec("grpc") is not None:
        return None
    raise UsageError(
        f"a simulated phone needs grpcio to serve AndroidWorld: make .venv-android with scripts/setup_android.py (in a clone), "
        f"or name a Python that has it with {PHONE_PYTHON}; {sys.executable} has not"
    )


def chosen(devices: str) -> tuple[Make, int]:
    """A maker of the devices that `--devices` names, and their number. Raises `UsageError`."""
    python = phone_python() if devices.strip().startswith("sim:") else None
    return devices_from(devices, screen="androidworld", grpc=True, python=python)


def fleet_of(devices: str, slots: int, python: Path, apks: Path) -> Fleet:
    """A fleet of them, never more than `slots`, which sets AndroidWorld up on each. `python` is of AndroidWorld's environment."""
    make, count = chosen(devices)
    return Fleet(make, max(1, min(count, slots)), prepare=partial(prepare, python, apks))
