"""The adapter of a run, in the words that the run asks for."""

from __future__ import annotations

import asyncio
import warnings
from pathlib import Path

from sopbench.adapters import get_adapter
from sopbench.adapters.base import Adapter
from sopbench.prompts.choosing import PromptFallback, Wanted, checked_wanted, choose
from sopbench.runs.config import RunConfig
from sopbench.runs.folder import RunFolder


async def worded_adapter(config: RunConfig) -> Adapter:
    """`config.adapter` with the texts that `config.prompts` means. Warns (`PromptFallback`) where official ones exist and ours are taken in their place."""
    choice = await asyncio.to_thread(choose, config.adapter, _wanted(config))
    if (warning := choice.warning()) is not None:
        warnings.warn(warning, PromptFallback, stacklevel=2)
    return get_adapter(config.adapter, choice.texts)


def _wanted(config: RunConfig) -> Wanted:
    """`auto` made definite where that can be told: a run that is continued keeps its source, and a built-in policy reads no prompt."""
    if config.prompts != "auto":
        return config.prompts
    if config.out is not None and (kind := _recorded_kind(config.out)) is not None:
        return kind
    return "builtin" if config.model.startswith("builtin:") else "auto"


def _recorded_kind(path: Path) -> Wanted | None:
    folder = RunFolder(path)
    return checked_wanted(str(folder.info().facts["adapter"]["prompt"]["kind"])) if folder.exists() else None
