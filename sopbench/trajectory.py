"""Expert recordings: `Trajectory` and `Step`, and their JSONL in both published forms.

The evaluation form (`android_control_evaluation_std.jsonl`) carries `check_options` with `candidate_bbox`, a list of boxes; the training form
carries `action_content.bbox`, one flat box, and `thought`. Both become the same `Step`. Numbers in files are original pixels.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from string import Formatter
from typing import Any, TypeVar

from sopbench.actions import Action, from_released, released_only
from sopbench.errors import ActionError, DataError, shown
from sopbench.files import open_regular, why
from sopbench.geometry import Box, Size
from sopbench.screen import Screen

MAX_LINE_BYTES = 8 * 1024 * 1024
MAX_STEPS = 1_000
MAX_BOXES = 2_000
_ANY_SIZE = Size(1, 1)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Step:
    """One expert step. `content` is the gold action in the released form, `boxes` are its candidate targets; both in original pixels."""

    content: Mapping[str, Any]
    screen: Screen
    boxes: tuple[Box, ...] = ()
    instruction: str | None = None
    thought: str | None = None
    description: str | None = None
    check_options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        return str(self.content["action"])

    def action(self, size: Size | None = None) -> Action:
        """The gold action in unit coordinates; `size` is the original screen's, by default read from the screen."""
        return from_released(self.content, size or self.screen.size)

    def unit_boxes(self, size: Size) -> tuple[Box, ...]:
        return tuple(box.to_unit(size) for box in self.boxes)


@dataclass(frozen=True, slots=True)
class Trajectory:
    """An expert recording: the goal and its steps, in order. `id` is unique in its file."""

    id: str
    goal: str
    steps: tuple[Step, ...]
    is_successful: bool = True
    tags: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.steps)


ScreenResolver = Callable[[str, str, int], Screen]
"""(path in the data, episode id, step index) -> Screen"""


def screens_in(folder: Path, pattern: str = "{name}") -> ScreenResolver:
    """Look screens up in `folder`. `pattern` may use `{name}` (last part of the data's own path), `{episode}` and `{step}` (`{step:03}` pads it).

    Names come from data, which may be hostile: one that leads out of `folder` is refused. Links that lie in the folder are followed: whoever
    filled it put them there.
    """
    expand = image_namer(pattern)
    if not folder.is_dir():
        raise DataError(f"--images {folder}: no such folder")

    def resolve(recorded: str, episode: str, step: int) -> Screen:
        name = expand(recorded, episode, step)
        return Screen.from_file(folder / _relative(name), label=name)

    return resolve


def image_namer(pattern: str) -> Callable[[str, str, int], str]:
    """`pattern` as a function of (path in the data, episode id, step index). Raises `DataError` for a pattern that is none.

    No attribute, index, conversion or format of `str.format` gets through, except a width for `{step}`.
    """
    usage = f"--image-pattern {pattern[:200]!r}: use {{name}}, {{episode}} and {{step}} (or {{step:03}}), for example android_{{episode}}_{{step}}.png"
    try:
        fields = [
            (name, spec, conversion) for _, name, spec, conversion in Formatter().parse(pattern) if name is not None
        ]
    except ValueError as error:
        raise DataError(f"{usage} ({error})") from error
    for name, spec, conversion in fields:
        allowed = r"(0?[1-9])?d?" if name == "step" else ""
        if name not in {"name", "episode", "step"} or conversion or not re.fullmatch(allowed, spec or "", re.ASCII):
            raise DataError(usage)
    if not fields:
        raise DataError(f"{usage}; this one names the same file for every step")

    def expand(recorded: str, episode: str, step: int) -> str:
        return pattern.format(name=PurePosixPath(recorded.replace("\\", "/")).name, episode=episode, step=step)

    return expand


def screens_beside(file: Path) -> ScreenResolver:
    """Take the data's own paths: relative ones start at the folder of `file` and stay in it."""

    def resolve(recorded: str, episode: str, step: int) -> Screen:
        path = Path(recorded)
        return Screen.from_file(path if path.is_absolute() else file.parent / _relative(recorded), label=path.name)

    return resolve


