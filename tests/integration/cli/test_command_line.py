"""The command line as a user and a script meet it: output, errors, exit status."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from fault_server import answer, status
from recordings import SWIPE, Recording, make_recording, says


def sopbench(
    *args: str | Path, cwd: Path | None = None, stdin: str = "", **env: str
) -> subprocess.CompletedProcess[str]:
    """Run the installed command; its output is text, its working folder `cwd`."""
    command = [str(Path(sys.executable).with_name("sopbench")), *map(str, args)]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=cwd, input=stdin, env=os.environ | env, check=False
    )


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    return make_recording(tmp_path / "data", n=3, length=2)


@pytest.fixture
def sop(recording: Recording) -> list[str]:
    return ["run", "--suite", "sop", "--data", str(recording.file), "--images", str(recording.images)]


def test_json_is_one_object_on_standard_output_and_nothing_else(sop: list[str], tmp_path: Path) -> None:
    done = sopbench(*sop, "--model", "builtin:oracle", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    [line] = done.stdout.splitlines()
    summary = json.loads(line)
    expected = {"suite", "n", "pg", "tsr", "score", "ci95", "scored_steps", "parse_failed_steps", "not_scored_steps"}
    assert expected | {"profile", "adapter", "fingerprint", "run"} <= set(summary)
    assert (summary["suite"], summary["n"], summary["score"]) == ("sop", 3, 100.0)
    assert (tmp_path / summary["run"] / "run.json").is_file()


def test_text_output_ends_with_where_run_and_report_are(sop: list[str], tmp_path: Path) -> None:
    done = sopbench(*sop, "--model", "builtin:oracle", "--out", tmp_path / "run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "100.0" in done.stdout
    last = done.stdout.strip().splitlines()[-1]
    assert last.startswith("report")
    assert Path(last.split(maxsplit=1)[1]).is_file()


def test_unscored_steps_exit_3_and_say_how_to_go_on(sop: list[str], tmp_path: Path, fault_server: Any) -> None:
    server = fault_server(answer(says(SWIPE)), status(503, headers={"Retry-After": "0"}))
    args = [
        "--model",
        "tiny",
        "--base-url",
        server.base_url,
        "--max-attempts",
        "2",
        "--out",
        tmp_path / "run",
        "--json",
        "--no-report",
    ]
    done = sopbench(*sop, *args)
    assert done.returncode == 3
    assert json.loads(done.stdout)["complete"] is False
    assert f"sopbench resume {tmp_path / 'run'}" in done.stderr
    shown = sopbench("show", tmp_path / "run")
    assert "not known" in shown.stdout
    assert "between" in shown.stdout


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["run", "--suite", "nope"], "no suite 'nope'"),
        (["run", "--suite", "sop"], "--data"),
        (["run", "--data", "x.jsonl"], "--suite sop"),
        (["run", "--model", "tiny"], "base-url"),
        (["run", "--model", "http://127.0.0.1:1/v1"], "127.0.0.1:1"),
        (["run", "--extra-body", "[1]"], "--extra-body"),
        (["run", "--price", "cheap"], "--price"),
        (["run", "--suite", "pocket-online", "--profile", "strict"], "--profile"),
        (["resume", "nowhere"], "not a run"),
        (["show", "nowhere"], "not a run"),
        (["score", "nowhere", "--profile", "strict"], "not a run"),
        (["compare", "nowhere", "nowhere"], "not a run"),
        (["report", "nowhere"], "not a run"),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_2(tmp_path: Path, args: list[str], message: str) -> None:
    done = sopbench(*args, cwd=tmp_path)
    assert done.returncode == 2, done.stdout
    assert message in done.stderr
    assert done.stderr.startswith("error: ")
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_debug_shows_the_traceback(tmp_path: Path) -> None:
    done = sopbench("show", "nowhere", "--debug", cwd=tmp_path)
    assert done.returncode != 0
    assert "Traceback" in done.stderr


def test_a_second_run_into_another_runs_folder_names_what_differs(sop: list[str], tmp_path: Path) -> None:
    sopbench(*sop, "--model", "builtin:oracle", "--out", tmp_path / "run", "--no-report")
    done = sopbench(*sop, "--model", "builtin:null", "--out", tmp_path / "run", "--no-report")
    assert done.returncode == 2
    assert 'model: "builtin:oracle" / "builtin:null"' in done.stderr


def test_score_and_compare_print_json(sop: list[str], tmp_path: Path) -> None:
    for model in ("oracle", "null"):
        sopbench(*sop, "--model", f"builtin:{model}", "--out", tmp_path / model, "--no-report")
    scored = sopbench("score", tmp_path / "oracle", "--profile", "strict", "--json")
    assert json.loads(scored.stdout)["profile"].startswith("strict@")
    compared = sopbench("compare", tmp_path / "null", tmp_path / "oracle", "--json")
    assert json.loads(compared.stdout)["difference"]["tsr"]["value"] == 100.0
    text = sopbench("compare", tmp_path / "null", tmp_path / "oracle")
    assert "McNemar" in text.stdout
    assert "+100.0" in text.stdout


def test_hostile_text_reaches_no_terminal(tmp_path: Path) -> None:
    recording = make_recording(tmp_path / "data", n=1, length=1, goal="\x1b[31mred\u202e")
    out = tmp_path / "run"
    sopbench(
        "run",
        "--suite",
        "sop",
        "--data",
        recording.file,
        "--images",
        recording.images,
        "--model",
        "builtin:null",
        "--out",
        out,
    )
    obj = json.loads((out / "summary.json").read_text())
    (out / "summary.json").write_text(json.dumps(obj | {"model": "\x1b]0;pwned\x07", "reasons": {"\x1b[2J": 1}}))
    shown = sopbench("show", out)
    assert shown.returncode == 0
    assert "pwned" in shown.stdout
    assert "\x1b" not in shown.stdout
    assert "\x07" not in shown.stdout


@pytest.mark.parametrize(
    "verb",
    [
        "run",
        "resume",
        "show",
        "report",
        "compare",
        "score",
        "doctor",
        "suites",
        "adapters",
        "profiles",
        "data",
        "parse",
        "judge",
        "render",
    ],
)
def test_every_verb_has_help(verb: str) -> None:
    done = sopbench(verb, "--help")
    assert done.returncode == 0
    assert "Usage" in done.stdout


def test_lists_have_json(tmp_path: Path) -> None:
    suites = json.loads(sopbench("suites", "--json").stdout)
    assert {"pocket", "pocket-online", "sop"} <= set(suites)
    assert suites["pocket-online"]["default_profile"] is None
    assert "pocket" in sopbench("suites").stdout


def test_start_up_loads_nothing_heavy() -> None:
    """`import sopbench` and `--help` stay fast because they load no pandas, matplotlib, aiohttp, numpy."""
    heavy = ("pandas", "matplotlib", "aiohttp", "httpx", "numpy", "jinja2")
    code = f"import sys, sopbench\nfrom sopbench.cli import build\nbuild()\nprint([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    started = time.process_time()
    assert sopbench("--help").returncode == 0
    assert time.process_time() - started < 5
