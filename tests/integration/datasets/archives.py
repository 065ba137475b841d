"""Small archives in the exact published formats, written without TensorFlow. `make_golden.py` writes the same with TensorFlow and android_env themselves."""

from __future__ import annotations

import gzip
import io
import json
import random
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image

from sopbench.datasets.tfrecord import masked_crc
from sopbench.trajectory import Trajectory

Feature = Sequence[bytes] | Sequence[int] | Sequence[float]


# -- the wire ----------------------------------------------------------------------------------------------------------


def varint(value: int) -> bytes:
    value &= 0xFFFF_FFFF_FFFF_FFFF
    out = bytearray()
    while True:
        value, low = value >> 7, value & 0x7F
        out.append(low | (0x80 if value else 0))
        if not value:
            return bytes(out)


def number(field_number: int, value: int) -> bytes:
    return varint(field_number << 3) + varint(value)


def block(field_number: int, data: bytes) -> bytes:
    return varint(field_number << 3 | 2) + varint(len(data)) + data


def feature(values: Feature) -> bytes:
    if all(isinstance(v, bytes) for v in values):
        return block(1, b"".join(block(1, v) for v in values))  # type: ignore[arg-type]
    if all(isinstance(v, float) for v in values):
        return block(2, block(1, struct.pack(f"<{len(values)}f", *values)))
    return block(3, block(1, b"".join(varint(v) for v in values)))  # type: ignore[arg-type]


def example(features: Mapping[str, Feature]) -> bytes:
    entries = (block(1, block(1, name.encode()) + block(2, feature(values))) for name, values in features.items())
    return block(1, b"".join(entries))


def record(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked_crc(length)) + data + struct.pack("<I", masked_crc(data))


def write_shard(path: Path, records: Iterable[bytes], level: int = 1) -> Path:
    with gzip.GzipFile(path, "wb", level, mtime=0) as out:
        for data in records:
            out.write(record(data))
    return path


def shard_name(index: int, of: int, stem: str = "android_control") -> str:
    return f"{stem}-{index:05}-of-{of:05}"


# -- the accessibility forest ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NodeSpec:
    bounds: tuple[int, int, int, int]
    clickable: bool = True
    visible: bool = True
    long_clickable: bool = False
    text: str = ""
    description: str = ""


def node(spec: NodeSpec, unique_id: int = 1) -> bytes:
    """Fields that the reader does not want are there too, as they are in published trees."""
    rectangle = b"".join(number(k, v) for k, v in enumerate(spec.bounds, 1) if v)
    out = number(1, unique_id) + block(2, rectangle) + block(3, b"android.widget.Button")
    out += block(4, spec.description.encode()) + block(6, b"com.example.app") + block(7, spec.text.encode())
    out += number(8, -1) + number(11, 7)
    for field_number, flag in ((14, spec.clickable), (16, True), (19, spec.long_clickable), (23, spec.visible)):
        out += number(field_number, 1) if flag else b""
    return out + block(24, number(1, 16)) + block(25, varint(2) + varint(3)) + number(27, 4)


def forest(nodes: Sequence[NodeSpec], windows: int = 1) -> bytes:
    """The nodes, spread over so many windows."""
    out = b""
    for window in range(windows):
        tree = b"".join(block(1, node(spec, k + 1)) for k, spec in enumerate(nodes) if k % windows == window)
        bounds = number(3, 1080) + number(4, 2400)
        out += block(1, block(1, bounds) + number(4, window) + block(5, b"title") + number(6, 1) + block(11, tree))
    return out


# -- screens -----------------------------------------------------------------------------------------------------------


def png(width: int = 60, height: int = 120, seed: int = 0) -> bytes:
    """A picture that no other seed gives."""
    buffer = io.BytesIO()
    Image.new("RGB", (width, height), ((seed * 37) % 256, (seed * 101) % 256, seed % 256)).save(buffer, "PNG")
    return buffer.getvalue()


# -- AndroidControl ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Recorded:
    """One step: the published action, its instruction, and the nodes of the screen before it."""

    action: Mapping[str, Any]
    instruction: str = "do it"
    nodes: Sequence[NodeSpec] = ()


