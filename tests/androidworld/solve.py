"""Scripted agents on AndroidWorld's tasks: each carries its task out on the simulated phone through adb; android_world's own code scores it.

    python -m tests.androidworld.solve --checkout ../android_world
    python -m tests.androidworld.solve --checkout DIR --python PYTHON --tasks 'Markor*' --seed 7 --json > solved.json

What this proves is the way from a task to a phone, its state and its publisher's check. It is no score of any agent that looks at a screen.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from emulator.device import DeviceFailed
from emulator.sim import SimDevice
from sopbench.errors import SopbenchError
from tests.androidworld.census import arguments, chosen
from tests.androidworld.driver import SEED, Driver, OrderFailed, Upstream, attached
from tests.androidworld.progress import Progress
from tests.androidworld.solvers import SOLVERS, NotDone, Solver, Work


@dataclass(frozen=True)
class Solved:
    """`before` and `after`: the publisher's score before the agent acted and after it; `detail`: what went wrong."""

    task: str
    before: float | None
    after: float | None
    seconds: float
    detail: str = ""


def one(phone: SimDevice, driver: Driver, task: dict[str, Any], solver: Solver) -> Solved:
    name, began, before = task["template"], time.monotonic(), None
    try:
        driver.start(task)
        before = driver.score()
        goal, params = task["goal"], driver("params")["params"]
        try:
            solver(Work(name, goal, params, phone, driver.answer))
            driver("screen")  # as a run does after the last act: until then the forest may be older than that
            return Solved(name, before, driver.score(), time.monotonic() - began)
        finally:
            driver("tear_down")
    except (OrderFailed, NotDone, DeviceFailed, LookupError, ValueError) as error:
        return Solved(name, before, None, time.monotonic() - began, f"{type(error).__name__}: {error}"[:300])


def solve(
    upstream: Upstream,
    patterns: Sequence[str] = (),
    seed: int = SEED,
    log: Path | None = None,
    solvers: Mapping[str, Solver] = SOLVERS,
) -> list[Solved]:
    with open(log or os.devnull, "wb") as words, attached(upstream, words) as (phone, driver):
        tasks = [task for task in chosen(driver.tasks(seed), patterns) if task["template"] in solvers]
        progress, found = Progress(len(tasks)), []
        for task in tasks:
            found.append(one(phone, driver, task, solvers[task["template"]]))
            progress.one(f"{found[-1].task}: {found[-1].before} -> {found[-1].after} {found[-1].detail}")
        return found


def main(words: Sequence[str] | None = None) -> int:
    asked = arguments(words, __doc__ or "")
    try:
        found = solve(Upstream.at(asked.checkout, asked.python), asked.tasks, asked.seed, asked.log)
    except (SopbenchError, OrderFailed) as error:
        print(error, file=sys.stderr)
        return 2
    right = [one.task for one in found if one.after == 1.0]
    moved = [one.task for one in found if one.after == 1.0 and one.before == 0.0]
    if asked.json:
        summary = {"tried": len(found), "scored_1": len(right), "from_0_to_1": len(moved)}
        print(json.dumps({"summary": summary, "rows": [asdict(one) for one in found]}, indent=1))
    else:
        for one_ in found:
            print(f"{one_.task:50} {one_.before} -> {one_.after}  {one_.seconds:5.1f} s  {one_.detail[:100]}")
        print(f"{len(moved)} of {len(found)} tasks went from 0 to 1.0; {len(right)} were scored 1.0")
    return 0 if len(right) == len(found) else 1


if __name__ == "__main__":
    sys.exit(main())
