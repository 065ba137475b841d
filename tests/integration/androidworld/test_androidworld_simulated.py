"""A simulated phone never passes for a real one."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulator.adb import AdbMissing, find_adb
from emulator.device import DeviceFailed, Facts
from emulator.sim import SimDevice
from sopbench.online.androidworld.client import Bridge
from sopbench.online.androidworld.slots import attach
from sopbench.suites import SuiteOptions, get_suite


class Pretending(SimDevice):
    """As one that is reached by its address, of which nothing is known."""

    @property
    def facts(self) -> Facts:
        return Facts("attach")


def test_one_that_is_attached_by_its_address_is_refused(tmp_path: Path) -> None:
    try:
        adb = find_adb()
    except AdbMissing as error:
        pytest.skip(str(error))
    with Pretending("pretends", "desk", in_process=True) as phone, pytest.raises(DeviceFailed) as caught:
        attach(Bridge(tmp_path / "python"), phone, str(adb), tmp_path)
    assert caught.value.kind == "unsupported"
    assert "--devices sim:N" in caught.value.detail


def test_spaces_do_not_hide_it() -> None:
    assert get_suite("androidworld", SuiteOptions(devices=" sim:2")).name == "androidworld-sim"
