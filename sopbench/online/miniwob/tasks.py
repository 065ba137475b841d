"""Which tasks there are, where their pages lie, and which seeds they get.

The list is AndroidWorld's (google-research/android_world, commit d9c569f, `android_world/task_evals/miniwob/miniwob_registry.py`: 92 pages of
MiniWoB++ that people solved by touch), without `drag-item`, which AndroidWorld wrote itself and the package does not have. All of them have
complexity 3 there (`miniwob_base.py`), and a task's budget is int(10 x complexity) steps (`android_world/suite_utils.py`).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata, util
from pathlib import Path
from typing import Final

from sopbench.errors import UsageError

COMPLEXITY: Final = 3
BUDGET: Final = int(10 * COMPLEXITY)
DEFAULT_TASK_SEED: Final = 30
"""AndroidWorld's default (`run.py`, flag task_random_seed)."""
ABSENT: Final = ("drag-item",)
"""In AndroidWorld's list and not in the package."""
PACKAGE: Final = "miniwob"

TASKS: Final[tuple[str, ...]] = (
    "bisect-angle",
    "book-flight",
    "choose-date",
    "choose-date-easy",
    "choose-date-medium",
    "choose-list",
    "circle-center",
    "click-button",
    "click-button-sequence",
    "click-checkboxes",
    "click-checkboxes-large",
    "click-checkboxes-soft",
    "click-checkboxes-transfer",
    "click-collapsible",
    "click-collapsible-2",
    "click-color",
    "click-dialog",
    "click-dialog-2",
    "click-link",
    "click-menu-2",
    "click-option",
    "click-pie",
    "click-scroll-list",
    "click-shades",
    "click-shape",
    "click-tab",
    "click-tab-2",
    "click-tab-2-easy",
    "click-tab-2-hard",
    "click-tab-2-medium",
    "click-test",
    "click-test-2",
    "click-test-transfer",
    "click-widget",
    "copy-paste",
    "copy-paste-2",
    "count-shape",
    "count-sides",
    "drag-box",
    "email-inbox",
    "email-inbox-delete",
    "email-inbox-forward",
    "email-inbox-forward-nl",
    "email-inbox-forward-nl-turk",
    "email-inbox-important",
    "email-inbox-nl-turk",
    "email-inbox-noscroll",
    "email-inbox-reply",
    "email-inbox-star-reply",
    "enter-date",
    "enter-password",
    "enter-text",
    "enter-text-2",
    "enter-text-dynamic",
    "enter-time",
    "find-midpoint",
    "find-word",
    "focus-text",
    "focus-text-2",
    "grid-coordinate",
    "guess-number",
    "highlight-text",
    "highlight-text-2",
    "identify-shape",
    "login-user",
    "login-user-popup",
    "multi-layouts",
    "multi-orderings",
    "navigate-tree",
    "read-table",
    "read-table-2",
    "resize-textarea",
    "right-angle",
    "scroll-text",
    "scroll-text-2",
    "search-engine",
    "simon-says",
    "simple-algebra",
    "simple-arithmetic",
    "social-media",
    "social-media-all",
    "social-media-some",
    "terminal",
    "text-transform",
    "tic-tac-toe",
    "unicode-test",
    "use-autocomplete",
    "use-colorwheel",
    "use-colorwheel-2",
    "use-slider",
    "visual-addition",
)


@dataclass(frozen=True, slots=True)
class Instance:
    """One task with one seed. `seed` goes to the page's `Math.seedrandom`."""

    task: str
    number: int
    seed: int

    @property
    def id(self) -> str:
        return f"{self.task}/{self.number}"


def instance_seed(task_seed: int, task: str, number: int) -> int:
    """sha256 of "SEED_TASK_NUMBER" modulo 2^32, after AndroidWorld (d9c569f, `suite_utils.py`), with the page's name for the task."""
    digest = hashlib.sha256(f"{task_seed}_{task}_{number}".encode()).hexdigest()
    return int(digest, 16) % 2**32


def instances(each: int = 1, task_seed: int = DEFAULT_TASK_SEED) -> list[Instance]:
    """`each` instances of every task, in the list's order."""
    return [Instance(task, number, instance_seed(task_seed, task, number)) for task in TASKS for number in range(each)]


def html_folder() -> Path:
    """The folder of the installed package's pages. Raises `UsageError` where the package is missing. The package itself is not imported."""
    spec = util.find_spec(PACKAGE)
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    for place in places:
        folder = Path(place) / "html"
        if (folder / "miniwob").is_dir():
            return folder.resolve()
    raise UsageError(
        "the pages of MiniWoB++ are not installed: pip install 'sopbench[online]' (or: pip install miniwob)"
    )


def package_version() -> str:
    """The version of the installed package."""
    html_folder()
    return metadata.version(PACKAGE)


def html_sha256() -> str:
    """One hash of all files of the package's pages: their paths and contents."""
    return _folder_sha256(html_folder())


@lru_cache(maxsize=4)
def _folder_sha256(folder: Path) -> str:
    whole = hashlib.sha256()
    for file in sorted(p for p in folder.rglob("*") if p.is_file()):
        name = file.relative_to(folder).as_posix()
        whole.update(f"{name}\0{hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode())
    return whole.hexdigest()