def load_trajectories(
    file: Path, screens: ScreenResolver | None = None, *, limit: int | None = None
) -> list[Trajectory]:
    """Read a JSONL file of trajectories (both published forms). Screens are resolved but not opened.

    Raises `DataError` that names the file, line and step of the first fault.
    """
    trajectories: list[Trajectory] = []
    for _, found in scan_trajectories(file, screens):
        if limit is not None and len(trajectories) >= limit:
            break
        if isinstance(found, DataError):
            raise found
        trajectories.append(found)
    if not trajectories:
        raise DataError(f"{file.name}: no trajectories in it")
    return trajectories


def scan_trajectories(
    file: Path, screens: ScreenResolver | None = None
) -> Iterator[tuple[int, Trajectory | DataError]]:
    """Every line of the file by its number, as a trajectory or as what is wrong with it; blank lines are left out.

    Raises `DataError` only where the file itself cannot be read.
    """
    resolve = screens or screens_beside(file)
    seen: dict[str, int] = {}
    for number, line in _lines(file):
        try:
            trajectory = _trajectory(read_json_object(line, MAX_LINE_BYTES), number, resolve)
            if trajectory.id in seen:
                raise DataError(
                    f"episode {trajectory.id!r} stands already on line {seen[trajectory.id]}; ids must be unique"
                )
        except DataError as error:
            yield number, DataError(f"{file.name} line {number}: {error}")
            continue
        seen[trajectory.id] = number
        yield number, trajectory


def to_jsonl_object(trajectory: Trajectory, screenshots: Sequence[str]) -> dict[str, Any]:
    """The evaluation form of `trajectory`, with the given screenshot paths, ready for `json.dumps`."""
    steps = []
    for step, path in zip(trajectory.steps, screenshots, strict=True):
        check = dict(step.check_options) or dict(step.content)
        if step.boxes:
            check["candidate_bbox"] = [[_int(v) for v in box.as_list()] for box in step.boxes]
        steps.append(
            {
                "action_content": dict(step.content),
                "screenshot": path,
                "step_instruction": step.instruction or "",
                "check_options": check,
            }
            | ({"thought": step.thought} if step.thought else {})
            | ({"action_description": step.description} if step.description else {})
        )
    out: dict[str, Any] = {
        "goal": trajectory.goal,
        "is_successful": trajectory.is_successful,
        "steps": steps,
        "episode_id": trajectory.id,
    }
    return out | ({"tags": dict(trajectory.tags)} if trajectory.tags else {})


def _lines(file: Path) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, by number. Of a line that is too long only so much as shows that it is."""
    try:
        handle = open_regular(file)
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        raise DataError(f"cannot read {file} ({why(error)})") from error
    with handle:
        number = 0
        while line := handle.readline(MAX_LINE_BYTES + 1):
            number += 1
            rest = line
            while len(line) > MAX_LINE_BYTES and rest and not rest.endswith(b"\n"):
                rest = handle.readline(MAX_LINE_BYTES)
            if line.strip():
                yield number, line


def read_json_object(line: bytes, limit: int) -> dict[str, Any]:
    """One line of JSON from a file or stream that may be hostile; `limit` in bytes. Raises `DataError`."""
    if len(line) > limit:
        raise DataError(f"longer than {limit} bytes")
    try:
        obj = json.loads(line)
    except json.JSONDecodeError as error:
        raise DataError(f"not JSON ({error.msg}, at character {error.pos + 1})") from error
    except (
        ValueError,
        RecursionError,
    ) as error:  # bytes that are no text, a number of thousands of digits, nesting without end
        raise DataError(f"not JSON ({error})") from error
    if not isinstance(obj, dict):
        raise DataError("not a JSON object")
    return obj


def _trajectory(obj: dict[str, Any], number: int, resolve: ScreenResolver) -> Trajectory:
    goal, steps = obj.get("goal"), obj.get("steps")
    if not isinstance(goal, str) or not goal.strip():
        raise DataError("`goal` is missing or empty")
    _encodable(goal, "goal")
    if not isinstance(steps, list) or not steps:
        raise DataError("`steps` is missing or empty")
    if len(steps) > MAX_STEPS:
        raise DataError(f"{len(steps)} steps, more than {MAX_STEPS}")
    first = steps[0] if isinstance(steps[0], dict) else {}
    episode = _episode_id(obj, first, number)
    tags = obj.get("tags") or {}
    if not isinstance(tags, dict) or not all(isinstance(k, str) and isinstance(v, str) for k, v in tags.items()):
        raise DataError("`tags` must map names to texts")
    parsed = []
    for index, step in enumerate(steps):
        try:
            parsed.append(_step(step, episode, index, resolve))
        except DataError as error:
            raise DataError(f"episode {episode} step {index}: {error}") from error
    return Trajectory(episode, goal, tuple(parsed), bool(obj.get("is_successful", True)), tags)


def _episode_id(obj: dict[str, Any], first: dict[str, Any], number: int) -> str:
    """`episode_id`, or where a file has none (the training form) the `<episode>` of the first screenshot's name, or the line number."""
    value = obj.get("episode_id")
    if isinstance(value, bool) or not isinstance(value, int | str | None) or value == "":
        raise DataError(f"`episode_id` must be a number or a text, not {type(value).__name__}")
    if value is None:
        stem, _, index = PurePosixPath(str(first.get("screenshot", ""))).stem.rpartition("_")
        return stem if stem and index == "0" else f"line{number}"
    if len(text := str(value)) > 200:
        raise DataError("`episode_id` is longer than 200 characters")
    return _encodable(text, "episode_id")


