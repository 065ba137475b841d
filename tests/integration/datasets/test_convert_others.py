"""GUI-Odyssey, ScreenSpot and Android in the Wild in their published forms: converted, checked, played."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import sopbench
from sopbench.datasets.from_aitw import convert_aitw, convert_tasks
from sopbench.datasets.odyssey import convert_odyssey
from sopbench.datasets.screenspot import convert_screenspot
from sopbench.errors import DataError, UsageError
from sopbench.trajectory import Trajectory, load_trajectories
from tests.integration.datasets.archives import (
    Gesture,
    aitw_records,
    all_gestures,
    shard_name,
    write_odyssey,
    write_screenspot_pro,
    write_screenspot_v2,
    write_shard,
)

HERE = Path(__file__).parent


def loaded(made: Any) -> dict[str, Trajectory]:
    return {t.id: t for t in load_trajectories(made.file)}


def oracle(made: Any, suite: str, out: Path, **options: Any) -> dict[str, Any]:
    """The summary of a run in which the recorded expert plays its own recordings."""
    run = sopbench.run(suite=suite, data=made.file, images=made.images, model="builtin:oracle", out=out, **options)
    summary: dict[str, Any] = run.summary
    assert summary["complete"]
    return summary


# -- GUI-Odyssey -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("nested", [False, True], ids=["second release", "first release"])
def test_odyssey_converts_checks_and_runs(tmp_path: Path, nested: bool) -> None:
    made = convert_odyssey(write_odyssey(tmp_path / "from", nested=nested), tmp_path / "out")
    assert (made.episodes, made.steps, made.screens, made.check.ok) == (3, 24, 24, True)
    contents = [dict(step.content) for step in loaded(made)["0" * 16].steps]
    assert contents == [
        {"action": "click", "coordinate": [50, 50]},
        {"action": "system_button", "button": "Home"},
        {"action": "system_button", "button": "Back"},
        {"action": "key", "text": "app_switch"},
        {"action": "long_press", "coordinate": [10, 180], "time": 2},
        {"action": "swipe", "coordinate": [50, 160], "coordinate2": [50, 40]},
        {"action": "type", "text": "7:30 AM"},
        {"action": "terminate", "status": "success"},
    ]
    summary = oracle(made, "gui-odyssey", tmp_path / "run")
    assert (summary["sr"], summary["tm"], summary["gr"]) == (100.0, 100.0, 100.0)


def test_odyssey_boxes_and_step_instructions_are_the_second_releases(tmp_path: Path) -> None:
    second = loaded(convert_odyssey(write_odyssey(tmp_path / "two"), tmp_path / "out2"))["0" * 16].steps
    first = loaded(convert_odyssey(write_odyssey(tmp_path / "one", nested=True), tmp_path / "out1"))["0" * 16].steps
    assert [box.as_list() for box in second[0].boxes] == [[40, 40, 60, 60]]
    assert [box.as_list() for box in second[4].boxes] == [[5, 170, 15, 190]]
    assert second[2].instruction == "low 2"
    assert (first[0].boxes, first[2].instruction) == ((), None)


def test_odyssey_tells_no_annotators_summary_to_the_model(tmp_path: Path) -> None:
    """`context` and `intention` sum up the history: they belong to no request, so they are not in the file."""
    made = convert_odyssey(write_odyssey(tmp_path / "from"), tmp_path / "out")
    for line in made.file.read_text().splitlines():
        for step in json.loads(line)["steps"]:
            assert set(step) == {"action_content", "screenshot", "step_instruction", "check_options"}


def test_odyssey_splits_name_their_episodes(tmp_path: Path) -> None:
    source = write_odyssey(tmp_path / "from")
    made = convert_odyssey(source, tmp_path / "out", split="random_split")
    assert list(loaded(made)) == [f"{1:016}", f"{2:016}"]
    assert list(loaded(convert_odyssey(source, tmp_path / "train", split="random_split", part="train"))) == [f"{0:016}"]
    with pytest.raises(UsageError, match=r"--split app_split: no such file .*there: random_split"):
        convert_odyssey(source, tmp_path / "x", split="app_split")
    with pytest.raises(UsageError, match="no list of that name"):
        convert_odyssey(source, tmp_path / "x", split="random_split", part="exam")
    with pytest.raises(DataError, match="cannot be part of a file's name"):
        convert_odyssey(source, tmp_path / "x", split="../../secret")


def test_screens_are_the_published_files_and_take_no_room_where_links_can_be_made(tmp_path: Path) -> None:
    source = write_odyssey(tmp_path / "from")
    made = convert_odyssey(source, tmp_path / "out")
    theirs, ours = (folder / f"{0:016}_0.png" for folder in (source / "screenshots", made.images))
    assert ours.samefile(theirs)
    convert_odyssey(source, tmp_path / "out")
    assert sorted(path.name for path in made.images.iterdir()) == sorted(
        p.name for p in (source / "screenshots").iterdir()
    )


def test_odyssey_with_the_archive_still_in_parts_says_how_to_join_it(tmp_path: Path) -> None:
    source = write_odyssey(tmp_path / "from")
    for picture in (source / "screenshots").iterdir():
        picture.unlink()
    (source / "screenshots" / "screenshots.zip").write_bytes(b"PK")
    with pytest.raises(DataError, match=r"zip -s 0 .*screenshots\.zip --out .* && unzip -j"):
        convert_odyssey(source, tmp_path / "out")


def change(source: Path, **step: Any) -> None:
    """The first step of the second episode."""
    path = source / "annotations" / f"{1:016}.json"
    annotation = json.loads(path.read_text())
    annotation["steps"][0] |= step
    path.write_text(json.dumps(annotation))


@pytest.mark.parametrize(
    ("step", "complaint"),
    [
        ({"action": "FLY"}, "action 'FLY' with info"),
        ({"info": "KEY_POWER"}, "info 'KEY_POWER' is none"),
        ({"info": [[500, 1001]]}, "not two thousandths"),
        ({"info": [["5", 1]]}, "not two thousandths"),
        ({"info": []}, "`info` has 0 points, 1 are due"),
        ({"info": {"x": 1}}, "`info` has 0 points"),
        ({"action": "SCROLL", "info": [[1, 2]]}, "`info` has 1 points, 2 are due"),
        ({"action": "TEXT", "info": None}, "the text to type is None"),
        ({"action": ["CLICK"]}, r"action \['CLICK'\]"),
        ({"sam2_bbox": [1, 2, 3]}, "a box is not four numbers"),
        ({"sam2_bbox": [5, 5, 5, 9]}, "has no area"),
        ({"screenshot": "gone.png"}, "the screen 'gone.png' is not there"),
        ({"screenshot": "../../etc/passwd"}, "is not there"),
        ({"screenshot": 4}, "`screenshot` is missing or no text"),
        ({"step": 3}, "not numbered in their order"),
        ({"low_level_instruction": "\ud800"}, "half of a surrogate pair"),
    ],
)
def test_an_odyssey_step_that_is_not_as_published_is_named_or_left_out(
    tmp_path: Path, step: dict[str, Any], complaint: str
) -> None:
    source = write_odyssey(tmp_path / "from")
    change(source, **step)
    with pytest.raises(DataError, match=rf"^{1:016}\.json: step 0: .*{complaint}.*--skip-faulty"):
        convert_odyssey(source, tmp_path / "out")
    assert not (tmp_path / "out" / "trajectories.jsonl").exists()
    made = convert_odyssey(source, tmp_path / "out", skip_faulty=True)
    assert list(loaded(made)) == [f"{0:016}", f"{2:016}"]
    assert made.skipped[0]["episode"] == f"{1:016}"


# -- ScreenSpot --------------------------------------------------------------------------------------------------------


def test_screenspot_v2_converts_checks_and_runs(tmp_path: Path) -> None:
    made = convert_screenspot(write_screenspot_v2(tmp_path / "from"), tmp_path / "out")
    assert (made.name, made.episodes, made.screens, made.check.ok) == ("screenspot-v2", 9, 6, True)
    sample = loaded(made)["desktop-0001"]
    (step,) = sample.steps
    assert sample.goal == "press 1"
    assert dict(sample.tags) == {"platform": "desktop", "type": "icon", "group": "windows"}
    assert step.content == {"action": "click", "coordinate": [25.5, 25]}
    assert [box.as_list() for box in step.boxes] == [[10, 20, 41, 30]]
    assert step.screen.size.as_list() == [200, 100]
    summary = oracle(made, "screenspot-v2", tmp_path / "run")
    assert summary["accuracy"] == 100.0
    assert set(summary["groups"]["platform"]) == {"mobile", "desktop", "web"}


def test_screenspot_pro_converts_checks_and_runs(tmp_path: Path) -> None:
    made = convert_screenspot(write_screenspot_pro(tmp_path / "from"), tmp_path / "out")
    assert (made.name, made.episodes, made.screens, made.check.ok) == ("screenspot-pro", 4, 4, True)
    sample = loaded(made)["excel_windows_1"]
    assert dict(sample.tags) == {"platform": "windows", "type": "icon", "group": "Office", "application": "excel"}
    assert sample.steps[0].screen.label == "excel_windows__screenshot_2024-12-03_15-15-01.png"
    assert [box.as_list() for box in sample.steps[0].boxes] == [[47, 18, 50, 22]]
    assert oracle(made, "screenspot-pro", tmp_path / "run")["accuracy"] == 100.0


def test_screenspot_pro_in_chinese(tmp_path: Path) -> None:
    source = write_screenspot_pro(tmp_path / "from")
    made = convert_screenspot(source, tmp_path / "out", language="cn")
    assert loaded(made)["vscode_macos_0"].goal == "刷新 0"
    with pytest.raises(UsageError, match="only ScreenSpot-Pro"):
        convert_screenspot(write_screenspot_v2(tmp_path / "v2"), tmp_path / "x", language="cn")


def test_screenspot_v2_takes_unpacked_pictures_too(tmp_path: Path) -> None:
    source = write_screenspot_v2(tmp_path / "from")
    packed = convert_screenspot(source, tmp_path / "packed")
    with zipfile.ZipFile(source / "screenspotv2_image.zip") as archive:
        archive.extractall(source)
    (source / "screenspotv2_image.zip").unlink()
    unpacked = convert_screenspot(source, tmp_path / "unpacked")
    assert unpacked.file.read_bytes() == packed.file.read_bytes()
    assert {p.name: p.read_bytes() for p in unpacked.images.iterdir()} == {
        p.name: p.read_bytes() for p in packed.images.iterdir()
    }


def test_pictures_that_were_unpacked_beside_the_archive_and_an_out_folder_inside_are_no_confusion(
    tmp_path: Path,
) -> None:
    source = write_screenspot_v2(tmp_path / "from")
    with zipfile.ZipFile(source / "screenspotv2_image.zip") as archive:
        archive.extractall(source)
    first = convert_screenspot(source, source / "out")
    assert convert_screenspot(source, source / "out").screens == first.screens == 6


def test_a_folder_that_holds_neither_or_not_all_says_so(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"screenspot_mobile_v2\.json.*annotations.*neither is there"):
        convert_screenspot(tmp_path, tmp_path / "out")
    source = write_screenspot_v2(tmp_path / "from")
    (source / "screenspot_web_v2.json").unlink()
    with pytest.raises(DataError, match=r"screenspot_web_v2\.json is missing"):
        convert_screenspot(source, tmp_path / "out")


def sample_of(source: Path, **fields: Any) -> None:
    path = source / "annotations" / "vscode_macos.json"
    samples = json.loads(path.read_text())
    samples[1] |= fields
    path.write_text(json.dumps(samples))


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"img_filename": "gone/x.png"}, "'gone/x.png' is not there"),
        ({"img_filename": "../../../../etc/passwd"}, "is not there"),
        ({"bbox": [1, 2]}, "a box is not four numbers"),
        ({"bbox": [9, 9, 3, 3]}, "has no area"),
        ({"bbox": [1e300, 0, 1, 1]}, "a box is not four numbers"),
        ({"img_size": [100, 100]}, "the picture is 384x216, the annotation says 100x100"),
        ({"img_size": None}, "`img_size` is None"),
        ({"instruction": ""}, "`instruction` is missing"),
        ({"ui_type": 3}, "`ui_type` is missing"),
    ],
)
def test_a_sample_that_is_not_as_published_is_named_or_left_out(
    tmp_path: Path, fields: dict[str, Any], complaint: str
) -> None:
    source = write_screenspot_pro(tmp_path / "from")
    sample_of(source, **fields)
    with pytest.raises(DataError, match=rf"^vscode_macos\.json, sample 1: .*{complaint}"):
        convert_screenspot(source, tmp_path / "out")
    made = convert_screenspot(source, tmp_path / "out", skip_faulty=True)
    assert (made.episodes, len(made.skipped)) == (3, 1)


def test_ids_must_be_different(tmp_path: Path) -> None:
    source = write_screenspot_pro(tmp_path / "from")
    sample_of(source, id="vscode_macos_0")
    with pytest.raises(DataError, match="two episodes have the id 'vscode_macos_0'"):
        convert_screenspot(source, tmp_path / "out")


def test_a_damaged_archive_and_a_member_that_lies_are_refused(tmp_path: Path) -> None:
    source = write_screenspot_v2(tmp_path / "from")
    archive = source / "screenspotv2_image.zip"
    whole = archive.read_bytes()
    archive.write_bytes(whole[:-30])
    with pytest.raises(DataError, match="no whole zip archive"):
        convert_screenspot(source, tmp_path / "out")
    at = whole.index(b"IDAT") + 8
    archive.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    with pytest.raises(DataError, match=r"mobile_0\.png cannot be read \(Bad CRC-32"):
        convert_screenspot(source, tmp_path / "out")
    assert not (tmp_path / "out" / "trajectories.jsonl").exists()


def test_annotations_that_are_no_list_are_refused(tmp_path: Path) -> None:
    source = write_screenspot_pro(tmp_path / "from")
    (source / "annotations" / "vscode_macos.json").write_text('{"a": 1}')
    with pytest.raises(DataError, match="should be a list of samples"):
        convert_screenspot(source, tmp_path / "out")


# -- Android in the Wild -----------------------------------------------------------------------------------------------


def write_aitw(folder: Path, shards: int = 2) -> Path:
    folder.mkdir(parents=True)
    for index in range(shards):
        records = [r for e in range(2) for r in aitw_records(f"{index}{e}", f"goal {index}{e}", all_gestures())]
        write_shard(folder / shard_name(index, shards, "general"), records)
    return folder


def test_aitw_converts_checks_and_runs(tmp_path: Path) -> None:
    made = convert_aitw(write_aitw(tmp_path / "from"), tmp_path / "out", jobs=2)
    assert (made.episodes, made.steps, made.check.ok) == (4, 28, True)
    episode = loaded(made)["10"]
    assert [dict(step.content) for step in episode.steps] == [
        {"action": "click", "coordinate": [10, 40]},
        {"action": "swipe", "coordinate": [20, 64], "coordinate2": [20, 16]},
        {"action": "type", "text": "hello"},
        {"action": "system_button", "button": "Back"},
        {"action": "system_button", "button": "Home"},
        {"action": "system_button", "button": "Enter"},
        {"action": "terminate", "status": "success"},
    ]
    assert [box.as_list() for box in episode.steps[0].boxes] == [[8, 36, 12, 44], [4, 32, 20, 56]]
    assert dict(episode.tags) == {"subset": "general", "device": "pixel_4"}
    summary = oracle(made, "sop", tmp_path / "run", profile="strict")
    assert (summary["pg"], summary["tsr"]) == (100.0, 100.0)


def test_aitw_that_tensorflow_wrote_converts(tmp_path: Path) -> None:
    """`golden_aitw/` was written by TensorFlow's TFRecordWriter (`make_golden.py`)."""
    made = convert_aitw(HERE / "golden_aitw", tmp_path / "out")
    episode = loaded(made)["16150593985172894737"]
    assert episode.goal == "What’s the news in Chile?"
    assert [step.kind for step in episode.steps] == [
        "click",
        "swipe",
        "type",
        "system_button",
        "system_button",
        "system_button",
        "terminate",
    ]
    assert len(episode.steps[0].boxes) == 2
    picture = Image.open(made.images / "16150593985172894737_2.png")
    assert (picture.size, picture.getpixel((3, 3))) == ((12, 24), (80, 20, 40))


