"""Stand-ins for the emulator and docker, an AVD that is only files, and devices that are always stopped."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from emulator.adb import AdbMissing, find_adb
from emulator.real import RealDevice

STANDIN = Path(__file__).with_name("standin.py")
Started = Callable[[RealDevice], RealDevice]


@pytest.fixture(scope="session")
def adb() -> Path:
    try:
        return find_adb()
    except AdbMissing as error:
        pytest.skip(str(error))


@pytest.fixture
def keep(adb: Path) -> Iterator[Callable[[Any], Any]]:
    """Stops what it is given at the end of the test."""
    with ExitStack() as stack:

        def keeping(device: Any) -> Any:
            stack.callback(device.stop)
            return device

        yield keeping


class StandIns:
    """The two programs, and what they were called with."""

    def __init__(self, folder: Path) -> None:
        self.record = folder / "calls.jsonl"
        self.emulator, self.docker = self._program(folder, "emulator"), self._program(folder, "docker")

    def _program(self, folder: Path, kind: str) -> Path:
        path = folder / f"standin-{kind}"
        path.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{STANDIN}" {kind} "$@"\n')
        path.chmod(0o755)
        return path

    def calls(self, kind: str, verb: str = "") -> list[dict[str, Any]]:
        lines = self.record.read_text().splitlines() if self.record.exists() else []
        calls = [json.loads(line) for line in lines]
        return [call for call in calls if call["kind"] == kind and (not verb or call["words"][0] == verb)]


@pytest.fixture
def standins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIns:
    made = StandIns(tmp_path)
    monkeypatch.setenv("STANDIN_RECORD", str(made.record))
    return made


@pytest.fixture
def avds(tmp_path: Path) -> Path:
    """A folder with the AVD `Gold`: the files that an AVD has, as far as cloning looks at them."""
    home = tmp_path / "avd"
    gold = home / "Gold.avd"
    (gold / "snapshots" / "golden").mkdir(parents=True)
    (home / "Gold.ini").write_text(f"avd.ini.encoding=UTF-8\npath={gold}\ntarget=android-33\n")
    (gold / "config.ini").write_text("AvdId=Gold\nhw.device.name=pixel_6\nhw.ramSize=2048\n")
    (gold / "snapshots" / "golden" / "hardware.ini").write_text(f"disk.dataPartition.path = {gold}/userdata-qemu.img\n")
    (gold / "userdata-qemu.img").write_bytes(b"\0golden\xff" * 100)
    (gold / "multiinstance.lock").touch()
    return home
