"""Simulated phones side by side, played by an oracle and a quitter under random faults: is every score what a quiet phone gives?

    python -m tests.benchmarks.soak_fleet --phones 8 --minutes 10
    python -m tests.benchmarks.soak_fleet --phones 2 --minutes 0.5 --every 2 --json

The oracle plays a task to its end, the quitter stops half way. Both were played in process before; an episode whose phone broke is begun
again on whatever phone the fleet lends next, as a run does it. Exit status 1: a wrong score, a lost episode, or a process left behind.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

import psutil

from emulator.device import DeviceFailed
from emulator.fleet import Fleet, Rules
from emulator.sim import FAULTS, SimDevice
from sopbench.actions import Terminate
from sopbench.online.base import EnvironmentFailed, OnlineEnvironment
from sopbench.online.pocket import PocketEnvironment
from sopbench.online.pocket_adb import AdbPocketEnvironment, PocketFleet

TEMPLATES: Final = (
    "notes.find_pin", "settings.join", "messages.reply", "calendar.ask", "clock.start_timer", "files.delete", "notes.unpin",
    "cross.price_to_message",
)  # fmt: skip
SEEDS: Final = range(6)
TRIES: Final = 12
"""Starts of one episode; with a fault every few seconds more than a run's three may be needed."""
RULES: Final = Rules(check_every=5.0, health=12.0, reconnect=4.0, reload=6.0, restart=30.0, reclone=40.0, breaks=10_000)
"""Deadlines for phones that share two cores with each other."""


@dataclass
class Report:
    phones: int
    seconds: float = 0.0
    episodes: int = 0
    steps: int = 0
    retried: int = 0
    wrong: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    orphans: list[str] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    broke: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    remedies: dict[str, Any] = field(default_factory=dict)
    given_up: int = 0
    longest_repair: float = 0.0
    late: int = 0

    @property
    def ok(self) -> bool:
        return bool(self.episodes) and not (self.wrong or self.lost or self.orphans or self.given_up or self.late)


def play(environment: OnlineEnvironment, most: int) -> tuple[int, float]:
    """The expert's first `most` actions, then the end. Steps, and the verdict."""
    try:
        environment.reset()
        steps = 0
        while steps < most and (action := environment.expert()) is not None and not isinstance(action, Terminate):
            environment.act(action)
            steps += 1
        environment.perform(Terminate("success"))
        return steps, environment.score()
    finally:
        environment.close()


