"""`--devices` of the suite: who lends the devices."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Final

from emulator.device import Device
from sopbench.errors import UsageError
from sopbench.online.androidworld.slots import Lender, SimLender

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


def lender_for(devices: str, slots: int) -> Lender:
    """The devices that `--devices` names, never more than `slots` at once. Raises `UsageError`."""
    kind, _, count = devices.partition(":")
    if kind != "sim":
        raise UsageError(f"--devices {devices[:60]!r}: this version knows sim:N only")
    if not (count.isascii() and count.isdigit() and 1 <= int(count) <= 64):
        raise UsageError(f"--devices {devices[:60]!r}: say how many phones, as in sim:2")
    python = phone_python()

    def make(number: int) -> Device:
        from emulator.sim import SimDevice

        return SimDevice(f"aw-{number}", "androidworld", grpc=True, python=python)

    return SimLender(min(int(count), max(1, slots)), make)
