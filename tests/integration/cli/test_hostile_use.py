"""Odd terminals, odd places, two at once, forged folders: the command line says what is wrong and loses nothing."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import subprocess
from pathlib import Path
from typing import Any

import pytest
from commands import SOPBENCH, assert_clear_error, sopbench, start
from fault_server import answer
from recordings import SWIPE, Recording, make_recording, says

from sopbench.runs.fingerprint import fingerprint


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    return make_recording(tmp_path / "data", n=3, length=2)


def run(recording: Recording, *args: str | Path, model: str = "builtin:oracle", **more: Any) -> Any:
    """`sopbench run` on the recording, without a report unless `args` ask for one."""
    data = ["--suite", "sop", "--data", recording.file, "--images", recording.images, "--model", model]
    return sopbench("run", *data, *([] if "--report" in args else ["--no-report"]), *args, **more)


@pytest.fixture
def done(recording: Recording, tmp_path: Path) -> Path:
    """The folder of a complete run."""
    out = tmp_path / "done"
    assert run(recording, "--out", out).returncode == 0
    return out


# -- terminals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_a_terminal_that_knows_few_characters_gets_escapes(tmp_path: Path, encoding: str) -> None:
    recording = make_recording(tmp_path / "data", n=1, length=1, goal="打开设置")
    out = tmp_path / "打开"
    ran = run(recording, "--out", out, env={"PYTHONIOENCODING": encoding})
    assert ran.returncode == 0, ran.stderr
    assert "100.0" in ran.stdout
    for verb in (["show", out], ["compare", out, out], ["data", "check", recording.file], ["suites"], ["adapters"]):
        assert sopbench(*verb, env={"PYTHONIOENCODING": encoding}).returncode == 0


def test_a_narrow_terminal_still_shows_every_number(done: Path) -> None:
    shown = sopbench("show", done, env={"COLUMNS": "10"})
    assert shown.stdout.count("100.0") >= 9
    assert "…" not in shown.stdout


def test_output_that_nobody_reads_ends_quietly(done: Path) -> None:
    for verb in (["show", done], ["show", done, "--json"]):
        reader, writer = os.pipe()
        os.close(reader)
        try:
            shown = sopbench(*verb, stdout=writer, stderr=subprocess.PIPE)
        finally:
            os.close(writer)
        assert shown.stderr == ""


@pytest.mark.parametrize("closed", [0, 1, 2])
def test_a_closed_standard_stream_is_no_crash(recording: Recording, tmp_path: Path, closed: int) -> None:
    line = '{"screen":[9,9],"pred":{"action":"wait"},"gold":{"action":"wait"}}\n'
    judged = sopbench("judge", "--profile", "strict", input=line, preexec_fn=lambda: os.close(closed))
    assert (judged.returncode, "Traceback" in judged.stderr) == (0, False)
    ran = run(recording, "--out", tmp_path / "run", "--json", preexec_fn=lambda: os.close(closed))
    assert ran.returncode == 0
    if closed == 2:
        assert json.loads(ran.stdout)["tsr"] == 100.0


def test_errors_of_a_run_without_standard_error_do_not_land_in_its_json(tmp_path: Path) -> None:
    shown = sopbench("show", tmp_path, "--json", preexec_fn=lambda: os.close(2))
    assert (shown.returncode, shown.stdout) == (2, "")


def test_a_full_disk_under_the_output_is_said(done: Path) -> None:
    with open("/dev/full", "w") as full:
        shown = sopbench("show", done, stdout=full, stderr=subprocess.PIPE)
    assert shown.returncode == 2
    assert "No space left on device" in shown.stderr


# -- places ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["a b", 'it\'s "quoted"', "line\nbreak", "\x1b[31mred", b"\xff\xfe bytes", "-dash", "$(id)"]
)
def test_any_folder_name_works_and_is_quoted_for_the_shell(
    tmp_path: Path, name: str | bytes, fault_server: Any
) -> None:
    place = tmp_path / os.fsdecode(name)
    recording = make_recording(place / "data", n=2, length=1)
    server = fault_server(answer(says(SWIPE)))
    (recording.images / "1_0.png").rename(recording.images / "aside.png")
    out = place / "run"
    first = run(recording, "--out", out, "--base-url", server.base_url, model="tiny")
    assert first.returncode == 3, first.stderr
    (recording.images / "aside.png").rename(recording.images / "1_0.png")
    if isinstance(name, str) and name.isprintable():
        [line] = [line for line in first.stderr.splitlines() if "sopbench resume" in line]
        words = line[line.index("sopbench resume") :].replace("sopbench", str(SOPBENCH), 1)
        again = subprocess.run(["sh", "-c", f"{words} --no-report"], capture_output=True, text=True, check=False)
        assert again.returncode == 0, again.stderr
    again = sopbench("resume", out, "--json")
    assert json.loads(again.stdout)["tsr"] == 100.0
    assert sopbench("show", out).returncode == 0
    assert sopbench("report", out).returncode == 0


def test_relative_paths_hold_when_the_run_is_resumed_from_elsewhere(recording: Recording, tmp_path: Path) -> None:
    args = ["--suite", "sop", "--data", "data.jsonl", "--images", "images", "--model", "builtin:oracle", "--no-report"]
    home = recording.file.parent
    assert sopbench("run", *args, "--out", "run", cwd=home).returncode == 0
    (tmp_path / "elsewhere").mkdir()
    again = sopbench("resume", home / "run", "--json", cwd=tmp_path / "elsewhere")
    assert json.loads(again.stdout)["tsr"] == 100.0


def test_an_empty_environment_is_enough(recording: Recording, tmp_path: Path) -> None:
    args = [
        "run",
        "--suite",
        "sop",
        "--data",
        recording.file,
        "--images",
        recording.images,
        "--model",
        "builtin:oracle",
    ]
    ran = subprocess.run(
        [SOPBENCH, *args, "--out", tmp_path / "run"],
        env={"SOPBENCH_OFFLINE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "run" / "report.html").is_file()


@pytest.mark.parametrize("taken", ["file", "folder", "below a file"])
def test_a_place_that_is_taken_is_left_alone(recording: Recording, tmp_path: Path, taken: str) -> None:
    out = tmp_path / "mine"
    if taken == "folder":
        out.mkdir()
        (out / "thesis.txt").write_text("x")
    else:
        out.write_text("x")
    assert_clear_error(run(recording, "--out", out / "run" if taken == "below a file" else out))
    assert (out / "thesis.txt" if taken == "folder" else out).read_text() == "x"


def test_a_leftover_of_a_killed_start_does_not_take_the_place(recording: Recording, tmp_path: Path) -> None:
    out = tmp_path / "run"
    out.mkdir()
    (out / ".run.json.0a1b2c3d.tmp").write_text('{"v": 1, "id":')
    assert run(recording, "--out", out).returncode == 0


def test_a_disk_that_fills_up_keeps_what_was_written(tmp_path: Path) -> None:
    """The limit on a file's size stands for the disk: what the system says differs, where it says it does not."""
    recording = make_recording(tmp_path / "data", n=40, length=4)
    out = tmp_path / "run"
    small = (20_000, resource.RLIM_INFINITY)
    full = run(recording, "--out", out, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, small))
    assert_clear_error(full, "steps.jsonl", "sopbench resume")
    assert 0 < (out / "steps.jsonl").stat().st_size <= 20_000
    assert (out / "steps.jsonl").read_bytes().endswith(b"}\n")
    again = sopbench("resume", out, "--json")
    assert json.loads(again.stdout)["scored_steps"] == 160


