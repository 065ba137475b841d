"""One instruction on a device with Chrome. The device cannot tell whether it was carried out: a judge does, over the last screens."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, Literal, Protocol

import numpy as np

from emulator.device import Device, DeviceFailed
from sopbench.actions import Action, Answer, SystemButton, Terminate
from sopbench.errors import DataError
from sopbench.judging.judge import Judge, JudgeFailed, Judgement
from sopbench.judging.words import SCREENS, Case
from sopbench.online.base import EnvironmentFailed, OnlineEnvironment, OnlineTask
from sopbench.screen import Screen

CHROME: Final = "com.android.chrome/com.google.android.apps.chrome.Main"
SETTLE: Final = 5.0
"""Seconds between an action and the look at what came of it, on a real device (DigiRL, `env.py`, `get_obs`: 5)."""
SIMULATED_SETTLE: Final = 0.2
WHITE: Final = 0.93
"""Share of bright pixels from which a page counts as still empty: then it is waited for again. DigiRL (`count_white_pixels`): 2.3 million above 240, of 1080 x 2280."""
BRIGHT: Final = 240
LOOKS: Final = 5
LEND_WITHIN: Final = 600.0
MAX_WORDS: Final = 8_000
"""Characters of a judge's reply that stand in the journal."""

Begins = Literal["home", "chrome"]


class Lender(Protocol):
    """Whoever lends clean devices (`emulator.fleet.Fleet`)."""

    def lend(self, within: float | None = None) -> Device: ...

    def give_back(self, device: Device, *, broken: bool = False) -> None: ...


class AitwEnvironment(OnlineEnvironment):
    """`begins`: what the agent sees first; `page`: the address that Chrome is opened with (None: its own first page)."""

    def __init__(
        self,
        task: OnlineTask,
        lender: Lender,
        judge: Judge,
        *,
        begins: Begins = "home",
        page: str | None = None,
        settle: float | None = None,
    ) -> None:
        self._task, self._lender, self._judge = task, lender, judge
        self._begins, self._page, self._settle_seconds = begins, page, settle
        self._device: Device | None = None
        self._broken = False
        self._screens: deque[Screen] = deque(maxlen=SCREENS)
        self._actions: list[Action] = []
        self._done = False
        self._judgement: Judgement | None = None
        self._name = ""

    def reset(self) -> Screen:
        if self._device is None:
            self._device = self._lender.lend(LEND_WITHIN)
        self._screens.clear()
        self._actions.clear()
        self._judgement, self._done, self._name = None, False, self._device.name
        with self._breaking():
            self._device.act(SystemButton("Home"))
            where = ("-a", "android.intent.action.VIEW", "-d", self._page) if self._page else ()
            result = self._device.shell("am", "start", *where, "-n", CHROME)
            if "Error" in result.text or "Error" in result.error:
                raise EnvironmentFailed(
                    "not_installed",
                    f"Chrome does not start on {self._name}: {(result.error or result.text)[:200]}. It has to be installed in the image",
                )
            if self._begins == "home":
                self._device.act(SystemButton("Home"))
            return self._look()

    def act(self, action: Action) -> Screen:
        device = self._running
        self._actions.append(action)
        if isinstance(action, Answer | Terminate):
            return self._screens[-1]
        with self._breaking():
            device.act(action)
            return self._look()

    def finished(self, said_done: bool) -> None:
        self._done = said_done

    def score(self) -> float:
        _ = self._running
        case = Case(self._task.goal, tuple(self._screens), tuple(self._actions))
        try:
            judged = self._judgement = self._judge.judge(case, self._task.id)
        except JudgeFailed as error:
            raise EnvironmentFailed("judge_unreachable", str(error)) from error
        except DataError as error:
            raise EnvironmentFailed("bad_screen", str(error)) from error
        if judged.success is None:
            raise EnvironmentFailed("judge_no_verdict", f"{judged.why}: {judged.reply[:600]!r}")
        return float(judged.success)

    def details(self) -> dict[str, Any]:
        found: dict[str, Any] = {"device": self._name, "said_done": self._done}
        if (judged := self._judgement) is not None:
            found["judge"] = {
                "success": judged.success,
                "reply": judged.reply[:MAX_WORDS],
                "model": judged.model,
                "seconds": judged.seconds,
                "attempts": judged.attempts,
                "screens": [screen.sha256 for screen in self._screens],
            }
        return found

    def close(self) -> None:
        device, self._device = self._device, None
        if device is not None:
            self._lender.give_back(device, broken=self._broken)

    # ---- the device
    @property
    def _running(self) -> Device:
        if self._device is None or not self._screens:
            raise EnvironmentFailed("not_started", "reset() first")
        return self._device

    @contextmanager
    def _breaking(self) -> Iterator[None]:
        """Remembers that the device broke, so that it is given back as one that did."""
        try:
            yield
        except DeviceFailed:
            self._broken = True
            raise

    def _look(self) -> Screen:
        """The screen once it has settled. One that is empty is given more time; a screen like the one before is not kept twice."""
        assert self._device is not None
        simulated = self._device.facts.backend == "sim"
        settle = self._settle_seconds
        if settle is None:
            settle = SIMULATED_SETTLE if simulated else SETTLE
        for _ in range(LOOKS):
            time.sleep(settle)
            screen = self._device.screenshot()
            try:
                empty = _empty(screen)
            except DataError as error:
                raise DeviceFailed("bad_reply", f"{self._name}: {error}") from error
            if not empty:
                break
        if not self._screens or self._screens[-1].sha256 != screen.sha256:
            self._screens.append(screen)
        return screen


def _empty(screen: Screen) -> bool:
    """Whether the screen is all but white."""
    pixels = np.asarray(screen.decode())
    return bool((pixels.min(axis=-1) > BRIGHT).mean() > WHITE)
