"""Runs of the suite by the command line: the genuine android_world on a fleet of simulated phones."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sopbench.actions import Swipe
from sopbench.geometry import Point
from sopbench.online.androidworld.environment import AndroidWorldEnvironment
from sopbench.online.androidworld.install import Installed
from sopbench.online.base import EnvironmentFailed
from sopbench.suites import DataSource, SuiteOptions, get_suite
from tests.integration.commands import sopbench

TASKS = "ContactsAddContact,SystemWifiTurnOff,MarkorDeleteNote"


def ends(run: Path) -> list[dict[str, Any]]:
    return [line for line in map(json.loads, (run / "steps.jsonl").read_text().splitlines()) if line.get("end")]


def bridges() -> set[int]:
    """Bridges that this user runs now."""
    listed = subprocess.run(["ps", "-eo", "pid,args"], capture_output=True, text=True).stdout.splitlines()
    return {int(line.split()[0]) for line in listed if "androidworld/bridge.py" in line}


@pytest.mark.slow
def test_a_run_over_two_phones(installed: Installed, tmp_path: Path) -> None:
    before = bridges()
    run = tmp_path / "run"
    chosen = ("--suite", "androidworld", "--tasks", TASKS, "--model", "builtin:null", "--devices", "sim:2")
    done = sopbench("run", *chosen, "--out", run, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "androidworld-sim" in done.stdout
    facts = json.loads((run / "run.json").read_text())["facts"]
    assert facts["suite"] == "androidworld-sim"
    found = ends(run)
    assert sorted(end["episode"] for end in found) == [f"{task}/0" for task in sorted(TASKS.split(","))]
    assert all(end["outcome"] == "scored" and end["score"] == 0 for end in found)
    assert {end["details"]["device"] for end in found} == {"sim-0", "sim-1"}
    assert all(end["details"]["simulated"] for end in found)
    assert bridges() <= before
    again = sopbench("run", *chosen, "--out", run, timeout=300)
    assert again.returncode == 0, again.stderr
    assert len(ends(run)) == len(found)  # nothing was played twice


@pytest.mark.slow
def test_a_phone_killed_in_the_middle_is_an_infrastructure_failure_and_the_next_try_works(installed: Installed) -> None:
    suite = get_suite("androidworld", SuiteOptions(devices="sim:1"))
    task = suite.load(DataSource(), tasks=["SystemWifiTurnOff"]).tasks[0]
    suite.open(1)
    try:
        first = suite.environment(task)
        assert isinstance(first, AndroidWorldEnvironment)
        first.reset()
        pid = first.slot.device.pids[0]
        os.kill(pid, signal.SIGKILL)
        with pytest.raises(EnvironmentFailed):
            first.act(Swipe(Point(0.5, 0.6), Point(0.5, 0.3)))
        with suppress(EnvironmentFailed):
            first.close()
        second = suite.environment(task)
        second.reset()
        second.finished(True)
        assert second.score() == 0.0
        second.close()
    finally:
        suite.close()


@pytest.mark.slow
def test_success_counts_only_when_the_agent_said_done(installed: Installed) -> None:
    suite = get_suite("androidworld", SuiteOptions(devices="sim:1"))
    task = suite.load(DataSource(), tasks=["SystemWifiTurnOff"]).tasks[0]
    suite.open(1)
    try:
        environment = suite.environment(task)
        assert isinstance(environment, AndroidWorldEnvironment)
        environment.reset()
        environment.slot.device.shell("svc", "wifi", "disable")
        environment.finished(False)
        assert environment.score() == 0.0
        assert environment.details()["reward"] == 1.0
        environment.finished(True)
        assert environment.score() == 1.0
        environment.close()
    finally:
        suite.close()
