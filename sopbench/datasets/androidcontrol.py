"""AndroidControl's published records as trajectories in the SOP file's form, with candidate boxes from the accessibility trees.

Format: google-research/google-research, `android_control/README.md` (one gzipped TFRecord of `tf.train.Example` an episode; one more screenshot than actions; an instruction
that spans several actions stands with each of them). The form of steps follows the released SOP file (X-PLUG/MobileAgent 11cea575,
`UI-S1/datasets/android_control_evaluation_std.jsonl`), measured: names of screens, paths of swipes, boxes that contain the point, each once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from sopbench.actions import MAX_COORDINATE, MAX_TEXT
from sopbench.datasets.example import Example
from sopbench.datasets.forest import Node, nodes_of
from sopbench.datasets.output import Episode, Skipped, step_object, trajectory_object
from sopbench.datasets.shards import Faulty, Found
from sopbench.datasets.tfrecord import records
from sopbench.datasets.wire import WireError, text
from sopbench.errors import DataError, shown
from sopbench.geometry import Point, Size
from sopbench.runs.fingerprint import fingerprint
from sopbench.screen import Screen
from sopbench.trajectory import MAX_BOXES, MAX_STEPS

RULES: Final = 1
"""Changes whenever the same shard would become another trajectory."""
MAX_ACTION: Final = 64 * 1024
WAIT_SECONDS: Final = 2
LONG_PRESS_SECONDS: Final = 2
TREE: Final = "accessibility_tree"
NO_TREE: Final = "none: the recording has no accessibility tree here"

Horizontal: TypeAlias = Literal["released", "consistent"]
Fraction: TypeAlias = tuple[float, float]

PATHS: Final[Mapping[str, tuple[Fraction, Fraction]]] = {
    "up": ((1 / 2, 1 / 4), (1 / 2, 3 / 4)),
    "down": ((1 / 2, 3 / 4), (1 / 2, 1 / 4)),
    "left": ((3 / 4, 1 / 2), (1 / 4, 1 / 2)),
    "right": ((1 / 4, 1 / 2), (3 / 4, 1 / 2)),
}
"""The finger's path that the released file has for each scroll direction, in fractions of the screen. `down` and `up` say where the content goes; `left` and `right`
say where the finger goes: in 89 of the file's 102 horizontal swipes that is opposite to what their instruction asks for."""
_MIRRORED: Final = {"left": "right", "right": "left"}


