"""Model families: how each is told its task, answers, and counts pixels. `get_adapter(name)` finds one by its `--adapter` name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sopbench.errors import UsageError

if TYPE_CHECKING:
    from sopbench.adapters.base import Adapter

ADAPTERS: tuple[str, ...] = (
    "agentcpm",
    "json_action",
    "os_atlas",
    "os_genesis",
    "os_genesis_pixels",
    "qwen25vl",
    "qwen3vl",
    "ui_tars",
    "ui_tars15",
    "uis1",
)


def get_adapter(name: str) -> Adapter:
    """The adapter called `name`; raises `UsageError` that lists the known names."""
    match name:
        case "uis1":
            from sopbench.adapters.uis1 import UiS1

            return UiS1()
        case "qwen25vl":
            from sopbench.adapters.qwen25vl import Qwen25VL

            return Qwen25VL()
        case "os_atlas":
            from sopbench.adapters.os_atlas import OsAtlas

            return OsAtlas()
        case "qwen3vl":
            from sopbench.adapters.qwen3vl import Qwen3VL

            return Qwen3VL()
        case "ui_tars":
            from sopbench.adapters.ui_tars import UiTars

            return UiTars()
        case "ui_tars15":
            from sopbench.adapters.ui_tars15 import UiTars15

            return UiTars15()
        case "agentcpm":
            from sopbench.adapters.agentcpm import AgentCPM

            return AgentCPM()
        case "os_genesis":
            from sopbench.adapters.os_genesis import OsGenesis

            return OsGenesis()
        case "os_genesis_pixels":
            from sopbench.adapters.os_genesis import OsGenesisPixels

            return OsGenesisPixels()
        case "json_action":
            from sopbench.adapters.json_action import JsonAction

            return JsonAction()
    raise UsageError(f"there is no adapter {name[:60]!r}; known: {', '.join(ADAPTERS)}")