def test_raw_pixels_become_the_same_pixels(tmp_path: Path) -> None:
    made = convert_aitw(write_aitw(tmp_path / "from", shards=1), tmp_path / "out")
    picture = Image.open(made.images / "00_3.png")
    assert (picture.size, picture.mode, picture.getpixel((39, 79))) == ((40, 80), "RGB", (150, 170, 190))


@pytest.mark.parametrize(("lift", "kind"), [((0.5, 0.289), "click"), ((0.5, 0.291), "swipe")])
def test_a_gesture_is_a_tap_up_to_a_twenty_fifth_of_the_screen(
    tmp_path: Path, lift: tuple[float, float], kind: str
) -> None:
    source = tmp_path / "from"
    source.mkdir()
    write_shard(source / shard_name(0, 1, "general"), aitw_records("1", "g", [Gesture(4, (0.5, 0.25), lift)]))
    assert loaded(convert_aitw(source, tmp_path / "out"))["1"].steps[0].kind == kind


def test_a_task_that_is_impossible_is_no_success(tmp_path: Path) -> None:
    source = tmp_path / "from"
    source.mkdir()
    write_shard(source / shard_name(0, 1, "general"), aitw_records("1", "g", [Gesture(11)]))
    episode = loaded(convert_aitw(source, tmp_path / "out"))["1"]
    assert (episode.steps[0].content["status"], episode.is_successful) == ("failure", False)


