"""MiniWoB++ (Chromium): 91 small web tasks on a browser with a phone's screen and touch. It is not AndroidWorld, which plays such pages in an app on a phone."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from sopbench.errors import UsageError
from sopbench.online.base import OnlineEnvironment, OnlineTask
from sopbench.suites.base import DataSource, Loaded, Suite

if TYPE_CHECKING:
    from sopbench.online.miniwob.pool import Browsers

METRIC = "reward"


class MiniwobSuite(Suite):
    name: ClassVar[str] = "miniwob"
    summary: ClassVar[str] = (
        "MiniWoB++ (Chromium): 91 web tasks by touch on a phone-shaped browser, scored by the page's reward; not AndroidWorld"
    )
    protocol: ClassVar[Literal["semi_online", "online", "static"]] = "online"
    default_profile: ClassVar[str | None] = None
    takes: ClassVar[frozenset[str]] = frozenset({"instances", "task_seed"})

    _browsers: Browsers | None = None

    def _load(self, source: DataSource, limit: int | None) -> Loaded:
        from sopbench.online.miniwob import tasks as known

        each = self.options.instances or 1
        seed = known.DEFAULT_TASK_SEED if self.options.task_seed is None else self.options.task_seed
        chosen = known.instances(each, seed)
        lines = [f"{known.html_sha256()} {known.BUDGET}", *(f"{i.id} {i.seed}" for i in chosen)]
        tasks = [
            OnlineTask(
                i.id,
                f"{i.task} (the page says what to do, once its seed is set)",
                known.BUDGET,
                {"template": i.task, "seed": i.seed, "number": i.number},
            )
            for i in chosen
        ]
        return Loaded(hashlib.sha256("\n".join(lines).encode()).hexdigest(), tasks=tasks[:limit])

    def facts(self) -> dict[str, Any]:
        """The pages, and what draws them: another Chromium lays out and draws text in another way, so that its pictures are others."""
        from sopbench.online.miniwob.browser import SCALE, VIEWPORT, chromium_version
        from sopbench.online.miniwob.tasks import html_sha256, package_version

        return {
            "metric": METRIC,
            "miniwob": package_version(),
            "miniwob_html": html_sha256(),
            "chromium": chromium_version(),
            "viewport": f"{VIEWPORT}@{SCALE}",
        }

    def at_once(self) -> int | None:
        """Two browsers a core: one draws while the other waits for its model."""
        return 2 * (os.cpu_count() or 1)

    def open(self, slots: int) -> None:
        from sopbench.online.miniwob.browser import programs
        from sopbench.online.miniwob.pool import Browsers
        from sopbench.online.miniwob.tasks import html_folder

        programs()
        self._browsers = Browsers(slots, html_folder())

    def close(self) -> None:
        browsers, self._browsers = self._browsers, None
        if browsers is not None:
            browsers.close()

    def environment(self, task: OnlineTask) -> OnlineEnvironment:
        from sopbench.online.miniwob.environment import MiniwobEnvironment
        from sopbench.online.miniwob.tasks import Instance

        if self._browsers is None:
            raise UsageError("suite miniwob was not opened: open(slots) comes before environment(task)")
        return MiniwobEnvironment(
            self._browsers, Instance(task.facts["template"], task.facts["number"], task.facts["seed"])
        )
