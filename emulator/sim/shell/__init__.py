"""The phone's shell: a small part of sh, and commands written in Python. Nothing that reaches it is run on this machine."""

from emulator.sim.shell.interpreter import Shell
from emulator.sim.shell.syntax import ShellSyntaxError, Unsupported, parse

__all__ = ["Shell", "ShellSyntaxError", "Unsupported", "parse"]