def test_splits_of_aitw_choose_episodes(tmp_path: Path) -> None:
    source = write_aitw(tmp_path / "from")
    (tmp_path / "standard.json").write_text(json.dumps({"train": ["00"], "test": ["01", "10"]}))
    made = convert_aitw(source, tmp_path / "out", splits=tmp_path / "standard.json", split="test")
    assert list(loaded(made)) == ["01", "10"]
    with pytest.raises(UsageError, match="go together"):
        convert_aitw(source, tmp_path / "x", split="test")


def test_an_episode_that_a_shard_does_not_hold_whole_is_named(tmp_path: Path) -> None:
    source = tmp_path / "from"
    source.mkdir()
    whole, cut = (aitw_records(name, "g", all_gestures()) for name in ("1", "2"))
    write_shard(source / shard_name(0, 1, "general"), [*cut[:3], *whole, *cut[3:]])
    with pytest.raises(DataError, match=r"records 0 to 2 \(episode 2\): the episode has 7 steps, here are 3"):
        convert_aitw(source, tmp_path / "out")
    made = convert_aitw(source, tmp_path / "out", skip_faulty=True)
    assert list(loaded(made)) == ["1"]
    assert [item["reason"] for item in made.skipped] == [
        "the episode has 7 steps, here are 3",
        "step 0: it is number 3 of the episode's 7",
    ]


