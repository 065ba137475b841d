"""Trajectory files in both published forms, and every way in which a file can be wrong."""

from __future__ import annotations

import copy
import io
import json
import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from sopbench.actions import Click, Terminate
from sopbench.errors import DataError
from sopbench.geometry import Box, Point, Size
from sopbench.trajectory import (
    MAX_LINE_BYTES,
    MAX_STEPS,
    image_namer,
    load_trajectories,
    read_boxes,
    scan_trajectories,
    screens_in,
    to_jsonl_object,
)

SHARED = Path(os.environ.get("SOPBENCH_SHARED", Path(__file__).parents[3] / "shared"))
SOP = SHARED / "data" / "android_control_evaluation_std.jsonl"
TRAIN = SHARED / "data" / "android_control_train_example.jsonl"

CLICK = {
    "action_content": {"action": "click", "coordinate": [540, 1200]},
    "screenshot": "/datasets/images/7_0.png",
    "step_instruction": "tap it",
    "check_options": {"action": "click", "coordinate": [540, 1200], "candidate_bbox": [[500, 1100, 600, 1300]]},
}
WAIT = {"action_content": {"action": "wait", "time": 2}, "screenshot": "/datasets/images/7_1.png"}
LINE = {"goal": "find it", "is_successful": True, "episode_id": 7, "steps": [CLICK, WAIT]}


@pytest.fixture
def write(tmp_path):
    """Write lines (objects or raw bytes) to a file; returns its path."""

    def write(*lines):
        path = tmp_path / "data.jsonl"
        path.write_bytes(b"\n".join(x if isinstance(x, bytes) else json.dumps(x).encode() for x in lines) + b"\n")
        return path

    return write


def line(**changes):
    return {**copy.deepcopy(LINE), **changes}


def with_step(**changes):
    return line(steps=[{**copy.deepcopy(CLICK), **changes}])


def test_the_evaluation_form(write):
    (trajectory,) = load_trajectories(write(LINE))
    assert (trajectory.id, trajectory.goal, len(trajectory), trajectory.is_successful) == ("7", "find it", 2, True)
    step = trajectory.steps[0]
    assert (step.kind, step.instruction, step.thought) == ("click", "tap it", None)
    assert step.boxes == (Box(500, 1100, 600, 1300),)
    assert step.action(Size(1080, 2400)) == Click(Point(0.5, 0.5))
    assert step.unit_boxes(Size(1000, 1000)) == (Box(0.5, 1.1, 0.6, 1.3),)
    assert "candidate_bbox" not in step.check_options


def test_the_training_form_with_its_flat_box_and_without_an_id(write):
    click = {"action": "click", "coordinate": [540.0, 389.8], "bbox": [360, 327, 695, 466]}
    end = {"action": "terminate", "status": "success"}
    steps = [
        {"action_content": click, "screenshot": "/x/images/20_0.png", "thought": "I tap", "action_description": "tap"},
        {"action_content": end, "screenshot": "/x/images/20_1.png"},
    ]
    (trajectory,) = load_trajectories(write({"goal": "g", "steps": steps}))
    assert trajectory.id == "20"
    assert trajectory.steps[0].boxes == (Box(360, 327, 695, 466),)
    assert "bbox" not in trajectory.steps[0].content
    assert (trajectory.steps[0].thought, trajectory.steps[0].description) == ("I tap", "tap")
    assert trajectory.steps[1].action(Size(1, 1)) == Terminate("success")


@pytest.mark.parametrize(("name", "identity"), [("a/b_c_0.png", "b_c"), ("a/20_1.png", "line1"), ("x.png", "line1")])
def test_without_an_id_the_first_screenshots_name_or_the_line_number_serves(write, name, identity):
    obj = {key: value for key, value in with_step(screenshot=name).items() if key != "episode_id"}
    assert load_trajectories(write(obj))[0].id == identity


@pytest.mark.parametrize(
    ("value", "boxes"),
    [
        (None, ()),
        ([], ()),
        ([1, 2, 3, 4], (Box(1, 2, 3, 4),)),
        ([[1, 2, 3, 4], [5, 6, 7.5, 8]], (Box(1, 2, 3, 4), Box(5, 6, 7.5, 8))),
        ([[9, 9, 1, 1]], (Box(9, 9, 1, 1),)),
    ],
)
def test_one_flat_box_and_a_list_of_boxes_both_become_boxes(value, boxes):
    assert read_boxes(value) == boxes