def test_too_few_open_files_for_the_concurrency_is_said_before_the_run(recording: Recording, tmp_path: Path) -> None:
    few = (256, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    ran = run(
        recording,
        *("--base-url", "http://127.0.0.1:1", "--concurrency", "2000", "--out", tmp_path / "run"),
        model="tiny",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, few),
    )
    assert_clear_error(ran, "ulimit -n")
    assert not (tmp_path / "run").exists()


# -- two at once -------------------------------------------------------------------------------------------------------


def test_two_different_runs_started_into_one_folder_do_not_mix(tmp_path: Path) -> None:
    """Whoever is first has the folder: run.json and journal are of the same run, whichever that is."""
    recording = make_recording(tmp_path / "data", n=60, length=2)
    data = ["--suite", "sop", "--data", recording.file, "--images", recording.images, "--no-report"]
    for attempt in range(4):
        out = tmp_path / f"run{attempt}"
        both = [start("run", *data, "--out", out, "--model", f"builtin:{model}") for model in ("oracle", "null")]
        errors = [process.communicate(timeout=60)[1] for process in both]
        assert sorted(process.returncode for process in both) == [0, 2], errors
        recorded = json.loads((out / "run.json").read_text())["facts"]["model"]
        lines = [json.loads(line) for line in (out / "steps.jsonl").read_text().splitlines()]
        assert {line["model"] for line in lines} == {recorded}


