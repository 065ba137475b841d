"""Android in the Wild's published records as trajectories.

Format: google-research/google-research, `android_in_the_wild/README.md`, `action_type.py` and `visualization_utils.py` (gzipped TFRecords of `tf.train.Example`, one a step;
an episode's steps follow each other; screens are raw pixels; points are (y, x) and annotations (y, x, height, width), all in fractions of the screen; a gesture whose
ends lie within 0.04 of each other is a tap). Text that is annotated stays out: it is not part of a trajectory.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from PIL import Image

from sopbench.datasets.example import Example
from sopbench.datasets.output import Episode, file_name, step_object, trajectory_object
from sopbench.datasets.shards import Faulty, Found
from sopbench.datasets.tfrecord import records
from sopbench.errors import DataError
from sopbench.geometry import Box, Point, Size
from sopbench.runs.fingerprint import fingerprint
from sopbench.screen import MAX_PIXELS
from sopbench.trajectory import MAX_BOXES, MAX_STEPS

RULES: Final = 1
TAP: Final = 0.04
_PNG: Final = b"\x89PNG\r\n\x1a\n"

TYPE: Final = 3
DUAL_POINT: Final = 4
_BUTTONS: Final = {5: "Back", 6: "Home", 7: "Enter"}
_STATUS: Final = {10: "success", 11: "failure"}


@dataclass(frozen=True, slots=True)
class Aitw:
    """How shards are read. `wanted` are the episodes to take (None: all)."""

    wanted: frozenset[str] | None = None

    name = "aitw"

    def facts(self) -> dict[str, Any]:
        wanted = None if self.wanted is None else fingerprint({"ids": sorted(self.wanted)})
        return {
            "dataset": self.name,
            "rules": RULES,
            "wanted": wanted,
            "candidate_boxes": "UI annotations that contain the point of a tap, smallest first",
        }

    def episodes(self, shard: Path, consumed: Callable[[int], None]) -> Iterator[Found]:
        """An episode that one shard does not hold whole (steps 0 to its length) is faulty."""
        current: _Collected | None = None
        for index, record in enumerate(records(shard, consumed)):
            try:
                example = Example(record)
                episode = file_name(example.one_text("episode_id"), "`episode_id`")
            except DataError as error:
                yield Faulty(f"{shard.name}, record {index}", "?", str(error))
                continue
            if current is None or current.id != episode:
                if current is not None:
                    yield current.whole(index - 1)
                current = _Collected(episode, shard.name, index)
            if self.wanted is None or episode in self.wanted:
                current.take(example)
            else:
                current.unwanted = True
        if current is not None:
            yield current.whole(None)


@dataclass
class _Collected:
    """The steps of one episode that have come by. Raw screens are not kept: a PNG is a twentieth of one."""

    id: str
    shard: str
    begun: int
    unwanted: bool = False
    fault: str = ""
    goal: str = ""
    due: int = 0
    last: int = 0
    tags: dict[str, str] = field(default_factory=dict)
    steps: list[dict[str, Any]] = field(default_factory=list)
    screens: dict[str, bytes] = field(default_factory=dict)

    def take(self, example: Example) -> None:
        if self.fault:
            return
        k = len(self.steps)
        try:
            if k == 0:
                self._begin(example)
            if (number := example.one_integer("step_id")) != k or k >= self.due:
                raise DataError(f"it is number {number} of the episode's {self.due}")
            name = f"{self.id}_{k}.png"
            self.last = example.one_integer("results/action_type")
            size, self.screens[name] = screen_of(example)
            self.steps.append(_step(example, self.last, name, size))
        except DataError as error:
            self.fault = f"step {k}: {error}"

    def _begin(self, example: Example) -> None:
        self.due, self.goal = example.one_integer("episode_length"), example.one_text("goal_info")
        if self.due > MAX_STEPS:
            raise DataError(f"an episode of {self.due} steps, more than {MAX_STEPS}")
        if not self.goal.strip():
            raise DataError("`goal_info` is empty")
        self.tags = {"subset": self.shard.rpartition("-of-")[0][:-6], "device": _tag(example, "device_type")}

    def whole(self, end: int | None) -> Found:
        """The episode, now that all its records have been seen; `end` is the last one's number."""
        if self.unwanted:
            return None
        where = f"{self.shard}, records {self.begun} to {'the end' if end is None else end}"
        if not self.fault and len(self.steps) != self.due:
            self.fault = f"the episode has {self.due} steps, here are {len(self.steps)}"
        if self.fault:
            return Faulty(where, self.id, self.fault)
        successful = _STATUS.get(self.last) != "failure"
        line = trajectory_object(self.id, self.goal, self.steps, self.tags, successful=successful)
        return Episode(self.id, line, self.screens)


