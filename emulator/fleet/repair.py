"""What is done to one device: first boot, cleaning, the ladder, the remedies. Nothing here knows of slots or threads."""

from __future__ import annotations

import time
from collections.abc import Callable

from emulator.device import Device, DeviceFailed, Health
from emulator.fleet.rules import Remedy, Rules, remedies_for

GOLDEN = "golden"
Prepare = Callable[[Device], None]
"""What is done once to a device that has booted anew, before its clean snapshot is kept."""


def nothing(device: Device) -> None:
    return


class Mender:
    """Looks after devices by `rules`. `prepare` may raise `DeviceFailed`."""

    def __init__(self, rules: Rules, prepare: Prepare = nothing) -> None:
        self.rules = rules
        self._prepare = prepare

    def boot(self, device: Device) -> bool:
        """Start it and see that it has a clean snapshot; false where the backend has no snapshots. Raises `DeviceFailed`."""
        device.start(within=self.rules.boot_within(device.limits))
        golden = self.settle(device, fresh=device.forgets)
        self.expect_health(device)
        return golden

    def settle(self, device: Device, *, fresh: bool) -> bool:
        """Bring a device that has just booted to the clean state. fresh: it is clean, and this state is the one to keep."""
        if not fresh:
            try:
                self.reload(device)
                return True
            except DeviceFailed as error:
                if error.kind == "unsupported":
                    return False
                if error.kind != "no_snapshot":
                    raise
        self._prepare(device)
        try:
            device.snapshot_save(GOLDEN, within=self.rules.within("reload", device.limits))
        except DeviceFailed as error:
            if error.kind == "unsupported":
                return False
            raise
        return True

    def reload(self, device: Device) -> None:
        device.snapshot_load(GOLDEN, within=self.rules.within("reload", device.limits))

    def health(self, device: Device) -> Health:
        return device.health(within=self.rules.health_within(device.limits))

    def expect_health(self, device: Device) -> Health:
        """Climb the ladder. Raises `DeviceFailed` with the rung that does not hold."""
        health = self.health(device)
        if not health.ok:
            raise DeviceFailed(health.kind or "offline", f"rung {health.failed}: {health.detail}")
        return health

    def ready(self, device: Device, *, golden: bool) -> Health:
        """Make a healthy device clean, and see that it is healthy then. Raises `DeviceFailed`."""
        if golden:
            self.reload(device)
        return self.expect_health(device)

    def mend(
        self,
        device: Device,
        failure: DeviceFailed,
        tell: Callable[[Remedy, float, DeviceFailed | None], None],
        stopping: Callable[[], bool],
    ) -> None:
        """Try the remedies in order until the device is healthy. `tell` hears of each: seconds, and why it did not help.

        Raises the last failure where none helped. Leaves out what the backend has not.
        """
        last = failure
        for remedy in remedies_for(failure.kind):
            if stopping():
                break
            began = time.monotonic()
            try:
                self._apply(remedy, device)
                self.expect_health(device)
            except DeviceFailed as error:
                if error.kind == "unsupported":
                    continue
                last = error
                tell(remedy, time.monotonic() - began, error)
                continue
            tell(remedy, time.monotonic() - began, None)
            return
        raise last

    def _apply(self, remedy: Remedy, device: Device) -> None:
        within = self.rules.within(remedy, device.limits)
        match remedy:
            case "reconnect":
                device.reconnect(within=within)
            case "reload":
                self.reload(device)
            case "restart":
                device.restart(within=within)
                self.settle(device, fresh=device.forgets)
            case "reclone":
                device.reclone(within=within)
                self.settle(device, fresh=True)
