"""Killed without warning at random points, a run resumes to exactly the summary of an uninterrupted one."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from fault_server import answer
from recordings import SWIPE, make_recording, says

TIMING = {"latency", "wall_s", "run"}


def command(*args: str) -> list[str]:
    return [sys.executable, "-c", "from sopbench.cli import main; main()", *args]


def summary_of(path: Path) -> dict[str, Any]:
    summary = json.loads((path / "summary.json").read_text())
    return {key: value for key, value in summary.items() if key not in TIMING}


@pytest.mark.slow
def test_kill_9_at_random_points_then_resume_is_the_uninterrupted_summary(tmp_path: Path, fault_server: Any) -> None:
    recording = make_recording(tmp_path / "data", n=60, length=4)
    counted: dict[str, int] = {}

    def reply(body: dict[str, Any]) -> str:
        """Right, but for every fifth goal; and remember how often each request was answered."""
        text = json.dumps(body["messages"])
        counted[text] = counted.get(text, 0) + 1
        wrong = any(
            f"goal {k}" in text and f"goal {k}0" not in text
            for k in range(0, 60, 5)
            if f"goal {k}\\" in text or f'goal {k}"' in text
        )
        return says({"action": "wait", "time": 2} if wrong else SWIPE)

    server = fault_server(answer(reply, delay=0.01))
    data = [
        "--suite",
        "sop",
        "--data",
        str(recording.file),
        "--images",
        str(recording.images),
        "--concurrency",
        "4",
        "--no-report",
        "--json",
    ]
    model = ["--model", "tiny", "--base-url", server.base_url]
    subprocess.run(command("run", *data, *model, "--out", str(tmp_path / "whole")), check=True, capture_output=True)
    uninterrupted, asked = summary_of(tmp_path / "whole"), server.count

    rng = random.Random(7)
    args = command("run", *data, *model, "--out", str(tmp_path / "killed"))
    for _ in range(4):
        process = subprocess.Popen(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        before = server.count
        target = rng.randrange(10, asked // 5)
        while process.poll() is None and server.count < before + target:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        journal = tmp_path / "killed" / "steps.jsonl"
        if rng.random() < 0.5 and journal.exists():
            os.truncate(journal, max(0, journal.stat().st_size - rng.randrange(1, 40)))
    done = subprocess.run(
        command("resume", str(tmp_path / "killed"), "--no-report", "--json"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert summary_of(tmp_path / "killed") == uninterrupted
    assert json.loads(done.stdout)["n"] == 60


def test_ctrl_c_says_how_to_resume_and_exits_130(tmp_path: Path, fault_server: Any) -> None:
    recording = make_recording(tmp_path / "data", n=6, length=4)
    server = fault_server(answer(says(SWIPE), delay=0.2))
    out = tmp_path / "run"
    args = [
        "run",
        "--suite",
        "sop",
        "--data",
        str(recording.file),
        "--images",
        str(recording.images),
        "--model",
        server.base_url,
    ]
    process = subprocess.Popen(
        command(*args, "--out", str(out), "--concurrency", "2"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while process.poll() is None and server.count < 3:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=30)
    assert process.returncode == 130, stderr
    assert f"sopbench resume {out}" in stderr
    assert "Traceback" not in stderr
    assert stdout == ""
    done = subprocess.run(command("resume", str(out), "--no-report"), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert summary_of(out)["tsr"] == 100.0
    assert summary_of(out)["scored_steps"] == 24


def test_a_second_ctrl_c_changes_nothing(tmp_path: Path, fault_server: Any) -> None:
    """asyncio raises KeyboardInterrupt at the second one, wherever the program is: that ended in tracebacks, and now and then in waiting for ever."""
    recording = make_recording(tmp_path / "data", n=20, length=4)
    data = ["--suite", "sop", "--data", str(recording.file), "--images", str(recording.images)]
    rng = random.Random(3)
    for attempt in range(6):
        server = fault_server(answer(says(SWIPE), delay=0.05))
        out = tmp_path / f"run{attempt}"
        process = subprocess.Popen(
            command("run", *data, "--model", server.base_url, "--out", str(out), "--no-report", "--concurrency", "4"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        while process.poll() is None and server.count < 5:
            time.sleep(0.002)
        process.send_signal(signal.SIGINT)
        time.sleep(rng.uniform(0, 0.03))
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=30)
        assert "Traceback" not in stderr
        assert f"sopbench resume {out}" in stderr
        assert process.returncode in (130, -signal.SIGINT)
        resumed = subprocess.run(
            command("resume", str(out), "--no-report"), capture_output=True, text=True, check=False
        )
        assert resumed.returncode == 0, resumed.stderr


def test_sigterm_is_an_interruption_too(tmp_path: Path, fault_server: Any) -> None:
    """Schedulers and containers end a program so: it says how to go on, and leaves with the same status."""
    recording = make_recording(tmp_path / "data", n=6, length=4)
    server = fault_server(answer(says(SWIPE), delay=0.2))
    data = ["--suite", "sop", "--data", str(recording.file), "--images", str(recording.images)]
    out = tmp_path / "run with a space"
    process = subprocess.Popen(
        command("run", *data, "--model", server.base_url, "--out", str(out), "--no-report"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while process.poll() is None and server.count < 3:
        time.sleep(0.01)
    process.terminate()
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert f"sopbench resume '{out}'" in stderr