@pytest.mark.parametrize(
    "value",
    [{}, "1234", 5, [1, 2, 3], [[1, 2, 3]], [[1, 2, 3, "4"]], [[1, 2, 3, True]], [[1, 2, 3, None]], [[1, 2, 3, 1e9]],
     [[1, 2, 3, float("nan")]], [[1, 2, 3, float("inf")]], [[1, 2, 3, 10**400]], [[1, 2, 3, 4], 5], [[]], [[[1, 2, 3, 4]]],
     [[0, 0, 1, 1]] * 2_001],
)  # fmt: skip
def test_what_is_no_box_is_an_error(value):
    with pytest.raises(DataError, match="box"):
        read_boxes(value)


FAULTS = [
    (b"{", "not JSON"),
    (b"\xff\xff", "not JSON"),
    (b"[1]", "not a JSON object"),
    (b"null", "not a JSON object"),
    (b"[" * 100_000, "not JSON"),
    (b'{"goal":"g","episode_id":' + b"9" * 5_000 + b"}", "not JSON"),
    (line(goal=None), "`goal`"),
    (line(goal="  "), "`goal`"),
    (line(goal=5), "`goal`"),
    (line(goal="half \ud83d"), "surrogate"),
    (line(steps=None), "`steps`"),
    (line(steps=[]), "`steps`"),
    (line(steps={"0": CLICK}), "`steps`"),
    (line(steps=[WAIT] * (MAX_STEPS + 1)), "steps, more than"),
    (line(steps=[CLICK, 5]), "step 1: not a JSON object"),
    (line(episode_id=1.5), "`episode_id`"),
    (line(episode_id=True), "`episode_id`"),
    (line(episode_id=""), "`episode_id`"),
    (line(episode_id="x" * 201), "`episode_id`"),
    (line(episode_id=10**300), "`episode_id`"),
    (line(episode_id="\udc00"), "surrogate"),
    (line(tags=["a"]), "`tags`"),
    (line(tags={"a": 1}), "`tags`"),
    (with_step(action_content=None), "`action_content`"),
    (with_step(action_content={"action": "scroll"}), "unknown_action"),
    (with_step(action_content={"action": "click"}), "missing_argument"),
    (with_step(action_content={"action": "click", "coordinate": [float("nan"), 1]}), "bad_argument"),
    (with_step(action_content={"action": "type", "text": "\ud800"}), "surrogate"),
    (with_step(screenshot=None), "`screenshot`"),
    (with_step(screenshot=""), "`screenshot`"),
    (with_step(screenshot="a\0.png"), "`screenshot`"),
    (with_step(check_options=[1]), "`check_options`"),
    (with_step(check_options={"candidate_bbox": [[1]]}), "box"),
    (with_step(step_instruction=5), "`step_instruction`"),
    (with_step(thought="\udfff"), "surrogate"),
]  # fmt: skip


@pytest.mark.parametrize(("bad", "says"), FAULTS)
def test_a_fault_names_file_line_and_what_is_wrong(write, bad, says):
    path = write(line(episode_id="fine"), b"", bad)
    with pytest.raises(DataError, match=r"^data\.jsonl line 3: ") as caught:
        load_trajectories(path)
    assert says in str(caught.value)
    assert len(str(caught.value)) < 600


def test_a_scan_goes_on_past_every_fault(write):
    lines = [bad for bad, _ in FAULTS]
    found = list(scan_trajectories(write(*lines, line(episode_id="last"))))
    assert [number for number, _ in found] == list(range(1, len(lines) + 2))
    assert all(isinstance(item, DataError) for _, item in found[:-1])
    assert found[-1][1].id == "last"


def test_a_line_of_any_length_is_one_fault(write):
    long = b'{"goal": "' + b"x" * (3 * MAX_LINE_BYTES) + b'"}'
    (_, first), (number, second) = scan_trajectories(write(long, line(episode_id="next")))
    assert "longer than" in str(first)
    assert (number, second.id) == (2, "next")


@pytest.mark.parametrize("twin", [7, "7"])
def test_an_id_stands_once(write, twin):
    with pytest.raises(DataError, match="line 2: episode '7' stands already on line 1"):
        load_trajectories(write(LINE, line(episode_id=twin)))


