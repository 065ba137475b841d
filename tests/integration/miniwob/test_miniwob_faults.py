"""Browsers that die, hang or meet a hostile page; and that all of them end."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import psutil
import pytest

import sopbench
from emulator.orphans import Process
from sopbench.actions import Click, Wait
from sopbench.geometry import Point
from sopbench.online.base import EnvironmentFailed
from sopbench.online.miniwob import browser
from sopbench.online.miniwob.browser import Browser
from sopbench.online.miniwob.environment import MAX_GOAL, MiniwobEnvironment
from sopbench.online.miniwob.pool import Browsers
from sopbench.online.miniwob.tasks import Instance, html_folder
from sopbench.runs.progress import Progress

pytestmark = pytest.mark.chromium

TASK = Instance("click-test", 0, 7)
HOSTILE = """<!DOCTYPE html><html><head><script>
const core = { startEpisodeReal() { genProblem() }, getUtterance() { return GOAL } };
var WOB_DONE_GLOBAL = false, WOB_RAW_REWARD_GLOBAL = 'NaN';
Math.seedrandom = () => {};
function genProblem() { document.body.textContent = 'x'.repeat(1e5) }
BODY
</script></head><body></body></html>"""


def alive(processes: list[Process]) -> list[Process]:
    return [p for p in processes if p.alive]


def chromes() -> list[psutil.Process]:
    """Browsers and drivers that this process has started."""
    below = psutil.Process().children(recursive=True)
    return [p for p in below if p.is_running() and p.status() != psutil.STATUS_ZOMBIE and "chrom" in p.name()]


def test_a_killed_browser_is_the_environments_failure_and_the_next_one_works() -> None:
    with Browsers(1, html_folder()) as pool:
        environment = MiniwobEnvironment(pool, TASK)
        environment.reset()
        old = environment.browser.processes
        assert environment.browser.pid is not None
        os.kill(environment.browser.pid, signal.SIGKILL)
        with pytest.raises(EnvironmentFailed) as failure:
            environment.act(Click(Point(0.5, 0.5)))
        assert failure.value.kind == "browser_gone"
        environment.close()
        assert alive(old) == []
        again = MiniwobEnvironment(pool, TASK)
        again.reset()
        assert not set(again.browser.processes) & set(old)
        assert pool.started == 2


def test_a_stopped_browser_misses_its_deadline_and_is_ended() -> None:
    with Browsers(1, html_folder(), make=lambda folder: Browser(folder, seconds=3)) as pool:
        environment = MiniwobEnvironment(pool, TASK)
        environment.reset()
        processes = environment.browser.processes
        assert environment.browser.pid is not None
        os.kill(environment.browser.pid, signal.SIGSTOP)
        began = time.monotonic()
        with pytest.raises(EnvironmentFailed) as failure:
            environment.act(Click(Point(0.5, 0.5)))
        assert failure.value.kind == "browser_hung"
        assert time.monotonic() - began < 10
        environment.close()
        assert alive(processes) == []


def hostile(folder: Path, name: str, goal: str, body: str = "") -> Instance:
    pages = folder / "miniwob"
    pages.mkdir(exist_ok=True)
    (pages / f"{name}.html").write_text(HOSTILE.replace("GOAL", goal).replace("BODY", body))
    return Instance(name, 0, 1)


def test_a_hostile_page_is_bounded(tmp_path: Path) -> None:
    with Browsers(1, tmp_path, make=lambda folder: Browser(folder, seconds=3)) as pool:
        long = MiniwobEnvironment(pool, hostile(tmp_path, "long", r"'\u202e\u0007<b>' + 'y'.repeat(1e6)"))
        long.reset()
        goal = long.goal()
        assert goal is not None
        assert goal.startswith("<b>yyy")
        assert len(goal) == MAX_GOAL
        assert long.score() == 0
        long.close()

        odd = MiniwobEnvironment(pool, hostile(tmp_path, "empty", "' '"))
        with pytest.raises(EnvironmentFailed) as failure:
            odd.reset()
        assert failure.value.kind == "bad_page"
        odd.close()

        endless = MiniwobEnvironment(
            pool, hostile(tmp_path, "endless", "'go'", "document.addEventListener('click', () => { for (;;) ; })")
        )
        endless.reset()
        with pytest.raises(EnvironmentFailed) as failure:
            endless.act(Click(Point(0.3, 0.01)))
        assert failure.value.kind == "browser_hung"
        endless.close()

        talking = MiniwobEnvironment(pool, hostile(tmp_path, "alerts", "'go'", "setTimeout(() => alert('hello'), 300)"))
        talking.reset()
        talking.act(Wait(0.5))
        talking.close()


def test_a_browser_that_does_not_come_up_in_time_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser, "START_SECONDS", 0.05)
    before = {p.pid for p in chromes()}
    with pytest.raises(EnvironmentFailed) as failure:
        Browser(html_folder())
    assert failure.value.kind == "browser_no_start"
    assert {p.pid for p in chromes()} <= before


def test_closing_ends_every_process_and_leaves_no_folder() -> None:
    pool = Browsers(2, html_folder())
    lent = [pool.lend(), pool.lend()]
    processes = [process for one in lent for process in one.processes]
    assert len(processes) >= 4
    assert len({one.pid for one in lent}) == 2
    with pytest.raises(EnvironmentFailed, match="no browser was free"):
        pool.lend(within=0.1)
    profiles = [_profile(one.pid) for one in lent]
    assert all(profile.is_dir() for profile in profiles)
    pool.close()
    assert alive(processes) == []
    assert not [profile for profile in profiles if profile.exists()]
    with pytest.raises(EnvironmentFailed, match="closed already"):
        pool.lend()


def _profile(pid: int | None) -> Path:
    """The folder that a browser was told to keep its profile in."""
    [word] = [w for w in psutil.Process(pid).cmdline() if w.startswith("--user-data-dir=")]
    return Path(word.partition("=")[2])


def test_a_run_outlives_a_killed_browser(tmp_path: Path) -> None:
    before = {p.pid for p in chromes()}
    killed: list[int] = []

    def killer(progress: Progress) -> None:
        new = [p for p in chromes() if p.pid not in before and p.name().startswith("chromium")]
        if progress.steps >= 3 and not killed and new:
            killed.append(new[0].pid)
            os.kill(new[0].pid, signal.SIGKILL)

    run = sopbench.run(
        suite="miniwob",
        model="builtin:oracle-dom",
        tasks=("login-user", "enter-text", "click-option"),
        options={"instances": 2},
        concurrency=2,
        out=tmp_path / "run",
        listener=killer,
    )
    ends = [log.end for log in run.folder.episodes().values()]
    assert killed
    assert [(e.outcome, e.score, e.details) for e in ends if e is not None] == [
        ("scored", 1.0, {"raw_reward": 1.0, "episode_over": True})
    ] * 6
    assert {"miniwob", "miniwob_html", "chromium", "viewport", "metric"} <= set(run.info.facts["environment"])
    assert {p.pid for p in chromes()} == before
