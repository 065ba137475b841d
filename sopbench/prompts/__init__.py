"""Where a family's prompt texts come from. `builtin(family)` gives our own words for it."""

from __future__ import annotations

from sopbench.errors import UsageError
from sopbench.prompts.texts import PromptTexts


def builtin(family: str) -> PromptTexts:
    """The built-in texts of `family`; raises `UsageError` where it has none."""
    match family:
        case "uis1":
            from sopbench.prompts.builtin_uis1 import TEXTS
        case "qwen25vl":
            from sopbench.prompts.builtin_qwen25vl import TEXTS
        case "os_atlas":
            from sopbench.prompts.builtin_os_atlas import TEXTS
        case "qwen3vl":
            from sopbench.prompts.builtin_qwen3vl import TEXTS
        case "ui_tars":
            from sopbench.prompts.builtin_ui_tars import V1_TEXTS as TEXTS
        case "ui_tars15":
            from sopbench.prompts.builtin_ui_tars import V15_TEXTS as TEXTS
        case "agentcpm":
            from sopbench.prompts.builtin_agentcpm import TEXTS
        case "os_genesis":
            from sopbench.prompts.builtin_os_genesis import TEXTS
        case "os_genesis_pixels":
            from sopbench.prompts.builtin_os_genesis import PIXEL_TEXTS as TEXTS
        case "json_action":
            from sopbench.prompts.builtin_json_action import TEXTS
        case "tiny":
            from sopbench.prompts.builtin_tiny import TEXTS
        case "tools":
            from sopbench.prompts.builtin_tools import TEXTS
        case "tools_text":
            from sopbench.prompts.builtin_tools import IN_TEXT as TEXTS
        case _:
            raise UsageError(f"there are no built-in prompt texts for {family[:60]!r}")
    return TEXTS
