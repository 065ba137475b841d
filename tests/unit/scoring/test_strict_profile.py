"""`strict`: the rules that a table of cases cannot exhaust."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sopbench.actions import Click, Open, Swipe, Type, from_released, swipe_direction, to_released
from sopbench.geometry import PER_MILLE, Box, Point, Size, smart_resize
from sopbench.scoring import PROFILES, get_profile
from sopbench.scoring.app_names import APP_NAMES
from sopbench.scoring.strict import fold, smallest_box
from sopbench.screen import Screen
from sopbench.trajectory import Step, load_trajectories

SHARED = Path(os.environ.get("SOPBENCH_SHARED", Path(__file__).parents[4] / "shared"))
SOP = SHARED / "data" / "android_control_evaluation_std.jsonl"
SCREEN = Size(1080, 2400)


def judge(pred, gold, boxes=(), size=SCREEN):
    step = Step(to_released(gold, size), Screen.from_bytes(b"", "none"), tuple(boxes))
    return get_profile("strict").judge(pred, step, size)


def at(x, y):
    return Point.from_pixels(x, y, SCREEN)


@given(st.text())
def test_folding_is_idempotent_and_ignores_case_of_what_it_folds(text):
    assert fold(fold(text)) == fold(text)
    assert fold(f" {text}\n") == fold(text)


@pytest.mark.parametrize("names", APP_NAMES, ids=lambda names: names[0])
def test_all_names_of_an_app_open_it_whichever_the_recording_uses(names):
    assert len(names) > 1
    for gold in names:
        for said in names:
            assert judge(Open(said.upper()), Open(gold)).match


def test_no_name_belongs_to_two_apps():
    folded = [fold(name) for names in APP_NAMES for name in names]
    assert len(folded) == len(set(folded))


def test_names_of_different_apps_do_not_open_each_other():
    firsts = [names[0] for names in APP_NAMES] + ["Recorder", "Voice Recorder"]
    for gold in firsts:
        for said in firsts:
            assert judge(Open(said), Open(gold)).match == (said == gold)


def test_an_empty_text_matches_only_a_recording_that_is_empty_itself():
    assert judge(Type(" "), Type("x")).reason == "empty_text"
    assert judge(Type("x"), Type(" ")).reason == "text_differs"
    assert judge(Type(""), Type(" ")).match


def test_smallest_box_is_the_least_that_contains_the_gold_point():
    whole, row, icon, elsewhere = (
        Box(0, 0, 1080, 2400),
        Box(0, 1100, 1080, 1300),
        Box(500, 1150, 580, 1250),
        Box(0, 0, 9, 9),
    )
    assert smallest_box(at(540, 1200), (whole, elsewhere, icon, row), SCREEN) is icon
    assert smallest_box(at(100, 1200), (whole, elsewhere, icon, row), SCREEN) is row
    assert smallest_box(at(100, 100), (whole, elsewhere, icon, row), SCREEN) is whole
    assert smallest_box(at(5, 2399), (elsewhere, icon), SCREEN) is None


def test_of_equal_boxes_the_first_decides():
    first, second = Box(500, 1190, 560, 1250), Box(530, 1190, 590, 1250)
    assert smallest_box(at(540, 1200), (first, second), SCREEN) is first


@given(st.floats(0.01, 0.2), st.floats(0.01, 0.2))
def test_a_point_outside_the_smallest_box_is_a_miss_unless_it_is_the_gold_point_rounded(dx, dy):
    gold = at(540, 1200)
    box = Box(530, 1190, 550, 1210)
    assert judge(Click(Point(gold.x + dx, gold.y + dy)), Click(gold), [box]).reason == "outside_target"


def test_the_allowance_for_rounding_is_half_a_cell_of_the_grid():
    """On 1080x2400 the coarsest grid is per-mille: 0.54 pixels across, 1.2 pixels down."""
    gold, box = at(540, 1200), Box(440, 1100, 540, 1200)
    assert judge(Click(at(540.5, 1201.1)), Click(gold), [box]).match
    assert not judge(Click(at(540.6, 1200)), Click(gold), [box]).match
    assert not judge(Click(at(540, 1201.3)), Click(gold), [box]).match


paths = st.tuples(*[st.integers(0, 1000)] * 4)


@given(paths, paths)
def test_swipes_match_by_the_dominant_axis_of_the_finger(gold, pred):
    one, other = (Swipe(at(*path[:2]), at(*path[2:])) for path in (gold, pred))
    length = [abs(gold[2] - gold[0]), abs(gold[3] - gold[1])]
    if abs(length[0] - length[1]) < 8 or max(length) < 8:
        return  # near a diagonal or without length the recording itself is ambiguous
    same = swipe_direction(one.start, one.end, SCREEN) == swipe_direction(other.start, other.end, SCREEN)
    assert judge(other, one).match == same


@pytest.mark.skipif(not SOP.is_file(), reason=f"no released SOP file at {SOP} (set SOPBENCH_SHARED)")
@pytest.mark.parametrize("name", PROFILES)
def test_each_gold_step_of_the_released_file_matches_through_every_grid(name):
    """8,444 steps as uis1 and qwen25vl round them, as per-mille, and as whole pixels of the screen."""
    misses = []
    for trajectory in load_trajectories(SOP):
        size = placeholder_size(trajectory)
        for index, step in enumerate(trajectory.steps):
            for grid in (smart_resize(size), PER_MILLE, size):
                said = json.loads(json.dumps(dict(step.content)))
                for key in ("coordinate", "coordinate2"):
                    if key in said:
                        x, y = said[key]
                        said[key] = [round(x / size.width * grid.width), round(y / size.height * grid.height)]
                if not get_profile(name).judge(from_released(said, grid), step, size).match:
                    misses.append((trajectory.id, index, str(grid)))
    assert misses == []


def placeholder_size(trajectory):
    """The screens are not in the file: 1080x2400, or 1440x3120 where a gold point needs it."""
    points = [step.content[k] for step in trajectory.steps for k in ("coordinate", "coordinate2") if k in step.content]
    return Size(1440, 3120) if any(x > 1080 or y > 2400 for x, y in points) else SCREEN
