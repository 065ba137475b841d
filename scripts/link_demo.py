"""The demo's second chapter: the same agents in three protocols on PocketPhone, and what each metric tells of the others.

    .venv/bin/python scripts/link_demo.py --out out/link

Agents are `builtin:stray` (an expert until its first mistake, then lost) at several rates and kinds of mistakes. They are no models: what is shown is which
mistakes a metric sees. Each agent plays `pocket-static` (every step alone, the expert's history), `pocket` (semi-online) and `pocket-online`. The folders are
ordinary runs; called again, the script plays only what is missing.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from sopbench.errors import SopbenchError

SUITES = ("pocket-static", "pocket", "pocket-online")
RATES = (0.05, 0.15, 0.4)
KINDS = ("uniform", "early", "drift", "text")
TASKS = 40


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of the runs, and of link.svg")
    parser.add_argument(
        "--tasks", type=int, default=TASKS, help="tasks of the split, from its beginning (default: %(default)s of 119)"
    )
    parser.add_argument("--rates", type=float, nargs="+", default=list(RATES), help="chances of a mistake")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS), help="when mistakes happen")
    options = parser.parse_args(arguments)
    try:
        chapter(options.out, agents(options.kinds, options.rates), options.tasks)
    except SopbenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def agents(kinds: Sequence[str], rates: Sequence[float]) -> list[str]:
    """The expert, then every kind of mistake at every rate."""
    return ["builtin:oracle", *(f"builtin:stray:p={rate:g},errors={kind}" for kind in kinds for rate in rates)]


def chapter(out: Path, models: Sequence[str], tasks: int) -> None:
    """Play what is missing, then print the table and write the scatters."""
    from sopbench.cli.link import print_link
    from sopbench.linking.link import link
    from sopbench.linking.plot import scatters

    jobs = [(model, suite) for model in models for suite in SUITES]
    began, paths = time.monotonic(), []
    print(
        f"{len(models)} agents x {len(SUITES)} protocols, {tasks} tasks of PocketPhone (a simulation) each", flush=True
    )
    with ProcessPoolExecutor(min(len(jobs), os.cpu_count() or 1)) as crew:
        waiting = [crew.submit(played, model, suite, out, tasks) for model, suite in jobs]
        for done, _ in enumerate(as_completed(waiting), start=1):
            seconds = time.monotonic() - began
            left = seconds / done * (len(jobs) - done)
            print(
                f"\r{done}/{len(jobs)} runs  ETA {left:.0f} s ",
                end="" if sys.stderr.isatty() else "\n",
                file=sys.stderr,
                flush=True,
            )
        paths = [job.result() for job in waiting]
    result = link(paths)
    print_link(result)
    plot = out / "link.svg"
    plot.write_text(scatters(result), encoding="utf-8")
    print(f"runs    {out}\nplot    {plot}")


def played(model: str, suite: str, out: Path, tasks: int) -> Path:
    """One agent in one protocol; its folder."""
    import sopbench

    name = "".join(c if c.isalnum() or c in "-." else "-" for c in model.removeprefix("builtin:"))
    return sopbench.run(suite=suite, model=model, limit=tasks, out=out / f"{name}-{suite}", concurrency=4).path


if __name__ == "__main__":
    sys.exit(main())
