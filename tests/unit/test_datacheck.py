"""`data check`: what would change a result is an error, what is merely odd is a warning, and every place is listed."""

from __future__ import annotations

import copy
import hashlib
import io
import json
import os
from pathlib import Path

import pytest
import typer
from PIL import Image
from typer.testing import CliRunner

from sopbench.cli import data as data_verb
from sopbench.datacheck import FINDINGS, check_data
from sopbench.errors import DataError, UsageError
from sopbench.imagepattern import propose_pattern

SHARED = Path(os.environ.get("SOPBENCH_SHARED", Path(__file__).parents[3] / "shared"))
SOP = SHARED / "data" / "android_control_evaluation_std.jsonl"
needs_sop = pytest.mark.skipif(not SOP.is_file(), reason=f"no released SOP file at {SOP} (set SOPBENCH_SHARED)")


def png(width=100, height=200):
    out = io.BytesIO()
    Image.new("RGB", (width, height)).save(out, "PNG")
    return out.getvalue()


def click(x=50, y=100, boxes=((40, 90, 60, 110),), **rest):
    action = {"action": "click", "coordinate": [x, y]}
    return {"action_content": action, "check_options": {**action, "candidate_bbox": [list(b) for b in boxes]}, **rest}


def does(action, **arguments):
    return {"action_content": {"action": action, **arguments}}


