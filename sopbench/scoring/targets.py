"""Where a gold action aims, and what rounding may make of it: what profiles share that compare places and directions.

Adapters speak whole pixels of the image that the model saw, or thousandths of the screen, so that the gold action itself comes back a little off.
"""

from __future__ import annotations

from sopbench.actions import Swipe, swipe_direction
from sopbench.geometry import QWEN_FACTOR, Box, Point, Size
from sopbench.scoring.base import MATCH, Verdict, mismatch

GRID = 1000
"""Cells a side of the coarsest grid that families speak on a screen of any size (per-mille)."""

_NOISE = 1e-9
"""Float noise of a division and a product, in unit coordinates: far below any pixel."""


def half_cell(side: int) -> float:
    """Half a cell of the coarsest grid on a side of so many pixels, in unit coordinates: per-mille, or the side as Qwen-VL resizes it."""
    resized = max(round(side / QWEN_FACTOR), 1) * QWEN_FACTOR
    return 0.5 / min(GRID, side, resized) + _NOISE


def is_rounded(point: Point, target: Point, size: Size) -> bool:
    """Whether `point` may be nothing but `target` as a grid rounds it. Both in unit coordinates of a screen of `size`."""
    return abs(point.x - target.x) <= half_cell(size.width) and abs(point.y - target.y) <= half_cell(size.height)


def smallest_box(target: Point, boxes: tuple[Box, ...], size: Size) -> Box | None:
    """The candidate of least area (the first of equals) that contains the gold point; boxes without area are no targets.

    None where no box contains it: then the boxes say nothing about this target. `target` in unit coordinates, `boxes` in original pixels.
    """
    around = [box for box in boxes if box.area > 0 and box.to_unit(size).contains(target)]
    return min(around, key=lambda box: box.area, default=None)


def judge_direction(swipe: Swipe, gold: Swipe, size: Size) -> Verdict:
    """Whether the finger goes the same way (`direction` or `no_motion` where not); place and length are free."""
    direction = swipe_direction(swipe.start, swipe.end, size)
    if direction in directions(gold, size):
        return MATCH
    return mismatch("no_motion" if direction is None else "direction")


def directions(gold: Swipe, size: Size) -> set[str | None]:
    """The directions that the gold path may have once both its ends are rounded: one, or two near a diagonal.

    A path shorter than the grid can become any, or none: it has no direction to compare.
    """
    dx, dy = (gold.end.x - gold.start.x) * size.width, (gold.end.y - gold.start.y) * size.height
    slack_x, slack_y = 2 * half_cell(size.width) * size.width, 2 * half_cell(size.height) * size.height
    least_x, least_y = max(abs(dx) - slack_x, 0.0), max(abs(dy) - slack_y, 0.0)
    reach: dict[str | None, bool] = {
        "right": dx + slack_x > least_y,
        "left": -dx + slack_x > least_y,
        "down": dy + slack_y >= least_x and dy + slack_y > 0,
        "up": -dy + slack_y >= least_x and -dy + slack_y > 0,
        None: least_x == 0 and least_y == 0,
    }
    return {direction for direction, reachable in reach.items() if reachable}
