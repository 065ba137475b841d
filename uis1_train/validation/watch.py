"""A watcher beside the training run: it evaluates checkpoints as they appear, here or on another machine that sees the same folder.

It keeps no state of its own beyond the run folders: a step is done when its `validation.json` says so for the same files. Started again, it goes on where it was.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sopbench.errors import DataError
from sopbench.files import read_json
from uis1_train.merge.found import TRACKER, Checkpoint, find_checkpoint, latest_step, missing_shards, step_in
from uis1_train.validation.best import KeepBest
from uis1_train.validation.checkpoints import identity_of, known_folder
from uis1_train.validation.hooks import RECORD, Validation, validate_checkpoint
from uis1_train.validation.settings import ValidationSettings

log = logging.getLogger("uis1_train.validation")

QUIET_SECONDS = 30.0
"""Where nothing says that a checkpoint is whole, its files must have been left alone for so long."""
MAX_RECORD_BYTES = 16 * 1024 * 1024
MAX_TRIES = 3


@dataclass(frozen=True, slots=True)
class Evaluated:
    """One checkpoint's evaluation, and whether it is the best so far."""

    checkpoint: Path
    result: Validation
    is_best: bool


class Watcher:
    """`pending()` lists what is whole and not evaluated yet; `evaluate_next()` does one; `watch()` goes on until it is told to stop.

    newest_first: after a pause judge the latest checkpoint before older ones. An evaluation that fails is tried `MAX_TRIES` times in this process's life.
    """

    def __init__(
        self,
        folder: Path,
        settings: ValidationSettings,
        *,
        newest_first: bool = False,
        quiet_seconds: float = QUIET_SECONDS,
    ) -> None:
        if not folder.is_dir():
            raise DataError(f"{folder} is no folder: name the one in which the trainer makes its global_step_N")
        self.folder, self.settings, self.newest_first, self.quiet_seconds = (
            folder,
            settings,
            newest_first,
            quiet_seconds,
        )
        self.keeper = KeepBest(settings.out, settings.keep_best)
        self._tries: dict[str, int] = {}
        self._told: set[Path] = set()

    def pending(self) -> list[tuple[int, Checkpoint]]:
        """(step, checkpoint) of everything that is whole and neither evaluated nor given up, in the order in which it will be evaluated."""
        found = []
        for step, path in self._steps():
            checkpoint = self._whole(path)
            if checkpoint is None or self._tries.get(identity_of(checkpoint), 0) >= MAX_TRIES:
                continue
            if not self._done(checkpoint, step):
                found.append((step, checkpoint))
        return sorted(found, key=lambda pair: pair[0], reverse=self.newest_first)

    def evaluate_next(self) -> Evaluated | None:
        """Evaluate the first of `pending()`; None where there is none."""
        waiting = self.pending()
        if not waiting:
            return None
        step, checkpoint = waiting[0]
        identity = identity_of(checkpoint)
        self._tries[identity] = self._tries.get(identity, 0) + 1
        result = validate_checkpoint(checkpoint.path, self.settings, step)
        return Evaluated(checkpoint.path, result, self.keeper.offer(step, checkpoint.path, result.scalars))

    def watch(self, *, every: float = 30.0, until_step: int | None = None, once: bool = False) -> Iterator[Evaluated]:
        """Evaluate whatever is there and whatever comes, and yield each. Ends with `once` when nothing is left, or when `until_step` is evaluated."""
        while True:
            evaluated = self.evaluate_next()
            if evaluated is not None:
                yield evaluated
                if until_step is not None and evaluated.result.step >= until_step and not evaluated.result.failures:
                    return
                continue
            if once:
                return
            time.sleep(every)

    def _steps(self) -> Iterator[tuple[int, Path]]:
        for path in sorted(self.folder.iterdir()):
            step = step_in(path.name)
            if step is not None and path.is_dir() and path.name[0] != "." and not path.name.startswith("best-"):
                yield step, path

    def _whole(self, path: Path) -> Checkpoint | None:
        """The checkpoint in `path` if the trainer is done with it, else None."""
        try:
            checkpoint = find_checkpoint(path)
            if checkpoint.kind == "fsdp" and missing_shards(checkpoint):
                return None
            tracked = latest_step(self.folder) if (self.folder / TRACKER).exists() else None
        except (DataError, OSError) as error:
            if path not in self._told:
                self._told.add(path)
                log.info("%s is not whole yet: %s", path, error)
            return None
        if tracked is not None and (step_in(path.name) or 0) <= tracked:
            return checkpoint
        return checkpoint if self._left_alone(checkpoint) else None

    def _left_alone(self, checkpoint: Checkpoint) -> bool:
        try:
            newest = max((p.stat().st_mtime for p in checkpoint.path.rglob("*") if p.is_file()), default=time.time())
        except OSError:  # a file went away between being listed and being asked
            return False
        return time.time() - newest >= self.quiet_seconds

    def _done(self, checkpoint: Checkpoint, step: int) -> bool:
        folder = known_folder(checkpoint, self.settings.out, step)
        if folder is None or not (record := folder / RECORD).is_file():
            return False
        try:
            value = read_json(record, MAX_RECORD_BYTES)
            done = not value["failures"] and set(value["runs"]) >= set(self.settings.checks())
        except (DataError, KeyError, TypeError):
            return False
        return bool(done)
