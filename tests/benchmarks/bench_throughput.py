"""How many steps a second the harness plays, and what a step costs, beside the released evaluator.

    python tests/benchmarks/bench_throughput.py

Three settings, each in a process of its own against a mock endpoint in another (so client and mock share the machine's cores):
`large-64` (1.1 MB screens, two a request, 64 in flight), `small-32` (45 KB screens, 32 in flight) and `memory` (1.1 MB screens, 256 in flight).
What is measured is a whole run through the Python API: loading, rendering, sending, parsing, scoring, journal, summary; only imports are left out.

Beside it the released UI-S1 evaluator (X-PLUG/MobileAgent, commit 11cea575, folder UI-S1) where the environment variable UPSTREAM_UIS1 names a checkout of that folder; it
talks to port 8000 and needs openai, requests, json5, numpy and pillow, which UPSTREAM_PYTHON (an interpreter) may have for it.

The script prints figures and asserts nothing about them: they belong to the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from make_data import STEPS, Kind, make

HERE = Path(__file__).parent
LATENCY = 0.2
UPSTREAM_WORKERS = 16
UPSTREAM_TRAJECTORIES = 24


@dataclass(frozen=True)
class Setting:
    name: str
    kind: Kind
    in_flight: int
    trajectories: int
    goal: str

    @property
    def ideal(self) -> float:
        """Steps a second if nothing but the latency took time."""
        return self.in_flight / LATENCY


SETTINGS = (
    Setting("large-64", "large", 64, 256, "at least 40 steps/s, at most 16 ms of CPU a step"),
    Setting("small-32", "small", 32, 320, "at least 90 % of the ideal 160 steps/s"),
    Setting("memory", "large", 256, 512, "less than 500 MB resident"),
)


@dataclass(frozen=True)
class Figures:
    steps: int
    wall_s: float
    cpu_s: float
    peak_mb: float | None = None

    @property
    def rate(self) -> float:
        return self.steps / self.wall_s

    @property
    def cpu_ms(self) -> float:
        return 1000 * self.cpu_s / self.steps

    def line(self, name: str, more: str = "") -> str:
        memory = f"{self.peak_mb:6.0f} MB" if self.peak_mb is not None else " " * 9
        return f"{name:34} {self.rate:7.1f} steps/s  {self.cpu_ms:7.1f} ms CPU/step  {memory}  ({self.steps} steps in {self.wall_s:.1f} s) {more}"


@contextmanager
def mock(port: int = 0) -> Iterator[int]:
    """The mock endpoint in a process of its own; yields its port."""
    command = [sys.executable, str(HERE / "mock_endpoint.py"), "--port", str(port), "--latency", str(LATENCY)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                raise RuntimeError(f"the mock endpoint did not start on port {port}")
            yield int(line)
        finally:
            process.terminate()


def ours(setting: Setting, folder: Path) -> Figures:
    data = make(folder / setting.kind, setting.trajectories, setting.kind)
    with mock() as port, tempfile.TemporaryDirectory() as out:
        command = [sys.executable, __file__, "--play", str(data), str(port), str(setting.in_flight), f"{out}/run"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return Figures(**json.loads(done.stdout.splitlines()[-1]))


def play(data: Path, port: int, in_flight: int, out: Path) -> Figures:
    """One run, in this process."""
    import sopbench

    for name in ("api", "clients.pool", "adapters.uis1", "scoring.uis1_released", "suites.sop", "stats"):
        importlib.import_module(f"sopbench.{name}")  # what a run imports on its way
    began, before = time.monotonic(), _cpu()
    run = asyncio.run(
        sopbench.arun(
            suite="sop",
            data=data,
            model="mock",
            base_urls=(f"http://127.0.0.1:{port}/v1",),
            adapter="uis1",
            prompts="builtin",
            concurrency=in_flight,
            out=out,
        )
    )
    wall, cpu = time.monotonic() - began, _cpu() - before
    summary: dict[str, Any] = run.summary
    assert summary["complete"], summary["faults"]
    assert summary["tsr"] == 100.0, summary
    return Figures(summary["scored_steps"], wall, cpu, _peak_mb())


def upstream(folder: Path) -> Figures | str:
    """The released evaluator on the large screens, or why not."""
    checkout = os.environ.get("UPSTREAM_UIS1")
    if not checkout:
        return "absent: set UPSTREAM_UIS1 to a checkout of the folder UI-S1 to measure it too"
    if not (Path(checkout) / "evaluation" / "eval_qwenvl.py").is_file():
        return f"UPSTREAM_UIS1={checkout} holds no evaluation/eval_qwenvl.py"
    data = _absolute(make(folder / "large", UPSTREAM_TRAJECTORIES, "large"))
    python = os.environ.get("UPSTREAM_PYTHON", sys.executable)
    with mock(8000), tempfile.TemporaryDirectory() as out:
        command = [python, str(HERE / "upstream_uis1.py"), str(data), out, str(UPSTREAM_WORKERS)]
        began, before = time.monotonic(), _cpu(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        wall, cpu = time.monotonic() - began, _cpu(resource.RUSAGE_CHILDREN) - before
        results = Path(out) / "mock.jsonl"
        if done.returncode or not results.is_file():
            return f"failed: {(done.stderr or done.stdout).strip().splitlines()[-1:]}"
        played = sum(json.loads(line)["final_step_id"] for line in results.read_text().splitlines())
    expected = UPSTREAM_TRAJECTORIES * STEPS
    return Figures(played, wall, cpu) if played == expected else f"failed: {played} of {expected} steps played"


def _absolute(data: Path) -> Path:
    """The same data with absolute screenshot paths, which the released evaluator needs."""
    target = data.with_name("absolute.jsonl")
    with data.open() as lines, target.open("w") as out:
        for line in lines:
            record = json.loads(line)
            for step in record["steps"]:
                step["screenshot"] = str((data.parent / step["screenshot"]).absolute())
            out.write(json.dumps(record) + "\n")
    return target


def _cpu(who: int = resource.RUSAGE_SELF) -> float:
    usage = resource.getrusage(who)
    return usage.ru_utime + usage.ru_stime


def _peak_mb() -> float:
    """Peak resident memory of this process. VmHWM where there is one: ru_maxrss also remembers the parent that started us."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / 2**20 if sys.platform == "darwin" else peak / 2**10
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")) / 2**10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="keep the made data here (default: a temporary folder)")
    parser.add_argument("--only", choices=[s.name for s in SETTINGS], help="one setting")
    parser.add_argument("--play", nargs=4, metavar=("DATA", "PORT", "IN_FLIGHT", "OUT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.play:
        data, port, in_flight, out = options.play
        print(json.dumps(asdict(play(Path(data), int(port), int(in_flight), Path(out)))))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.data or Path(temporary)
        measured = {}
        print(
            f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, latency {LATENCY} s; client and mock share the cores\n"
        )
        for setting in SETTINGS:
            if options.only in (None, setting.name):
                figures = measured[setting.name] = ours(setting, folder)
                share = f"{100 * figures.rate / setting.ideal:.0f} % of the ideal {setting.ideal:.0f}/s"
                print(figures.line(f"sopbench {setting.name}", f"{share}; goal: {setting.goal}"), flush=True)
        released = upstream(folder)
        if isinstance(released, str):
            print(f"{'released evaluator':34} {released}")
            return
        print(released.line(f"released evaluator, {UPSTREAM_WORKERS} workers", "(start-up included)"))
        if (large := measured.get("large-64")) is not None:
            print(
                f"\n{large.rate / released.rate:.0f} times the steps a second, 1/{released.cpu_ms / large.cpu_ms:.0f} of the CPU a step"
            )


if __name__ == "__main__":
    main()
