"""What is wrong with a trajectory file and its screens, found before a run rather than in it.

A finding is an **error** where it would stop a run or change its result behind the user's back: a line that is no trajectory, a screen that is missing or
unreadable, a gold point off its screen (then the screens are not those of the recording, and every coordinate is scaled wrongly). It is a **warning**
where the recording is merely odd and a profile has a rule for it: boxes may overhang the screen, be turned inside out or miss their point.
"""

from __future__ import annotations

import os
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from sopbench.errors import DataError
from sopbench.files import file_sha256
from sopbench.geometry import Point, Size
from sopbench.imagepattern import propose_pattern
from sopbench.trajectory import Step, Trajectory, scan_trajectories, screens_in

Level = Literal["error", "warning"]
Watch: TypeAlias = Callable[[str, int, int], None]
"""(what, done, total), called as the check goes on"""

FINDINGS: Mapping[str, tuple[Level, str]] = {
    "faulty_line": ("error", "lines that are no trajectory"),
    "missing_screen": ("error", "steps whose screen is not there"),
    "unreadable_screen": ("error", "steps whose screen cannot be read as PNG, JPEG or WebP"),
    "point_outside_screen": (
        "error",
        "steps with a gold point off their screen: these are not the recording's screens",
    ),
    "box_outside_screen": ("warning", "steps with a box over the edge of the screen (boxes may overhang it)"),
    "box_over_half": ("warning", "steps with a box of more than half the screen: almost any click is in it"),
    "box_inside_out": ("warning", "steps with a box turned inside out: it contains nothing"),
    "box_without_area": ("warning", "steps with a box of no area: it contains nothing"),
    "point_outside_boxes": (
        "warning",
        "steps whose gold point lies in none of their boxes: `strict` falls back to distance",
    ),
    "click_without_box": ("warning", "clicks without a box: only distance can decide"),
    "empty_text": ("warning", "steps whose text to type, open or answer is empty"),
    "swipe_without_motion": ("warning", "swipes that do not move: they have no direction to compare"),
    "repeated_goal": ("warning", "goals that several trajectories share"),
    "unsuccessful": ("warning", "recordings that say of themselves that they did not succeed"),
}
BIG_BOX = 0.5
"""Of the screen's area; the released file has 897 clicks with such a box on 1080x2400."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a finding is: a line of the file, or a step of an episode; `detail` says what is there."""

    line: int | None = None
    episode: str | None = None
    step: int | None = None
    action: str | None = None
    detail: str | None = None

    def as_dict(self) -> dict[str, Any]:
        names = ("line", "episode", "step", "action", "detail")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


@dataclass(frozen=True, slots=True)
class Finding:
    code: str
    places: tuple[Place, ...]

    @property
    def level(self) -> Level:
        return FINDINGS[self.code][0]

    @property
    def summary(self) -> str:
        return FINDINGS[self.code][1]

    def as_dict(self) -> dict[str, Any]:
        by_action = Counter(place.action for place in self.places if place.action)
        return {
            "code": self.code,
            "level": self.level,
            "summary": self.summary,
            "count": len(self.places),
            "by_action": dict(by_action.most_common()),
            "places": [place.as_dict() for place in self.places],
        }


@dataclass(frozen=True, slots=True)
class DataReport:
    """What `check_data` found. Lengths are in steps; `sizes` counts steps by the size of their screen; `pattern` is a better `--image-pattern`, if one fits."""

    file: str
    sha256: str
    trajectories: int
    actions: Mapping[str, int]
    first_actions: Mapping[str, int]
    lengths: tuple[int, ...]
    findings: tuple[Finding, ...]
    screens_checked: bool
    sizes: Mapping[str, int] = field(default_factory=dict)
    pattern: str | None = None

    @property
    def ok(self) -> bool:
        return not any(finding.level == "error" for finding in self.findings)

    @property
    def steps(self) -> int:
        return sum(self.lengths)

    def as_dict(self) -> dict[str, Any]:
        return {
            "ok": self.ok,
            "file": self.file,
            "sha256": self.sha256,
            "trajectories": self.trajectories,
            "steps": self.steps,
            "actions": dict(self.actions),
            "first_actions": dict(self.first_actions),
            "length": self.length,
            "screens_checked": self.screens_checked,
            "screen_sizes": dict(self.sizes),
            "proposed_image_pattern": self.pattern,
            "findings": [finding.as_dict() for finding in self.findings],
        }

    @property
    def length(self) -> dict[str, float]:
        if not self.lengths:
            return {}
        return {
            "mean": round(statistics.fmean(self.lengths), 2),
            "median": statistics.median(self.lengths),
            "min": min(self.lengths),
            "max": max(self.lengths),
            "of_one_step": self.lengths.count(1),
        }


