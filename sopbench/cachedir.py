"""Where this user's cache is: pulled prompt texts, rendered recordings. `SOPBENCH_CACHE` names another folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

CACHE: Final = "SOPBENCH_CACHE"


def cache_folder() -> Path:
    """The folder; it may not be there yet."""
    chosen = os.environ.get(CACHE, "").strip()
    if chosen:
        return Path(chosen).expanduser()
    import platformdirs

    return platformdirs.user_cache_path("sopbench", appauthor=False)
