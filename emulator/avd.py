"""Android's own emulator on this machine: a golden AVD that was set up once, and a clone of it for each slot.

Written from the emulator's documentation (developer.android.com/studio/run/emulator-commandline) and tested with a stand-in for its
binary: no real emulator has run under it yet.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, Final, Literal

from emulator import kvm
from emulator.adb import AdbServer, AdbTimeout, run
from emulator.console import SNAPSHOT_NAME
from emulator.device import Address, DeviceFailed, Facts, FailureKind, Limits
from emulator.ports import for_slot
from emulator.real import Child, RealDevice
from sopbench.cachedir import cache_folder

GOLDEN: Final = "golden"
"""The clean snapshot, by the name that a fleet looks for."""
MARK: Final = "sopbench-clone.txt"
INI_TEXT: Final = 1024 * 1024
SHOWN: Final = ("image.sysdir.1", "hw.device.name", "hw.ramSize", "hw.lcd.width", "hw.lcd.height", "abi.type")
Mode = Literal["clone", "read-only"]
Accel = Literal["auto", "on", "off"]


def find_emulator(environ: Mapping[str, str] = os.environ) -> Path:
    """$EMULATOR, else the SDK's under $ANDROID_HOME, else the one on the path. Raises `DeviceFailed("not_installed")`."""
    named = environ.get("EMULATOR")
    home = environ.get("ANDROID_HOME") or environ.get("ANDROID_SDK_ROOT")
    found = shutil.which("emulator", path=environ.get("PATH"))
    for place in (named, Path(home, "emulator", "emulator") if home else None, found):
        if place and os.access(place, os.X_OK):
            return Path(place)
    raise DeviceFailed(
        "not_installed",
        "no Android emulator on this machine: `sdkmanager emulator`, then set ANDROID_HOME (docs/emulators.md), or EMULATOR=/path/to/emulator",
    )


def avd_home(environ: Mapping[str, str] = os.environ) -> Path:
    """Where AVDs are (developer.android.com/tools/variables): ANDROID_AVD_HOME, else `avd` in the user's Android folder."""
    if chosen := environ.get("ANDROID_AVD_HOME"):
        return Path(chosen)
    if user := environ.get("ANDROID_USER_HOME"):
        return Path(user, "avd")
    return Path.home() / ".android" / "avd"


def golden_folder(avd: str, home: Path) -> Path:
    """The folder of the AVD `avd`. Raises `DeviceFailed("not_installed")` with the names that there are."""
    if not SNAPSHOT_NAME.fullmatch(avd):
        raise DeviceFailed("not_installed", f"{avd[:80]!r} is no AVD's name")
    told = read_ini(home / f"{avd}.ini").get("path")
    for folder in (Path(told) if told else None, home / f"{avd}.avd"):
        if folder is not None and (folder / "config.ini").is_file():
            return folder
    names = ", ".join(sorted(path.stem for path in home.glob("*.ini"))) or "none"
    raise DeviceFailed("not_installed", f"no AVD {avd} in {home} (there: {names}): make it as docs/emulators.md says")


