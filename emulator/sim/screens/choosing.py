"""Screens by name, as the command line and `SimDevice` name them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from emulator.sim.screens.base import Screen
from sopbench.errors import UsageError

NAMES: Final = ("pocket", "pocket-large", "chromium", "desk", "androidworld")


def screen_maker(name: str, *, seed: int = 0, url: str = "about:blank") -> Callable[[], Screen]:
    """What makes a screen of this name, anew at every call. Raises `UsageError` for one that there is none of."""
    if name in ("pocket", "pocket-large"):
        from emulator.pocket.themes import Display
        from emulator.sim.screens.pocket import PocketScreen

        display: Display = "large" if name == "pocket-large" else "regular"
        return lambda: PocketScreen(display, seed)
    if name == "chromium":
        from emulator.sim.screens.chromium import ChromiumScreen

        return lambda: ChromiumScreen(url)
    if name == "desk":
        from emulator.sim.screens.desk import DeskScreen

        return DeskScreen
    if name == "androidworld":
        from emulator.sim.androidworld_apps import APPS
        from emulator.sim.screens.desk import DeskScreen

        return lambda: DeskScreen(APPS)
    raise UsageError(f"no screen {name[:40]!r}; there are {', '.join(NAMES)}")