def test_the_same_run_twice_at_once_asks_nothing_twice(recording: Recording, tmp_path: Path, fault_server: Any) -> None:
    server = fault_server(answer(says(SWIPE), delay=0.3))
    data = ["--suite", "sop", "--data", recording.file, "--images", recording.images, "--no-report"]
    args = [*data, "--out", tmp_path / "run", "--model", "tiny", "--base-url", server.base_url]
    both = [start("run", *args), start("run", *args)]
    errors = [process.communicate(timeout=60)[1] for process in both]
    assert sorted(process.returncode for process in both) == [0, 2], errors
    assert any("another process" in error for error in errors)
    assert server.count == 6


# -- scoring again -----------------------------------------------------------------------------------------------------


def test_score_removes_no_run_that_was_played(done: Path, recording: Recording, tmp_path: Path) -> None:
    other = tmp_path / "other"
    assert run(recording, "--out", other, model="builtin:null").returncode == 0
    for target in (other, done):
        before = (target / "steps.jsonl").read_bytes()
        assert_clear_error(sopbench("score", done, "--profile", "strict", "--out", target), "holds another run")
        assert (target / "steps.jsonl").read_bytes() == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    assert_clear_error(sopbench("score", done, "--profile", "strict", "--out", tmp_path / "mine"), "is no run")


def test_score_replaces_its_own_earlier_result_also_after_a_move(done: Path, tmp_path: Path) -> None:
    assert sopbench("score", done, "--profile", "strict").returncode == 0
    moved = done.rename(tmp_path / "moved")
    again = sopbench("score", moved, "--profile", "strict", "--json")
    assert (again.returncode, json.loads(again.stdout)["scored_steps"]) == (0, 6)


def test_a_re_scoring_is_not_played(done: Path) -> None:
    assert sopbench("score", done, "--profile", "strict").returncode == 0
    assert_clear_error(sopbench("resume", done / "rescored" / "strict"), f"re-scoring of {done}")


# -- forged folders ----------------------------------------------------------------------------------------------------


def forge(folder: Path, *, facts: dict[str, Any] | None = None, settings: dict[str, Any] | None = None) -> None:
    """Change run.json, with a fingerprint that fits."""
    info = json.loads((folder / "run.json").read_text())
    info["facts"] |= facts or {}
    info["settings"] |= settings or {}
    info["fingerprint"] = fingerprint(info["facts"])
    (folder / "run.json").write_text(json.dumps(info))


