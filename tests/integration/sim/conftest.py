"""Phones for the tests that use the genuine adb. They are skipped, with the reason, where it is not installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from emulator.adb import AdbMissing, find_adb
from emulator.sim import InProcessPhone, SimDevice, SimPhone

ROOT = Path(__file__).resolve().parents[3]
ANDROID = ROOT / ".venv-android" / "bin" / "python"

Phones = Callable[..., SimDevice]


@pytest.fixture(scope="session")
def adb() -> Path:
    try:
        return find_adb()
    except AdbMissing as error:
        pytest.skip(str(error))


@pytest.fixture
def phones(adb: Path) -> Iterator[Phones]:
    """`phones(...)` starts a `SimDevice`; all are stopped at the end of the test."""
    with ExitStack() as stack:

        def make(name: str = "phone", screen: str = "pocket", **options: Any) -> SimDevice:
            device = SimDevice(name, screen, adb=adb, **options)
            stack.callback(device.stop)
            device.start()
            return device

        yield make


@pytest.fixture
def phone(phones: Phones) -> SimDevice:
    """One running phone in this process."""
    return phones(in_process=True)


def inside(device: SimDevice) -> SimPhone:
    """The phone itself, of a device that keeps it in this process."""
    assert isinstance(device.host, InProcessPhone)
    assert device.host.phone is not None
    return device.host.phone
