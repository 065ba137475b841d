"""The tasks of a family as AndroidWorld's own code makes them, kept as JSON: listing them needs no device, and a kept list no process."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from sopbench.errors import DataError, SopbenchError
from sopbench.files import read_json, write_json
from sopbench.online.androidworld.client import Bridge
from sopbench.online.androidworld.install import Installed

MAX_LIST: Final = 64 * 1024 * 1024
LISTING: Final = 300.0
"""Seconds that AndroidWorld's code may take to make one."""


@dataclass(frozen=True, slots=True)
class Listed:
    """One instance of a task. `seed` decides its parameters: sha256("{task_seed}_{template}_{instance}") mod 2^32 (suite_utils.py, create_suite)."""

    template: str
    instance: int
    seed: int
    goal: str
    budget: int
    complexity: float
    apps: tuple[str, ...]

    @property
    def id(self) -> str:
        return f"{self.template}/{self.instance}"


def instance_seed(task_seed: int, template: str, instance: int) -> int:
    """The seed of an instance's parameters, as upstream's `create_suite` has it."""
    text = f"{task_seed}_{template}_{instance}"
    return int(hashlib.sha256(text.encode()).hexdigest(), 16) % 2**32


def list_tasks(env: Installed, family: str, task_seed: int, instances: int) -> list[Listed]:
    """From the kept list, or made now and kept. Raises `DataError` or `EnvironmentFailed`."""
    file = _file(env.lists, family, task_seed, instances)
    if file.is_file():
        try:
            return _read(read_json(file, MAX_LIST), file)
        except SopbenchError:
            file.unlink(missing_ok=True)  # damaged: make it again
    bridge = Bridge(env.python)
    try:
        tasks = ask_list(bridge, family, task_seed, instances)
    finally:
        bridge.close()
    keep_list(env.lists, family, task_seed, instances, tasks)
    return tasks


def ask_list(bridge: Bridge, family: str, task_seed: int, instances: int) -> list[Listed]:
    told = bridge.ask("tasks", LISTING, family=family, task_seed=task_seed, instances=instances)
    return _read(told.get("tasks"), Path(family))


def keep_list(folder: Path, family: str, task_seed: int, instances: int, tasks: Sequence[Listed]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_json(_file(folder, family, task_seed, instances), [asdict(task) for task in tasks])


def digest(tasks: Sequence[Listed]) -> str:
    """Of everything in the list: the same list, the same hash, on every machine."""
    text = json.dumps([asdict(task) for task in tasks], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _file(folder: Path, family: str, task_seed: int, instances: int) -> Path:
    return folder / f"{family}-{task_seed}-{instances}.json"


def _read(value: Any, where: Path) -> list[Listed]:
    if not isinstance(value, list) or not value:
        raise DataError(f"{where}: is no list of tasks")
    return [_listed(entry, where) for entry in value]


def _listed(entry: Any, where: Path) -> Listed:
    try:
        task = Listed(**{**entry, "apps": tuple(entry["apps"])})
    except (TypeError, KeyError) as error:
        raise DataError(f"{where}: a task that is none ({error})") from error
    texts = (task.template, task.goal, *task.apps)
    numbers = (task.instance, task.seed, task.budget)
    if (
        not all(isinstance(t, str) for t in texts)
        or not all(type(n) is int and n >= 0 for n in numbers)
        or task.budget < 1
    ):
        raise DataError(f"{where}: a task that is none ({task.template!r:.80})")
    return task
