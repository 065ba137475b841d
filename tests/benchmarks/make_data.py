"""Data for the throughput benchmark: trajectories of swipe steps with screens of 1080x2400, large (about 1.1 MB) or small (about 45 KB).

    python tests/benchmarks/make_data.py FOLDER --trajectories 256 --size large

writes `FOLDER/data.jsonl` and `FOLDER/screens/*.png`. Screens are shared between trajectories (144 of them, 158 MB when large); the same
arguments make the same bytes.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path
from typing import Literal

WIDTH, HEIGHT = 1080, 2400
DISTINCT = 144
STEPS = 6
SWIPE = {"action": "swipe", "coordinate": [540, 1800], "coordinate2": [540, 600]}

Kind = Literal["large", "small"]


def make(folder: Path, trajectories: int, kind: Kind) -> Path:
    """Write the data and return the path of the trajectory file; screens that are there already are kept."""
    screens = folder / "screens"
    screens.mkdir(parents=True, exist_ok=True)
    for number in range(DISTINCT):
        path = screens / f"{kind}_{number}.png"
        if not path.exists():
            _draw(path, number, photo=kind == "large")
    file = folder / "data.jsonl"
    with file.open("w", encoding="utf-8") as lines:
        for episode in range(trajectories):
            steps = [
                {
                    "action_content": SWIPE,
                    "screenshot": f"screens/{kind}_{(STEPS * episode + k) % DISTINCT}.png",
                    "step_instruction": "scroll down",
                    "check_options": SWIPE,
                }
                for k in range(STEPS)
            ]
            record = {"goal": f"goal {episode}", "is_successful": True, "episode_id": episode, "steps": steps}
            lines.write(json.dumps(record) + "\n")
    return file


def _draw(path: Path, number: int, *, photo: bool) -> None:
    """Cards with lines of text; with `photo` also a noisy rectangle, since a photograph is what makes real screenshots large."""
    import numpy as np
    from PIL import Image, ImageDraw

    rng = random.Random(number)
    picture = Image.new("RGB", (WIDTH, HEIGHT), (246, 246, 249))
    draw = ImageDraw.Draw(picture)
    for line in range(46):
        x, y = rng.randrange(WIDTH - 80), rng.randrange(HEIGHT - 100)
        colour = tuple(rng.randrange(256) for _ in range(3))
        draw.rounded_rectangle((x, y, x + rng.randrange(40, 400), y + rng.randrange(20, 200)), 12, fill=colour)
        draw.text((x + 6, y + 6), f"A line of text, number {line}", fill=(20, 20, 20))
    if photo:
        noise = np.random.default_rng(number).integers(0, 32, (700, 800, 3), dtype=np.uint8) * 8
        picture.paste(Image.fromarray(noise), (140, 260))
    picture.save(path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--trajectories", type=int, default=256)
    parser.add_argument("--size", choices=("large", "small"), default="large")
    options = parser.parse_args()
    print(make(options.folder, options.trajectories, options.size))
