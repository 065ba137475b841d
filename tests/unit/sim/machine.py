"""A phone's software without its servers, for tests of what runs on it."""

from __future__ import annotations

from emulator.sim.android import Android
from emulator.sim.screens.base import Screen
from emulator.sim.screens.desk import DeskScreen
from emulator.sim.screens.pocket import PocketScreen
from emulator.sim.shell import Shell
from emulator.sim.shell.commands import all_commands


class Machine:
    """`run(line)` gives (exit code, standard output, standard error) as text."""

    def __init__(self, screen: Screen | None = None) -> None:
        self.android = Android(screen or DeskScreen())
        self.shell = Shell(self.android, all_commands())

    def run(self, line: str, stdin: bytes = b"") -> tuple[int, str, str]:
        code, out, err = self.shell.output(line, stdin)
        return code, out.decode("utf-8", "surrogateescape"), err.decode("utf-8", "surrogateescape")

    def out(self, line: str, stdin: bytes = b"") -> str:
        """What a line that succeeds prints."""
        code, out, err = self.run(line, stdin)
        assert code == 0, (line, code, err)
        assert err == "", (line, err)
        return out


def pocket(display: str = "regular", seed: int = 0) -> tuple[Machine, PocketScreen]:
    screen = PocketScreen("large" if display == "large" else "regular", seed)
    return Machine(screen), screen
