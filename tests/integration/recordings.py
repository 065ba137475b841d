"""A small recording on disk: a JSONL file and its screens, for tests that play it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

SCREEN = (540, 1200)
SWIPE = {"action": "swipe", "coordinate": [270, 900], "coordinate2": [270, 300]}
CLICK = {"action": "click", "coordinate": [100, 200]}


@dataclass(frozen=True)
class Recording:
    file: Path
    images: Path

    @property
    def options(self) -> dict[str, Any]:
        return {"suite": "sop", "data": self.file, "images": self.images}


def make_recording(folder: Path, n: int = 4, length: int = 3, *, goal: str = "goal", content: Any = None) -> Recording:
    """`n` trajectories of `length` steps. `content(episode, step)` gives the gold action (default: always the swipe)."""
    images = folder / "images"
    images.mkdir(parents=True)
    lines = []
    for episode in range(n):
        steps = []
        for step in range(length):
            name = f"{episode}_{step}.png"
            Image.new("RGB", SCREEN, (episode % 256, step * 10 % 256, 200)).save(images / name)
            gold = content(episode, step) if content else SWIPE
            boxes = {"candidate_bbox": [[50, 150, 150, 250]]} if gold["action"] == "click" else {}
            steps.append(
                {
                    "action_content": gold,
                    "screenshot": f"/somewhere/{name}",
                    "step_instruction": f"SENTINEL-{episode}-{step}",
                    "check_options": gold | boxes,
                }
            )
        lines.append(
            json.dumps({"goal": f"{goal} {episode}", "is_successful": True, "steps": steps, "episode_id": episode})
        )
    file = folder / "data.jsonl"
    file.write_text("\n".join(lines) + "\n")
    return Recording(file, images)


def says(action: dict[str, Any]) -> str:
    """`action` in the language of the uis1 adapter."""
    return f"<think>\nok\n</think>\n<action>\n{json.dumps(action)}\n</action>"
