"""The commands of the phone's shell: a module a family, each with its `COMMANDS`. A new one goes into the module that fits, or a new module."""

from __future__ import annotations

from emulator.sim.shell.call import Command, Commands
from emulator.sim.shell.commands import (
    activity,
    content,
    device,
    dumps,
    files,
    inputs,
    listing,
    logs,
    packages,
    settings,
    sqlite,
    testing,
    texts,
)

MODULES = (activity, content, device, dumps, files, inputs, listing, logs, packages, settings, sqlite, testing, texts)


def all_commands() -> Commands:
    """Every command, by its name."""
    found: dict[str, Command] = {}
    for module in MODULES:
        found |= module.COMMANDS
    return found
