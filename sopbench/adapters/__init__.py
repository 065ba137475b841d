"""Model families: how each is told its task, answers, and counts pixels. `get_adapter(name)` finds one by its `--adapter` name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sopbench.errors import UsageError

if TYPE_CHECKING:
    from sopbench.adapters.base import Adapter
    from sopbench.prompts.texts import PromptTexts

ADAPTERS: tuple[str, ...] = (
    "agentcpm",
    "json_action",
    "os_atlas",
    "os_genesis",
    "os_genesis_pixels",
    "qwen25vl",
    "qwen3vl",
    "tiny",
    "tools",
    "tools_text",
    "ui_tars",
    "ui_tars15",
    "uis1",
)


def get_adapter(name: str, texts: PromptTexts | None = None) -> Adapter:
    """The adapter called `name`, asking in `texts` (None: our own words). Raises `UsageError` that lists the known names."""
    match name:
        case "uis1":
            from sopbench.adapters.uis1 import UiS1

            return UiS1(texts)
        case "qwen25vl":
            from sopbench.adapters.qwen25vl import Qwen25VL

            return Qwen25VL(texts)
        case "os_atlas":
            from sopbench.adapters.os_atlas import OsAtlas

            return OsAtlas(texts)
        case "qwen3vl":
            from sopbench.adapters.qwen3vl import Qwen3VL

            return Qwen3VL(texts)
        case "ui_tars":
            from sopbench.adapters.ui_tars import UiTars

            return UiTars(texts)
        case "ui_tars15":
            from sopbench.adapters.ui_tars15 import UiTars15

            return UiTars15(texts)
        case "agentcpm":
            from sopbench.adapters.agentcpm import AgentCPM

            return AgentCPM(texts)
        case "os_genesis":
            from sopbench.adapters.os_genesis import OsGenesis

            return OsGenesis(texts)
        case "os_genesis_pixels":
            from sopbench.adapters.os_genesis import OsGenesisPixels

            return OsGenesisPixels(texts)
        case "json_action":
            from sopbench.adapters.json_action import JsonAction

            return JsonAction(texts)
        case "tiny":
            from sopbench.adapters.tiny import Tiny

            return Tiny(texts)
        case "tools":
            from sopbench.adapters.tools import Tools

            return Tools(texts)
        case "tools_text":
            from sopbench.adapters.tools import ToolsText

            return ToolsText(texts)
    raise UsageError(f"there is no adapter {name[:60]!r}; known: {', '.join(ADAPTERS)}")
