"""Blank screens for recordings whose real screenshots are not at hand: right size, wrong content, never presented as real."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from PIL import Image

from sopbench.geometry import Size
from sopbench.trajectory import Trajectory

USUAL = Size(1080, 2400)
LARGE = Size(1440, 3120)


def size_for(trajectory: Trajectory) -> Size:
    """1080x2400, or 1440x3120 for the recordings whose gold points lie beyond that."""
    points = [
        step.content[key] for step in trajectory.steps for key in ("coordinate", "coordinate2") if key in step.content
    ]
    beyond = any(x > USUAL.width or y > USUAL.height for x, y in points)
    return LARGE if beyond else USUAL


def make_placeholders(trajectories: Iterable[Trajectory], folder: Path) -> Path:
    """One blank PNG a size, linked under the name of every screen."""
    folder.mkdir(parents=True, exist_ok=True)
    blanks: dict[Size, Path] = {}
    for size in (USUAL, LARGE):
        blanks[size] = folder / f"blank-{size}.png"
        Image.new("P", (size.width, size.height)).save(blanks[size], optimize=True)
    for trajectory in trajectories:
        blank = blanks[size_for(trajectory)]
        for step in trajectory.steps:
            target = folder / step.screen.label
            if not target.exists():
                os.link(blank, target)
    return folder


if __name__ == "__main__":
    import sys

    from sopbench.screen import Screen
    from sopbench.trajectory import load_trajectories

    if len(sys.argv) != 3:
        sys.exit("usage: python tests/placeholders.py TRAJECTORIES.jsonl FOLDER")
    recorded = load_trajectories(Path(sys.argv[1]), lambda path, episode, step: Screen.from_bytes(b"", Path(path).name))
    print(make_placeholders(recorded, Path(sys.argv[2])))