def test_limit_reads_no_further_than_it_needs(write):
    path = write(line(episode_id=1), line(episode_id=2), b"{")
    assert [t.id for t in load_trajectories(path, limit=2)] == ["1", "2"]


def test_an_empty_file_and_a_missing_one(write, tmp_path):
    with pytest.raises(DataError, match="no trajectories"):
        load_trajectories(write(b"", b"  "))
    for path in (tmp_path / "none.jsonl", tmp_path, tmp_path / "a\0b"):
        with pytest.raises(DataError, match="cannot read"):
            load_trajectories(path)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
step_changes = st.dictionaries(st.sampled_from([*CLICK, "thought", "bbox"]), json_values, max_size=3)
line_changes = st.dictionaries(st.sampled_from([*LINE, "tags"]), json_values, max_size=2)


@settings(max_examples=200)
@given(line_changes, step_changes)
def test_no_json_raises_anything_but_a_data_error(tmp_path_factory, changes, in_step):
    path = tmp_path_factory.getbasetemp() / "fuzz.jsonl"
    path.write_text(json.dumps({**with_step(**in_step), **changes}), encoding="utf-8")
    ((_, found),) = scan_trajectories(path)
    assert isinstance(found, DataError) or found.steps


def test_what_is_written_reads_back_the_same(write):
    step = {**CLICK, "thought": "why", "action_description": "what"}
    original = load_trajectories(write(line(steps=[step, WAIT], tags={"app": "Notes"}, is_successful=False)))
    paths = [["images/7_0.png", "images/7_1.png"]]
    again = load_trajectories(write(*[to_jsonl_object(t, p) for t, p in zip(original, paths, strict=True)]))
    for one, other in zip(original, again, strict=True):
        assert (one.id, one.goal, one.is_successful, one.tags) == (
            other.id,
            other.goal,
            other.is_successful,
            other.tags,
        )
        for a, b in zip(one.steps, other.steps, strict=True):
            assert (a.content, a.boxes, a.thought, a.description) == (b.content, b.boxes, b.thought, b.description)
            assert a.instruction == b.instruction


# Where screens are


def png():
    out = io.BytesIO()
    Image.new("RGB", (30, 50)).save(out, "PNG")
    return out.getvalue()


def test_screens_are_found_by_the_last_part_of_the_datas_path(write, tmp_path):
    images = tmp_path / "images"
    images.mkdir()
    (images / "7_0.png").write_bytes(png())
    steps = load_trajectories(write(LINE), screens_in(images))[0].steps
    assert steps[0].screen.size == Size(30, 50)
    with pytest.raises(DataError, match=r"7_1\.png"):
        _ = steps[1].screen.size


def test_windows_paths_have_a_last_part_too(tmp_path):
    assert screens_in(tmp_path)("C:\\data\\images\\7_0.png", "7", 0).path == tmp_path / "7_0.png"


@pytest.mark.parametrize(
    ("pattern", "name"),
    [
        ("{name}", "8_3.png"),
        ("android_control_episode_{episode}_{step}.png", "android_control_episode_7_3.png"),
        ("{episode}/{step:03}.jpg", "7/003.jpg"),
        ("{step:3d}{{x}}", "  3{x}"),
        ("{episode}/{name}", "7/8_3.png"),
    ],
)
def test_a_pattern_names_screens_otherwise(tmp_path, pattern, name):
    assert image_namer(pattern)("/d/8_3.png", "7", 3) == name
    assert screens_in(tmp_path, pattern)("/d/8_3.png", "7", 3).path == tmp_path / name


@pytest.mark.parametrize(
    "pattern",
    ["{name.__class__}", "{name[0]}", "{name!r}", "{name:>99999999}", "{step:99999999}", "{step:{episode}}", "{step:_}", "{0}", "{}", "{", "}",
     "{other}", "{episode:d}", "fixed.png", "", "{step.real}", "{step!s}", "{name:{name}}", "{step:٣}"],
)  # fmt: skip
def test_a_pattern_is_no_way_into_python(tmp_path, pattern):
    with pytest.raises(DataError, match="--image-pattern"):
        screens_in(tmp_path, pattern)


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(DataError, match=r"--images .*nowhere: no such folder"):
        screens_in(tmp_path / "nowhere")


