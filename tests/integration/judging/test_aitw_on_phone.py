"""AITW's suites from end to end on a simulated phone with a Chromium page as its screen, judged over real HTTP."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Iterator
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import pytest
from fault_server import Behaviour, ServerMaker, answer, closed_port, refuse
from judge_server import green, seeing, texts

import sopbench
from emulator.adb import AdbMissing, find_adb
from sopbench.actions import Action, Click, Terminate
from sopbench.api import Run
from sopbench.cli.show import metrics_shown, print_summary
from sopbench.clients.base import Ask, Policy, Reply
from sopbench.errors import UsageError
from sopbench.geometry import Point
from sopbench.online.aitw import tasks
from sopbench.suites import SUITES
from sopbench.suites.aitw import AitwWebSuite

VLM = "org/vlm"
PAGE = b"""<!doctype html><body style="margin:0;height:100vh;background:#c00" onclick="document.body.style.background='#0c0'">
<p style="color:#fff">tap me</p></body>"""
LIST = "".join(f"Make page {n} green\n" for n in range(96)).encode()
CLICK, DONE = Click(Point(0.5, 0.5)), Terminate("success")


class Scripted(Policy):
    """Does a list of actions in order, the same in every episode."""

    name = "scripted"

    def __init__(self, *actions: Action) -> None:
        self.actions = actions

    async def ask(self, ask: Ask) -> Reply:
        action = self.actions[ask.key[2]]
        return Reply(ask.adapter.format(action, ask.size), "scripted", "here")

    def describe(self) -> dict[str, Any]:
        return {"model": "scripted", "sampling": None, "policy": {"kind": "scripted"}}


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(PAGE)))
        self.end_headers()
        self.wfile.write(PAGE)

    def log_message(self, format: str, *args: object) -> None:
        return


@pytest.fixture(scope="module")
def page() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Page) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture
def _phone_with_chrome(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The web suite, opened on a page of ours, with a list of ours in place of the published one."""
    if shutil.which("chromium") is None:
        pytest.skip("no chromium on this machine: apt-get install chromium")
    try:
        find_adb()
    except AdbMissing as error:
        pytest.skip(str(error))

    class OnOurPage(AitwWebSuite):
        page: ClassVar[str | None] = None

    OnOurPage.page = page
    ours = dataclasses.replace(tasks.pinned(tasks.LISTS["web"]), size=len(LIST), sha256=sha256(LIST).hexdigest())
    monkeypatch.setattr(tasks, "pinned", lambda which: ours)
    monkeypatch.setitem(SUITES, "aitw-web", OnOurPage)
    monkeypatch.setenv("SOPBENCH_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("SOPBENCH_CACHE", str(tmp_path / "cache"))
    (tmp_path / "data" / "aitw-tasks").mkdir(parents=True)
    (tmp_path / "data" / "aitw-tasks" / "webshop_test.txt").write_bytes(LIST)


def play(out: Path, judge: str, *actions: Action, limit: int = 1) -> Run:
    options = {"devices": "sim:1", "judge_model": VLM, "judge_base_url": judge}
    policy = Scripted(*actions)
    return sopbench.run(suite="aitw-web", options=options, limit=limit, prompts="builtin", out=out, policy=policy)


@pytest.mark.chromium
@pytest.mark.usefixtures("_phone_with_chrome")
@pytest.mark.filterwarnings("ignore:judge agreement")
def test_the_judge_decides_by_what_the_phone_shows(
    tmp_path: Path, fault_server: ServerMaker, capsys: pytest.CaptureFixture[str]
) -> None:
    server = fault_server(seeing(lambda body, screens: green(screens[-1])))

    solved = play(tmp_path / "solved", server.base_url, CLICK, DONE, limit=2)
    assert solved.summary["success"] == 100.0
    assert solved.summary["suite"] == "aitw-web[test,judge=org/vlm,words=1,simulated]"
    assert solved.info.facts["environment"]["judge"]["model"] == VLM
    assert solved.summary["judge"]["other_models"] == {"tiny": 2}  # what the stand-in calls itself
    assert metrics_shown(solved.summary) == [("success, by the judge", "tsr")]
    print_summary(solved.summary)
    assert "judge agreement: not measured" in capsys.readouterr().out
    end = next(log.end for log in solved.folder.episodes().values())
    assert end is not None
    assert end.details is not None
    assert end.details["device"] == "sim-0"
    assert end.details["judge"]["reply"].startswith("I looked.")
    assert {p.stem for p in solved.folder.screens_path.iterdir()} >= set(end.details["judge"]["screens"])
    told = "".join(texts(got.body) for got in server.requests[1:])  # the first was the probe
    assert '"Make page 0 green"' in told
    assert "1. tapped at 50 % across, 50 % down" in told

    claimed = play(tmp_path / "claimed", server.base_url, DONE)
    assert (claimed.summary["success"], claimed.summary["complete"]) == (0.0, True)
    assert claimed.summary["said"] == {"success": 1}


@pytest.mark.chromium
@pytest.mark.usefixtures("_phone_with_chrome")
@pytest.mark.filterwarnings("ignore:judge agreement")
def test_a_judge_without_a_verdict_leaves_the_episode_unscored_until_it_has_one(
    tmp_path: Path, fault_server: ServerMaker
) -> None:
    server = fault_server(answer("ready"), answer("Perhaps."), answer("ready"), answer('{"success": true}'))
    run = play(tmp_path / "run", server.base_url, CLICK, DONE)
    assert (run.summary["complete"], run.summary["success"]) == (False, None)
    assert run.summary["not_scored_reasons"] == {"judge_no_verdict": 1}
    assert server.count == 2  # another device would not mend the judge: the episode is not begun again
    again = play(tmp_path / "run", server.base_url, CLICK, DONE)
    assert (again.summary["complete"], again.summary["success"]) == (True, 100.0)


@pytest.mark.usefixtures("_phone_with_chrome")
@pytest.mark.filterwarnings("ignore:judge agreement")
@pytest.mark.parametrize("behaviour", [None, refuse((401, {"error": {"message": "no such key"}}))])
def test_a_judge_that_cannot_be_asked_is_told_before_anything_is_played(
    tmp_path: Path, fault_server: ServerMaker, behaviour: Behaviour | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sopbench.judging.judge.ATTEMPTS", 1)
    url = fault_server(behaviour).base_url if behaviour else f"http://127.0.0.1:{closed_port()}/v1"
    with pytest.raises(UsageError, match="nothing was played: the judge org/vlm gives no answer"):
        play(tmp_path / "run", url, DONE)


@pytest.mark.usefixtures("_phone_with_chrome")
def test_a_suite_without_devices_or_endpoint_says_so(tmp_path: Path) -> None:
    for options, says in (
        ({"judge_model": VLM, "judge_base_url": "http://127.0.0.1:1/v1"}, "it needs devices with Chrome"),
        ({"judge_model": VLM, "devices": "sim:1"}, "--judge-base-url"),
    ):
        with pytest.raises(UsageError, match=says):
            sopbench.run(suite="aitw-web", options=options, limit=1, out=tmp_path / says[:4], policy=Scripted(DONE))