@pytest.mark.parametrize(
    ("verb", "change"),
    [
        (["show"], {"facts": {"suite": ["sop"]}}),
        (["resume", "--no-report"], {"facts": {"repeats": 10**9}}),
        (["resume", "--no-report"], {"settings": {"prices": [1]}}),
        (["score", "--profile", "strict"], {"facts": {"adapter": "uis1"}}),
        (["report"], {"settings": {"data": {"a": 1}}}),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_a_forged_run_json_is_an_error(done: Path, verb: list[str], change: dict[str, Any]) -> None:
    """`tests/unit/runs/test_journal.py` has every field."""
    forge(done, **change)
    assert_clear_error(sopbench(verb[0], done, *verb[1:]), "run.json: ")


@pytest.mark.parametrize(
    "forged",
    [
        {},
        {"tsr": {"a": "b"}},
        {"by_action": ["click"]},
        {"reasons": 5},
        {"latency": "fast"},
    ],
)
def test_a_forged_summary_is_an_error(done: Path, forged: dict[str, Any]) -> None:
    summary = json.loads((done / "summary.json").read_text())
    (done / "summary.json").write_text(json.dumps(summary | forged if forged else {}))
    assert_clear_error(sopbench("show", done), "summary.json")


@pytest.mark.parametrize("name", ["run.json", "summary.json", "steps.jsonl"])
@pytest.mark.parametrize("content", ["deep", "huge", "pipe"])
def test_files_that_nothing_of_ours_wrote(done: Path, name: str, content: str) -> None:
    path = done / name
    path.unlink()
    if content == "pipe":
        os.mkfifo(path)
    elif content == "huge":
        path.touch()
        os.truncate(path, 1 << 40)
    else:
        path.write_bytes(b"[" * 200_000 + b"\n")
    verb = {"run.json": "show", "summary.json": "show", "steps.jsonl": "resume"}[name]
    assert_clear_error(sopbench(verb, done, timeout=30), name)


def test_reports_and_summaries_are_not_written_through_links(done: Path, tmp_path: Path) -> None:
    victims = []
    for name in ("summary.json", "report.html"):
        victim = tmp_path / f"victim of {name}"
        victim.write_text("mine")
        with contextlib.suppress(FileNotFoundError):
            (done / name).unlink()
        (done / name).symlink_to(victim)
        victims.append(victim)
    assert sopbench("resume", done, "--report").returncode == 0
    assert [victim.read_text() for victim in victims] == ["mine", "mine"]


def test_every_terminal_line_is_clean_whatever_ids_and_models_are(tmp_path: Path) -> None:
    recording = make_recording(tmp_path / "data", n=2, length=1)
    lines = [
        json.loads(line) | {"episode_id": f"\x1b[2J\u202e{k}"}
        for k, line in enumerate(recording.file.read_text().splitlines())
    ]
    recording.file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for model in ("oracle", "null"):
        assert run(recording, "--out", tmp_path / model, model=f"builtin:{model}").returncode == 0
    forge(tmp_path / "null", facts={"model": "\x1b[31mred\u202e"})
    compared = sopbench("compare", tmp_path / "oracle", tmp_path / "null")
    assert "better in a" in compared.stdout
    assert not {"\x1b", "\u202e"} & set(compared.stdout)


# -- careless options --------------------------------------------------------------------------------------------------


def test_a_limit_beyond_the_data_is_all_of_it(recording: Recording, tmp_path: Path) -> None:
    ran = run(recording, "--limit", "1000000", "--json", "--out", tmp_path / "run")
    assert json.loads(ran.stdout)["n"] == 3
    again = sopbench("resume", tmp_path / "run", "--json")
    assert json.loads(again.stdout)["n"] == 3


def test_compare_wants_every_repeat(recording: Recording, tmp_path: Path) -> None:
    """Episodes that lack a repeat would be compared by fewer plays than the others, and nobody told."""
    for name in ("whole", "cut"):
        assert run(recording, "--repeats", "3", "--out", tmp_path / name).returncode == 0
    assert sopbench("compare", tmp_path / "whole", tmp_path / "cut").returncode == 0
    journal = tmp_path / "cut" / "steps.jsonl"
    lines = [line for line in journal.read_text().splitlines(keepends=True) if json.loads(line)["repeat"] < 2]
    journal.write_text("".join(lines))
    assert_clear_error(sopbench("compare", tmp_path / "whole", tmp_path / "cut"), "sopbench resume")
    again = sopbench("resume", tmp_path / "cut", "--json")
    assert (json.loads(again.stdout)["repeats"], json.loads(again.stdout)["scored_steps"]) == (3, 18)


def test_compare_refuses_journals_of_other_episodes(done: Path, recording: Recording, tmp_path: Path) -> None:
    other = tmp_path / "other"
    assert run(recording, "--out", other, model="builtin:null").returncode == 0
    journal = other / "steps.jsonl"
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    renamed = [line | {"episode": "9"} if line["episode"] == "2" else line for line in lines]
    journal.write_text("".join(json.dumps(line) + "\n" for line in renamed))
    assert_clear_error(sopbench("compare", done, other), "same episodes")


def test_a_pipe_among_the_screens_costs_one_episode_and_no_time(recording: Recording, tmp_path: Path) -> None:
    (recording.images / "1_0.png").unlink()
    os.mkfifo(recording.images / "1_0.png")
    ran = run(recording, "--json", "--out", tmp_path / "run", timeout=60)
    summary = json.loads(ran.stdout)
    assert (ran.returncode, summary["not_scored_reasons"], summary["scored_trajectories"]) == (3, {"screen": 1}, 2)


def test_a_turned_photo_is_found_before_the_run(recording: Recording) -> None:
    from PIL import Image

    exif = Image.Exif()
    exif[0x0112] = 6
    Image.new("RGB", (540, 1200)).save(recording.images / "1_0.png", "JPEG", exif=exif)
    checked = sopbench("data", "check", recording.file, "--images", recording.images)
    assert checked.returncode == 2
    assert "EXIF orientation 6" in checked.stdout