@pytest.mark.parametrize("pattern", ["{name}", "{episode}/{name}", "{episode}.png"])
@pytest.mark.parametrize("episode", ["..", "../../etc", "/etc/passwd", "a\0b"])
def test_names_from_data_do_not_lead_out_of_the_folder(tmp_path, pattern, episode):
    resolve = screens_in(tmp_path, pattern)
    for recorded in ("..", "../..", "x/..", "/etc/passwd", "7_0.png", "a\0"):
        try:
            path = resolve(recorded, episode, 0).path
        except DataError:
            continue
        assert path.is_relative_to(tmp_path)
        assert ".." not in path.parts


@pytest.mark.parametrize("recorded", ["../secret.png", "images/../../secret.png", "..\\..\\secret.png/../../x"])
def test_a_files_own_relative_paths_stay_beside_it(write, recorded):
    with pytest.raises(DataError, match="outside the folder"):
        load_trajectories(write(with_step(screenshot=recorded)))


def test_links_in_the_folder_of_screens_are_followed(tmp_path):
    """Folders of links to one store are how people keep large sets; the data cannot create a link."""
    (tmp_path / "store").mkdir()
    (tmp_path / "images").mkdir()
    (tmp_path / "store" / "x.png").write_bytes(png())
    (tmp_path / "images" / "7_0.png").symlink_to(tmp_path / "store" / "x.png")
    assert screens_in(tmp_path / "images")("/d/7_0.png", "7", 0).size == Size(30, 50)


def test_without_a_folder_the_datas_own_paths_serve(write, tmp_path):
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.png").write_bytes(png())
    for recorded in ("images/a.png", str(tmp_path / "images" / "a.png")):
        (trajectory,) = load_trajectories(write(with_step(screenshot=recorded)))
        assert trajectory.steps[0].screen.size == Size(30, 50)


# The published files


@pytest.mark.skipif(not SOP.is_file(), reason=f"no released SOP file at {SOP} (set SOPBENCH_SHARED)")
def test_the_released_sop_file():
    trajectories = load_trajectories(SOP)
    steps = [step for trajectory in trajectories for step in trajectory.steps]
    assert (len(trajectories), len(steps)) == (1_543, 8_444)
    assert Counter(step.kind for step in steps) == {
        "click": 5_074, "swipe": 1_211, "type": 632, "open": 608, "wait": 567, "system_button": 343, "long_press": 9,
    }  # fmt: skip
    assert sum(bool(step.boxes) for step in steps) == 4_953
    assert {step.content["button"] for step in steps if step.kind == "system_button"} == {"Back"}
    assert Counter(step.check_options["action"] for step in steps) == Counter(step.kind for step in steps)
    assert all(
        step.check_options.get("coordinate") == step.content["coordinate"] for step in steps if step.kind == "click"
    )
    assert all(
        Path(step.screen.label).name == f"{t.id}_{k}.png" for t in trajectories for k, step in enumerate(t.steps)
    )


@pytest.mark.skipif(not TRAIN.is_file(), reason=f"no training example at {TRAIN} (set SOPBENCH_SHARED)")
def test_the_released_training_example():
    trajectories = load_trajectories(TRAIN)
    assert len(trajectories) == 32
    steps = [step for trajectory in trajectories for step in trajectory.steps]
    assert all(trajectory.steps[-1].kind == "terminate" for trajectory in trajectories)
    assert all(len(step.boxes) <= 1 and "bbox" not in step.content for step in steps)
    assert sum(len(step.boxes) for step in steps) > 50


def test_of_an_action_only_its_own_fields_are_kept(write):
    """The rest is neither checked nor bounded, and would go from here into every record of the step."""
    content = {"action": "wait", "time": 1, "coordinate": "x", "text": "a" * 1_000_000, "note": {"deep": []}}
    step = {"action_content": content, "screenshot": "images/1_0.png"}
    (trajectory,) = load_trajectories(write({"goal": "g", "steps": [step], "episode_id": 1}))
    assert trajectory.steps[0].content == {"action": "wait", "time": 1}


def test_a_pipe_is_no_data_file(tmp_path):
    os.mkfifo(tmp_path / "data.jsonl")
    with pytest.raises(DataError, match="not a regular file"):
        load_trajectories(tmp_path / "data.jsonl")
