"""The command that serves a merged model as its adapter wants it."""

from __future__ import annotations

import json
from pathlib import Path

from sopbench.adapters.base import Adapter
from sopbench.errors import command


def serve_command(folder: Path, adapter: Adapter, *, images: int | None = None, name: str | None = None) -> str:
    """`vllm serve ...` with the adapter's flags; the limit of images is what a request really carries (vLLM refuses a request with more)."""
    limit = adapter.default_images if images is None else images
    words: list[object] = ["vllm", "serve", folder, "--served-model-name", name or folder.name]
    if limit:
        words += ["--limit-mm-per-prompt", json.dumps({"image": limit})]
    flags = [flag for flag in adapter.server_flags if not flag.startswith("--limit-mm-per-prompt")]
    return " ".join([command(*words), *flags])