@dataclass(frozen=True)
class EpisodeSpec:
    id: int
    goal: str
    steps: Sequence[Recorded]
    size: tuple[int, int] = (60, 120)
    screens: Sequence[bytes] = field(default=())

    def pngs(self) -> list[bytes]:
        if self.screens:
            return list(self.screens)
        return [png(*self.size, seed=self.id * 100 + k) for k in range(len(self.steps) + 1)]

    def features(self) -> dict[str, Feature]:
        pngs = self.pngs()
        trees = [forest(step.nodes, windows=2) for step in self.steps] + [forest([])]
        return {
            "episode_id": [self.id],
            "goal": [self.goal.encode()],
            "screenshots": pngs,
            "accessibility_trees": trees,
            "screenshot_widths": [self.size[0]] * len(pngs),
            "screenshot_heights": [self.size[1]] * len(pngs),
            "actions": [json.dumps(step.action).encode() for step in self.steps],
            "step_instructions": [step.instruction.encode() for step in self.steps],
        }

    def record(self, **changed: Feature) -> bytes:
        return example({**self.features(), **changed})


def every_action(episode: int = 7, size: tuple[int, int] = (60, 120)) -> EpisodeSpec:
    """An episode with each of the published actions."""
    width, height = size
    whole = NodeSpec((0, 0, width, height))
    button = NodeSpec((10, 10, 30, 30), long_clickable=True)
    hidden = NodeSpec((15, 15, 25, 25), visible=False)
    label = NodeSpec((12, 12, 28, 28), clickable=False)
    held = NodeSpec((14, 14, 40, 40), clickable=False, long_clickable=True)
    icon = NodeSpec((40, 40, 55, 60), text="Clock")
    nodes = (whole, hidden, label, button, button, held, icon)
    actions: tuple[Mapping[str, Any], ...] = (
        {"action_type": "open_app", "app_name": "Clock"},
        {"action_type": "click", "x": 20, "y": 20},
        {"action_type": "long_press", "x": 20, "y": 20},
        {"action_type": "scroll", "direction": "down"},
        {"action_type": "scroll", "direction": "up"},
        {"action_type": "scroll", "direction": "left"},
        {"action_type": "scroll", "direction": "right"},
        {"action_type": "input_text", "text": "Grüße, “日本” 👋"},
        {"action_type": "type", "x": 20, "y": 20, "text": "find"},
        {"action_type": "navigate_back"},
        {"action_type": "navigate_home"},
        {"action_type": "wait"},
    )
    steps = [Recorded(action, f"instruction {k // 2}", nodes) for k, action in enumerate(actions)]
    return EpisodeSpec(episode, "Show what there is", steps, size)


def write_androidcontrol(
    folder: Path,
    episodes: Sequence[EpisodeSpec],
    shards: int = 2,
    splits: Mapping[str, Sequence[int]] | None = None,
) -> Path:
    """Shards, `splits.json` and `test_subsplits.json`; episode k lies in shard k modulo `shards`."""
    folder.mkdir(parents=True, exist_ok=True)
    for index in range(shards):
        write_shard(folder / shard_name(index, shards), [e.record() for e in episodes[index::shards]])
    known = splits or {"train": [], "validation": [], "test": [e.id for e in episodes]}
    (folder / "splits.json").write_text(json.dumps(known))
    unseen = {"IDD": [e.id for e in episodes[:1]], "app_unseen": [e.id for e in episodes[1:]]}
    unseen |= {"category_unseen": [e.id for e in episodes[2:]], "task_unseen": []}
    (folder / "test_subsplits.json").write_text(json.dumps(unseen))
    return folder


