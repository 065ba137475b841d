"""The static suites: every step alone. AndroidControl (high and low level), GUI-Odyssey, and the grounding benchmarks ScreenSpot-v2 and -Pro.

Their data are trajectory files: AndroidControl the SOP file itself, the others as `sopbench data convert` makes them. Tags of trajectories (`platform`, `type`,
`group`, ...) become groups of the summary.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from sopbench.adapters.instruction import words_sha256
from sopbench.errors import DataError
from sopbench.files import file_sha256
from sopbench.suites.base import DataSource, Loaded, Suite
from sopbench.trajectory import Trajectory, load_trajectories, screens_in


class StaticSuite(Suite):
    """`metrics`: TM, GR and SR of steps, or the accuracy of grounding. `instructs`: requests tell the instruction of their step."""

    protocol: ClassVar[Literal["semi_online", "online", "static"]] = "static"
    needs_data: ClassVar[bool] = True
    metrics: ClassVar[Literal["steps", "accuracy"]] = "steps"

    def _load(self, source: DataSource, limit: int | None) -> Loaded:
        assert source.file is not None
        screens = screens_in(source.images, source.pattern) if source.images else None
        trajectories = load_trajectories(source.file, screens, limit=limit)
        self.check(trajectories)
        return Loaded(file_sha256(source.file), trajectories)

    def check(self, trajectories: Sequence[Trajectory]) -> None:
        """Raise `DataError` where the data is not of the kind that this suite plays."""

    def facts(self) -> dict[str, Any]:
        instruction = words_sha256() if self.instructs else None
        return {"static": {"history": "expert", "instruction": instruction, "metrics": self.metrics}}


class AndroidControlHigh(StaticSuite):
    name: ClassVar[str] = "androidcontrol-high"
    summary: ClassVar[str] = "AndroidControl, high level: every step alone, with goal and the expert's history"
    default_profile: ClassVar[str | None] = "androidcontrol"


class AndroidControlLow(StaticSuite):
    name: ClassVar[str] = "androidcontrol-low"
    summary: ClassVar[str] = "AndroidControl, low level: the same, and the request tells the step's instruction"
    default_profile: ClassVar[str | None] = "androidcontrol"
    instructs: ClassVar[bool] = True

    def check(self, trajectories: Sequence[Trajectory]) -> None:
        """Some steps of the released file have no instruction (the summary counts them); a file without any is another benchmark's."""
        if not any(step.instruction for trajectory in trajectories for step in trajectory.steps):
            raise DataError(
                f"no step of this data has an instruction, and {self.name} is about those: play it as androidcontrol-high"
            )


class GuiOdyssey(StaticSuite):
    name: ClassVar[str] = "gui-odyssey"
    summary: ClassVar[str] = "GUI-Odyssey: every step alone, with goal and the expert's history"
    default_profile: ClassVar[str | None] = "odyssey"


class ScreenSpot(StaticSuite):
    """Grounding: trajectories of one step, a click with the box of its target."""

    default_profile: ClassVar[str | None] = "grounding"
    metrics: ClassVar[Literal["steps", "accuracy"]] = "accuracy"

    def check(self, trajectories: Sequence[Trajectory]) -> None:
        for trajectory in trajectories:
            step = trajectory.steps[0]
            if len(trajectory) != 1 or step.kind != "click" or not step.boxes:
                raise DataError(
                    f"episode {trajectory.id} is no grounding target: {self.name} takes trajectories of one click with the box of its target in "
                    "check_options.candidate_bbox, as `sopbench data convert screenspot` writes them"
                )


class ScreenSpotV2(ScreenSpot):
    name: ClassVar[str] = "screenspot-v2"
    summary: ClassVar[str] = "ScreenSpot-v2: a click inside the element's box, by platform and element type"


class ScreenSpotPro(ScreenSpot):
    name: ClassVar[str] = "screenspot-pro"
    summary: ClassVar[str] = "ScreenSpot-Pro: the same on large screens of professional software"
