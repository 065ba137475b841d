"""AndroidControl's shards as a whole: converted, checked, played, stopped and resumed, damaged, and too large for the disk."""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import struct
import subprocess
import sys
import time
import zlib
from pathlib import Path
from typing import Any

import psutil
import pytest

import sopbench
from sopbench.datasets import shards as engine
from sopbench.datasets.androidcontrol import AndroidControl
from sopbench.datasets.from_androidcontrol import convert_androidcontrol
from sopbench.datasets.output import DiskFull, alone_in
from sopbench.datasets.shards import Told
from sopbench.errors import DataError, RunBusy, UsageError
from sopbench.trajectory import load_trajectories
from tests.integration.datasets.archives import (
    EpisodeSpec,
    NodeSpec,
    Recorded,
    as_published,
    every_action,
    png,
    shard_name,
    write_androidcontrol,
    write_shard,
)
from tests.placeholders import size_for

HERE = Path(__file__).parent
RELEASED = (
    Path(os.environ.get("SOPBENCH_SHARED", HERE.parents[3] / "shared"))
    / "data"
    / "android_control_evaluation_std.jsonl"
)
needs_released = pytest.mark.skipif(not RELEASED.is_file(), reason="the released SOP file is not in SOPBENCH_SHARED")


def simple(count: int = 6, first: int = 10) -> list[EpisodeSpec]:
    click = Recorded({"action_type": "click", "x": 20, "y": 20}, "press it", [NodeSpec((10, 10, 30, 30))])
    return [EpisodeSpec(first + e, f"goal {e}", [click] * (1 + e % 3)) for e in range(count)]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def half_files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.name.endswith(".tmp")]


# -- what comes out ----------------------------------------------------------------------------------------------------


def test_a_shard_that_tensorflow_wrote_converts_checks_and_runs(tmp_path: Path) -> None:
    """`golden_ac/` was written by TensorFlow's TFRecordWriter with android_env's own messages (`make_golden.py`)."""
    made = convert_androidcontrol(HERE / "golden_ac", tmp_path / "out", split="test")
    ours = write_androidcontrol(tmp_path / "ours", [every_action()], shards=1)
    same = convert_androidcontrol(ours, tmp_path / "same", split="test")
    theirs, mine = (json.loads(c.file.read_text()) for c in (made, same))
    assert {**theirs, "tags": {}} == {**mine, "tags": {}}
    assert made.check.ok
    assert len(theirs["steps"]) == 12


def test_converted_episodes_run_and_the_oracle_is_right(tmp_path: Path) -> None:
    source = write_androidcontrol(tmp_path / "from", [every_action(1), *simple()])
    made = convert_androidcontrol(source, tmp_path / "out")
    assert (made.episodes, made.check.ok) == (7, True)
    for profile in ("uis1-released", "uis1-boxes", "strict", "androidcontrol"):
        run = sopbench.run(
            suite="sop",
            data=made.file,
            images=made.images,
            model="builtin:oracle",
            profile=profile,
            out=tmp_path / profile,
        )
        assert (run.summary["pg"], run.summary["tsr"], run.summary["complete"]) == (100.0, 100.0, True)


def test_the_manifest_says_what_was_made_of_what(tmp_path: Path) -> None:
    source = write_androidcontrol(tmp_path / "from", [EpisodeSpec(3, "nothing", []), *simple()])
    made = convert_androidcontrol(source, tmp_path / "out", split="test")
    manifest = json.loads((tmp_path / "out" / "conversion.json").read_text())
    assert manifest["trajectories"] == {
        "file": "trajectories.jsonl",
        "sha256": made.check.sha256,
        "episodes": 6,
        "steps": 12,
    }
    assert [item["name"] for item in manifest["sources"]] == [
        shard_name(0, 2),
        shard_name(1, 2),
        "splits.json",
        "test_subsplits.json",
    ]
    assert manifest["skipped"] == [
        {"episode": "3", "where": f"{shard_name(0, 2)}, record 0", "reason": "no action in it"}
    ]
    assert "visible clickable nodes" in manifest["facts"]["candidate_boxes"]
    assert manifest["screens"]["files"] == 12


