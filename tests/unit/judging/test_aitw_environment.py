"""AITW's environment on a device that is a script: where it begins, what it waits for, and whose fault is whose."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any, cast

import pytest
from PIL import Image

from emulator.adb import AdbResult
from emulator.device import Device, DeviceFailed, Facts
from sopbench.actions import Action, Answer, Click, SystemButton
from sopbench.geometry import Point
from sopbench.judging.judge import Judge, JudgeFailed, Judgement
from sopbench.judging.words import SCREENS, Case
from sopbench.online.aitw.environment import CHROME, LOOKS, AitwEnvironment, Begins
from sopbench.online.base import EnvironmentFailed, OnlineTask
from sopbench.screen import Screen

TASK = OnlineTask("web-1", "Go to a page", 20)
CLICK = Click(Point(0.5, 0.5))


def picture(shade: int) -> Screen:
    out = io.BytesIO()
    Image.new("RGB", (27, 60), (shade, shade, shade)).save(out, "PNG")
    return Screen.from_bytes(out.getvalue())


class ScriptedDevice:
    """Shows the given shades one after the other, the last for ever; writes down what is done to it."""

    name, facts = "scripted", Facts("sim")

    def __init__(self, *shades: int, chrome: str = "Starting: Intent") -> None:
        self.shades, self.chrome = list(shades), chrome
        self.did: list[Any] = []
        self.looks = 0
        self.failing = False

    def act(self, action: Action) -> None:
        if self.failing:
            raise DeviceFailed("offline", "gone")
        self.did.append(action)

    def shell(self, *words: str) -> AdbResult:
        self.did.append(words)
        return AdbResult(0, self.chrome.encode(), b"", 0.0)

    def screenshot(self) -> Screen:
        self.looks += 1
        return picture(self.shades.pop(0) if len(self.shades) > 1 else self.shades[0])


class OneDevice:
    def __init__(self, device: ScriptedDevice) -> None:
        self.device, self.back = device, list[bool]()

    def lend(self, within: float | None = None) -> Device:
        return cast(Device, self.device)

    def give_back(self, device: Device, *, broken: bool = False) -> None:
        self.back.append(broken)


class ScriptedJudge:
    def __init__(self, verdict: Callable[[Case], bool | None]) -> None:
        self.verdict, self.cases = verdict, list[Case]()

    def judge(self, case: Case, name: str) -> Judgement:
        self.cases.append(case)
        success = self.verdict(case)
        return Judgement(success, None if success is not None else "none_found", "words", "vlm", 0.1, 1)


def environment(
    device: ScriptedDevice, judge: ScriptedJudge | None = None, begins: Begins = "chrome", page: str | None = None
) -> tuple[AitwEnvironment, OneDevice]:
    lender = OneDevice(device)
    asked = cast(Judge, judge or ScriptedJudge(lambda case: True))
    return AitwEnvironment(TASK, lender, asked, begins=begins, page=page, settle=0.0), lender


def test_chrome_is_opened_and_the_general_list_begins_at_home() -> None:
    web, general, paged = ScriptedDevice(9), ScriptedDevice(9), ScriptedDevice(9)
    environment(web)[0].reset()
    environment(general, begins="home")[0].reset()
    environment(paged, page="http://127.0.0.1:1/")[0].reset()
    home, opened = SystemButton("Home"), ("am", "start", "-n", CHROME)
    assert web.did == [home, opened]
    assert general.did == [home, opened, home]
    assert paged.did[1] == (
        "am",
        "start",
        "-a",
        "android.intent.action.VIEW",
        "-d",
        "http://127.0.0.1:1/",
        "-n",
        CHROME,
    )


def test_a_device_without_chrome_is_no_device_for_this() -> None:
    playing, lender = environment(ScriptedDevice(9, chrome="Error: Activity class does not exist."))
    with pytest.raises(EnvironmentFailed, match="Chrome does not start on scripted") as caught:
        playing.reset()
    assert caught.value.kind == "not_installed"
    playing.close()
    assert lender.back == [False]


def test_an_empty_page_is_waited_for_but_not_for_ever() -> None:
    loading, blank = ScriptedDevice(255, 255, 9), ScriptedDevice(255)
    assert environment(loading)[0].reset().sha256 == picture(9).sha256
    assert loading.looks == 3
    environment(blank)[0].reset()
    assert blank.looks == LOOKS


def test_the_judge_gets_the_last_different_screens_and_every_action() -> None:
    judge = ScriptedJudge(lambda case: False)
    device = ScriptedDevice(1, 2, 2, 3, 4)
    playing, _ = environment(device, judge)
    playing.reset()
    for _ in range(4):
        playing.act(CLICK)
    assert playing.act(Answer("42")).sha256 == picture(4).sha256
    playing.finished(True)
    assert playing.score() == 0.0
    (case,) = judge.cases
    assert [s.sha256 for s in case.screens] == [picture(n).sha256 for n in (2, 3, 4)]
    assert len(case.screens) == SCREENS
    assert case.actions == (CLICK,) * 4 + (Answer("42"),)
    details = playing.details()
    assert (details["device"], details["said_done"], details["judge"]["reply"]) == ("scripted", True, "words")
    assert Answer("42") not in device.did


def test_no_verdict_and_no_answer_are_neither_success_nor_failure() -> None:
    def down(case: Case) -> bool:
        raise JudgeFailed("down")

    for verdict, kind in ((lambda case: None, "judge_no_verdict"), (down, "judge_unreachable")):
        playing, lender = environment(ScriptedDevice(9), ScriptedJudge(verdict))
        playing.reset()
        with pytest.raises(EnvironmentFailed) as caught:
            playing.score()
        assert caught.value.kind == kind
        playing.close()
        assert lender.back == [False]


def test_a_device_that_broke_is_given_back_as_one_once() -> None:
    device = ScriptedDevice(9)
    playing, lender = environment(device)
    playing.reset()
    device.failing = True
    with pytest.raises(DeviceFailed):
        playing.act(CLICK)
    playing.close()
    playing.close()
    assert lender.back == [True]


def test_nothing_is_scored_before_it_began() -> None:
    with pytest.raises(EnvironmentFailed, match="reset"):
        environment(ScriptedDevice(9))[0].score()
