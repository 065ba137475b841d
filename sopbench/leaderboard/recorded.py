"""Screens as a journal knows them: by hash and size, without the picture. Enough to write a request again and compare its hash."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from sopbench.errors import DataError
from sopbench.geometry import Size
from sopbench.runs.folder import EpisodeLog
from sopbench.runs.records import StepRecord
from sopbench.screen import Screen
from sopbench.trajectory import Trajectory

UNSEEN: Final = "0" * 64
"""The hash of a screen that no request carried (`images: 0`)."""


class RecordedScreen(Screen):
    """A screen of which only the hash and the size in original pixels are known. Asking for its bytes raises `DataError`."""

    def __init__(self, sha256: str, size: Size) -> None:
        super().__init__(None, None, sha256[:12])
        self._recorded = sha256, size

    @property
    def sha256(self) -> str:
        return self._recorded[0]

    @property
    def size(self) -> Size:
        return self._recorded[1]

    def read(self) -> bytes:
        raise DataError(f"screen {self.label}: only its hash was recorded")


def screen_of(record: StepRecord) -> RecordedScreen:
    """The screen that was current at this step: the last one that its request carried."""
    if record.screen is None:
        raise DataError(f"episode {record.episode} step {record.step}: no screen size was recorded")
    return RecordedScreen(record.images[-1] if record.images else UNSEEN, Size(*record.screen))


def as_recorded(trajectory: Trajectory, log: EpisodeLog) -> Trajectory:
    """`trajectory` with the screens that the journal names, as far as it goes; steps that were never asked keep the data's own."""
    steps = tuple(
        replace(step, screen=screen_of(log.steps[index])) if _known(log.steps, index) else step
        for index, step in enumerate(trajectory.steps)
    )
    return replace(trajectory, steps=steps)


def _known(steps: Mapping[int, StepRecord], index: int) -> bool:
    return index in steps and steps[index].screen is not None


def hashes(records: Sequence[StepRecord]) -> list[str]:
    """The current screens' hashes, in the order of the records; without those that were not sent."""
    return [record.images[-1] for record in records if record.images]