def as_published(trajectory: Trajectory, size: tuple[int, int], screens: Sequence[bytes]) -> EpisodeSpec:
    """The published record that an episode of the released SOP file must have come from: the inverse of the conversion's rules."""
    steps = []
    shuffled = random.Random(trajectory.id)
    for step in trajectory.steps:
        nodes = [
            NodeSpec((int(b.x1), int(b.y1), int(b.x2), int(b.y2)), text=step.content.get("text", ""))
            for b in step.boxes
        ]
        nodes += [
            NodeSpec((0, 0, 3, 3)),
            NodeSpec((0, 0, *size), clickable=False),
            NodeSpec((0, 0, *size), visible=False),
        ]
        shuffled.shuffle(nodes)
        steps.append(Recorded(_raw(step.content, step.check_options), step.instruction or "", nodes))
    return EpisodeSpec(int(trajectory.id), trajectory.goal, steps, size, screens)


def _raw(content: Mapping[str, Any], check: Mapping[str, Any]) -> dict[str, Any]:
    match content["action"]:
        case "click" | "long_press" as kind:
            x, y = content["coordinate"]
            return {"action_type": kind, "x": x, "y": y}
        case "swipe":
            return {"action_type": "scroll", "direction": check["direction"]}
        case "type":
            return {"action_type": "input_text", "text": content["text"]}
        case "open":
            return {"action_type": "open_app", "app_name": content["text"]}
        case "system_button":
            return {"action_type": "navigate_" + content["button"].lower()}
        case "wait":
            return {"action_type": "wait"}
    raise AssertionError(content)


# -- Android in the Wild -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Gesture:
    """One published step: `kind` is its action type; points are (y, x) in fractions of the screen."""

    kind: int
    touch: tuple[float, float] = (-1.0, -1.0)
    lift: tuple[float, float] = (-1.0, -1.0)
    text: str = ""
    boxes: Sequence[tuple[float, float, float, float]] = ()


def aitw_records(episode: str, goal: str, steps: Sequence[Gesture], size: tuple[int, int] = (40, 80)) -> list[bytes]:
    width, height = size
    records = []
    for k, step in enumerate(steps):
        raw = bytes((k * 50 + channel * 20) % 256 for channel in range(3)) * (width * height)
        positions = [value for box in step.boxes for value in box]
        features: dict[str, Feature] = {
            "android_api_level": [12],
            "current_activity": [b"com.example/.Main"],
            "device_type": [b"pixel_4"],
            "episode_id": [episode.encode()],
            "episode_length": [len(steps)],
            "goal_info": [goal.encode()],
            "image/channels": [3],
            "image/height": [height],
            "image/width": [width],
            "image/encoded": [raw],
            "image/ui_annotations_positions": positions,
            "image/ui_annotations_text": [b"ok"] * len(step.boxes),
            "image/ui_annotations_ui_types": [b"TEXT"] * len(step.boxes),
            "results/action_type": [step.kind],
            "results/type_action": [step.text.encode()],
            "results/yx_touch": list(step.touch),
            "results/yx_lift": list(step.lift),
            "step_id": [k],
        }
        records.append(
            example({name: values for name, values in features.items() if len(values) or name.startswith("image/ui")})
        )
    return records


def all_gestures(width: int = 40, height: int = 80) -> list[Gesture]:
    """Each action type once; the tap lies in two annotations."""
    return [
        Gesture(
            4, (0.5, 0.25), (0.51, 0.25), boxes=((0.4, 0.1, 0.3, 0.4), (0.45, 0.2, 0.1, 0.1), (0.0, 0.0, 0.1, 0.1))
        ),
        Gesture(4, (0.8, 0.5), (0.2, 0.5)),
        Gesture(3, text="hello"),
        Gesture(5),
        Gesture(6),
        Gesture(7),
        Gesture(10),
    ]


# -- GUI-Odyssey -------------------------------------------------------------------------------------------------------


