"""The software of a simulated phone, without its plumbing: files, clock, settings, properties, packages, log, telephony, screen.

Commands of the shell work on this; so do gRPC and the console. `lock` is held by whoever looks at the screen or changes it.
"""

from __future__ import annotations

import copy
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Final

from emulator.sim.clock import DeviceClock
from emulator.sim.faults import Faults
from emulator.sim.files import FileTree, Node
from emulator.sim.logcat import LogBuffer
from emulator.sim.packages import Packages
from emulator.sim.screens.base import Screen
from emulator.sim.system_apps import SYSTEM

FOLDERS: Final = (
    "/system/bin", "/data/local/tmp", "/data/data", "/data/app", "/data/system", "/dev", "/proc", "/tmp",
    "/storage/emulated/0", "/storage/self",
    *(f"/storage/emulated/0/{name}" for name in (
        "Alarms", "Android/data", "Android/media", "DCIM/Camera", "Documents", "Download", "Movies", "Music", "Notifications",
        "Pictures", "Podcasts", "Recordings", "Ringtones",
    )),
)  # fmt: skip
LINKS: Final = (
    ("/sdcard", "/storage/self/primary"),
    ("/storage/self/primary", "/storage/emulated/0"),
    ("/data/media", "/storage/emulated"),
    ("/data/user", "/data"),
    ("/mnt", "/storage"),
)
SETTINGS: Final[dict[str, dict[str, str]]] = {
    "global": {
        "airplane_mode_on": "0", "auto_time": "1", "auto_time_zone": "1", "bluetooth_on": "0", "device_name": "sopbench simulated phone",
        "heads_up_notifications_enabled": "1", "mobile_data": "1", "mode_ringer": "2", "stay_on_while_plugged_in": "1",
        "wifi_on": "1", "zen_mode": "0", "zen_duration": "0", "adb_enabled": "1", "device_provisioned": "1",
    },
    "system": {
        "accelerometer_rotation": "0", "font_scale": "1.0", "pointer_location": "0", "screen_brightness": "102", "screen_brightness_mode": "0",
        "screen_off_timeout": "60000", "show_touches": "0", "time_12_24": "12", "user_rotation": "0", "volume_music": "5",
    },
    "secure": {
        "android_id": "5070be4c00000001", "default_input_method": "com.google.android.inputmethod.latin/com.android.inputmethod.latin.LatinIME",
        "enabled_accessibility_services": "", "location_mode": "3", "user_setup_complete": "1", "show_ime_with_hard_keyboard": "0",
    },
}  # fmt: skip
PROPERTIES: Final = {
    "ro.build.version.release": "13", "ro.build.version.sdk": "33", "ro.build.characteristics": "emulator", "ro.kernel.qemu": "1",
    "ro.build.fingerprint": "sopbench/simulated/simulated:13/SIM/1:userdebug/test-keys", "ro.product.brand": "sopbench",
    "ro.product.manufacturer": "sopbench", "ro.product.model": "Simulated phone", "ro.product.name": "sopbench_sim",
    "ro.product.device": "sopbench_sim", "ro.hardware": "sopbench_sim", "ro.product.cpu.abi": "x86_64", "ro.debuggable": "1",
    "persist.sys.timezone": "UTC", "persist.sys.locale": "en-US", "ro.sf.lcd_density": "420",
}  # fmt: skip


@dataclass(slots=True)
class Telephony:
    """Calls as `dumpsys telephony.registry` tells them. `state` is 0 idle, 1 ringing, 2 in a call (TelephonyManager.CALL_STATE_*)."""

    state: int = 0
    number: str = ""


@dataclass(slots=True)
class Saved:
    """A snapshot: everything that a phone goes back to."""

    files: Node
    moment: float
    settings: dict[str, dict[str, str]]
    properties: dict[str, str]
    packages: Packages
    clipboard: str
    telephony: Telephony
    screen: object
    extra: dict[str, Any] = field(default_factory=dict)


class Android:
    """One phone's software, as it is after the first boot."""

    def __init__(self, screen: Screen, faults: Faults | None = None) -> None:
        self.lock = threading.RLock()
        self.faults = faults or Faults()
        self.clock = DeviceClock()
        self.files = FileTree(self.clock.now)
        self.log = LogBuffer(self.clock.now)
        self.settings = copy.deepcopy(SETTINGS)
        self.properties = dict(PROPERTIES)
        self.telephony = Telephony()
        self.clipboard = ""
        self.forwarder_port: int | None = None
        """Where the accessibility forwarder was told to send (a port of this machine's loopback interface)."""
        self.snapshots: dict[str, Saved] = {}
        self.screen = screen
        self.packages = Packages.of([*SYSTEM, *screen.packages])
        self._ready_at = 0.0
        self._lay_out()
        screen.attach(self)

    def _lay_out(self) -> None:
        for folder in FOLDERS:
            self.files.mkdir(folder, parents=True)
        for path, target in LINKS:
            self.files.link(path, target)
        for package in self.packages.installed.values():
            package.fresh(self.files)

    # ---- booting
    def boot(self, seconds: float = 0.0) -> None:
        """Begin to boot; `booted` becomes true after `seconds`."""
        self._ready_at = time.monotonic() + seconds
        self.log.write("I", "SystemServer", "Entered the Android system server!")

    @property
    def booted(self) -> bool:
        return time.monotonic() >= self._ready_at

    def property(self, name: str) -> str:
        if name in ("sys.boot_completed", "dev.bootcomplete"):
            return "1" if self.booted else ""
        if name == "init.svc.bootanim":
            return "stopped" if self.booted else "running"
        return self.properties.get(name, "")

    # ---- snapshots
    def save(self, name: str) -> None:
        with self.lock:
            self.snapshots[name] = Saved(
                self.files.save(),
                self.clock.now(),
                copy.deepcopy(self.settings),
                dict(self.properties),
                self.packages.copy(),
                self.clipboard,
                copy.copy(self.telephony),
                self.screen.save(),
            )
        self.log.write("I", "Snapshot", f"saved {name}")

    def load(self, name: str) -> bool:
        """Go back to a snapshot; False where there is none of that name. The log and the clock's speed go on."""
        with self.lock:
            saved = self.snapshots.get(name)
            if saved is None:
                return False
            self.files.load(saved.files)
            self.clock.set(saved.moment)
            self.settings = copy.deepcopy(saved.settings)
            self.properties = dict(saved.properties)
            self.packages = saved.packages.copy()
            self.clipboard = saved.clipboard
            self.telephony = copy.copy(saved.telephony)
            self.screen.load(saved.screen)
        self.log.write("I", "Snapshot", f"loaded {name}")
        return True

    def close(self) -> None:
        self.log.close()
        self.screen.close()
