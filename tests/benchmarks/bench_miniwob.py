"""Steps per second of MiniWoB++ (Chromium): with one browser, and with several side by side.

    python -m tests.benchmarks.bench_miniwob                  about a minute
    python -m tests.benchmarks.bench_miniwob --seconds 20 --browsers 1,2,4 --json

A step is one action of a scripted expert, found before the clock of the step starts, and the screenshot of 1080x2400 pixels after it. A reset loads the
page, sets the seed and takes a screenshot. The script prints figures and asserts nothing about them: they belong to the machine.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import count
from statistics import mean

from sopbench.online.miniwob.environment import MiniwobEnvironment
from sopbench.online.miniwob.pool import Browsers
from sopbench.online.miniwob.tasks import BUDGET, Instance, html_folder, instance_seed

TASKS = ("click-button", "click-checkboxes", "enter-text", "login-user", "click-tab-2", "choose-list", "read-table")


@dataclass(frozen=True)
class Row:
    browsers: int
    episodes: int
    steps: int
    seconds: float
    steps_per_second: float
    step_ms: float
    reset_ms: float
    start_seconds: float


@dataclass
class Times:
    steps: list[float]
    resets: list[float]


def play(pool: Browsers, tasks: Sequence[str], until: float, times: Times) -> int:
    """Play one episode after another until the clock says so; how many."""
    for number in count():
        task = tasks[number % len(tasks)]
        environment = MiniwobEnvironment(pool, Instance(task, number, instance_seed(30, task, number)))
        try:
            began = time.monotonic()
            environment.reset()
            times.resets.append(time.monotonic() - began)
            for _ in range(BUDGET):
                if time.monotonic() > until:
                    return number
                action = environment.expert()
                if action is None or environment.done:
                    break
                began = time.monotonic()
                environment.act(action)
                times.steps.append(time.monotonic() - began)
        finally:
            environment.close()
    raise AssertionError("never")


def measure(browsers: int, seconds: float) -> Row:
    times = [Times([], []) for _ in range(browsers)]
    with Browsers(browsers, html_folder()) as pool:
        began = time.monotonic()
        for browser in [pool.lend() for _ in range(browsers)]:
            pool.give_back(browser)
        started = time.monotonic()
        with ThreadPoolExecutor(browsers) as threads:
            episodes = sum(threads.map(lambda mine: play(pool, TASKS, started + seconds, mine), times))
        wall = time.monotonic() - started
    steps = [s for t in times for s in t.steps]
    resets = [r for t in times for r in t.resets]
    return Row(
        browsers,
        episodes,
        len(steps),
        round(wall, 2),
        round(len(steps) / wall, 2),
        round(1000 * mean(steps), 1),
        round(1000 * mean(resets), 1),
        round(started - began, 2),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=15.0, help="for each number of browsers")
    parser.add_argument("--browsers", default="1,2,4", help="how many at once, one measurement each")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = [measure(int(n), options.seconds) for n in options.browsers.split(",")]
    if options.json:
        print(json.dumps({"cores": os.cpu_count(), "rows": [asdict(r) for r in rows]}))
        return
    print(f"MiniWoB++ (Chromium) at 1080x2400, {os.cpu_count()} cores")
    print("browsers  episodes  steps  steps/s  ms/step  ms/reset  s to start")
    for r in rows:
        print(
            f"{r.browsers:8}  {r.episodes:8}  {r.steps:5}  {r.steps_per_second:7.1f}  {r.step_ms:7.0f}  {r.reset_ms:8.0f}  {r.start_seconds:10.1f}"
        )


if __name__ == "__main__":
    main()