@pytest.mark.parametrize(
    ("gesture", "complaint"),
    [
        (Gesture(2), "action type 2 is none"),
        (Gesture(4, (0.5, 1.2), (0.5, 0.5)), "not two fractions of the screen"),
        (Gesture(4, (float("nan"), 0.5), (0.5, 0.5)), "not two fractions of the screen"),
        (Gesture(4, (0.5, 0.5), (0.5, 0.5), boxes=((float("inf"), 0.0, 1.0, 1.0),)), "position is no number"),
    ],
)
def test_an_aitw_step_that_is_not_as_published_is_named(tmp_path: Path, gesture: Gesture, complaint: str) -> None:
    source = tmp_path / "from"
    source.mkdir()
    write_shard(source / shard_name(0, 1, "general"), aitw_records("1", "g", [Gesture(5), gesture]))
    with pytest.raises(
        DataError, match=rf"general-00000-of-00001, records 0 to the end \(episode 1\): step 1: .*{complaint}"
    ):
        convert_aitw(source, tmp_path / "out")


def test_an_episode_id_that_leads_elsewhere_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "from"
    source.mkdir()
    write_shard(source / shard_name(0, 1, "general"), aitw_records("../../x", "g", [Gesture(5)]))
    with pytest.raises(DataError, match="cannot be part of a file's name"):
        convert_aitw(source, tmp_path / "out")


