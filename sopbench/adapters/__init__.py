"""Model families: how each is told its task, answers, and counts pixels. `get_adapter(name)` finds one by its `--adapter` name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sopbench.errors import UsageError

if TYPE_CHECKING:
    from sopbench.adapters.base import Adapter

ADAPTERS: tuple[str, ...] = ("qwen25vl", "uis1")


def get_adapter(name: str) -> Adapter:
    """The adapter called `name`; raises `UsageError` that lists the known names."""
    match name:
        case "uis1":
            from sopbench.adapters.uis1 import UiS1

            return UiS1()
        case "qwen25vl":
            from sopbench.adapters.qwen25vl import Qwen25VL

            return Qwen25VL()
    raise UsageError(f"there is no adapter {name[:60]!r}; known: {', '.join(ADAPTERS)}")
