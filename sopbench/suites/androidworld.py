"""AndroidWorld, run by its own code on devices. On simulated phones the same code runs, and no number is AndroidWorld's: facts and summary say so."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

from sopbench.errors import UsageError
from sopbench.online.androidworld.pins import ACTUATIONS, COMMIT, FAMILIES, INSTANCES, TASK_SEED
from sopbench.online.base import OnlineEnvironment, OnlineTask
from sopbench.suites.base import DataSource, Loaded, Suite, SuiteOptions

if TYPE_CHECKING:
    from sopbench.online.androidworld.slots import Slots

SIMULATED: Final = "androidworld-sim"
"""What the suite is called wherever it was played on simulated phones."""
BUDGETS: Final = "int(10 x complexity) steps, as since 2024-11-18; half of that before"
NO_DEVICES: Final = (
    "suite androidworld needs devices: --devices avd:N, docker:N or attach:HOST:CONSOLE for AndroidWorld itself, "
    "--devices sim:N for simulated phones (their numbers are not AndroidWorld's)"
)


class AndroidWorldSuite(Suite):
    name: ClassVar[str] = "androidworld"
    summary: ClassVar[str] = (
        "AndroidWorld at d9c569f: 116 tasks by its own code on emulators (MiniWoB's 92 with --family)"
    )
    protocol: ClassVar[Literal["semi_online", "online", "static"]] = "online"
    default_profile: ClassVar[str | None] = None
    takes: ClassVar[frozenset[str]] = frozenset({"instances", "task_seed", "family", "actuation", "devices"})

    def __init__(self, options: SuiteOptions | None = None) -> None:
        super().__init__(options)
        asked = self.options
        self.family = asked.family or "android_world"
        self.actuation = asked.actuation or "upstream"
        self.task_seed = TASK_SEED if asked.task_seed is None else asked.task_seed
        self.instances = asked.instances or INSTANCES
        for option, value, known in (("family", self.family, FAMILIES), ("actuation", self.actuation, ACTUATIONS)):
            if value not in known:
                raise UsageError(f"--{option} is one of {', '.join(known)}, not {value[:60]!r}")
        if self.backend == "sim":
            self.name = SIMULATED  # type: ignore[misc]  # of this suite: runs, reports and boards know it by that name
        self._slots: Slots | None = None
        self._lock = threading.Lock()

    @property
    def backend(self) -> str | None:
        """The kind of devices that was asked for."""
        devices = self.options.devices
        return devices.strip().partition(":")[0] if devices else None

    def _load(self, source: DataSource, limit: int | None) -> Loaded:
        from sopbench.online.androidworld.install import installed
        from sopbench.online.androidworld.tasks import digest, list_tasks

        listed = list_tasks(installed(), self.family, self.task_seed, self.instances)
        tasks = [
            OnlineTask(
                t.id,
                t.goal,
                t.budget,
                {"family": self.family, "template": t.template, "instance": t.instance, "seed": t.seed},
            )
            for t in listed
        ]
        return Loaded(digest(listed), tasks=tasks[:limit])

    def facts(self) -> dict[str, Any]:
        own: dict[str, Any] = {
            "commit": COMMIT,
            "family": self.family,
            "task_seed": self.task_seed,
            "instances": self.instances,
            "actuation": self.actuation,
            "budgets": BUDGETS,
            "backend": self.backend,
        }
        if self.backend == "sim":
            own["simulated"] = True
        return {"androidworld": own}

    def settings(self) -> dict[str, Any]:
        return {"devices": self.options.devices}

    def at_once(self) -> int | None:
        from sopbench.online.androidworld.devices import chosen

        return chosen(self.options.devices)[1] if self.options.devices else None

    def open(self, slots: int) -> None:
        from sopbench.online.androidworld import apks
        from sopbench.online.androidworld.devices import fleet_of
        from sopbench.online.androidworld.install import installed
        from sopbench.online.androidworld.slots import Slots

        if not self.options.devices:
            raise UsageError(NO_DEVICES)
        python = installed().python
        fleet = fleet_of(self.options.devices, slots, python, apks.folder())
        self._slots = Slots(fleet, python, apks.folder())
        self._slots.open()

    def close(self) -> None:
        with self._lock:
            slots, self._slots = self._slots, None
        if slots is not None:
            slots.close()

    def environment(self, task: OnlineTask) -> OnlineEnvironment:
        from sopbench.online.androidworld.environment import AndroidWorldEnvironment

        if self._slots is None:
            raise UsageError(NO_DEVICES)
        return AndroidWorldEnvironment(self._slots, task, self.actuation)


class AndroidWorldSimSuite(AndroidWorldSuite):
    """The same tasks, code and checks on simulated phones, for tests of everything around them. `androidworld --devices sim:N` is this suite."""

    name: ClassVar[str] = SIMULATED
    summary: ClassVar[str] = (
        "AndroidWorld's tasks and checks on simulated phones: a test of the machinery, never a number of AndroidWorld"
    )

    def __init__(self, options: SuiteOptions | None = None) -> None:
        options = options or SuiteOptions()
        super().__init__(replace(options, devices=options.devices or "sim:1"))
        if self.backend != "sim":
            raise UsageError(
                f"suite {SIMULATED} is played on simulated phones: --devices sim:N, or --suite androidworld"
            )
