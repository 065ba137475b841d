"""The best checkpoint by SOP: a pointer that is replaced atomically, and by default the weights themselves, kept from the trainer's own pruning.

`<folder>/best.json` says which checkpoint it is and what it scored. With `copy` its weights lie in `<folder>/best-step-000120/` too (without optimizer and data state: it is for
merging and serving, not for resuming), and survive when the trainer removes the checkpoint or writes the same step again after a crash. `link` makes hard links
instead: no space, no time, but a trainer that writes the same file again (verl does, where it trains a step again) changes what was kept. `pointer` keeps no files.
"""

from __future__ import annotations

import errno
import logging
import os
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sopbench.errors import DataError
from sopbench.files import read_json, write_json
from uis1_train.validation.scalars import sop_score
from uis1_train.validation.settings import Keep

log = logging.getLogger("uis1_train.validation")

POINTER = "best.json"
MAX_POINTER_BYTES = 1024 * 1024
_PREFIX = "best-"
NOT_WEIGHTS = ("optim_world_size_*", "extra_state_world_size_*", "data.pt", "transfer_queue", "optimizer.pt")


@dataclass(frozen=True, slots=True)
class Best:
    """`score` is the mean of PG and TSR in percent. `kept` is the folder of the kept files, None where only the pointer is kept."""

    step: int
    score: float
    checkpoint: Path
    kept: Path | None
    scalars: Mapping[str, float] = field(default_factory=dict)


class KeepBest:
    """Keeps the best of the checkpoints that it is offered. Several processes must not offer to the same folder at once (a watcher and a trainer: one of them)."""

    def __init__(self, folder: Path, how: Keep = "copy") -> None:
        self.folder, self.how = folder, how

    @property
    def best(self) -> Best | None:
        """What is kept now; None before the first. Raises `DataError` where the pointer is none."""
        path = self.folder / POINTER
        if not path.exists():
            return None
        value = read_json(path, MAX_POINTER_BYTES)
        try:
            kept = value["kept"]
            return Best(
                int(value["step"]),
                float(value["score"]),
                Path(value["checkpoint"]),
                self.folder / kept if kept is not None else None,
                dict(value["scalars"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(
                f"{path} is no pointer to a best checkpoint; delete it, and the next evaluation starts afresh"
            ) from error

    def offer(self, step: int, checkpoint: Path, scalars: Mapping[str, float]) -> bool:
        """Keep `checkpoint` if its SOP score is higher than the best so far (an equal one is not), and say whether it was kept.

        Scores of runs that were not complete, or of a validation without SOP, are never kept. The old best's files are removed last. What cannot be kept (a full
        disk, a checkpoint that was just removed, a pointer that is none) is logged, and ends no training: then the old best stays.
        """
        try:
            return self._offer(step, checkpoint, scalars)
        except (OSError, DataError) as error:
            log.error("the best checkpoint (step %d) could not be kept: %s", step, error)
            return False

    def _offer(self, step: int, checkpoint: Path, scalars: Mapping[str, float]) -> bool:
        score = sop_score(scalars)
        before = self.best if self.how != "off" else None
        if self.how == "off" or score is None or (before is not None and score <= before.score):
            return False
        self.folder.mkdir(parents=True, exist_ok=True)
        kept = self._keep(step, checkpoint) if self.how in ("copy", "link") else None
        pointer: dict[str, Any] = {
            "v": 1,
            "step": step,
            "score": score,
            "checkpoint": str(checkpoint.absolute()),
            "kept": kept.name if kept else None,
            "scalars": dict(scalars),
        }
        write_json(self.folder / POINTER, pointer)
        self._remove_others(kept)
        return True

    def _keep(self, step: int, checkpoint: Path) -> Path:
        final = self.folder / f"{_PREFIX}step-{step:06}"
        making = self.folder / f".{final.name}.{secrets.token_hex(4)}.tmp"
        try:
            how = _link_or_copy if self.how == "link" else shutil.copy2
            shutil.copytree(checkpoint, making, copy_function=how, ignore=shutil.ignore_patterns(*NOT_WEIGHTS))
            if final.exists():  # left by a process that was killed before it wrote the pointer
                shutil.rmtree(final)
            making.replace(final)
        finally:
            shutil.rmtree(making, ignore_errors=True)
        return final

    def _remove_others(self, kept: Path | None) -> None:
        for path in self.folder.glob(f"{_PREFIX}step-*"):
            if path != kept and path.is_dir():
                shutil.rmtree(path, ignore_errors=True)


def _link_or_copy(source: str, target: str) -> None:
    """A hard link, or where the disk is another one (or knows no links) a copy."""
    try:
        os.link(source, target)
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP, errno.EACCES):
            raise
        shutil.copy2(source, target)