def check_data(
    file: Path,
    images: Path | None = None,
    pattern: str = "{name}",
    *,
    deep: bool = False,
    watch: Watch = lambda what, done, total: None,
) -> DataReport:
    """Read the whole file and, with `images`, the header of every screen (`deep`: all its pixels).

    Raises `DataError` where the file cannot be read at all, or `images` or `pattern` is not what it should be.
    """
    found: dict[str, list[Place]] = defaultdict(list)
    trajectories: list[Trajectory] = []
    for number, item in scan_trajectories(file, screens_in(images, pattern) if images else None):
        if isinstance(item, DataError):
            found["faulty_line"].append(Place(line=number, detail=str(item)))
        else:
            trajectories.append(item)
    if not trajectories and not found:
        found["faulty_line"].append(Place(detail=f"{file.name}: no trajectories in it"))

    for trajectory, index, step in _steps(trajectories):
        _look_at_step(trajectory, index, step, found)
    _look_at_goals(trajectories, found)
    sizes: Counter[str] = Counter()
    if images:
        sizes = _look_at_screens(trajectories, found, deep=deep, watch=watch)
    better = None
    if images and len(found["missing_screen"]) * 2 > sum(map(len, trajectories)):
        better = propose_pattern(images, [(t.id, len(t)) for t in trajectories])

    return DataReport(
        file=str(file),
        sha256=file_sha256(file),
        trajectories=len(trajectories),
        actions=dict(Counter(step.kind for _, _, step in _steps(trajectories)).most_common()),
        first_actions=dict(Counter(t.steps[0].kind for t in trajectories).most_common()),
        lengths=tuple(len(t) for t in trajectories),
        findings=tuple(Finding(code, tuple(found[code])) for code in FINDINGS if found.get(code)),
        screens_checked=images is not None,
        sizes=dict(sizes.most_common()),
        pattern=better,
    )


def _steps(trajectories: Iterable[Trajectory]) -> Iterator[tuple[Trajectory, int, Step]]:
    for trajectory in trajectories:
        for index, step in enumerate(trajectory.steps):
            yield trajectory, index, step


def _look_at_step(trajectory: Trajectory, index: int, step: Step, found: dict[str, list[Place]]) -> None:
    """What can be seen without the screen."""
    place = Place(episode=trajectory.id, step=index, action=step.kind)
    if any(box.x1 > box.x2 or box.y1 > box.y2 for box in step.boxes):
        found["box_inside_out"].append(place)
    elif any(box.area == 0 for box in step.boxes):
        found["box_without_area"].append(place)
    if step.kind in {"click", "long_press"}:
        point = _points(step)[0]
        if step.boxes and not any(box.contains(point) for box in step.boxes):
            found["point_outside_boxes"].append(place)
    if step.kind == "click" and not step.boxes:
        found["click_without_box"].append(place)
    if step.kind in {"type", "open", "answer"} and not step.content["text"].strip():
        found["empty_text"].append(place)
    if step.kind == "swipe" and step.content["coordinate"] == step.content["coordinate2"]:
        found["swipe_without_motion"].append(place)


def _look_at_goals(trajectories: Iterable[Trajectory], found: dict[str, list[Place]]) -> None:
    sharing: dict[str, list[str]] = defaultdict(list)
    for trajectory in trajectories:
        sharing[trajectory.goal].append(trajectory.id)
        if not trajectory.is_successful:
            found["unsuccessful"].append(Place(episode=trajectory.id))
    for goal, ids in sharing.items():
        if len(ids) > 1:
            found["repeated_goal"].append(Place(episode=ids[0], detail=f"{goal} (episodes {', '.join(ids)})"))


def _look_at_screens(
    trajectories: list[Trajectory], found: dict[str, list[Place]], *, deep: bool, watch: Watch
) -> Counter[str]:
    total = sum(map(len, trajectories))
    sizes: Counter[str] = Counter()
    pool = ThreadPoolExecutor(min(8, os.cpu_count() or 1))
    try:
        looks = pool.map(lambda item: _screen_size(item[2], deep), _steps(trajectories))
        for done, ((trajectory, index, step), seen) in enumerate(zip(_steps(trajectories), looks, strict=True), 1):
            if isinstance(seen, Size):
                sizes[str(seen)] += 1
                place = Place(episode=trajectory.id, step=index, action=step.kind)
                for code in _off_screen(step, seen):
                    found[code].append(place)
            else:
                code, detail = seen
                found[code].append(Place(episode=trajectory.id, step=index, action=step.kind, detail=detail))
            watch("screens", done, total)
    finally:
        pool.shutdown(cancel_futures=True)
    return sizes


def _screen_size(step: Step, deep: bool) -> Size | tuple[str, str]:
    """The size of the step's screen, or the code and detail of what is wrong with it."""
    path = step.screen.path
    if path is None or not os.path.isfile(path):
        return "missing_screen", step.screen.label
    try:
        if deep:
            step.screen.decode()
        return step.screen.size
    except DataError as error:
        return "unreadable_screen", str(error)


def _off_screen(step: Step, size: Size) -> Iterator[str]:
    if any(not (0 <= p.x <= size.width and 0 <= p.y <= size.height) for p in _points(step)):
        yield "point_outside_screen"
    if any(min(b.x1, b.y1) < 0 or b.x2 > size.width or b.y2 > size.height for b in step.boxes):
        yield "box_outside_screen"
    if any(box.area > BIG_BOX * size.width * size.height for box in step.boxes):
        yield "box_over_half"


def _points(step: Step) -> list[Point]:
    """The gold points in original pixels, the frame of `step.boxes`."""
    return [Point(*step.content[name]) for name in ("coordinate", "coordinate2") if name in step.content]
