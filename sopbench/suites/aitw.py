"""`aitw-general` and `aitw-web`: DigiRL's instructions on devices with Chrome, success by a VLM judge.

Two judges give two numbers, which are never ranked together: the split, the judge's model and the version of its words stand in the suite's name wherever a run is kept, shown or
compared, as in `aitw-general[test,judge=MODEL,words=1]`. Asked for by either name it is the same suite.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

from sopbench.errors import UsageError
from sopbench.online.base import OnlineEnvironment, OnlineTask
from sopbench.suites.base import DataSource, Loaded, Suite, SuiteOptions

if TYPE_CHECKING:
    from emulator.fleet import Fleet
    from sopbench.judging.judge import Judge
    from sopbench.online.aitw.environment import Begins

COMMIT: Final = "c74ec34029eb5092bf17a64211f2d0284c7d1ba8"
"""DigiRL-agent/digirl: where lists and budgets are from."""
NO_JUDGE: Final = (
    "a judge decides success here: --judge-model NAME --judge-base-url http://host:8000/v1 (a VLM behind an OpenAI-compatible endpoint; "
    "its key from SOPBENCH_JUDGE_API_KEY). `sopbench judge-agreement` measures how far it can be trusted"
)
NO_DEVICES: Final = "it needs devices with Chrome: --devices avd:N, docker:N or attach:HOST:CONSOLE; --devices sim:N (simulated phones) tries the machinery"


class AitwSuite(Suite):
    """A list (`which`, see `online.aitw.tasks`) and the screen that an agent begins at."""

    protocol: ClassVar[Literal["semi_online", "online", "static"]] = "online"
    default_profile: ClassVar[str | None] = None
    takes: ClassVar[frozenset[str]] = frozenset({"devices", "judge_model", "judge_base_url"})
    which: ClassVar[str]
    begins: ClassVar[Begins]
    page: ClassVar[str | None] = None
    """What Chrome is opened with; None: its own first page."""

    def __init__(self, options: SuiteOptions | None = None) -> None:
        super().__init__(options)
        self.base_name = self.name
        self.judge_model: str | None = None
        if self.options.judge_model is not None:
            from sopbench.judging.judge import checked_name
            from sopbench.judging.words import VERSION

            self.judge_model = checked_name(self.options.judge_model)
            simulated = ",simulated" if self.simulated else ""
            self.name = f"{self.base_name}[test,judge={self.judge_model},words={VERSION}{simulated}]"  # type: ignore[misc]  # of this suite
        self._fleet: Fleet | None = None
        self._judge: Judge | None = None
        self._lock = threading.Lock()

    @property
    def backend(self) -> str | None:
        """The kind of devices that was asked for."""
        return (self.options.devices or "").partition(":")[0] or None

    @property
    def simulated(self) -> bool:
        return self.backend == "sim"

    def _load(self, source: DataSource, limit: int | None) -> Loaded:
        from sopbench.online.aitw.tasks import COUNT, LISTS, instructions, pinned, web_template
        from sopbench.runs.fingerprint import fingerprint

        if self.judge_model is None:
            raise UsageError(f"suite {self.base_name}: {NO_JUDGE}")
        listed = LISTS[self.which]
        tasks = [
            OnlineTask(
                f"{listed.stem}-{number:03}",
                goal,
                listed.budget,
                {"template": web_template(goal)} if self.which == "web" else {},
            )
            for number, goal in enumerate(instructions(listed))
        ]
        digest = fingerprint({"list": pinned(listed).sha256, "first": COUNT})
        return Loaded(digest, tasks=tasks[:limit])

    def facts(self) -> dict[str, Any]:
        from sopbench.judging.judge import judge_facts
        from sopbench.online.aitw.environment import SETTLE, SIMULATED_SETTLE
        from sopbench.online.aitw.tasks import LISTS

        assert self.judge_model is not None, "load() first"
        return {
            "judge": judge_facts(self.judge_model),
            "aitw": {
                "source": f"digirl@{COMMIT}",
                "list": LISTS[self.which].file,
                "begins": self.begins,
                "backend": self.backend,
                "settle": SIMULATED_SETTLE if self.simulated else SETTLE,
                "simulated": self.simulated,
            },
        }

    def settings(self) -> dict[str, Any]:
        from sopbench.judging.kept import agreement_of

        assert self.judge_model is not None, "load() first"
        kept = agreement_of(self.judge_model)
        return {"judge_agreement": kept.as_settings() if kept else None}

    def at_once(self) -> int | None:
        from emulator.backends import parse

        return parse(self.options.devices).count if self.options.devices else None

    def open(self, slots: int) -> None:
        from sopbench.judging.judge import Judge, JudgeFailed, judge_key
        from sopbench.judging.kept import warn_unmeasured
        from sopbench.online.aitw.devices import fleet_for

        if self.judge_model is None or not self.options.judge_base_url:
            raise UsageError(f"suite {self.base_name}: {NO_JUDGE}")
        if not self.options.devices:
            raise UsageError(f"suite {self.base_name}: {NO_DEVICES}")
        fleet = fleet_for(self.options.devices, slots)
        warn_unmeasured(self.judge_model)
        self._judge = Judge(self.judge_model, self.options.judge_base_url, api_key=judge_key(), concurrency=slots)
        try:
            self._judge.probe()
        except JudgeFailed as error:
            raise UsageError(f"nothing was played: {error}") from error
        self._fleet = fleet
        fleet.start()

    def close(self) -> None:
        with self._lock:
            fleet, self._fleet = self._fleet, None
            judge, self._judge = self._judge, None
        if judge is not None:
            judge.close()
        if fleet is not None:
            fleet.stop()

    def environment(self, task: OnlineTask) -> OnlineEnvironment:
        from sopbench.online.aitw.environment import AitwEnvironment

        if self._fleet is None or self._judge is None:
            raise UsageError(f"suite {self.base_name}: {NO_DEVICES}")
        return AitwEnvironment(task, self._fleet, self._judge, begins=self.begins, page=self.page)


class AitwGeneralSuite(AitwSuite):
    name: ClassVar[str] = "aitw-general"
    summary: ClassVar[str] = "AITW general: DigiRL's first 96 test instructions on live devices, success by a VLM judge"
    which: ClassVar[str] = "general"
    begins: ClassVar[Begins] = "home"


class AitwWebSuite(AitwSuite):
    name: ClassVar[str] = "aitw-web"
    summary: ClassVar[str] = (
        "AITW web shopping: DigiRL's first 96 test instructions in Chrome on live devices, success by a VLM judge"
    )
    which: ClassVar[str] = "web"
    begins: ClassVar[Begins] = "chrome"
