"""GUI-Odyssey's annotations as trajectories: both releases.

Format: OpenGVLab/GUI-Odyssey `introduction.md` and `data/format_converter.py` (872e48e), and the data card of the second release, hflqf88888/GUIOdyssey, which adds `sam2_bbox` (the box of a
clicked element) and `low_level_instruction` to steps. One JSON file an episode; coordinates and boxes in thousandths of the screen; SCROLL is the finger's path; CLICK may name a key;
TEXT types; splits are lists of annotation files. Screens lie in `screenshots/`, in the first release in folders below it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from sopbench.actions import MAX_TEXT
from sopbench.datacheck import Watch
from sopbench.datasets.converted import Converted, require_folder
from sopbench.datasets.loose import Item, Pictures, box_of, read_annotations, short, text_of, write_items
from sopbench.datasets.output import Skipped, file_name, flat_name, step_object, trajectory_object
from sopbench.errors import DataError, UsageError, shown
from sopbench.geometry import Box, Point, Size
from sopbench.trajectory import MAX_STEPS

RULES: Final = 1
THOUSANDTHS: Final = 1000.0
LONG_PRESS_SECONDS: Final = 2

_KEYS: Final[Mapping[str, Mapping[str, Any]]] = {
    "KEY_HOME": {"action": "system_button", "button": "Home"},
    "KEY_BACK": {"action": "system_button", "button": "Back"},
    "KEY_APPSELECT": {"action": "key", "text": "app_switch"},
}
"""The list of recent apps is no button of the action space: it stays a key event, in adb's word for it."""
_PLAIN: Final[Mapping[str, Mapping[str, Any]]] = {
    "HOME": _KEYS["KEY_HOME"],
    "BACK": _KEYS["KEY_BACK"],
    "COMPLETE": {"action": "terminate", "status": "success"},
    "INCOMPLETE": {"action": "terminate", "status": "failure"},
    "IMPOSSIBLE": {"action": "terminate", "status": "failure"},
}


def convert_odyssey(
    folder: Path,
    out: Path,
    *,
    split: str | None = None,
    part: str = "test",
    limit: int | None = None,
    skip_faulty: bool = False,
    space_check: bool = True,
    checking: Watch = lambda what, done, total: None,
) -> Converted:
    """`split` names a file of `splits/` (`random_split`, `app_split`, `device_split`, `task_split`), `part` a list in it; without `split` all episodes, in the order of their names."""
    require_folder(folder, "--from")
    annotations = folder / "annotations"
    if not annotations.is_dir():
        raise DataError(
            f"--from {folder}: there is no folder `annotations` in it. `sopbench data pull gui-odyssey` gets it"
        )
    screenshots = folder / "screenshots"
    pictures = Pictures([screenshots] if screenshots.is_dir() else [])
    if not len(pictures):
        raise DataError(_no_screens(screenshots))
    files = _files(folder, annotations, split, part)
    facts = {
        "dataset": "gui-odyssey",
        "rules": RULES,
        "split": split,
        "part": part if split else None,
        "candidate_boxes": "`sam2_bbox` where the release has it",
    }
    sources = [folder / "splits" / f"{split}.json"] if split else []
    items = _items(files, pictures, limit, skip_faulty)
    return write_items(out, items, pictures, facts, sources, space_check=space_check, watch=checking)


def _no_screens(screenshots: Path) -> str:
    archive = screenshots / "screenshots.zip"
    if archive.is_file():
        return (
            f"{screenshots} holds the screens as an archive in several parts, which has to be joined and unpacked first (about 2 x 93 GB):\n"
            f"  zip -s 0 {archive} --out {screenshots}/joined.zip && unzip -j {screenshots}/joined.zip -d {screenshots}"
        )
    return f"no screens are in {screenshots}. `sopbench data pull gui-odyssey` gets them"


def _files(folder: Path, annotations: Path, split: str | None, part: str) -> list[Path]:
    if split is None:
        return sorted(annotations.glob("*.json"))
    path = folder / "splits" / f"{file_name(split.removesuffix('.json'), '--split')}.json"
    if not path.is_file():
        known = ", ".join(sorted(p.stem for p in (folder / "splits").glob("*.json"))) or "none"
        raise UsageError(f"--split {split}: no such file in {folder / 'splits'} (there: {known})")
    lists = read_annotations(path)
    names = lists.get(part) if isinstance(lists, dict) else None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise UsageError(f"--part {part}: {path.name} has no list of that name")
    return [annotations / f"{file_name(name.removesuffix('.json'), 'the episode')}.json" for name in names]


