"""Recordings as verl's data set: one row a trajectory, or offline one row a step.

A row does not carry the recording, only where it lies: every row of a batch is copied into verl's queue once for each of its samples, and each process that
plays rollouts reads the (small) data file itself, once.
"""

from __future__ import annotations

import functools
import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from verl.utils.dataset.rl_dataset import RLHFDataset

from sopbench.errors import DataError, UsageError
from sopbench.trajectory import Trajectory, load_trajectories, screens_in
from uis1_train.verl_ext.settings import MethodSettings

SUBSET = re.compile(r"(?P<path>.+)@(?P<count>[0-9]+)")


@functools.lru_cache(maxsize=8)
def load_recordings(spec: str, screens: Path | None, pattern: str, seed: int) -> tuple[Trajectory, ...]:
    """The trajectories of `path` or `path@N`: N of them, chosen by `seed` alone, so that a smaller subset is part of every larger one.

    Raises `DataError` for a file that has fewer, or that cannot be read.
    """
    found = SUBSET.fullmatch(spec)
    path, count = (Path(found["path"]), int(found["count"])) if found else (Path(spec), None)
    trajectories = load_trajectories(path, screens_in(screens, pattern) if screens is not None else None)
    if count is None:
        return tuple(trajectories)
    if not 1 <= count <= len(trajectories):
        raise DataError(
            f"{spec}: {path.name} has {len(trajectories)} trajectories, so that {count} cannot be taken from it"
        )
    random.Random(seed).shuffle(trajectories)
    return tuple(trajectories[:count])


class Recordings:
    """The trajectories of several files, as `settings` describes them. Rows address them by (file, trajectory id)."""

    def __init__(self, specs: Sequence[str], settings: MethodSettings) -> None:
        if not specs:
            raise UsageError("data.train_files names no file")
        self.specs = tuple(specs)
        self._settings = settings

    def of(self, spec: str) -> tuple[Trajectory, ...]:
        s = self._settings
        return load_recordings(spec, s.screens, s.screen_pattern, s.seed)

    def find(self, file: int, position: int, name: str) -> Trajectory:
        """The trajectory of a row. Raises `DataError` where this machine's file is another one than the trainer's."""
        found = self.of(self.specs[file])
        if position >= len(found) or found[position].id != name:
            raise DataError(
                f"{self.specs[file]}: trajectory {name!r} is not at place {position} on this machine: do all machines see the same file?"
            )
        return found[position]

    def rows(self) -> list[dict[str, Any]]:
        """One a trajectory, or in mode `offline` one a step."""
        rows: list[dict[str, Any]] = []
        for file, spec in enumerate(self.specs):
            for position, trajectory in enumerate(self.of(spec)):
                address = {"file": file, "position": position, "trajectory": trajectory.id, "goal": trajectory.goal}
                steps = range(len(trajectory)) if self._settings.mode == "offline" else [-1]
                rows += [address | {"step": step} for step in steps]
        return rows


def specs_of(files: Any) -> tuple[str, ...]:
    """`data.train_files` as verl allows it: one or several."""
    return (files,) if isinstance(files, str) else tuple(str(f) for f in files)


class RecordingsDataset(RLHFDataset):
    """What verl's loader and sampler see. verl's own constructor reads parquet and renders prompts; neither is wanted here, so it is not called."""

    def __init__(
        self, data_files: Any, tokenizer: Any, config: Any, processor: Any = None, max_samples: int = -1
    ) -> None:
        from omegaconf import OmegaConf

        settings = MethodSettings.model_validate(OmegaConf.to_container(config.method, resolve=True))
        self.recordings = Recordings(specs_of(data_files), settings)
        rows = self.recordings.rows()
        self._rows = rows if max_samples < 0 else rows[:max_samples]

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, item: int) -> dict[str, Any]:
        row = self._rows[item]
        return {
            "raw_prompt": [{"role": "user", "content": row["goal"]}],
            "recording": {name: row[name] for name in ("file", "position", "trajectory", "step")},
            "index": item,
            "data_source": "recordings",
            "reward_model": {"style": "rule", "ground_truth": row["trajectory"]},
            "dummy_tensor": torch.tensor([0], dtype=torch.uint8),
        }

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__.copy()

    def resume_dataset_state(self) -> None:
        """verl calls it after a resume; the rows follow from the configuration."""
