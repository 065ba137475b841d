"""What to change for each thing that the doctor finds, in the words of the command that starts the server: recent releases and older ones.

vLLM's flags were read in 0.32: `engine/arg_utils.py`, `entrypoints/launchers/cli_args.py`, `model_executor/models/qwen2_vl.py` (which takes `min_pixels` and `max_pixels`, and as
`size` the edges of recent processors); the older syntaxes are those of 0.6 to 0.8.
"""

from __future__ import annotations

import json
from typing import Final

from sopbench.adapters.base import Adapter

REPEAT: Final = "run with --repeats 3 or more and look at the intervals"
ANOTHER_ADAPTER: Final = "is this the adapter of the model's family? `sopbench adapters` lists them"
OTHER_FRAME: Final = (
    "is this the adapter of the model's version? `sopbench adapters NAME` tells how each counts: for example qwen25vl and ui_tars15 in pixels of the resized image, "
    "qwen3vl and ui_tars in thousandths"
)
NO_TEMPLATE: Final = "serve it with a chat template that tells the tools (vLLM: --chat-template FILE), or have them told in the prompt with --adapter tools_text"
ONLY_FORCED: Final = (
    'is the server\'s --tool-call-parser the one for this model? Else calls that it writes in its text are read all the same, and --extra-body \'{"tool_choice": "required"}\' '
    "forces one in a run"
)
NO_LIMITS: Final = (
    "leave both to the server: --server-defaults, and a bound with --extra-body '{\"max_completion_tokens\": 2048}'"
)


def longer_context(needed: int | None = None) -> str:
    """`needed`: tokens of prompt and reply together, where they are known."""
    length = "N" if needed is None else str(-(-needed // 1024) * 1024)
    return (
        f"serve the model with a longer context (vLLM, old and recent releases alike: --max-model-len {length}; SGLang: --context-length {length}), or send fewer screens "
        "with --history-images"
    )


def image_limits(adapter: Adapter) -> str:
    """The flag that makes a server resize as the adapter counts."""
    low, high = adapter.pixel_limits or (None, None)
    recent = json.dumps({"size": {"shortest_edge": low or "MIN", "longest_edge": high or "MAX"}})
    older = json.dumps({"min_pixels": low or "MIN", "max_pixels": high or "MAX"})
    return (
        f"start vLLM with --mm-processor-kwargs '{older}' (0.6 and later; recent releases also take '{recent}'); elsewhere set the same limits in the "
        f"model's preprocessor_config.json. The adapter counts in {adapter.frame}"
    )
