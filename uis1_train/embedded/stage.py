"""What SFT and RL share: the model and who answers with it, where the stage was left, its checkpoints, its validation."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

import torch

from sopbench.clients.base import Sampling
from sopbench.errors import UsageError
from sopbench.suites import get_suite
from sopbench.suites.base import DataSource
from sopbench.trajectory import Trajectory
from uis1_train.embedded import checkpoint
from uis1_train.embedded.config import DataSettings, LearnerSettings, Recipe, StageSettings
from uis1_train.embedded.decoding import Decoder
from uis1_train.embedded.featurize import Featurizer
from uis1_train.embedded.learner import Learner
from uis1_train.embedded.metrics import Tracker
from uis1_train.embedded.model import LocalModel, load_model
from uis1_train.policies.local import LocalPolicy
from uis1_train.validation.asking import AskedTokenPolicy
from uis1_train.validation.best import KeepBest
from uis1_train.validation.hooks import validate_policy
from uis1_train.validation.settings import ValidationSettings

log = logging.getLogger("uis1_train.embedded")

CHANGES_NOTHING = {"steps", "init", "save_every", "test_every", "test_first", "keep"}
"""Settings of a stage with which it may go on though they are others than before."""


class Stage(AbstractContextManager["Stage"]):
    """One stage, open: `model` as it was left (or as it starts), `learner`, `policy`, `progress`.

    `finished_step` counts a step, writes its numbers and does what is due after it. Used as a context, it closes what it opened.
    """

    def __init__(
        self,
        recipe: Recipe,
        name: Literal["sft", "rl"],
        settings: StageSettings,
        learner: LearnerSettings,
        *,
        temperature: float = 1.0,
        shown: tuple[str, ...] = (),
    ) -> None:
        self.recipe, self.name, self.settings = recipe, name, settings
        self.folder = recipe.output / name
        if recipe.threads is not None:
            torch.set_num_threads(recipe.threads)
        torch.manual_seed(recipe.seed)
        left = checkpoint.latest(self.folder)
        start = settings.init or _start(recipe, name)
        self.model = self._load(left or start)
        self.featurizer = Featurizer(self.model, max_prompt=recipe.max_prompt, max_images=recipe.max_images)
        reference = self._reference(start, left) if name == "rl" and learner.kl_coefficient else None
        self.learner = Learner(
            self.model,
            self.featurizer,
            learner,
            reference=reference,
            total_steps=settings.steps,
            temperature=temperature,
            seed=recipe.seed,
        )
        self.decoder = Decoder(self.model, self.featurizer)
        self.policy = LocalPolicy(
            self.decoder,
            temperature=temperature,
            max_tokens=recipe.max_reply,
            max_batch=recipe.max_batch,
            seed=recipe.seed,
            name=f"{recipe.output.name}-{name}",
        )
        self.progress = checkpoint.Progress(name, settings=self._settings(learner))
        if left is not None:
            checkpoint.restore(left, self.learner, self.progress)
            self.progress = checkpoint.read_progress(left)
            log.info("%s goes on after step %d (%s)", name, self.progress.step, left)
        self.tracker = Tracker(self.folder, step=self.progress.step, tensorboard=recipe.tensorboard, shown=shown)
        self._began = time.perf_counter()

    @property
    def over(self) -> bool:
        return self.progress.step >= self.settings.steps

    def finished_step(self, numbers: Mapping[str, float], *, last: bool = False) -> None:
        """`last`: save whatever happens, since no other step follows."""
        self.decoder.weights_changed()
        self.progress.step += 1
        step = self.progress.step
        last = last or self.over
        tested = self._tested(step) if last or _due(step, self.settings.test_every) else {}
        now = time.perf_counter()
        self.tracker.write(step, {**numbers, **tested, "time/step": now - self._began})
        self._began = now
        if last or tested or _due(step, self.settings.save_every):
            self.save(tested)

    def save(self, tested: Mapping[str, float] | None = None) -> Path:
        path = checkpoint.save(self.folder, self.model, self.learner, self.progress, keep=self.settings.keep)
        if (
            tested
            and (settings := self._validation()) is not None
            and KeepBest(self.folder / "best", settings.keep_best).offer(self.progress.step, path, tested)
        ):
            log.info("step %d is the best so far by SOP", self.progress.step)
        return path

    def test(self) -> dict[str, float]:
        """Validate the weights as they are, before the first step."""
        numbers = self._tested(self.progress.step)
        self.tracker.write(self.progress.step, numbers)
        return numbers

    def close(self) -> None:
        self.tracker.close()
        self.policy.shut()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if isinstance(error, torch.OutOfMemoryError):
            raise UsageError(
                "the GPU's memory does not do for this: lower learner.micro_tokens or set learner.gradient_checkpointing (learning), lower max_batch or max_prompt (playing). "
                f"What it said: {' '.join(str(error).split())[:200]}"
            ) from error

    def _load(self, folder: Path) -> LocalModel:
        return load_model(folder, device=self.recipe.device, dtype=self.recipe.dtype)

    def _reference(self, start: Path, left: Path | None) -> LocalModel:
        """The weights that the stage started from, also where it goes on from others."""
        if left is None:
            return self.model.frozen_copy()
        reference = self._load(start)
        reference.module.requires_grad_(False)
        return reference

    def _validation(self) -> ValidationSettings | None:
        settings = self.recipe.validation
        if settings is None:
            return None
        return settings.model_copy(update={"out": self.folder / "validation", "concurrency": self.recipe.max_batch})

    def _tested(self, step: int) -> dict[str, float]:
        settings = self._validation()
        if settings is None:
            return {}
        greedy = self.policy.greedy()
        try:
            sampling = Sampling(temperature=0.0, max_tokens=greedy.max_tokens)
            asked = AskedTokenPolicy(greedy, f"{self.policy.name}-step-{step}", sampling)
            return dict(validate_policy(asked, settings, step).scalars)
        finally:
            greedy.shut()

    def _settings(self, learner: LearnerSettings) -> str:
        recipe, stage = self.recipe, self.settings.model_dump(mode="json", exclude=CHANGES_NOTHING)
        if learner.schedule != "constant":
            stage["steps"] = self.settings.steps  # the schedule's end
        shared = recipe.model_dump(
            mode="json", include={"data", "method", "dtype", "seed", "max_prompt", "max_reply", "max_images"}
        )
        shared["method"].pop("validation", None)
        return checkpoint.digest(self.name, shared, stage)


def recordings(data: DataSettings) -> Sequence[Trajectory]:
    """The expert trajectories to learn from. Raises `UsageError` for a suite that has none, `DataError` for data that cannot be read."""
    suite = get_suite(data.suite)
    if suite.protocol == "online":
        raise UsageError(
            f"data.suite: {suite.name} is played live and has no recordings; take pocket, or sop with a file"
        )
    if suite.needs_data and data.file is None:
        raise UsageError(
            f"data.file is missing: suite {suite.name} needs a JSONL file of trajectories, and data.images the folder of its screens"
        )
    loaded = suite.load(DataSource(data.file, data.images, data.pattern), data.limit)
    return loaded.trajectories


def _start(recipe: Recipe, name: str) -> Path:
    """RL begins where SFT of the same recipe ended, if there was one."""
    if name == "rl" and (found := checkpoint.latest(recipe.output / "sft")) is not None:
        log.info("rl starts from %s", found)
        return found
    return recipe.model


def _due(step: int, every: int) -> bool:
    return every > 0 and step % every == 0


def facts(stage: Stage) -> dict[str, Any]:
    """What a finished stage tells its caller."""
    return {"stage": stage.name, "step": stage.progress.step, "folder": str(stage.folder), **stage.progress.totals}
