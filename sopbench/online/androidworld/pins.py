"""Which AndroidWorld this is."""

from __future__ import annotations

from typing import Final

COMMIT: Final = "d9c569f764b3a5629321858de03ff653d0f24056"
TREE: Final = "e7c210bac979293ad7c2ba0421ae2606064c87d2"
"""git's hash of everything in that commit: what a clone or a download gives is compared with it."""
SHORT: Final = COMMIT[:7]
ARCHIVE: Final = f"https://github.com/google-research/android_world/archive/{COMMIT}.tar.gz"
FAMILIES: Final[dict[str, int]] = {
    "android_world": 116,
    "android": 91,
    "information_retrieval": 25,
    "miniwob": 92,
    "miniwob_subset": 62,
}
"""Tasks of each family at this commit (registry.py)."""
TASK_SEED: Final = 30
INSTANCES: Final = 1
"""Upstream's defaults (run.py: task_random_seed, n_task_combinations)."""
ACTUATIONS: Final = ("upstream", "mobile-agent")