@cache
def plain(template: str, seed: int) -> tuple[int, dict[str, float]]:
    """What a quiet phone gives: the oracle's number of steps, and both players' verdicts."""
    steps, best = play(PocketEnvironment(template, seed), 1000)
    return steps, {"oracle": best, "quitter": play(PocketEnvironment(template, seed), steps // 2)[1]}


class Soak:
    def __init__(self, fleet: Fleet, report: Report, every: float, dice: random.Random) -> None:
        self._fleet, self._report, self._every, self._dice = fleet, report, every, dice
        self._lock = threading.Lock()
        self._phones = PocketFleet(fleet, within=300)

    def player(self, number: int, until: float) -> None:
        dice = random.Random(number)
        while time.monotonic() < until:
            template, seed = dice.choice(TEMPLATES), dice.choice(SEEDS)
            who = dice.choice(("oracle", "oracle", "quitter"))
            self._episode(template, seed, who)

    def _episode(self, template: str, seed: int, who: str) -> None:
        steps, expected = plain(template, seed)
        report = self._report
        for attempt in range(TRIES):
            try:
                done, score = play(
                    AdbPocketEnvironment(self._phones, template, seed), 1000 if who == "oracle" else steps // 2
                )
            except EnvironmentFailed as error:
                with self._lock:
                    report.retried += 1
                    report.failures[error.kind] += 1
                continue
            with self._lock:
                report.episodes += 1
                report.steps += done
                if score != expected[who]:
                    report.wrong.append(f"{template}-{seed} {who}: {score}, not {expected[who]} (attempt {attempt})")
            return
        with self._lock:
            report.lost.append(f"{template}-{seed} {who}")

    def mischief(self, until: float) -> None:
        """One fault after the other on a random phone, lent or idle, for a while or for good."""
        while (left := until - time.monotonic()) > 0:
            time.sleep(min(left, self._dice.expovariate(1 / self._every)))
            device = self._dice.choice(self._fleet.devices)
            fault = self._dice.choice([name for name in FAULTS if name != "no_forest"])
            seconds = self._dice.choice((None, self._dice.uniform(0.5, 10.0)))
            assert isinstance(device, SimDevice)
            try:
                if fault == "slow_boot":
                    device.inject("slow_boot", self._dice.uniform(1.0, 60.0))
                    device.inject("crash")
                else:
                    device.inject(fault, seconds)
            except DeviceFailed:
                continue  # it is down already
            self._report.faults[fault] += 1

    def watch(self, until: float) -> None:
        """How long phones are under repair: never longer than the deadlines of a round, and a second."""
        late: set[str] = set()
        while time.monotonic() < until:
            time.sleep(0.2)
            for slot, device in zip(self._fleet.status().slots, self._fleet.devices, strict=True):
                if slot.state != "repairing":
                    late.discard(slot.name)
                    continue
                self._report.longest_repair = max(self._report.longest_repair, slot.seconds)
                if slot.seconds > RULES.repair_within(device.limits) + 1 and slot.name not in late:
                    late.add(slot.name)
                    self._report.late += 1


def soak(phones: int, seconds: float, every: float, seed: int, say: Callable[[str], None]) -> Report:
    report = Report(phones)
    for template in TEMPLATES:
        for number in SEEDS:
            plain(template, number)
    before = {process.pid for process in psutil.Process().children(recursive=True)}
    seen: set[psutil.Process] = set()
    with Fleet(lambda number: SimDevice(f"phone-{number}"), phones, rules=RULES) as fleet:
        if not fleet.wait_until_up(300):
            report.lost.append("the fleet did not come up")
            return report
        work = Soak(fleet, report, every, random.Random(seed))
        began = time.monotonic()
        until = began + seconds
        with ThreadPoolExecutor(phones + 2) as pool:
            players = [pool.submit(work.player, number, until) for number in range(max(1, phones - 1))]
            others = [pool.submit(work.mischief, until), pool.submit(work.watch, until)]
            told = began
            while not all(job.done() for job in (*players, *others)):
                time.sleep(0.5)
                seen.update(psutil.Process().children(recursive=True))
                if time.monotonic() > told + 15:
                    told = time.monotonic()
                    left = max(0, until - told)
                    rate = report.steps / (told - began)
                    say(
                        f"{report.episodes} episodes  {rate:.1f} steps/s  {sum(report.faults.values())} faults  {len(report.wrong)} wrong  {left:.0f} s left"
                    )
            for job in (*players, *others):
                job.result()
        report.seconds = time.monotonic() - began
        status = fleet.status()
        report.remedies = {name: tally.as_json() for name, tally in status.remedies().items()}
        report.given_up = status.count("failed")
        for slot in status.slots:
            report.broke.update(slot.broke)
    for process in seen:
        try:
            if process.is_running() and process.pid not in before and process.status() != psutil.STATUS_ZOMBIE:
                report.orphans.append(" ".join(process.cmdline())[:120])
        except psutil.NoSuchProcess:
            continue
    return report


def table(report: Report) -> str:
    lines = [
        f"{report.phones} phones, {report.seconds:.0f} s, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}",
        f"{'episodes':24} {report.episodes:6}   ({report.steps} steps, {report.steps / max(report.seconds, 1):.1f} a second)",
        f"{'begun again':24} {report.retried:6}   {dict(report.failures)}",
        f"{'faults injected':24} {sum(report.faults.values()):6}   {dict(report.faults)}",
        f"{'breaks noticed':24} {sum(report.broke.values()):6}   {dict(report.broke)}",
        f"{'longest repair':24} {report.longest_repair:6.1f} s",
    ]
    for name, tally in report.remedies.items():
        lines.append(f"{name:24} {tally['tried']:6}   mended {tally['mended']}, longest {tally['longest']:.1f} s")
    for name in ("wrong", "lost", "orphans"):
        found = getattr(report, name)
        lines.append(f"{name:24} {len(found):6}   {'; '.join(found[:5])}")
    lines.append(f"{'phones given up':24} {report.given_up:6}")
    lines.append(f"{'repairs past a deadline':24} {report.late:6}")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--phones", type=int, default=8)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--every", type=float, default=6.0, help="mean seconds between two faults")
    parser.add_argument("--seed", type=int, default=0, help="of the faults")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(argv)
    report = soak(
        options.phones, options.minutes * 60, options.every, options.seed, lambda line: print(line, file=sys.stderr)
    )
    print(json.dumps({"ok": report.ok, **vars(report)}) if options.json else table(report))
    return 0 if report.ok else 1


if __name__ == "__main__":
    sys.exit(main())