def read_ini(path: Path) -> dict[str, str]:
    """An AVD's `key=value` lines; nothing where there is no such file."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            lines = file.read(INI_TEXT).splitlines()
    except OSError:
        return {}
    pairs = (line.partition("=") for line in lines if "=" in line and not line.lstrip().startswith("#"))
    return {name.strip(): value.strip() for name, _, value in pairs}


class Clone:
    """A copy of the golden AVD for one slot, kept between runs, held by one process at a time."""

    def __init__(self, golden: Path, avd: str, slot: int, home: Path) -> None:
        self.golden, self.home = golden, home
        self.avd = f"sopbench-{avd}-{slot}"
        self.folder = home / f"{self.avd}.avd"
        self._lock: IO[bytes] | None = None

    def hold(self) -> None:
        """Raises `DeviceFailed` where another process has it."""
        self.home.mkdir(parents=True, exist_ok=True)
        lock = open(self.home / f"{self.avd}.lock", "ab")  # noqa: SIM115 (closed by release)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lock.close()
            raise DeviceFailed(
                "boot_failed", f"{self.avd} belongs to another run: end that, or choose another slot"
            ) from error
        self._lock = lock

    def release(self) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.close()

    @property
    def current(self) -> bool:
        """Whether it was made from the golden AVD as that is now."""
        try:
            return (self.folder / MARK).read_text() == self._stamp()
        except OSError:
            return False

    def _stamp(self) -> str:
        snapshot = self.golden / "snapshots" / GOLDEN
        times = [str(path.stat().st_mtime_ns) for path in (self.golden / "config.ini", snapshot) if path.exists()]
        return "\n".join([str(self.golden), *times, ""])

    def delete(self) -> None:
        for path in (self.folder, self.folder.with_suffix(".part")):
            shutil.rmtree(path, ignore_errors=True)
        (self.home / f"{self.avd}.ini").unlink(missing_ok=True)

    def make(self, within: float) -> None:
        """Copy anew; a copy that was broken off is never taken for a whole one. Raises `DeviceFailed`."""
        owner = running(self.golden)
        if owner is not None:
            raise DeviceFailed("boot_failed", f"{self.golden.name} runs (process {owner}): end it before it is copied")
        self.delete()
        part = self.folder.with_suffix(".part")
        reflink = ["--reflink=auto"] if sys.platform.startswith("linux") else []
        try:
            done = run(["cp", "-R", "-p", *reflink, str(self.golden), str(part)], within=max(0.5, within))
        except AdbTimeout as error:
            shutil.rmtree(part, ignore_errors=True)
            raise DeviceFailed("timeout", f"copying {self.golden}: {error}") from error
        if done.code != 0:
            shutil.rmtree(part, ignore_errors=True)
            raise DeviceFailed("boot_failed", f"copying {self.golden}: {done.error}")
        for lock in [*part.rglob("*.lock")]:
            shutil.rmtree(lock) if lock.is_dir() else lock.unlink()
        for ini in part.rglob("*.ini"):
            self._renamed(ini)
        (part / MARK).write_text(self._stamp())
        part.rename(self.folder)
        (self.home / f"{self.avd}.ini").write_text(
            "\n".join(
                [
                    "avd.ini.encoding=UTF-8",
                    f"path={self.folder}",
                    f"target={read_ini(self.golden.with_suffix('.ini')).get('target', 'android-33')}",
                    "",
                ]
            )
        )

    def _renamed(self, ini: Path) -> None:
        """Paths into the golden folder become the clone's: also in the hardware lists that its snapshots keep."""
        text = ini.read_text(encoding="utf-8", errors="surrogateescape").replace(str(self.golden), str(self.folder))
        lines = [
            f"{name}={self.avd}" if name.strip() in ("AvdId", "avd.id", "avd.name") else line
            for line in text.splitlines()
            for name in [line.partition("=")[0]]
        ]
        ini.write_text("\n".join(lines) + "\n", encoding="utf-8", errors="surrogateescape")


def running(folder: Path) -> int | None:
    """The process that has this AVD open, by the lock that the emulator leaves in its folder."""
    for place in (folder / "hardware-qemu.ini.lock" / "pid", folder / "hardware-qemu.ini.lock"):
        try:
            words = place.read_text(errors="replace").split("\0")[0].split()
        except OSError:
            continue
        if words and words[0].isdigit() and _lives(int(words[0])):
            return int(words[0])
    return None


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