def _step(obj: Any, episode: str, index: int, resolve: ScreenResolver) -> Step:
    if not isinstance(obj, dict):
        raise DataError("not a JSON object")
    content = obj.get("action_content")
    if not isinstance(content, dict):
        raise DataError("`action_content` is missing")
    try:
        from_released(content, _ANY_SIZE)
    except ActionError as error:
        raise DataError(f"`action_content` is no action of the space ({error})") from error
    _encodable(content.get("text"), "action_content.text")
    recorded = obj.get("screenshot")
    if not isinstance(recorded, str) or not recorded or "\0" in recorded:
        raise DataError("`screenshot` is missing")
    check = obj.get("check_options") or {}
    if not isinstance(check, dict):
        raise DataError("`check_options` is not an object")
    boxes = read_boxes(check.get("candidate_bbox", content.get("bbox", obj.get("bbox"))))
    return Step(
        content=released_only(content),
        screen=resolve(recorded, episode, index),
        boxes=boxes,
        instruction=_optional_text(obj, "step_instruction"),
        thought=_optional_text(obj, "thought"),
        description=_optional_text(obj, "action_description"),
        check_options={key: value for key, value in check.items() if key != "candidate_bbox"},
    )


def read_boxes(value: Any) -> tuple[Box, ...]:
    """A flat `[x1, y1, x2, y2]` or a list of such, as boxes; None and [] are no boxes. Raises `DataError`."""
    if value is None or value == []:
        return ()
    if not isinstance(value, list):
        raise DataError("boxes are not a list")
    rows = value if isinstance(value[0], list) else [value]
    if len(rows) > MAX_BOXES:
        raise DataError(f"{len(rows)} boxes, more than {MAX_BOXES}")
    return tuple(_box(row) for row in rows)


def _box(row: Any) -> Box:
    numbers = row if isinstance(row, list) else []
    if len(numbers) != 4 or not all(
        isinstance(v, int | float) and not isinstance(v, bool) and abs(v) < 1e7 for v in numbers
    ):
        raise DataError(f"a box is not four numbers [x1, y1, x2, y2]: {shown(row)}")
    return Box(*numbers)


def _optional_text(obj: dict[str, Any], name: str) -> str | None:
    value = obj.get(name)
    if value is not None and not isinstance(value, str):
        raise DataError(f"`{name}` is not a text")
    return _encodable(value, name) or None


def _encodable(value: T, name: str) -> T:
    """`value`, if it can be sent and stored: JSON may spell half of a surrogate pair, which UTF-8 cannot."""
    if isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
        raise DataError(f"`{name}` holds half of a surrogate pair, which is no character")
    return value


def _relative(name: str) -> PurePosixPath:
    """`name` as a path that stays below wherever it starts."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\0" in name:
        raise DataError(f"the screen {name[:80]!r} lies outside the folder of screens")
    return path


def _int(value: float) -> int | float:
    return int(value) if value == int(value) else value
