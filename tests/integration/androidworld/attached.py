"""A bridge on a simulated phone, with an ear at adb."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from emulator.sim import SimDevice
from sopbench.online.androidworld.client import Bridge


@dataclass(frozen=True)
class Attached:
    """A bridge on a phone, and what android_world and android_env asked adb for."""

    bridge: Bridge
    phone: SimDevice
    log: Path

    def start(self, template: str, family: str = "android_world", seed: int = 1) -> dict[str, Any]:
        return self.bridge.ask("start", 120, family=family, template=template, seed=seed)

    def act(self, **fields: Any) -> list[str]:
        """Carry out a JSONAction of these fields; the `input` commands that came of it."""
        before = len(self.inputs())
        assert self.bridge.ask("act", 60, action=fields) == {"refused": None}
        return self.inputs()[before:]

    def inputs(self) -> list[str]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [line.partition(" shell input ")[2] for line in lines if " shell input " in line]
