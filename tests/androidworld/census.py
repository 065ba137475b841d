"""All of AndroidWorld's tasks on the simulated phone: set up, scored before anybody acted, torn down.

python -m tests.androidworld.census --checkout ../android_world
python -m tests.androidworld.census --checkout DIR --python PYTHON --tasks 'Markor*' 'Sms*' --json > census.json
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from sopbench.errors import SopbenchError
from tests.androidworld.driver import SEED, Driver, OrderFailed, Upstream, attached
from tests.androidworld.progress import Progress

STAGES: Final = ("initialise", "score", "tear down")


@dataclass(frozen=True)
class Row:
    """One task. `failed` is the first stage that raised, `before` the score without any action."""

    task: str
    failed: str | None
    before: float | None
    seconds: float
    detail: str = ""
    targets: int | None = None
    """How many rows of a database the task is about, where it is about rows."""

    @property
    def done_before(self) -> bool:
        return self.before is not None and self.before > 0.0

    @property
    def verify(self) -> bool:
        """The publisher's six tasks whose goal is the state that they set up."""
        return self.task.endswith("Verify")


def one(driver: Driver, task: dict[str, Any]) -> Row:
    began, before, targets = time.monotonic(), None, None
    stage = STAGES[0]
    try:
        driver.start(task)
        rows = driver("params")["params"].get("row_objects")
        targets = len(rows) if isinstance(rows, list) else None
        stage = STAGES[1]
        before = driver.score()
        stage = STAGES[2]
        driver("tear_down")
    except OrderFailed as error:
        return Row(task["template"], stage, before, time.monotonic() - began, str(error)[:300], targets)
    return Row(task["template"], None, before, time.monotonic() - began, targets=targets)


def census(upstream: Upstream, patterns: Sequence[str] = (), seed: int = SEED, log: Path | None = None) -> list[Row]:
    with open(log or os.devnull, "wb") as words, attached(upstream, words) as (_, driver):
        tasks = chosen(driver.tasks(seed), patterns)
        progress, rows = Progress(len(tasks)), []
        for task in tasks:
            rows.append(one(driver, task))
            row = rows[-1]
            progress.one(f"{row.task}: {'scored ' + str(row.before) if row.failed is None else row.failed + ' failed'}")
        return rows


def chosen(tasks: list[dict[str, Any]], patterns: Sequence[str]) -> list[dict[str, Any]]:
    if not patterns:
        return tasks
    found = [task for task in tasks if any(fnmatchcase(task["template"], pattern) for pattern in patterns)]
    if not found:
        raise SopbenchError(f"no task is called {', '.join(patterns)}")
    return found


def summary(rows: Sequence[Row]) -> dict[str, Any]:
    return {
        "tasks": len(rows),
        "whole": sum(row.failed is None for row in rows),
        "failed": [row.task for row in rows if row.failed],
        "verify": [row.task for row in rows if row.verify],
        "done_before": [row.task for row in rows if row.done_before and not row.verify],
        "seconds": round(sum(row.seconds for row in rows), 1),
    }


def arguments(words: Sequence[str] | None, doc: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=doc.splitlines()[0],
        epilog="\n".join(doc.splitlines()[2:]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--checkout",
        type=Path,
        required=True,
        help="clone of google-research/android_world at d9c569f, or the folder of `sopbench androidworld install`",
    )
    parser.add_argument("--python", type=Path, help="Python that has its requirements (default: the one in the folder)")
    parser.add_argument("--tasks", nargs="+", default=[], metavar="GLOB", help="only these task classes")
    parser.add_argument("--seed", type=int, default=SEED, help=f"seed of the parameters (default {SEED}, upstream's)")
    parser.add_argument("--log", type=Path, help="a file for what android_world itself says")
    parser.add_argument("--json", action="store_true", help="JSON to stdout in place of the table")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> int:
    asked = arguments(words, __doc__ or "")
    try:
        rows = census(Upstream.at(asked.checkout, asked.python), asked.tasks, asked.seed, asked.log)
    except (SopbenchError, OrderFailed) as error:
        print(error, file=sys.stderr)
        return 2
    found = summary(rows)
    if asked.json:
        print(json.dumps({"summary": found, "rows": [asdict(row) for row in rows]}, indent=1))
    else:
        for row in rows:
            print(
                f"{row.task:48} {row.failed or 'ok':10} {'' if row.before is None else row.before:<5} {row.seconds:5.1f} s {row.detail[:80]}"
            )
        print(
            f"{found['whole']} of {found['tasks']} whole; done before acting: {', '.join(found['done_before']) or 'none'}"
        )
    return 1 if found["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