def _items(files: list[Path], pictures: Pictures, limit: int | None, skip_faulty: bool) -> Iterator[Item | Skipped]:
    taken = 0
    for path in files:
        if limit is not None and taken >= limit:
            return
        try:
            item = episode_of(read_annotations(path), pictures)
        except DataError as error:
            if not skip_faulty:
                raise DataError(f"{path.name}: {error} (--skip-faulty leaves such episodes out)") from error
            yield Skipped(path.name, path.stem, str(error))
            continue
        taken += 1
        yield item


def episode_of(annotation: Any, pictures: Pictures) -> Item:
    """One annotation file's episode. Raises `DataError` that names the step."""
    if not isinstance(annotation, dict):
        raise DataError("no JSON object")
    ident = file_name(text_of(annotation, "episode_id"), "`episode_id`")
    task, device, steps = (annotation.get(name) for name in ("task_info", "device_info", "steps"))
    if not isinstance(task, dict) or not isinstance(steps, list) or not 0 < len(steps) <= MAX_STEPS:
        raise DataError(f"`task_info` or `steps` is missing, or there are more than {MAX_STEPS} steps")
    objects, screens = [], {}
    last: Mapping[str, Any] = {}
    for k, step in enumerate(steps):
        try:
            if not isinstance(step, dict) or step.get("step", k) != k:
                raise DataError("steps are not numbered in their order")
            recorded = text_of(step, "screenshot")
            picture = pictures.get(recorded)
            name = flat_name(recorded.rsplit("/", 1)[-1])
            last, obj = _step(step, name, pictures.size(picture))
        except DataError as error:
            raise DataError(f"step {k}: {error}") from error
        objects.append(obj)
        screens[name] = picture
    tags = {
        "category": text_of(task, "category", due=False),
        "device": text_of(device, "device_name", due=False) if isinstance(device, dict) else "",
    }
    goal = text_of(task, "instruction")
    successful = last.get("status") != "failure"
    return Item(ident, trajectory_object(ident, goal, objects, tags, successful=successful), screens)


def _step(step: Mapping[str, Any], name: str, size: Size) -> tuple[Mapping[str, Any], dict[str, Any]]:
    action, info = step.get("action"), step.get("info")
    boxes = None
    if not isinstance(action, str):
        raise DataError(f"action {shown(action)} is no text")
    if action in ("CLICK", "LONG_PRESS") and not isinstance(info, str):
        point = short(_points(info, 1)[0].to_pixels(size))
        content: Mapping[str, Any] = {"action": "click", "coordinate": point}
        if action == "LONG_PRESS":
            content = {"action": "long_press", "coordinate": point, "time": LONG_PRESS_SECONDS}
        boxes = _boxes(step.get("sam2_bbox"), size)
    elif action == "CLICK" and isinstance(info, str) and info in _KEYS:
        content = _KEYS[info]
    elif action == "SCROLL":
        start, end = _points(info, 2)
        content = {
            "action": "swipe",
            "coordinate": short(start.to_pixels(size)),
            "coordinate2": short(end.to_pixels(size)),
        }
    elif action in ("TEXT", "TYPE"):
        content = {"action": "type", "text": _typed(info)}
    elif action in _PLAIN:
        content = _PLAIN[action]
    else:
        raise DataError(f"action {shown(action)} with info {shown(info)} is none of GUI-Odyssey's")
    instruction = text_of(step, "low_level_instruction", due=False)
    check = None if boxes is None else {**content, "candidate_source": "sam2_bbox" if boxes else "none"}
    return content, step_object(content, name, instruction=instruction, boxes=boxes, check=check)


def _points(info: Any, due: int) -> list[Point]:
    """The first `due` points of `info`, in fractions of the screen."""
    rows = info if isinstance(info, list) else []
    points = []
    for row in rows[:due]:
        if (
            not isinstance(row, list)
            or len(row) != 2
            or not all(isinstance(v, int | float) and not isinstance(v, bool) and 0 <= v <= THOUSANDTHS for v in row)
        ):
            raise DataError(f"a point is not two thousandths of the screen: {shown(row)}")
        points.append(Point(row[0] / THOUSANDTHS, row[1] / THOUSANDTHS))
    if len(points) < due:
        raise DataError(f"`info` has {len(points)} points, {due} are due: {shown(info)}")
    return points


def _boxes(value: Any, size: Size) -> list[list[int | float]]:
    if value is None or value in ([], ""):
        return []
    width, height = size.width / THOUSANDTHS, size.height / THOUSANDTHS
    box = box_of(value, lambda b: Box(b[0] * width, b[1] * height, b[2] * width, b[3] * height))
    return [short(box.as_list())]


def _typed(info: Any) -> str:
    if not isinstance(info, str) or len(info) > MAX_TEXT:
        raise DataError(f"the text to type is {shown(info)}")
    return text_of({"info": info}, "info", due=False)