@dataclass(frozen=True, slots=True)
class AndroidControl:
    """How shards are read. `wanted` are the episodes to take (None: all); `tags` goes by episode; `horizontal` says what `left` and `right` mean:
    as in the released file, or `consistent` with `up` and `down`, the content's direction. With `terminate` the last screen becomes a step."""

    wanted: frozenset[str] | None = None
    tags: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    horizontal: Horizontal = "released"
    terminate: bool = False

    name = "androidcontrol"

    def facts(self) -> dict[str, Any]:
        return {
            "dataset": self.name,
            "rules": RULES,
            "horizontal": self.horizontal,
            "terminate": self.terminate,
            "candidate_boxes": "visible clickable nodes (for long_press also long-clickable ones) that contain the point, each rectangle once, smallest first; "
            "for open_app: visible clickable nodes that bear the app's name",
            "wanted": None if self.wanted is None else fingerprint({"ids": sorted(self.wanted)}),
            "tags": fingerprint({episode: dict(tags) for episode, tags in self.tags.items()}),
        }

    def episodes(self, shard: Path, consumed: Callable[[int], None]) -> Iterator[Found]:
        for index, record in enumerate(records(shard, consumed)):
            where = f"{shard.name}, record {index}"
            episode = "?"
            try:
                example = Example(record)
                episode = _episode_id(example)
                if self.wanted is None or episode in self.wanted:
                    yield self._episode(example, episode, where)
                else:
                    yield None
            except DataError as error:
                yield Faulty(where, episode, str(error))

    def _episode(self, example: Example, episode: str, where: str) -> Episode | Skipped:
        actions = example.many_bytes("actions")
        if not actions:
            return Skipped(where, episode, "no action in it")
        if len(actions) > MAX_STEPS - 1:
            raise DataError(f"{len(actions)} actions, more than {MAX_STEPS - 1}")
        goal = example.one_text("goal")
        if not goal.strip():
            raise DataError("`goal` is empty")
        instructions = example.texts("step_instructions")
        screens, sizes = _screens(example, len(actions) + 1)
        trees = example.many_bytes("accessibility_trees")
        if len(instructions) != len(actions) or len(trees) not in (0, len(screens)):
            raise DataError(
                f"{len(actions)} actions, {len(instructions)} step instructions, {len(screens)} screenshots and {len(trees)} accessibility trees do not belong together"
            )
        steps = []
        kept: dict[str, memoryview] = {}
        for k, raw in enumerate(actions):
            name = f"{episode}_{k}.png"
            try:
                steps.append(
                    self._step(_action(raw), name, sizes[k], instructions[k], trees[k] if trees else memoryview(b""))
                )
            except DataError as error:
                raise DataError(f"step {k}: {error}") from error
            kept[name] = screens[k]
        if self.terminate:
            name = f"{episode}_{len(actions)}.png"
            steps.append(step_object({"action": "terminate", "status": "success"}, name))
            kept[name] = screens[-1]
        return Episode(episode, trajectory_object(episode, goal, steps, self.tags.get(episode, {})), kept)

    def _step(
        self, action: Mapping[str, Any], screen: str, size: Size, instruction: str, tree: memoryview
    ) -> dict[str, Any]:
        """The step that a raw action becomes; `tree` is the screen's serialized accessibility forest."""

        def step(
            content: Mapping[str, Any],
            boxes: list[list[float]] | None = None,
            check: Mapping[str, Any] | None = None,
        ) -> dict[str, Any]:
            options = dict(content if check is None else check)
            if boxes is not None:
                options["candidate_source"] = TREE if tree else NO_TREE
            return step_object(content, screen, instruction=instruction, boxes=boxes, check=options)

        match kind := action.get("action_type"):
            case "click":
                x, y = _xy(action, size)
                return step({"action": "click", "coordinate": [x, y]}, _around(_nodes(tree), x, y, long=False))
            case "long_press":
                x, y = _xy(action, size)
                content = {"action": "long_press", "coordinate": [x, y], "time": LONG_PRESS_SECONDS}
                return step(content, _around(_nodes(tree), x, y, long=True))
            case "scroll":
                return self._swipe(action, size, step)
            case "input_text":
                return step({"action": "type", "text": _text(action, "text")})
            case "type":  # click, type, enter under one screenshot: the point and the key stay in the check options
                x, y = _xy(action, size)
                content = {"action": "type", "text": _text(action, "text")}
                boxes = _around(_nodes(tree), x, y, long=False)
                return step(content, boxes, {**content, "coordinate": [x, y], "enter": True})
            case "open_app":
                app = _text(action, "app_name")
                boxes = _named(_nodes(tree), app)
                return step({"action": "open", "text": app}, boxes or None)
            case "navigate_back":
                return step({"action": "system_button", "button": "Back"})
            case "navigate_home":
                return step({"action": "system_button", "button": "Home"})
            case "wait":
                return step({"action": "wait", "time": WAIT_SECONDS})
        raise DataError(f"action type {shown(kind)} is none of AndroidControl's")

    def _swipe(self, action: Mapping[str, Any], size: Size, step: Callable[..., dict[str, Any]]) -> dict[str, Any]:
        direction = action.get("direction")
        if not isinstance(direction, str) or direction not in PATHS:
            raise DataError(f"scroll direction {shown(direction)}")
        path = direction
        if self.horizontal == "consistent":
            path = _MIRRORED.get(direction, direction)
        start, end = ([_whole(x * size.width), _whole(y * size.height)] for x, y in PATHS[path])
        return step(
            {"action": "swipe", "coordinate": start, "coordinate2": end},
            None,
            {"action": "swipe", "direction": direction},
        )