class Data:
    """A file of trajectories and a folder of screens, being made."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "data.jsonl"
        self.images = folder / "images"
        self.images.mkdir()
        self.lines: list[bytes] = []

    def add(self, *steps, screen=None, **rest):
        episode = len(self.lines) + 1
        parts = []
        for k, step in enumerate(steps):
            name = f"{episode}_{k}.png"
            parts.append({"screenshot": f"/data/images/{name}", **copy.deepcopy(step)})
            (self.images / name).write_bytes(png() if screen is None else screen)
        obj = {"goal": f"goal {episode}", "is_successful": True, "episode_id": episode, "steps": parts, **rest}
        self.lines.append(json.dumps(obj).encode())
        return self

    def check(self, *, look=True, **options):
        self.file.write_bytes(b"\n".join(self.lines) + b"\n")
        return check_data(self.file, self.images if look else None, **options)


@pytest.fixture
def data(tmp_path):
    return Data(tmp_path)


def codes(report):
    return {finding.code: len(finding.places) for finding in report.findings}


def test_sound_data_has_no_findings(data):
    report = data.add(click(), does("wait")).add(does("type", text="x")).check()
    assert report.ok
    assert codes(report) == {}
    assert (report.trajectories, report.steps) == (2, 3)
    assert report.actions == {"click": 1, "wait": 1, "type": 1}
    assert report.first_actions == {"click": 1, "type": 1}
    assert report.length == {"mean": 1.5, "median": 1.5, "min": 1, "max": 2, "of_one_step": 1}
    assert report.sizes == {"100x200": 3}
    assert report.sha256 == hashlib.sha256(data.file.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("steps", "code", "level"),
    [
        ([click(101, 100, boxes=())], "point_outside_screen", "error"),
        ([click(-1, 100, boxes=())], "point_outside_screen", "error"),
        ([does("swipe", coordinate=[50, 100], coordinate2=[50, 201])], "point_outside_screen", "error"),
        ([click(boxes=[(40, 90, 60, 201)])], "box_outside_screen", "warning"),
        ([click(boxes=[(-1, 90, 60, 110)])], "box_outside_screen", "warning"),
        ([click(boxes=[(0, 0, 100, 101)])], "box_over_half", "warning"),
        ([click(boxes=[(60, 110, 40, 90), (40, 90, 60, 110)])], "box_inside_out", "warning"),
        ([click(boxes=[(50, 100, 50, 120)])], "box_without_area", "warning"),
        ([click(boxes=[(1, 1, 9, 9)])], "point_outside_boxes", "warning"),
        ([click(boxes=())], "click_without_box", "warning"),
        ([does("type", text=" ")], "empty_text", "warning"),
        ([does("swipe", coordinate=[5, 5], coordinate2=[5, 5])], "swipe_without_motion", "warning"),
    ],
)
def test_each_oddity_of_a_step_is_found_where_it_is(data, steps, code, level):
    report = data.add(click()).add(does("wait"), *steps).check()
    found = {finding.code: finding for finding in report.findings}
    assert code in found
    assert found[code].level == level
    (place,) = found[code].places
    assert (place.episode, place.step) == ("2", 1)
    assert report.ok == (level == "warning")


def test_half_the_screen_and_its_very_edge_are_not_too_much(data):
    report = data.add(click(100, 200, boxes=[(0, 100, 100, 200)])).check()
    assert codes(report) == {}


def test_screens_that_are_missing_unreadable_or_damaged(data):
    data.add(click(), click(), click(), click())
    (data.images / "1_0.png").unlink()
    (data.images / "1_1.png").write_bytes(b"no image")
    (data.images / "1_2.png").write_bytes(png()[:-30])
    report = data.check()
    assert codes(report) == {"missing_screen": 1, "unreadable_screen": 1}
    assert not report.ok
    assert report.sizes == {"100x200": 2}
    assert codes(data.check(deep=True)) == {"missing_screen": 1, "unreadable_screen": 2}


def test_a_missing_screen_says_which_file_and_nothing_else_is_lost(data):
    """Field case 1."""
    data.add(click()).add(click())
    (data.images / "2_0.png").unlink()
    (finding,) = data.check().findings
    assert finding.places[0].as_dict() == {"episode": "2", "step": 0, "action": "click", "detail": "2_0.png"}


def test_whole_screen_boxes_are_flagged(data):
    """Field case 22."""
    report = data.add(click(boxes=[(0, 0, 100, 200), (40, 90, 60, 110)])).check()
    assert codes(report) == {"box_over_half": 1}


def test_every_faulty_line_is_collected(data):
    data.add(click())
    data.lines += [b"{", b"[]", json.dumps({"goal": "x", "steps": [{}]}).encode(), data.lines[0]]
    report = data.check()
    assert codes(report) == {"faulty_line": 4}
    assert [place.line for place in report.findings[0].places] == [2, 3, 4, 5]
    assert (report.trajectories, report.ok) == (1, False)


def test_an_empty_file_is_an_error(data):
    report = data.check()
    assert codes(report) == {"faulty_line": 1}
    assert report.length == {}


def test_repeated_goals_and_unsuccessful_recordings(data):
    data.add(click(), goal="same").add(click(), goal="same").add(click(), goal="same").add(click(), is_successful=False)
    report = data.check()
    assert codes(report) == {"repeated_goal": 1, "unsuccessful": 1}
    assert report.findings[0].places[0].detail == "same (episodes 1, 2, 3)"
    assert report.findings[1].places[0].episode == "4"


def test_without_a_folder_only_what_needs_no_screen_is_checked(data):
    data.add(click(101, 100, boxes=[(0, 0, 500, 500)]), click(boxes=()))
    report = data.check(look=False)
    assert codes(report) == {"click_without_box": 1}
    assert not report.screens_checked
    assert report.sizes == {}


def test_each_finding_that_exists_is_reached_by_these_tests():
    source = Path(__file__).read_text(encoding="utf-8")
    assert [code for code in FINDINGS if f'"{code}"' not in source] == []


def test_what_cannot_be_read_at_all_is_a_data_error(tmp_path):
    with pytest.raises(DataError, match="cannot read"):
        check_data(tmp_path / "none.jsonl")
    (tmp_path / "x.jsonl").write_text("{}")
    with pytest.raises(DataError, match="no such folder"):
        check_data(tmp_path / "x.jsonl", tmp_path / "nowhere")
    with pytest.raises(DataError, match="--image-pattern"):
        check_data(tmp_path / "x.jsonl", tmp_path, "{name.__class__}")


def test_progress_is_told_to_whoever_watches(data):
    seen = []
    data.add(click(), click()).check(watch=lambda *event: seen.append(event))
    assert seen == [("screens", 1, 2), ("screens", 2, 2)]


# Patterns


EPISODES = [("8193", 3), ("17", 12), ("0", 2), ("pocket-note-1", 2)]


@pytest.mark.parametrize(
    "pattern",
    [
        "android_control_episode_{episode}_{step}.png",
        "{episode}_{step}.jpg",
        "{episode}/{step}.png",
        "{episode}/screenshot-{step:03}.webp",
        "step{step}_of_{episode}.PNG",
        "a{{b}}_{episode}_{step:02}.jpeg",
        "v2_{episode}.{step}.png",
    ],
)
def test_a_pattern_that_fits_is_proposed(tmp_path, pattern):
    for episode, length in EPISODES:
        for step in range(length):
            path = tmp_path / pattern.format(episode=episode, step=step)
            path.parent.mkdir(exist_ok=True)
            path.touch()
    (tmp_path / "notes.txt").touch()
    (tmp_path / "cover_17.png").touch()
    assert propose_pattern(tmp_path, EPISODES) == pattern


def test_nothing_is_proposed_where_nothing_fits(tmp_path):
    assert propose_pattern(tmp_path, EPISODES) is None
    for episode, length in EPISODES:  # counted from one: every name would show another step's screen
        for step in range(length):
            (tmp_path / f"{episode}_{step + 1}.png").touch()
    assert propose_pattern(tmp_path, EPISODES) is None


def test_the_report_proposes_a_pattern_when_the_given_one_finds_little(data):
    data.add(click(), click()).add(click())
    for path in list(data.images.iterdir()):
        path.rename(data.images / f"android_control_episode_{path.name}")
    report = data.check()
    assert codes(report) == {"missing_screen": 3}
    assert report.pattern == "android_control_episode_{episode}_{step}.png"
    assert data.check(pattern=report.pattern).ok


# The verb


@pytest.fixture
def invoke():
    app = typer.Typer()
    data_verb.register(app)
    return lambda *args: CliRunner().invoke(app, ["data", "check", *map(str, args)], env={"COLUMNS": "250"})


def test_the_verbs_exit_status_is_2_for_errors_and_0_for_warnings(data, invoke):
    data.add(click(boxes=())).check()
    assert invoke(data.file, "--images", data.images).exit_code == 0
    (data.images / "1_0.png").unlink()
    assert invoke(data.file, "--images", data.images).exit_code == 2
    assert invoke(data.file, "--images", data.images, "--json").exit_code == 2
    assert invoke(data.file).exit_code == 0


def test_json_has_every_place_and_text_a_few(data, invoke):
    for _ in range(9):
        data.add(click(boxes=()))
    data.check()
    result = invoke(data.file, "--images", data.images, "--json")
    (finding,) = json.loads(result.stdout)["findings"]
    assert (finding["code"], finding["count"], len(finding["places"])) == ("click_without_box", 9, 9)
    assert finding["by_action"] == {"click": 9}
    text = invoke(data.file, "--images", data.images).stdout
    assert "episode 3 step 0" in text
    assert "episode 4 step 0" not in text
    assert "and 6 more (--json lists them all)" in text


def test_the_text_shows_no_control_characters_of_the_data(data, invoke):
    data.add(click(), goal="a\x1b[31mb\u202ec").add(click(), goal="a\x1b[31mb\u202ec").check()
    text = invoke(data.file).stdout
    assert "repeat" in text or "share" in text
    assert "\x1b[31m" not in text
    assert "\u202e" not in text


def test_the_verb_says_when_it_did_not_look_at_screens(data, invoke):
    data.add(click()).check()
    assert "give their folder with --images" in invoke(data.file).stdout
    for option in (["--deep"], ["--image-pattern", "{name}"]):
        assert isinstance(invoke(data.file, *option).exception, UsageError)


def test_the_verb_proposes_a_pattern(data, invoke):
    data.add(click(), click()).check()
    for path in list(data.images.iterdir()):
        path.rename(data.images / f"x_{path.name}")
    result = invoke(data.file, "--images", data.images)
    assert result.exit_code == 2
    assert "--image-pattern 'x_{episode}_{step}.png'" in result.stdout


# The released file


@needs_sop
def test_the_released_file_without_screens():
    report = check_data(SOP)
    assert report.sha256.startswith("8525f839")
    assert report.sha256.endswith("31c3f")
    assert (report.trajectories, report.steps) == (1_543, 8_444)
    assert report.actions == {
        "click": 5_074, "swipe": 1_211, "type": 632, "open": 608, "wait": 567, "system_button": 343, "long_press": 9,
    }  # fmt: skip
    assert report.first_actions["open"] == 606
    assert report.length == {"mean": 5.47, "median": 5, "min": 1, "max": 24, "of_one_step": 116}
    assert codes(report) == {"click_without_box": 209, "repeated_goal": 16}
    assert report.ok


@needs_sop
def test_the_released_file_on_placeholder_screens(tmp_path):
    """1080x2400, or 1440x3120 for the 21 recordings whose gold points need it: 897 steps have a box over half the screen."""
    blank = {size: tmp_path / f"{size[0]}.png" for size in ((1080, 2400), (1440, 3120))}
    for size, path in blank.items():
        path.write_bytes(png(*size))
    images, small = tmp_path / "images", tmp_path / "small"
    images.mkdir()
    small.mkdir()
    needing = 0
    for line in SOP.read_text(encoding="utf-8").splitlines():
        obj = json.loads(line)
        points = [s["action_content"].get(key, [0, 0]) for s in obj["steps"] for key in ("coordinate", "coordinate2")]
        large = any(x > 1080 or y > 2400 for x, y in points)
        needing += large
        for step in obj["steps"]:
            name = Path(step["screenshot"]).name
            (images / name).hardlink_to(blank[(1440, 3120) if large else (1080, 2400)])
            (small / name).hardlink_to(blank[1080, 2400])
    assert needing == 21

    report = check_data(SOP, images)
    assert report.ok
    assert codes(report) == {
        "box_outside_screen": 204,
        "box_over_half": 897,
        "click_without_box": 209,
        "repeated_goal": 16,
    }
    assert report.sizes == {"1080x2400": 8_346, "1440x3120": 98}

    report = check_data(SOP, small)
    over_half = next(finding for finding in report.findings if finding.code == "box_over_half")
    assert over_half.as_dict()["by_action"] == {"click": 897, "long_press": 1}
    assert codes(report)["point_outside_screen"] > 21
    assert not report.ok
