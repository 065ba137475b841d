"""Supervised fine-tuning on the experts' steps, before reinforcement learning."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any

from sopbench.adapters.base import Adapter
from sopbench.clients.base import AskFailed
from sopbench.errors import DataError
from sopbench.trajectory import Trajectory
from uis1_train.embedded.config import Recipe
from uis1_train.embedded.learner import Row
from uis1_train.embedded.order import order
from uis1_train.embedded.samples import Lesson, lessons, row_of
from uis1_train.embedded.stage import Stage, facts, recordings

log = logging.getLogger("uis1_train.embedded")

SHOWN = ("sft/loss", "sft/grad_norm", "sft/lr", "val/sop/pg", "val/sop/tsr", "time/step")


def run_sft(
    recipe: Recipe, trajectories: Sequence[Trajectory] | None = None, *, stop_after: int | None = None
) -> dict[str, Any]:
    """Train until `sft.steps`, from where it was left. trajectories: instead of `recipe.data`. stop_after: leave earlier, with a checkpoint to go on from.

    Raises `DataError` where no sample can be made, `UsageError` for settings that do not fit the model or an earlier run.
    """
    settings, adapter = recipe.sft, recipe.method.the_adapter
    found = lessons(
        recordings(recipe.data) if trajectories is None else trajectories,
        adapter,
        kind=settings.sample,
        images=recipe.method.images,
        thoughts=settings.thoughts,
    )
    if found.inexpressible:
        log.warning(
            "%d steps are left out: adapter %s has no words for an action in or before them",
            found.inexpressible,
            adapter.name,
        )
    if not found.lessons:
        raise DataError(f"no sample can be made of the data: adapter {adapter.name} cannot say its first actions")
    with Stage(recipe, "sft", settings, settings.learner, shown=SHOWN) as stage:
        source = _Source(found.lessons, adapter, stage, recipe.method.images)
        if settings.test_first and stage.progress.step == 0:
            stage.test()
        while not stage.over:
            rows = [next(source.rows) for _ in range(settings.batch)]
            numbers = stage.learner.teach(rows)
            stage.progress.cursor = source.cursor
            leave = stop_after is not None and stage.progress.step + 1 >= stop_after
            stage.finished_step({**numbers, "sft/left_out": float(source.left_out)}, last=leave)
            if leave:
                break
        return facts(stage)


class _Source:
    """Rows without end. A lesson that cannot be asked is left out, and counted; a whole round of such is an error."""

    def __init__(self, found: Sequence[Lesson], adapter: Adapter, stage: Stage, images: int) -> None:
        self.found, self.adapter, self.stage, self.images = found, adapter, stage, images
        self.cursor, self.left_out = stage.progress.cursor, 0
        self.rows = self._rows()

    def _rows(self) -> Iterator[Row]:
        missed = 0
        for index in order(len(self.found), self.stage.recipe.seed, self.cursor):
            self.cursor += 1
            try:
                row = row_of(self.found[index], self.adapter, self.stage.featurizer, self.images)
            except AskFailed as error:
                if error.fatal:
                    raise
                missed, self.left_out = missed + 1, self.left_out + 1
                if missed == 1:
                    log.warning(
                        "left out: trajectory %s step %d (%s)",
                        self.found[index].trajectory.id,
                        self.found[index].last,
                        error,
                    )
                if missed >= len(self.found):
                    raise DataError(f"not one of {missed} samples can be asked, the last for this: {error}") from error
                continue
            missed = 0
            yield row
