"""AndroidWorld's own environment, where this machine has one: named by SOPBENCH_ANDROIDWORLD_ENV."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from attached import Attached

from emulator.adb import AdbMissing, find_adb
from emulator.sim import SimDevice
from sopbench.errors import UsageError
from sopbench.online.androidworld.client import Bridge
from sopbench.online.androidworld.devices import phone_python
from sopbench.online.androidworld.install import PLACE, Installed, look
from sopbench.online.androidworld.slots import attach


@pytest.fixture(scope="session")
def installed() -> Installed:
    if not os.environ.get(PLACE):
        pytest.skip(f"set {PLACE} to an environment that `sopbench androidworld install --into DIR` made")
    found = look()
    if isinstance(found, str):
        pytest.skip(f"{PLACE}: {found}")
    try:
        find_adb()
        phone_python()
    except (AdbMissing, UsageError) as error:
        pytest.skip(str(error))
    return found


@pytest.fixture(scope="session")
def phone(installed: Installed) -> Iterator[SimDevice]:
    with SimDevice("aw-test", "androidworld", grpc=True, python=phone_python()) as device:
        yield device


@pytest.fixture(scope="session")
def attached(installed: Installed, phone: SimDevice, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attached]:
    folder = tmp_path_factory.mktemp("androidworld")
    log, adb = folder / "log", folder / "adb"
    adb.write_text(f'#!/bin/sh\necho "$*" >> {log}\nexec {find_adb()} "$@"\n')
    adb.chmod(0o755)
    bridge = Bridge(installed.python)
    try:
        attach(bridge, phone, str(adb), folder / "apks")
        yield Attached(bridge, phone, log)
    finally:
        bridge.close()