def _episode_id(example: Example) -> str:
    value = example.one_integer("episode_id")
    if value < 0:
        raise DataError(f"`episode_id` is {value}")
    return str(value)


def _screens(example: Example, due: int) -> tuple[list[memoryview], list[Size]]:
    """The PNGs as they were published, and their sizes, which must be the published ones."""
    screens = example.many_bytes("screenshots")
    widths, heights = example.integers("screenshot_widths"), example.integers("screenshot_heights")
    if len(screens) != due or not len(widths) == len(heights) == due:
        raise DataError(
            f"{due - 1} actions need {due} screenshots, there are {len(screens)} (with {len(widths)} widths and {len(heights)} heights)"
        )
    sizes = []
    for k, (data, width, height) in enumerate(zip(screens, widths, heights, strict=True)):
        screen = Screen.from_bytes(bytes(data), f"screenshot {k}")
        if screen.media_type != "image/png":
            raise DataError(f"screenshot {k} is no PNG but {screen.media_type}")
        if (screen.size.width, screen.size.height) != (width, height):
            raise DataError(f"screenshot {k} is {screen.size}, the record says {width}x{height}")
        sizes.append(screen.size)
    return screens, sizes


def _action(raw: memoryview) -> Mapping[str, Any]:
    if len(raw) > MAX_ACTION:
        raise DataError(f"an action of {len(raw)} bytes")
    try:
        action = json.loads(text(raw, "the action"))
    except WireError:
        raise
    except (ValueError, RecursionError) as error:
        raise DataError(f"the action is not JSON ({error})") from error
    if not isinstance(action, dict):
        raise DataError(f"the action is no JSON object: {shown(action)}")
    return action


def _xy(action: Mapping[str, Any], size: Size) -> tuple[int | float, int | float]:
    """The point in pixels. A point off its screen would be scaled wrongly for ever after: it is an error."""
    values = []
    for name, limit in (("x", size.width), ("y", size.height)):
        value = action.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= MAX_COORDINATE:
            raise DataError(f"`{name}` of the action is {shown(value)}")
        if not 0 <= value <= limit:
            raise DataError(f"`{name}` of the action is {value}, the screen is {size}")
        values.append(_whole(value))
    return values[0], values[1]


def _text(action: Mapping[str, Any], name: str) -> str:
    value = action.get(name)
    if not isinstance(value, str) or len(value) > MAX_TEXT:
        raise DataError(f"`{name}` of the action is {shown(value)}")
    if any("\ud800" <= character <= "\udfff" for character in value):
        raise DataError(f"`{name}` of the action holds half of a surrogate pair, which is no character")
    return value


def _nodes(tree: memoryview) -> list[Node]:
    try:
        return nodes_of(tree)
    except WireError as error:
        raise DataError(f"the accessibility tree: {error}") from error


def _around(nodes: Sequence[Node], x: float, y: float, *, long: bool) -> list[list[float]]:
    """The rectangles of visible clickable nodes that contain the point, each once, smallest first."""
    point = Point(x, y)
    able = (node for node in nodes if node.visible and (node.clickable or (long and node.long_clickable)))
    return _rectangles(node for node in able if node.bounds.contains(point))


def _named(nodes: Sequence[Node], app: str) -> list[list[float]]:
    """The same for nodes that bear the app's name: its icon, where a launcher is on the screen."""
    name = app.strip().casefold()
    if not name:
        return []
    return _rectangles(
        node
        for node in nodes
        if node.visible
        and node.clickable
        and name in (node.text.strip().casefold(), node.description.strip().casefold())
    )


def _rectangles(nodes: Iterator[Node]) -> list[list[float]]:
    boxes = {node.bounds for node in nodes if node.bounds.area > 0}
    if len(boxes) > MAX_BOXES:
        raise DataError(f"{len(boxes)} boxes, more than {MAX_BOXES}")
    return [box.as_list() for box in sorted(boxes, key=lambda box: (box.area, box.as_list()))]


def _whole(value: float) -> int | float:
    return int(value) if value == int(value) else value
