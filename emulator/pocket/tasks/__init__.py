"""Tasks on PocketPhone: templates with seeds, experts and checks on state, and the splits made of them.

session = start("notes.pin", seed=3)         # or any spec of load_split("test")
session.goal, session.phone, session.score(), session.expert()
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from emulator.pocket.tasks.base import Params, Plan, TaskError, Template, answered
from emulator.pocket.tasks.expert import Expert, Hold, Hop, Move, hop
from emulator.pocket.tasks.matching import ANY, said
from emulator.pocket.tasks.session import PocketSession, TaskSpec, start
from emulator.pocket.tasks.splits import SPLITS, load_split

MODULES = (
    "settings",
    "notes",
    "contacts",
    "messages",
    "calendar",
    "clock",
    "files",
    "shop",
    "music",
    "calculator",
    "cross",
)
"""Modules of this package that define templates in `TEMPLATES`, in the order of splits."""


@cache
def templates() -> tuple[Template, ...]:
    """Every template there is."""
    return tuple(cls() for module in MODULES for cls in import_module(f"{__name__}.{module}").TEMPLATES)


def find(name: str) -> Template:
    """The template with this name. Raises `TaskError` that names its neighbours."""
    for template in templates():
        if template.name == name:
            return template
    app = name.partition(".")[0]
    near = [t.name for t in templates() if t.name.startswith(f"{app}.")] or sorted({t.apps[0] for t in templates()})
    raise TaskError(f"no task template {name!r}; there are {', '.join(near)}")


__all__ = [
    "ANY",
    "SPLITS",
    "Expert",
    "Hold",
    "Hop",
    "Move",
    "Params",
    "Plan",
    "PocketSession",
    "TaskError",
    "TaskSpec",
    "Template",
    "answered",
    "find",
    "hop",
    "load_split",
    "said",
    "start",
    "templates",
]