def test_split_takes_the_episodes_of_that_split_and_tags_them(tmp_path: Path) -> None:
    episodes = simple(4)
    source = write_androidcontrol(tmp_path / "from", episodes, splits={"train": [10, 13], "test": [12, 11]})
    made = convert_androidcontrol(source, tmp_path / "out", split="test")
    loaded = {t.id: t for t in load_trajectories(made.file)}
    assert sorted(loaded) == ["11", "12"]
    assert dict(loaded["11"].tags) == {"split": "test", "unseen": "app"}
    assert dict(loaded["12"].tags) == {"split": "test", "unseen": "app+category"}
    with pytest.raises(UsageError, match=r"--split exam: splits.json has test, train"):
        convert_androidcontrol(source, tmp_path / "out", split="exam")


def test_the_number_of_processes_changes_nothing(tmp_path: Path) -> None:
    source = write_androidcontrol(tmp_path / "from", simple(9), shards=4)
    convert_androidcontrol(source, tmp_path / "one", jobs=1)
    convert_androidcontrol(source, tmp_path / "two", jobs=2)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_limit_takes_the_first_episodes_of_the_first_shards(tmp_path: Path) -> None:
    source = write_androidcontrol(tmp_path / "from", simple(6), shards=3)
    made = convert_androidcontrol(source, tmp_path / "out", limit=3, jobs=2)
    assert [t.id for t in load_trajectories(made.file)] == ["10", "13", "11"]
    assert len(list(made.images.iterdir())) == made.screens


# -- the released SOP file ---------------------------------------------------------------------------------------------


def published(count: int) -> list[EpisodeSpec]:
    """Records that the first episodes of the released file must have come from, with small files of the right sizes as screens."""
    blank: dict[tuple[int, int], bytes] = {}
    episodes = []
    for trajectory in load_trajectories(RELEASED, limit=count):
        size = size_for(trajectory)
        wide = any(step.kind == "swipe" and step.content["coordinate"] == [720, 2340] for step in trajectory.steps)
        key = (1440, 3120) if wide else (size.width, size.height)
        if key not in blank:
            blank[key] = png(*key)
        episodes.append(as_published(trajectory, key, [blank[key]] * (len(trajectory) + 1)))
    return episodes


@needs_released
def test_records_of_the_released_file_convert_to_the_released_file(tmp_path: Path) -> None:
    source = write_androidcontrol(tmp_path / "from", published(60))
    made = convert_androidcontrol(source, tmp_path / "out", sop=RELEASED, jobs=2)
    theirs = {t.id: t for t in load_trajectories(RELEASED)}
    steps = 0
    for trajectory in load_trajectories(made.file):
        released = theirs[trajectory.id]
        assert trajectory.goal == released.goal
        for mine, step in zip(trajectory.steps, released.steps, strict=True):
            steps += 1
            assert mine.content == step.content
            assert mine.instruction == step.instruction
            assert mine.screen.label == step.screen.label
            assert set(mine.boxes) == set(step.boxes)
            assert mine.check_options.get("direction") == step.check_options.get("direction")
    assert steps > 250
    assert (
        f"of {steps:,} steps that both have, {steps:,} have the SOP file's action and {steps:,} its candidate boxes"
        in made.notes[1]
    )
    assert "1483 episodes of the SOP file are in none of the shards" in made.notes[0]


@needs_released
def test_only_sop_extracts_the_episodes_and_screens_of_the_sop_file_and_checks_them(tmp_path: Path) -> None:
    lines = RELEASED.read_bytes().splitlines(keepends=True)
    sop = tmp_path / "sop.jsonl"
    sop.write_bytes(b"".join(lines[:20]))
    source = write_androidcontrol(tmp_path / "from", [*published(20), *simple(first=900_000)], shards=3)
    made = convert_androidcontrol(source, tmp_path / "out", sop=sop, only_sop=True, jobs=2)
    assert made.file.name == "sop.jsonl"
    assert made.file.read_bytes() == sop.read_bytes()
    steps = [step for t in load_trajectories(sop) for step in t.steps]
    assert sorted(path.name for path in made.images.iterdir()) == sorted(step.screen.label for step in steps)
    assert made.check.ok
    assert made.notes == [
        f"of {len(steps)} steps that both have, {len(steps)} have the SOP file's action and {len(steps)} its candidate boxes"
    ]
    run = sopbench.run(suite="sop", data=made.file, images=made.images, model="builtin:oracle", out=tmp_path / "run")
    assert (run.summary["score"], run.summary["n"]) == (100.0, 20)


