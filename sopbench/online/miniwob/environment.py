"""One episode of MiniWoB++ in a lent browser. Success is the page's raw reward (without the discount for time): 1.0, and nothing less."""

from __future__ import annotations

import re
from typing import Any, Final

from sopbench.actions import Action, Terminate
from sopbench.online.base import EnvironmentFailed, OnlineEnvironment
from sopbench.online.miniwob.browser import Browser, script
from sopbench.online.miniwob.fingers import perform
from sopbench.online.miniwob.pool import Browsers
from sopbench.online.miniwob.tasks import Instance
from sopbench.screen import Screen

SETTLE_MILLISECONDS: Final = 1500
MAX_GOAL: Final = 2000
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]+")


class MiniwobEnvironment(OnlineEnvironment):
    """One task with one seed. Once the page says that the episode is over, nothing that is done counts any more."""

    def __init__(self, browsers: Browsers, instance: Instance) -> None:
        self._browsers, self._instance = browsers, instance
        self._browser: Browser | None = None
        self._goal: str | None = None
        self._done = False
        self._raw = 0.0
        self._memory: dict[str, Any] = {}

    @property
    def browser(self) -> Browser:
        if self._browser is None:
            raise EnvironmentFailed("not_started", "reset() first")
        return self._browser

    @property
    def done(self) -> bool:
        """Whether the page has ended the episode."""
        return self._done

    def reset(self) -> Screen:
        if self._browser is None:
            self._browser = self._browsers.lend()
        self._done, self._raw, self._memory = False, 0.0, {}
        self.browser.open(f"miniwob/{self._instance.task}.html")
        told = self.browser.call(script("begin.js"), self._instance.seed)
        said = told.get("goal") if isinstance(told, dict) else None
        if not isinstance(said, str):
            raise EnvironmentFailed("bad_page", f"{self._instance.task}: {str(told)[:200]}")
        self._goal = told_by_page(said)
        if not self._goal:
            raise EnvironmentFailed("bad_page", f"{self._instance.task}: the page asks for nothing")
        self._stand()
        return self._look()

    def goal(self) -> str | None:
        return self._goal

    def act(self, action: Action) -> Screen:
        self.perform(action)
        return self._look()

    def perform(self, action: Action) -> None:
        if self._done:
            return
        perform(self.browser, action)
        self._stand()

    def score(self) -> float:
        if not self._done:
            self._stand()
        return 1.0 if self._done and self._raw == 1.0 else 0.0

    def details(self) -> dict[str, Any]:
        return {"raw_reward": self._raw, "episode_over": self._done}

    def expert(self) -> Action | None:
        """The next action of the task's scripted expert, which looks at the page's elements; None where there is none, or it is at a loss."""
        from sopbench.online.miniwob.experts import expert_for
        from sopbench.online.miniwob.look import Page

        if self._done:
            return Terminate("success")
        expert = expert_for(self._instance.task)
        return expert(Page(self.browser, self._goal or "", self._memory)) if expert is not None else None

    def close(self) -> None:
        browser, self._browser = self._browser, None
        if browser is not None:
            self._browsers.give_back(browser)

    def _stand(self) -> None:
        """Wait for the page to come to rest, and keep what it says of the episode."""
        told = self.browser.call(script("settle.js"), SETTLE_MILLISECONDS)
        if not isinstance(told, dict) or not isinstance(told.get("raw"), int | float):
            raise EnvironmentFailed("bad_page", f"{self._instance.task}: a state that is none: {str(told)[:100]}")
        if told.get("page") != f"{self._instance.task}.html":  # it was led away from its page: the agent's doing
            self._done = True
            return
        self._done, self._raw = told.get("done") is True, float(told["raw"])

    def _look(self) -> Screen:
        return Screen.from_bytes(self.browser.screenshot(), self._instance.id)


def told_by_page(text: str) -> str:
    """A page's words as one line without control characters, bounded."""
    return " ".join(_CONTROL.sub(" ", text).split())[:MAX_GOAL]
