"""One AndroidWorld task being played: upstream's own order of things (suite_utils.py, episode_runner.py), through the bridge.

initialize_task, reset of the environment, steps, is_successful, tear_down. Two differences: tear_down is always done, and what breaks is an infrastructure failure
where upstream's suite records NaN and leaves the episode out of its mean.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

from emulator.device import DeviceFailed
from sopbench.actions import Action, Swipe
from sopbench.errors import DataError
from sopbench.geometry import Size
from sopbench.online.androidworld.actions import SETTLE, Keys, OnDevice, Words, order_of, swipe_words
from sopbench.online.androidworld.client import BridgeFailed
from sopbench.online.androidworld.slots import SIMULATED_SLEEP, Slot, Slots, failed
from sopbench.online.base import EnvironmentFailed, OnlineEnvironment, OnlineTask
from sopbench.screen import Screen

START: Final = 300.0
ACT: Final = 120.0
LOOK: Final = 90.0
SCORE: Final = 180.0
TEAR_DOWN: Final = 180.0
"""Seconds until the bridge is given up."""


class AndroidWorldEnvironment(OnlineEnvironment):
    """`task.facts`: family, template, seed. `actuation`: `upstream` or `mobile-agent` (see `actions`)."""

    def __init__(self, slots: Slots, task: OnlineTask, actuation: str) -> None:
        self._slots, self._task, self._actuation = slots, task, actuation
        self._slot: Slot | None = None
        self._broken = self._suspect = False
        self._size: Size | None = None
        self._goal: str | None = None
        self._said_done = False
        self._reward: float | None = None
        self._ended_by_page: float | None = None
        self._counts = {"beyond_upstream": 0, "refused": 0}
        self._seconds: dict[str, float] = {}

    @property
    def slot(self) -> Slot:
        """The device and its bridge, between `reset` and `close`: for tests and scripted agents."""
        if self._slot is None:
            raise EnvironmentFailed("not_started", "reset() first")
        return self._slot

    @property
    def _miniwob(self) -> bool:
        return str(self._task.facts["family"]).startswith("miniwob")

    def reset(self) -> Screen:
        if self._slot is None:
            self._slot = self._slots.lend()
        facts: Mapping[str, Any] = self._task.facts
        told = self._ask(
            "start",
            START,
            family=facts["family"],
            template=facts["template"],
            seed=facts["seed"],
            goal=self._task.goal,
        )
        self._goal = str(told["goal"])
        return self._look()

    def goal(self) -> str | None:
        """Upstream tells the agent the goal as it is after initialize_task; a MiniWoB page's is not known before."""
        return self._goal

    def act(self, action: Action) -> Screen:
        self.perform(action)
        return self._look()

    def perform(self, action: Action) -> None:
        if self._ended_by_page is not None:
            return  # upstream's episode is over: nothing that comes after counts
        match order_of(action, self._actuation, self._size or Size(1080, 2400)):
            case Words(fields):
                refused = self._ask("act", ACT, action=fields)["refused"]
                self._counts["refused"] += refused is not None
            case Keys(code):
                self._counts["beyond_upstream"] += 1
                self._shell("input", "keyevent", code)
            case OnDevice(Swipe() as swipe):
                self._shell(*swipe_words(swipe, self._size or Size(1080, 2400)))
            case OnDevice(other):
                with self._watched():
                    self.slot.device.act(other, within=ACT)
            case None:
                pass
        if self._actuation == "mobile-agent":
            time.sleep(SIMULATED_SLEEP if self.slot.facts.get("simulated") else SETTLE)
        if self._miniwob and self._ask("terminated", SCORE)["terminated"]:
            self._ended_by_page = self._verdict()

    def finished(self, said_done: bool) -> None:
        self._said_done = said_done

    def score(self) -> float:
        """Upstream's success: `task_successful if interaction_results.done else 0.0` (suite_utils.py, _run_task), where an agent is done that said so, and a MiniWoB
        episode that its page ended (episode_runner.py, termination_fn). A budget that is used up is no success, whatever the state."""
        if self._ended_by_page is not None:
            self._reward = self._ended_by_page
            return self._reward
        self._reward = self._verdict()
        return self._reward if self._said_done else 0.0

    def details(self) -> dict[str, Any]:
        slot = self._slot
        told: dict[str, Any] = {
            "reward": self._reward,
            "said_done": self._said_done,
            "ended_by_page": self._ended_by_page is not None,
            **self._counts,
            "seconds": {name: round(value, 2) for name, value in self._seconds.items()},
        }
        return told | ({"device": slot.device.name, **slot.facts} if slot is not None else {})

    def close(self) -> None:
        slot = self._slot
        if slot is None:
            return
        try:
            if not self._broken and slot.bridge.pid is not None:
                self._ask("tear_down", TEAR_DOWN)
        finally:
            self._slot = None
            if self._suspect:
                self._broken = self._broken or not slot.device.health().ok
            self._slots.give_back(slot, broken=self._broken)

    # ---- the bridge
    def _verdict(self) -> float:
        reward = self._ask("score", SCORE)["reward"]
        if not isinstance(reward, int | float) or not 0 <= reward <= 1:
            raise EnvironmentFailed("bad_reply", f"{self._task.id}: is_successful gave {reward!r:.60}")
        return float(reward)

    def _look(self) -> Screen:
        told = self._ask("screen", LOOK, settle=self._actuation != "mobile-agent")
        try:
            data = base64.b64decode(told["png"], validate=True)
            screen = Screen.from_bytes(data, self._task.id)
            self._size = screen.size
        except (KeyError, TypeError, binascii.Error, DataError) as error:
            self._broken = True
            raise EnvironmentFailed("bad_reply", f"{self._task.id}: a screen that is none ({error})") from error
        return screen

    def _ask(self, order: str, within: float, **more: Any) -> dict[str, Any]:
        began = time.monotonic()
        with self._watched():
            told = self.slot.bridge.ask(order, within, watch=self.slot.watch, **more)
        self._seconds[order] = self._seconds.get(order, 0.0) + time.monotonic() - began
        return told

    def _shell(self, *words: str) -> None:
        with self._watched():
            self.slot.device.shell(*words, within=ACT)

    @contextlib.contextmanager
    def _watched(self) -> Iterator[None]:
        """What breaks the device or the bridge is remembered: they are not lent again as they are.

        An error that AndroidWorld's own code raised leaves the bridge alive; whether the device is at fault is seen at the end (`close`).
        """
        try:
            yield
        except (BridgeFailed, DeviceFailed) as error:
            self._suspect = True
            self._broken = self._broken or failed(error)
            raise