@pytest.mark.slow
@needs_released
def test_the_whole_released_file_comes_back_from_its_records(tmp_path: Path) -> None:
    source = write_androidcontrol(tmp_path / "from", published(1_543), shards=20)
    made = convert_androidcontrol(source, tmp_path / "out", sop=RELEASED, only_sop=True, jobs=2)
    assert made.notes == [
        "of 8,444 steps that both have, 8,444 have the SOP file's action and 8,444 its candidate boxes"
    ]
    assert (made.episodes, made.steps, made.screens, made.check.ok) == (1_543, 8_444, 8_444, True)
    assert made.file.read_bytes() == RELEASED.read_bytes()


@needs_released
def test_only_sop_with_a_shard_too_few_says_what_is_missing(tmp_path: Path) -> None:
    source = write_androidcontrol(tmp_path / "from", published(4), shards=2)
    (source / shard_name(1, 2)).unlink()
    with pytest.raises(DataError, match=r"1 shards are missing \(android_control-00001\).*--partial"):
        convert_androidcontrol(source, tmp_path / "out", sop=RELEASED, only_sop=True)
    made = convert_androidcontrol(source, tmp_path / "out", sop=RELEASED, only_sop=True, partial=True)
    assert not made.check.ok
    assert made.notes[0].startswith("1541 episodes of the SOP file are in none of the shards")


def test_only_sop_needs_the_file_and_goes_with_no_other_choice(tmp_path: Path) -> None:
    source = write_androidcontrol(tmp_path / "from", simple())
    with pytest.raises(UsageError, match="--sop FILE"):
        convert_androidcontrol(source, tmp_path / "out", only_sop=True)
    with pytest.raises(UsageError, match="--limit"):
        convert_androidcontrol(source, tmp_path / "out", only_sop=True, sop=RELEASED, limit=3)


# -- stopped and resumed -----------------------------------------------------------------------------------------------


def test_finished_shards_are_not_read_again(tmp_path: Path) -> None:
    source = write_androidcontrol(tmp_path / "from", simple(), shards=3)
    convert_androidcontrol(source, tmp_path / "out")
    before = {
        name: (tmp_path / "out" / name).stat().st_mtime_ns for name in contents(tmp_path / "out") if "images" in name
    }
    told: list[Told] = []
    convert_androidcontrol(source, tmp_path / "out", watch=lambda t, total: told.append(t))
    assert (told[-1].skipped_shards, told[-1].episodes, told[-1].written) == (3, 0, 0)
    assert {name: (tmp_path / "out" / name).stat().st_mtime_ns for name in before} == before