class AvdDevice(RealDevice):
    """The local emulator with a clone of the AVD `avd`.

    mode: `clone` (a copy a slot; snapshots of its own) or `read-only` (all slots on the golden AVD itself, which must have the snapshot
    `golden`; nothing can be saved). accel: `auto` asks KVM (emulator.kvm) and refuses without it; `off` boots in software, for which
    the usual deadline is too short.
    """

    def __init__(
        self,
        name: str,
        avd: str,
        slot: int = 0,
        *,
        mode: Mode = "clone",
        accel: Accel = "auto",
        home: Path | None = None,
        clones: Path | None = None,
        emulator: Path | None = None,
        adb: Path | None = None,
    ) -> None:
        super().__init__(name, adb)
        self._avd, self._slot, self._mode, self._accel = avd, slot, mode, accel
        self._home = home or avd_home()
        self._clones = clones or cache_folder() / "avd"
        self._emulator = emulator
        self._child = Child()
        self._clone: Clone | None = None
        if accel == "off":
            self.limits = Limits(start=1800.0)

    @property
    def facts(self) -> Facts:
        config = read_ini(self._home / f"{self._avd}.avd" / "config.ini")
        details: dict[str, Any] = {"avd": self._avd, "mode": self._mode, "accel": self._accel}
        return Facts("avd", details | {name: config[name] for name in SHOWN if name in config})

    @property
    def pids(self) -> tuple[int, ...]:
        own = self._child.pid
        return (*(() if own is None else (own,)), *super().pids)

    def _launch(self, server: AdbServer, deadline: float) -> Address:
        emulator = self._emulator or find_emulator()
        golden = golden_folder(self._avd, self._home)
        self._expect_accelerator()
        if self._mode == "clone":
            self._clone = Clone(golden, self._avd, self._slot, self._clones)
            self._clone.hold()
            if not self._clone.current:
                self._clone.make(deadline - time.monotonic())
            avd, home, folder = self._clone.avd, self._clones, self._clone.folder
        else:
            avd, home, folder = self._avd, self._home, golden
        ports = for_slot(self._slot)
        words = [
            str(emulator), "-avd", avd, "-no-window", "-no-audio", "-no-boot-anim", "-gpu", "swiftshader_indirect",
            "-grpc", str(ports.grpc), "-ports", f"{ports.console},{ports.adb}", "-no-snapshot-save",
        ]  # fmt: skip
        words += ["-snapshot", GOLDEN] if (folder / "snapshots" / GOLDEN).is_dir() else ["-no-snapshot-load"]
        words += ["-read-only"] if self._mode == "read-only" else []
        words += [] if self._accel == "auto" else ["-accel", self._accel]
        self._child.start(words, {"ANDROID_AVD_HOME": str(home), "ANDROID_ADB_SERVER_PORT": str(server.port)})
        return Address(f"emulator-{ports.console}", server.port, ports.console, ports.grpc)

    def _expect_accelerator(self) -> None:
        if self._accel != "auto" or not sys.platform.startswith("linux"):
            return
        found = kvm.probe()
        if not found.usable:
            raise DeviceFailed(
                "not_installed", f"{self.name}: no KVM: {found.words}. In software, many times slower: avd:N,accel=off"
            )

    def _halt(self, within: float) -> None:
        self._child.stop(within)
        clone, self._clone = self._clone, None
        if clone is not None:
            clone.release()

    def _gone(self) -> FailureKind | None:
        return "died" if self._child.pid is None else None

    def snapshot_save(self, name: str, *, within: float | None = None) -> None:
        if self._mode == "read-only":
            raise DeviceFailed("unsupported", f"{self.name} is read-only: save snapshots in the AVD {self._avd} itself")
        super().snapshot_save(name, within=within)

    def reclone(self, *, within: float | None = None) -> None:
        """Delete the clone and copy the golden AVD again."""
        if self._mode == "read-only":
            raise DeviceFailed("unsupported", f"{self.name} is read-only: there is no clone")
        deadline = time.monotonic() + (2 * self.limits.start if within is None else within)
        self.stop(within=0.0)
        clone = Clone(golden_folder(self._avd, self._home), self._avd, self._slot, self._clones)
        clone.hold()
        try:
            clone.delete()
        finally:
            clone.release()
        self.start(within=max(0.5, deadline - time.monotonic()))

    def logs(self, lines: int = 200) -> list[str]:
        return self._child.logs(lines)
