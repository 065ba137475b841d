"""The released SOP file as a list of what to extract, and as a yardstick for a conversion of the same episodes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sopbench.datasets.output import IMAGES
from sopbench.errors import DataError
from sopbench.screen import Screen
from sopbench.trajectory import Step, Trajectory, load_trajectories, scan_trajectories

_EXAMPLES: Final = 3


@dataclass(frozen=True, slots=True)
class SopFile:
    path: Path
    trajectories: Mapping[str, Trajectory]

    @property
    def ids(self) -> frozenset[str]:
        return frozenset(self.trajectories)


def load_sop(path: Path) -> SopFile:
    """Raises `DataError` where the file is not one of trajectories with numbered episodes."""
    trajectories = {t.id: t for t in load_trajectories(path, _unseen)}
    odd = [name for name in trajectories if not (name.isascii() and name.isdigit())]
    if odd:
        raise DataError(f"{path.name}: episode {odd[0][:40]!r} is no number, as AndroidControl's are")
    return SopFile(path, trajectories)


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far a conversion of the same episodes says the same as the SOP file, step by step. `missing` are episodes that the shards do not have."""

    missing: tuple[str, ...]
    steps: int
    actions: int
    boxes: int
    examples: tuple[str, ...]

    def sentences(self) -> list[str]:
        said = []
        if self.missing:
            some = ", ".join(self.missing[:_EXAMPLES])
            said.append(f"{len(self.missing)} episodes of the SOP file are in none of the shards ({some}, ...)")
        if self.steps:
            said.append(
                f"of {self.steps:,} steps that both have, {self.actions:,} have the SOP file's action and {self.boxes:,} its candidate boxes"
            )
        return said + [f"differs from the SOP file: {example}" for example in self.examples]


def compare(sop: SopFile, trajectories: Iterable[Trajectory], ids: Iterable[str]) -> Agreement:
    """`trajectories` are what the shards gave; `ids` name them all, also those that were not converted."""
    steps = actions = boxes = 0
    examples: list[str] = []
    for ours in trajectories:
        theirs = sop.trajectories.get(ours.id)
        if theirs is None:
            continue
        if len(theirs) > len(ours) and len(examples) < _EXAMPLES:
            examples.append(f"episode {ours.id} has {len(theirs)} steps there and {len(ours)} in the shards")
        for index, (mine, released) in enumerate(zip(ours.steps, theirs.steps, strict=False)):
            steps += 1
            same = _plain(mine) == _plain(released)
            actions += same
            boxes += set(mine.boxes) == set(released.boxes)
            if not same and len(examples) < _EXAMPLES:
                examples.append(f"episode {ours.id} step {index}: {_plain(released)} there, {_plain(mine)} here")
    known = set(ids)
    missing = tuple(sorted((name for name in sop.ids if name not in known), key=int))
    return Agreement(missing, steps, actions, boxes, tuple(examples))


def trajectories_in(path: Path) -> Iterable[Trajectory]:
    """The good lines of a file; the others are for `data check` to name."""
    for _, found in scan_trajectories(path, _unseen):
        if isinstance(found, Trajectory):
            yield found


def _plain(step: Step) -> dict[str, Any]:
    """The action as numbers and texts that can be compared: 540.0 is 540."""
    return dict(step.content)


def _unseen(recorded: str, episode: str, index: int) -> Screen:
    return Screen.from_file(Path(IMAGES) / f"{episode}_{index}.png")