def screen_of(example: Example) -> tuple[Size, bytes]:
    """The screen as PNG (lossless) from the published raw pixels; a file that holds PNGs already keeps them."""
    width, height = example.one_integer("image/width"), example.one_integer("image/height")
    channels = example.one_integer("image/channels")
    raw = example.one_bytes("image/encoded")
    if width < 1 or height < 1 or width * height > MAX_PIXELS:
        raise DataError(f"a screen of {width}x{height} pixels")
    size = Size(width, height)
    if bytes(raw[: len(_PNG)]) == _PNG:
        return size, bytes(raw)
    mode = {1: "L", 3: "RGB", 4: "RGBA"}.get(channels)
    if mode is None or len(raw) != width * height * channels:
        raise DataError(f"{len(raw)} bytes are no raw screen of {size} pixels with {channels} channels")
    buffer = io.BytesIO()
    Image.frombytes(mode, (width, height), bytes(raw)).save(buffer, "PNG", compress_level=3)
    return size, buffer.getvalue()


def _step(example: Example, kind: int, name: str, size: Size) -> dict[str, Any]:
    if kind == DUAL_POINT:
        touch, lift = _point(example, "results/yx_touch"), _point(example, "results/yx_lift")
        if math.dist((touch.x, touch.y), (lift.x, lift.y)) <= TAP:
            boxes = [box.as_list() for box in ui_boxes(example, size) if box.contains(Point(*_pixels(touch, size)))]
            content: dict[str, Any] = {"action": "click", "coordinate": _pixels(touch, size)}
            return step_object(content, name, boxes=boxes, check={**content, "candidate_source": "ui_annotations"})
        return step_object(
            {"action": "swipe", "coordinate": _pixels(touch, size), "coordinate2": _pixels(lift, size)}, name
        )
    if kind == TYPE:
        return step_object({"action": "type", "text": example.one_text("results/type_action")}, name)
    if kind in _BUTTONS:
        return step_object({"action": "system_button", "button": _BUTTONS[kind]}, name)
    if kind in _STATUS:
        return step_object({"action": "terminate", "status": _STATUS[kind]}, name)
    raise DataError(f"action type {kind} is none of Android in the Wild's")


def ui_boxes(example: Example, size: Size) -> list[Box]:
    """The boxes of the screen's UI annotations in its pixels, smallest first."""
    numbers = example.reals("image/ui_annotations_positions")
    if len(numbers) % 4 or len(numbers) > 4 * MAX_BOXES:
        raise DataError(f"{len(numbers)} numbers are no list of boxes")
    if not all(map(math.isfinite, numbers)):
        raise DataError("an annotation's position is no number")
    boxes = set()
    for at in range(0, len(numbers), 4):
        y, x, height, width = numbers[at : at + 4]
        corners = (x * size.width, y * size.height, (x + width) * size.width, (y + height) * size.height)
        boxes.add(Box(*(round(value, 2) for value in corners)))
    return sorted((box for box in boxes if box.area > 0), key=lambda box: (box.area, box.as_list()))


def _point(example: Example, name: str) -> Point:
    yx = example.reals(name)
    if len(yx) != 2 or not all(0 <= value <= 1 for value in yx):
        raise DataError(f"`{name}` is {yx[:4]}, not two fractions of the screen")
    return Point(yx[1], yx[0])


def _pixels(point: Point, size: Size) -> list[float]:
    """Published points are 32-bit fractions: hundredths of a pixel are more than they say."""
    return [round(value, 2) for value in point.to_pixels(size)]


def _tag(example: Example, name: str) -> str:
    values = example.texts(name)
    return values[0][:60] if values else ""
