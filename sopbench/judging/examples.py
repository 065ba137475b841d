"""Labelled examples for measuring a judge: a JSONL file of anybody's, or the episodes of online runs whose environment is no judge."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from sopbench.actions import Action, from_released
from sopbench.errors import ActionError, DataError, UsageError, shown
from sopbench.files import open_regular, why
from sopbench.geometry import Size
from sopbench.judging.words import SCREENS, Case
from sopbench.runs.fingerprint import fingerprint
from sopbench.runs.folder import EpisodeLog, RunFolder
from sopbench.screen import Screen

MAX_LINE: Final = 1024 * 1024
MAX_LINES: Final = 100_000
MAX_SCREENS: Final = 200
MAX_ACTIONS: Final = 1_000
MAX_GOAL: Final = 20_000
_LABELS: Final = {"success": True, "failure": False}


@dataclass(frozen=True, slots=True)
class Example:
    """A case and what is true of it."""

    id: str
    case: Case
    label: bool


@dataclass(slots=True)
class Examples:
    """`sha256` identifies them; `left_out` counts episodes that make no example, by reason."""

    found: list[Example] = field(default_factory=list)
    sha256: str = ""
    left_out: dict[str, int] = field(default_factory=dict)


def read_examples(path: Path) -> Examples:
    """A file of lines `{"goal", "screens": [paths], "label": "success"|"failure"|true|false, "id"?, "actions"?}`. Screens lie below the file's folder; actions are words.

    Raises `DataError` that names the line.
    """
    found: list[Example] = []
    digest = sha256()
    for number, line in enumerate(_lines(path), 1):
        digest.update(line)
        where = f"{path} line {number}"
        try:
            told = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{where} is not JSON ({error})") from error
        found.append(_example(told, path.parent, where, str(number)))
    if not found:
        raise DataError(f"{path} has no example")
    return Examples(found, digest.hexdigest())


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with open_regular(path) as handle:
            for _ in range(MAX_LINES + 1):
                line = handle.readline(MAX_LINE + 1)
                if not line:
                    return
                if len(line) > MAX_LINE:
                    raise DataError(f"{path} has a line of more than {MAX_LINE} bytes")
                if line.strip():
                    yield line
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read {path} ({why(error)})") from error
    raise DataError(f"{path} has more than {MAX_LINES} lines")


def _example(told: Any, folder: Path, where: str, number: str) -> Example:
    if not isinstance(told, dict):
        raise DataError(f"{where} is no JSON object")
    goal, names, actions, label = (told.get(k) for k in ("goal", "screens", "actions", "label"))
    if not isinstance(goal, str) or not goal.strip() or len(goal) > MAX_GOAL:
        raise DataError(f"{where}: `goal` is no text of 1 to {MAX_GOAL} characters")
    if not isinstance(names, list) or not 1 <= len(names) <= MAX_SCREENS:
        raise DataError(f"{where}: `screens` is no list of 1 to {MAX_SCREENS} paths")
    actions = [] if actions is None else actions
    if not isinstance(actions, list) or len(actions) > MAX_ACTIONS or not all(isinstance(a, str) for a in actions):
        raise DataError(f"{where}: `actions` is no list of at most {MAX_ACTIONS} texts")
    if isinstance(label, str):
        label = _LABELS.get(label)
    if not isinstance(label, bool):
        raise DataError(f"{where}: `label` is success or failure (or true, false), not {shown(told.get('label'))}")
    screens = tuple(_screen(name, folder, where) for name in names)
    named = told.get("id", number)
    if not isinstance(named, str | int) or isinstance(named, bool):
        raise DataError(f"{where}: `id` is no text")
    return Example(str(named)[:200], Case(goal, screens, tuple(actions)), label)


def _screen(name: Any, folder: Path, where: str) -> Screen:
    """A screen below `folder`: a file of strangers must not send others of this machine to a judge. Raises `DataError`, also where it is none."""
    if not isinstance(name, str) or not name or "\0" in name:
        raise DataError(f"{where}: {shown(name)} is no path of a screen")
    try:
        path = (folder / name).resolve()
        inside = path.is_relative_to(folder.resolve())
    except (OSError, RuntimeError, ValueError) as error:
        raise DataError(f"{where}: {shown(name)} is no path of a screen") from error
    if not inside:
        raise DataError(f"{where}: the screen {shown(name)} does not lie below the file's own folder {folder}")
    screen = Screen.from_file(path)
    _ = screen.size
    return screen


# -- runs --------------------------------------------------------------------------------------------------------------


def examples_of_run(folder: Path) -> Examples:
    """The episodes of an online run, labelled by its environment's own verdict.

    Taken are those that the agent ended itself: then the screen of its last request is the one that was scored. Raises `UsageError` for a run that labels nothing.
    """
    from sopbench.suites import trajectories_of

    run = RunFolder(folder)
    info = run.info()
    if info.facts["protocol"] != "online":
        raise UsageError(f"{folder} is no online run: nothing there was labelled by an environment")
    if "judge" in info.facts.get("environment", {}):
        raise UsageError(f"{folder} was itself scored by a judge: its verdicts are no labels")
    tasks = trajectories_of(info)
    if tasks is None:
        raise UsageError(f"the tasks of {folder} are not to be had, so their goals are not known")
    result = Examples(sha256=fingerprint({"run": info.id, "fingerprint": info.fingerprint}))
    for (episode, repeat), log in run.episodes().items():
        goal = (log.end.goal if log.end else None) or (tasks[episode].goal if episode in tasks else None)
        made = _of_episode(run, log, goal)
        if isinstance(made, str):
            result.left_out[made] = result.left_out.get(made, 0) + 1
            continue
        case, label = made
        result.found.append(Example(f"{folder.name}:{episode}" + (f"#{repeat}" if repeat else ""), case, label))
    return result


def _of_episode(run: RunFolder, log: EpisodeLog, goal: str | None) -> tuple[Case, bool] | str:
    """A case and its label, or why there is none."""
    end, steps = log.end, log.ordered()
    if end is None or end.outcome != "scored" or end.score is None:
        return "not scored"
    if goal is None:
        return "its goal is not known"
    if end.said is None or not steps:
        return "ended by its budget, so its last screen stands in no request"
    screens: list[Screen] = []
    for record in steps[-SCREENS:]:
        if not record.images:
            return "its requests carried no screen"
        screen = Screen.from_file(run.screens_path / f"{_hex(record.images[-1])}.png")
        try:
            _ = screen.size
        except DataError:
            return "its screens are not in the run's folder (or were sent scaled)"
        screens.append(screen)
    actions: list[Action | str] = []
    for record in steps:
        if record.action is None or record.screen is None:
            continue
        try:
            actions.append(from_released(record.action, Size(*record.screen)))
        except (ActionError, DataError):
            return "an action in its journal is none"
    return Case(goal, tuple(screens), tuple(actions)), end.score >= 1


def _hex(name: str) -> str:
    """`name` where it can be the name of a kept screen, else one that no file has: journals may come from anybody."""
    return name if len(name) == 64 and all(c in "0123456789abcdef" for c in name) else "no-screen"
