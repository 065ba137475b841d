"""The tests of fleets with the genuine adb are skipped, with the reason, where it is not installed."""

from __future__ import annotations

import pytest

from emulator.adb import AdbMissing, find_adb


@pytest.fixture(scope="session", autouse=True)
def adb() -> None:
    try:
        find_adb()
    except AdbMissing as error:
        pytest.skip(str(error))