def write_odyssey(folder: Path, episodes: int = 3, size: tuple[int, int] = (100, 200), nested: bool = False) -> Path:
    """`nested` puts the screens where the first release has them; only the second has boxes and instructions for steps."""
    for name in ("annotations", "splits", "screenshots"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    names = []
    for e in range(episodes):
        ident = f"{e:016}"
        steps = odyssey_steps(ident, second=not nested)
        annotation = {
            "episode_id": ident,
            "device_info": {
                "product": "p",
                "release_version": "13",
                "sdk_version": "33",
                "h": size[1],
                "w": size[0],
                "device_name": "Pixel 7 Pro",
            },
            "task_info": {
                "category": "General_Tool",
                "app": ["Clock"],
                "meta_task": "m {}",
                "task": "t",
                "instruction": f"Set alarm {e}",
            },
            "step_length": len(steps),
            "steps": steps,
        }
        (folder / "annotations" / f"{ident}.json").write_text(json.dumps(annotation))
        names.append(f"{ident}.json")
        where = folder / "screenshots" / (f"data_{e % 2}" if nested else "")
        where.mkdir(exist_ok=True)
        for step in steps:
            (where / step["screenshot"]).write_bytes(png(*size, seed=e * 50 + step["step"]))
    split = {"train": names[:1], "test": names[1:]}
    (folder / "splits" / "random_split.json").write_text(json.dumps(split))
    return folder


def odyssey_steps(ident: str, *, second: bool) -> list[dict[str, Any]]:
    actions: list[tuple[str, Any, list[int] | None]] = [
        ("CLICK", [[500, 250], [500, 250]], [400, 200, 600, 300]),
        ("CLICK", "KEY_HOME", None),
        ("CLICK", "KEY_BACK", None),
        ("CLICK", "KEY_APPSELECT", None),
        ("LONG_PRESS", [[100, 900], [100, 900]], [50, 850, 150, 950]),
        ("SCROLL", [[500, 800], [500, 200]], None),
        ("TEXT", "7:30 AM", None),
        ("COMPLETE", "", None),
    ]
    steps = []
    for k, (action, info, box) in enumerate(actions):
        step: dict[str, Any] = {"step": k, "screenshot": f"{ident}_{k}.png", "action": action, "info": info, "ps": ""}
        if second:
            step |= {"sam2_bbox": box or [], "low_level_instruction": f"low {k}", "intention": "i", "context": "c"}
        steps.append(step)
    return steps


# -- ScreenSpot --------------------------------------------------------------------------------------------------------


def write_screenspot_v2(folder: Path, size: tuple[int, int] = (200, 100), per_platform: int = 3) -> Path:
    import zipfile

    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / "screenspotv2_image.zip", "w") as archive:
        for p, (platform, source) in enumerate((("mobile", "ios"), ("desktop", "windows"), ("web", "shop"))):
            samples = []
            for k in range(per_platform):
                picture = f"{platform}_{k // 2}.png"
                samples.append(
                    {
                        "img_filename": picture,
                        "bbox": [10 * k, 20, 31, 10],
                        "instruction": f"press {k}",
                        "data_type": "icon" if k % 2 else "text",
                        "data_source": source,
                    }
                )
                if k % 2 == 0:
                    archive.writestr(f"screenspotv2_image/{picture}", png(*size, seed=p * 10 + k))
            (folder / f"screenspot_{platform}_v2.json").write_text(json.dumps(samples))
    return folder


def write_screenspot_pro(folder: Path, size: tuple[int, int] = (384, 216)) -> Path:
    (folder / "annotations").mkdir(parents=True, exist_ok=True)
    for application, platform, group in (("vscode", "macos", "Dev"), ("excel", "windows", "Office")):
        where = folder / "images" / f"{application}_{platform}"
        where.mkdir(parents=True, exist_ok=True)
        samples = []
        for k in range(2):
            name = f"screenshot_2024-12-03_15-15-0{k}.png"
            (where / name).write_bytes(png(*size, seed=len(application) * 10 + k))
            samples.append(
                {
                    "img_filename": f"{application}_{platform}/{name}",
                    "bbox": [47, 18, 50, 22],
                    "instruction": f"refresh {k}",
                    "instruction_cn": f"刷新 {k}",
                    "id": f"{application}_{platform}_{k}",
                    "application": application,
                    "platform": platform,
                    "img_size": list(size),
                    "ui_type": "icon" if k else "text",
                    "group": group,
                }
            )
        (folder / "annotations" / f"{application}_{platform}.json").write_text(json.dumps(samples))
    return folder
