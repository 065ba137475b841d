"""Steps per second of PocketPhone: in process, and as simulated phones through the genuine adb, one and eight side by side.

    python -m tests.benchmarks.bench_phone                   about a minute
    python -m tests.benchmarks.bench_phone --seconds 20 --phones 1,8 --json

A step is one action and the screenshot after it. The actions are an expert's, found before the clock starts; phones through adb are
processes of their own, each with an adb server of its own, driven by a thread each.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial

from emulator.pocket.tasks import start
from sopbench.actions import Action
from sopbench.online.base import OnlineEnvironment
from sopbench.online.pocket import PocketEnvironment
from sopbench.online.pocket_adb import AdbPocketEnvironment, PocketPhones

TEMPLATES = ("notes.find_pin", "settings.join", "messages.reply", "calendar.ask", "clock.start_timer", "files.delete")
SEED = 5


@dataclass(frozen=True)
class Row:
    through: str
    phones: int
    steps: int
    seconds: float
    steps_per_second: float
    start_seconds: float


def recorded(template: str) -> list[Action]:
    """What the expert does, without the final `terminate`."""
    return [move.action for move in start(template, SEED).solve() if move.action.kind != "terminate"]


def play(environment: OnlineEnvironment, actions: Sequence[Action], deadline: float) -> int:
    steps = 0
    environment.reset()
    for action in actions:
        if time.monotonic() > deadline:
            break
        environment.act(action)
        steps += 1
    return steps


def through_adb(phones: PocketPhones, template: str) -> OnlineEnvironment:
    return AdbPocketEnvironment(phones, template, SEED)


def measure(
    through: str,
    phones: int,
    seconds: float,
    tasks: Mapping[str, list[Action]],
    make: Callable[[str], OnlineEnvironment],
) -> Row:
    began = time.monotonic()
    environments = [make(TEMPLATES[0]) for _ in range(phones)]
    with ThreadPoolExecutor(phones) as pool:
        list(pool.map(lambda environment: environment.reset(), environments))
        ready = time.monotonic()
        for environment in environments:
            environment.close()

        def work(number: int) -> int:
            steps, turn = 0, number
            while time.monotonic() < ready + seconds:
                template = TEMPLATES[turn % len(TEMPLATES)]
                turn += 1
                environment = make(template)
                try:
                    steps += play(environment, tasks[template], ready + seconds)
                finally:
                    environment.close()
            return steps

        steps = sum(pool.map(work, range(phones)))
    took = time.monotonic() - ready
    return Row(through, phones, steps, round(took, 2), round(steps / took, 2), round(ready - began, 2))


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10.0, help="of each measurement")
    parser.add_argument("--phones", default="1,8", help="how many side by side")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(argv)
    tasks = {template: recorded(template) for template in TEMPLATES}
    rows: list[Row] = []
    for phones in [int(number) for number in options.phones.split(",")]:
        rows.append(measure("process", phones, options.seconds, tasks, lambda name: PocketEnvironment(name, SEED)))
        with PocketPhones() as lent:
            rows.append(measure("adb", phones, options.seconds, tasks, partial(through_adb, lent)))
    if options.json:
        print(json.dumps({"cores": os.cpu_count(), "rows": [asdict(row) for row in rows]}))
        return
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(f"{'through':8} {'phones':>6} {'steps':>7} {'steps/s':>8} {'each':>7} {'start s':>8}")
    for row in rows:
        print(
            f"{row.through:8} {row.phones:6} {row.steps:7} {row.steps_per_second:8.2f} {row.steps_per_second / row.phones:7.2f} {row.start_seconds:8.1f}"
        )


if __name__ == "__main__":
    main()