def test_lists_of_instructions_become_tasks(tmp_path: Path) -> None:
    (tmp_path / "from").mkdir()
    (tmp_path / "from" / "general_test.txt").write_text("Open the clock\nWhat's the news in Japan?\n\nCheck my email\n")
    (tmp_path / "from" / "webshop_train.txt").write_text("Go to ebay.com, search for “razer”\n")
    made = convert_tasks(tmp_path / "from", tmp_path / "out")
    tasks = [json.loads(line) for line in made.file.read_text().splitlines()]
    assert [task["id"] for task in tasks] == [
        "general_test-0000",
        "general_test-0001",
        "general_test-0002",
        "webshop_train-0000",
    ]
    assert tasks[2]["goal"] == "Check my email"
    assert tasks[3]["tags"] == {"subset": "webshop", "split": "train"}
    assert convert_tasks(tmp_path / "from", tmp_path / "first", limit=1).count == 2
    (tmp_path / "from" / "bad_test.txt").write_bytes(b"caf\xe9")
    with pytest.raises(DataError, match=r"bad_test\.txt is not UTF-8"):
        convert_tasks(tmp_path / "from", tmp_path / "x")


# -- the command -------------------------------------------------------------------------------------------------------


def sopbench_data(*arguments: object) -> Any:
    return subprocess.run(
        [sys.executable, "-m", "sopbench", "data", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        env=dict(os.environ),
    )


def test_the_command_says_what_it_made_and_that_the_check_is_clean(tmp_path: Path) -> None:
    source = write_screenspot_pro(tmp_path / "from")
    done = sopbench_data("convert", "screenspot", "--from", source, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "screenspot-pro: 4 episodes, 4 steps" in done.stdout
    assert "The check is clean" in done.stdout
    assert f"sopbench run --suite screenspot-pro --data {tmp_path / 'out' / 'trajectories.jsonl'}" in done.stdout


def test_the_command_fails_where_the_check_finds_errors(tmp_path: Path) -> None:
    """A gold point off its screen: these are not the recording's screens."""
    source = write_screenspot_v2(tmp_path / "from")
    path = source / "screenspot_web_v2.json"
    samples = json.loads(path.read_text())
    samples[0]["bbox"] = [500, 20, 31, 10]
    path.write_text(json.dumps(samples))
    done = sopbench_data("convert", "screenspot", "--from", source, "--out", tmp_path / "out", "--json")
    assert done.returncode == 2
    assert json.loads(done.stdout)["check"]["findings"]["point_outside_screen"] == 1
    done = sopbench_data("convert", "screenspot", "--from", source, "--out", tmp_path / "out")
    assert "The check is not clean: sopbench data check" in done.stdout


def test_a_wrong_choice_is_one_line(tmp_path: Path) -> None:
    done = sopbench_data("convert", "androidcontrol", "--from", tmp_path, "--out", tmp_path / "o", "--horizontal", "up")
    assert (done.returncode, done.stderr) == (2, "error: --horizontal up: it is `released` or `consistent`\n")
