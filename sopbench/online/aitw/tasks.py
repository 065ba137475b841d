"""DigiRL's lists of instructions, read from the files that `sopbench data pull aitw-tasks` gets and compared with their pinned hashes each time.

Source: DigiRL-agent/digirl, commit c74ec34. Results are of the first 96 lines of a test list, taken in order (README.md, lines 163 and 171); `max_steps` is 10 for the general list
(`scripts/config/main/default.yaml`) and 20 for web shopping (README.md, line 169). UI-S1's paper speaks of 300 and 150 filtered instructions, of which its released code holds nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from sopbench.datasets.pulling import folder_of
from sopbench.datasets.registry import Remote, get_data_set
from sopbench.errors import DataError, UsageError
from sopbench.files import open_regular, why

DATA_SET: Final = "aitw-tasks"
COUNT: Final = 96
MAX_GOAL: Final = 500


@dataclass(frozen=True, slots=True)
class TaskList:
    """A published list: which file, and the steps that an agent may take."""

    file: str
    stem: str
    budget: int


LISTS: Final[Mapping[str, TaskList]] = {
    "general": TaskList("general_test.txt", "general-test", 10),
    "web": TaskList("webshop_test.txt", "webshop-test", 20),
}


def pinned(which: TaskList) -> Remote:
    return next(remote for remote in get_data_set(DATA_SET).files if remote.path == which.file)


def instructions(which: TaskList, folder: Path | None = None) -> list[str]:
    """The first 96 instructions. `folder` is where the lists are (None: where a pull puts them).

    Raises `UsageError` where they have not been pulled, `DataError` where a file is not the published one.
    """
    remote = pinned(which)
    path = (folder_of(get_data_set(DATA_SET)) if folder is None else folder) / which.file
    assert remote.size is not None
    try:
        with open_regular(path) as handle:
            data = handle.read(remote.size + 1)
    except FileNotFoundError:
        raise UsageError(f"the list {which.file} is not on this machine: sopbench data pull {DATA_SET}") from None
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {path} ({why(error)})") from error
    if sha256(data).hexdigest() != remote.sha256:
        raise DataError(
            f"{path} is not the published list (its SHA-256 is another): delete it, and sopbench data pull {DATA_SET}"
        )
    return read_list(data, str(path))


def read_list(data: bytes, where: str) -> list[str]:
    """One instruction a line, the first 96. Raises `DataError` for what is no such list."""
    try:
        lines = [" ".join(line.split()) for line in data.decode().splitlines()]
    except UnicodeDecodeError as error:
        raise DataError(f"{where} is not UTF-8 (byte {error.start})") from error
    goals = [line for line in lines if line][:COUNT]
    if len(goals) < COUNT:
        raise DataError(f"{where} has {len(goals)} instructions, {COUNT} are wanted")
    for number, goal in enumerate(goals):
        if len(goal) > MAX_GOAL or not goal.isprintable():
            raise DataError(f"{where}: instruction {number} is none (longer than {MAX_GOAL}, or with odd characters)")
    return goals


def web_template(goal: str) -> str:
    """Which of the three shapes an instruction of web shopping has: they come in threes, each a longer way to go."""
    said = goal.lower()
    if "select the first entry" in said:
        return "open-first-entry"
    return "search" if "search for" in said else "visit"