@pytest.mark.parametrize(
    "damage", ["a screen is gone", "a screen is cut", "the lines are changed", "other rules", "another shard"]
)
def test_a_shard_is_converted_again_where_anything_is_not_as_it_was(tmp_path: Path, damage: str) -> None:
    source = write_androidcontrol(tmp_path / "from", simple(), shards=3)
    out = tmp_path / "out"
    convert_androidcontrol(source, out)
    whole = contents(out)
    screen, lines = out / "images" / "10_0.png", out / ".parts" / f"{shard_name(0, 3)}.jsonl"
    options: dict[str, Any] = {}
    if damage == "a screen is gone":
        screen.unlink()
    elif damage == "a screen is cut":
        screen.write_bytes(screen.read_bytes()[:-1])
    elif damage == "the lines are changed":
        lines.write_bytes(lines.read_bytes() + b"\n")
    elif damage == "other rules":
        options["horizontal"] = "consistent"
    else:
        write_shard(source / shard_name(0, 3), [e.record() for e in (*simple()[0::3], every_action(999))])
    told: list[Told] = []
    convert_androidcontrol(source, out, watch=lambda t, total: told.append(t), **options)
    assert told[-1].skipped_shards == (0 if damage == "other rules" else 2)
    if damage not in ("other rules", "another shard"):
        assert contents(out) == whole


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "sopbench", "data", "convert", "androidcontrol", *map(str, arguments)]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_conversion_that_was_stopped_goes_on_and_ends_as_if_it_had_not_been(
    tmp_path: Path, how: signal.Signals
) -> None:
    large = [EpisodeSpec(e.id, e.goal, e.steps, (60, 120), [_noise(e.id)] * (len(e.steps) + 1)) for e in simple(90)]
    source = write_androidcontrol(tmp_path / "from", large, shards=30)
    out = tmp_path / "out"
    arguments = ("--from", source, "--out", out, "--jobs", 2)
    with subprocess.Popen(command(*arguments), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + 60
        while len(list((out / ".parts").glob("*.json"))) < 2 and time.monotonic() < deadline:
            time.sleep(0.002)
        workers = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(how)
        process.wait(60)
    assert workers
    _, alive = psutil.wait_procs(workers, timeout=30)
    assert alive == [], "processes outlived the conversion"
    assert not (out / "trajectories.jsonl").exists()
    if how is signal.SIGINT:
        assert process.returncode == 130
        assert half_files(out) == []
    for marker in (out / ".parts").glob("*.json"):
        for name, size in json.loads(marker.read_text())["part"]["screens"].items():
            assert (out / "images" / name).stat().st_size == size
    done = subprocess.run(command(*arguments), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert half_files(out) == []
    convert_androidcontrol(source, tmp_path / "at once")
    assert contents(out) == contents(tmp_path / "at once")


def test_a_shard_that_is_told_to_stop_ends_after_its_present_episode_and_is_not_taken_for_done(tmp_path: Path) -> None:
    source = write_androidcontrol(tmp_path / "from", simple(), shards=1)
    out = tmp_path / "out"
    (out / ".parts").mkdir(parents=True)
    (out / "images").mkdir()
    job = engine.Job(AndroidControl(), source / shard_name(0, 1), out, None, False, "key")
    asked: list[None] = []
    with pytest.raises(engine.Stopped):
        engine.convert_shard(job, engine.Worker(stop=lambda: asked.append(None) or len(asked) > 2))  # type: ignore[func-returns-value]
    assert sorted({path.name.split("_")[0] for path in (out / "images").iterdir()}) == ["10", "11"]
    assert not job.marker.exists()
    assert not job.lines.exists()


def _noise(seed: int) -> bytes:
    """A PNG with a long chunk that decoders pass over, so that writing it takes a moment."""
    data = random.Random(seed).randbytes(400_000)
    whole = png(seed=seed)
    chunk = struct.pack(">I", len(data)) + b"teXt" + data + struct.pack(">I", zlib.crc32(b"teXt" + data))
    return whole[:-12] + chunk + whole[-12:]


# -- damage ------------------------------------------------------------------------------------------------------------


def damaged(path: Path, how: str) -> None:
    data = path.read_bytes()
    if how == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif how == "crc":
        raw = bytearray(gzip.decompress(data))
        raw[len(raw) // 2] ^= 1
        path.write_bytes(gzip.compress(bytes(raw), 1))
    else:
        write_shard(
            path, [every_action(4).record(), b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", every_action(5).record()]
        )


@pytest.mark.parametrize(
    ("how", "complaint"),
    [
        ("cut", r"ends in the middle of record \d"),
        ("crc", r"record \d: its data does not have the checksum"),
        ("hostile", r"record 1: field 1 claims 9223372036854775807 bytes"),
    ],
)
@pytest.mark.parametrize("jobs", [1, 2])
def test_a_damaged_shard_is_named_the_others_are_converted_and_nothing_is_half_written(
    tmp_path: Path, how: str, complaint: str, jobs: int
) -> None:
    source = write_androidcontrol(tmp_path / "from", simple(9), shards=3)
    whole = (source / shard_name(1, 3)).read_bytes()
    damaged(source / shard_name(1, 3), how)
    out = tmp_path / "out"
    with pytest.raises(DataError, match=f"{shard_name(1, 3)}.*{complaint}"):
        convert_androidcontrol(source, out, jobs=jobs)
    assert not (out / "trajectories.jsonl").exists()
    assert not (out / "conversion.json").exists()
    assert half_files(out) == []
    assert sorted(path.stem for path in (out / ".parts").glob("*.json")) == [shard_name(0, 3), shard_name(2, 3)]
    (source / shard_name(1, 3)).write_bytes(whole)
    told: list[Told] = []
    made = convert_androidcontrol(source, out, jobs=jobs, watch=lambda t, total: told.append(t))
    assert (told[-1].skipped_shards, made.episodes) == (2, 9)


def test_skip_faulty_leaves_out_what_is_wrong_and_says_what(tmp_path: Path) -> None:
    bad = every_action(50).record(goal=[b"\xff\xfe"])
    source = write_androidcontrol(tmp_path / "from", simple(2), shards=1)
    write_shard(source / shard_name(0, 1), [every_action(51).record(), bad, every_action(52).record()])
    with pytest.raises(DataError, match=r"record 1 \(episode 50\): `goal` 0 is not UTF-8.*--skip-faulty"):
        convert_androidcontrol(source, tmp_path / "out")
    made = convert_androidcontrol(source, tmp_path / "out", skip_faulty=True)
    assert [t.id for t in load_trajectories(made.file)] == ["51", "52"]
    assert [item["episode"] for item in made.skipped] == ["50"]


def test_an_episode_in_two_shards_is_refused(tmp_path: Path) -> None:
    source = write_androidcontrol(tmp_path / "from", [every_action(1), every_action(1)], shards=2)
    with pytest.raises(DataError, match=f"episode 1 stands in {shard_name(0, 2)} and in {shard_name(1, 2)}"):
        convert_androidcontrol(source, tmp_path / "out")


def test_a_folder_without_shards_says_how_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="sopbench data pull androidcontrol"):
        convert_androidcontrol(tmp_path, tmp_path / "out")
    with pytest.raises(UsageError, match="no such folder"):
        convert_androidcontrol(tmp_path / "none", tmp_path / "out")


# -- a full disk -------------------------------------------------------------------------------------------------------


def test_a_disk_that_is_too_small_is_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_androidcontrol(tmp_path / "from", simple())
    monkeypatch.setattr("sopbench.datasets.output.free_bytes", lambda folder: 1000)
    with pytest.raises(DiskFull, match=r"needs about .* kB in .*, and 1\.0 kB are free.*--only-sop"):
        convert_androidcontrol(source, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.fixture
def small_disk(tmp_path: Path) -> Any:
    """A file system of 1 MB: a tmpfs where this process may mount one."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)], capture_output=True)
    if mounted.returncode:
        pytest.skip("may not mount a tmpfs here: the test with a file size limit covers the same error")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_disk_that_fills_up_leaves_no_half_file_and_the_conversion_goes_on_with_room(
    tmp_path: Path, small_disk: Path, jobs: int
) -> None:
    large = [EpisodeSpec(e.id, e.goal, e.steps[:1], (60, 120), [_noise(e.id)] * 2) for e in simple(8)]
    source = write_androidcontrol(tmp_path / "from", large, shards=4)
    out = small_disk / "out"
    with pytest.raises(DiskFull, match=r"no room in .*No space left on device.*same command again"):
        convert_androidcontrol(source, out, jobs=jobs, space_check=False)
    assert half_files(out) == []
    written = list((out / "images").iterdir())
    assert written
    assert all(path.read_bytes() == _noise(int(path.name.split("_")[0])) for path in written)
    assert not (out / "trajectories.jsonl").exists()
    subprocess.run(["mount", "-o", "remount,size=20m", str(small_disk)], check=True)
    assert convert_androidcontrol(source, out, jobs=jobs, space_check=False).episodes == 8


def test_a_file_size_limit_is_a_full_disk_too(tmp_path: Path) -> None:
    source = write_androidcontrol(
        tmp_path / "from",
        [EpisodeSpec(1, "g", [Recorded({"action_type": "wait"})], (60, 120), [_noise(1)] * 2)],
        shards=1,
    )
    out = tmp_path / "out"
    limited = f"ulimit -f 100; trap '' XFSZ; exec {sys.executable} -m sopbench data convert androidcontrol --from {source} --out {out}"
    done = subprocess.run(["bash", "-c", limited], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr.startswith("error: no room in ")
    assert "Traceback" not in done.stderr
    assert list((out / "images").iterdir()) == []


# -- processes ---------------------------------------------------------------------------------------------------------


def test_a_process_that_is_killed_is_an_error_that_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_androidcontrol(tmp_path / "from", simple(), shards=2)
    monkeypatch.setattr(engine, "_work", _die)
    with pytest.raises(DataError, match=r"was killed.*--jobs"):
        convert_androidcontrol(source, tmp_path / "out", jobs=2)


def _die(job: Any) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def test_two_conversions_do_not_share_a_folder(tmp_path: Path) -> None:
    source = write_androidcontrol(tmp_path / "from", simple())
    with (
        alone_in(tmp_path / "out", "--out"),
        pytest.raises(RunBusy, match="another sopbench is at work in that folder"),
    ):
        convert_androidcontrol(source, tmp_path / "out")
    assert convert_androidcontrol(source, tmp_path / "out").episodes == 6
