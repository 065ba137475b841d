"""As many browsers as episodes are played at once, each used by one episode after another and replaced where it broke."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from sopbench.online.base import EnvironmentFailed
from sopbench.online.miniwob.browser import Browser

LEND_SECONDS: Final = 120.0
EPISODES_EACH: Final = 500
"""A browser is replaced after so many episodes, lest its memory grow without end."""


class Browsers:
    """Lends browsers. They start when they are first needed; `close` ends them all, also those that are lent. Safe from several threads."""

    def __init__(self, slots: int, folder: Path, make: Callable[[Path], Browser] = Browser) -> None:
        if slots < 1:
            raise ValueError("a pool of browsers has at least one")
        self.slots = slots
        self._folder, self._make = folder, make
        self._free: list[Browser] = []
        self._used: dict[Browser, int] = {}
        self._starting = 0
        self._closed = False
        self._changed = threading.Condition()
        self.started = 0
        """How many browsers were started in all; more than `slots` means that some broke."""

    def lend(self, within: float = LEND_SECONDS) -> Browser:
        """A browser that works. Raises `EnvironmentFailed` (`no_browser`: none was free before the deadline)."""
        end = time.monotonic() + within
        with self._changed:
            while True:
                if self._closed:
                    raise EnvironmentFailed("no_browser", "the browsers were closed already")
                if self._free:
                    return self._free.pop()
                if len(self._used) + self._starting < self.slots:
                    self._starting += 1
                    break
                left = end - time.monotonic()
                if left <= 0 or not self._changed.wait(left):
                    raise EnvironmentFailed("no_browser", f"no browser was free within {within:g} s")
        return self._fresh()

    def _fresh(self) -> Browser:
        browser: Browser | None = None
        try:
            browser = self._make(self._folder)
        finally:
            with self._changed:
                self._starting -= 1
                late = self._closed
                if browser is not None and not late:
                    self._used[browser] = 0
                    self.started += 1
                self._changed.notify()
        if late:
            browser.stop()
            raise EnvironmentFailed("no_browser", "the browsers were closed already")
        return browser

    def give_back(self, browser: Browser) -> None:
        """One that broke, or has served long enough, is stopped; its place goes to a new one."""
        with self._changed:
            if browser not in self._used:
                return
            self._used[browser] += 1
            keep = not browser.broken and self._used[browser] < EPISODES_EACH
            if keep:
                self._free.append(browser)
            self._changed.notify()
        if not keep:
            browser.stop()
            with self._changed:
                self._used.pop(browser, None)
                self._changed.notify()

    def close(self) -> None:
        with self._changed:
            self._closed = True
            browsers = list(self._used)
            self._used.clear()
            self._free.clear()
            self._changed.notify_all()
        for browser in browsers:
            browser.stop()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
