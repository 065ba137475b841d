"""The reinforcement learning loop: play groups, keep those that tell something, weigh their steps, learn, validate.

Semi-online (the paper's) or, with `method.mode: offline`, its baseline on single steps with the expert's history. Everything that decides what is learned comes
from `uis1_train.core` and `uis1_train.session`, as on the verl path.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sopbench.errors import SopbenchError
from sopbench.trajectory import Trajectory
from uis1_train.core.filtering import GroupStats, group_stats
from uis1_train.embedded.config import Recipe
from uis1_train.embedded.learner import PolicyRow, Row
from uis1_train.embedded.order import order
from uis1_train.embedded.stage import Stage, facts, recordings
from uis1_train.session import GroupItem, PlayCounts, Rollout, StepSample, play_groups
from uis1_train.verl_ext.settings import rollout_config
from uis1_train.verl_ext.signal import Rows, advantages, scalars

log = logging.getLogger("uis1_train.embedded")

SHOWN = (
    "uis1/reward/total",
    "uis1/rollout/success",
    "uis1/rollout/steps",
    "uis1/patch_rate",
    "groups/dropped",
    "rollout/entropy",
    "actor/kl_loss",
    "actor/grad_norm",
    "val/sop/pg",
    "val/sop/tsr",
    "time/step",
)


class TooFewGroups(SopbenchError):
    """The bound on played groups was reached before enough of them were worth learning from."""


@dataclass(slots=True)
class Batch:
    """What was played for one step. `kept` are learned from; `stats` of all groups in the order of the data, `failed` groups that could not be played."""

    kept: list[list[Rollout]] = field(default_factory=list)
    stats: list[GroupStats] = field(default_factory=list)
    counts: PlayCounts = field(default_factory=PlayCounts)
    asked: int = 0

    @property
    def samples(self) -> list[tuple[Rollout, StepSample]]:
        return [(rollout, sample) for group in self.kept for rollout in group for sample in rollout.samples]

    def numbers(self) -> dict[str, float]:
        stds, means = [s.std for s in self.stats], [s.mean for s in self.stats]
        played = max(1, len(self.stats))
        return {
            "groups/played": float(self.asked),
            "groups/kept": float(len(self.kept)),
            "groups/dropped": float(len(self.stats) - sum(s.kept for s in self.stats)),
            "groups/failed": float(sum(self.counts.dropped.values())),
            "groups/retried_rollouts": float(sum(self.counts.retried.values())),
            "groups/return_std": sum(stds) / played,
            "groups/return_mean": sum(means) / played,
        }


class _Player:
    """Plays batches of groups for `stage`, with the weights that it has at the time."""

    def __init__(self, stage: Stage, trajectories: Sequence[Trajectory], runner: asyncio.Runner) -> None:
        recipe = stage.recipe
        self.stage, self.recipe, self.runner = stage, recipe, runner
        self.config = rollout_config(recipe.method)
        self.items = _items(trajectories, recipe)
        self.cursor = stage.progress.cursor
        self.order = order(len(self.items), recipe.seed, self.cursor)

    def batch(self) -> Batch:
        """Groups until `rl.goals` of them are worth learning from. Raises `TooFewGroups` at the bound, where that is an error."""
        settings, method, found = self.recipe.rl, self.recipe.method, Batch()
        bound = math.ceil(settings.goals * method.max_generated)
        self.stage.policy.salt = self.stage.progress.step
        while len(found.kept) < settings.goals and found.asked < bound:
            wanted = min(settings.goals - len(found.kept), bound - found.asked)
            items = [self._next() for _ in range(wanted)]
            found.asked += wanted
            groups = self.runner.run(self._play(items, found.counts))
            for group in groups:
                self._judge(group, found)
        if len(found.kept) < settings.goals:
            self._short(found, bound)
        return found

    def _next(self) -> GroupItem:
        item = self.items[next(self.order)]
        name, self.cursor = f"{item.goal}#{self.cursor}", self.cursor + 1
        return GroupItem(name, item.trajectory, item.step)

    async def _play(self, items: list[GroupItem], counts: PlayCounts) -> list[list[Rollout]]:
        """The groups of `items`, in their order."""
        n = self.recipe.rl.rollouts
        concurrency = self.recipe.rl.concurrency or n * len(items)
        playing = play_groups(items, self.stage.policy, self.config, n, concurrency=concurrency, counts=counts)
        async with aclosing(playing) as groups:
            done = {group[0].goal: group async for group in groups}
        return [done[item.goal] for item in items if item.goal in done]

    def _judge(self, group: list[Rollout], found: Batch) -> None:
        eta = self.recipe.method.eta
        goals = [rollout.goal for rollout in group]
        (stats,) = group_stats([rollout.first_return for rollout in group], goals, eta=0.0 if eta is None else eta)
        if eta is None:
            stats = GroupStats(stats.goal, stats.rollouts, stats.mean, stats.std, True)
        found.stats.append(stats)
        if stats.kept:
            found.kept.append(group)
        else:
            log.debug("dropped: goal %s, return %.3f, deviation %.3f", stats.goal, stats.mean, stats.std)

    def _short(self, found: Batch, bound: int) -> None:
        settings, eta = self.recipe.rl, self.recipe.method.eta
        means = [s.mean for s in found.stats]
        mean = sum(means) / max(1, len(means))
        failed = (
            f"; {sum(found.counts.dropped.values())} could not be played ({found.counts.last_failure})"
            if found.counts.dropped
            else ""
        )
        text = (
            f"step {self.stage.progress.step + 1}: of {bound} groups played, {len(found.kept)} of the {settings.goals} wanted have first-step returns that deviate by more "
            f"than eta={eta} (their mean is {mean:.2f}){failed}"
        )
        if settings.when_short == "stop":
            raise TooFewGroups(
                f"{text}. Where the mean is near 0 the model knows too little (more SFT), where it is high it knows all of this data. Lower method.eta, raise "
                "method.max_generated or rl.rollouts, or set rl.when_short: learn"
            )
        log.warning("%s; going on with those", text)


def run_rl(
    recipe: Recipe, trajectories: Sequence[Trajectory] | None = None, *, stop_after: int | None = None
) -> dict[str, Any]:
    """Train until `rl.steps`, from where it was left. trajectories: instead of `recipe.data`. stop_after: leave earlier, with a checkpoint to go on from.

    Raises `TooFewGroups` (after saving what was learned), `RolloutsFailed` where replies cannot be had, and `UsageError` for settings that do not fit.
    """
    settings = recipe.rl
    found = recordings(recipe.data) if trajectories is None else trajectories
    with (
        Stage(recipe, "rl", settings, settings.learner, temperature=settings.temperature, shown=SHOWN) as stage,
        asyncio.Runner() as runner,
    ):
        player = _Player(stage, found, runner)
        if settings.test_first and stage.progress.step == 0:
            stage.test()
        try:
            while not stage.over:
                leave = stop_after is not None and stage.progress.step + 1 >= stop_after
                stage.finished_step(_step(stage, player), last=leave)
                if leave:
                    break
        except TooFewGroups:
            if stage.progress.step:
                stage.save()
            raise
        finally:
            runner.run(player.config.patch.close())
        return facts(stage)


def _step(stage: Stage, player: _Player) -> dict[str, float]:
    """Play, weigh, learn. What the numbers are called stands in docs/training-embedded.md."""
    began, before = time.perf_counter(), (stage.policy.counts.tokens, stage.policy.counts.seconds)
    batch = player.batch()
    played = time.perf_counter()
    numbers = batch.numbers()
    if batch.kept:
        samples = batch.samples
        rows = Rows.of([row_facts(rollout, sample) for rollout, sample in samples], [False] * len(samples))
        weights = advantages(rows, stage.recipe.method)
        numbers |= scalars(rows, weights)
        learned = [policy_row(sample, weight) for (_, sample), weight in zip(samples, weights.tolist(), strict=True)]
        numbers |= stage.learner.improve(learned)
    else:
        stage.learner.steps += 1
    stage.progress.cursor = player.cursor
    totals = stage.progress.totals
    for name, value in (("rollouts", batch.counts.rollouts), ("steps", batch.counts.steps), ("groups", batch.asked)):
        totals[name] = totals.get(name, 0.0) + value
    tokens, seconds = stage.policy.counts.tokens - before[0], stage.policy.counts.seconds - before[1]
    return numbers | {
        "time/play": played - began,
        "time/learn": time.perf_counter() - played,
        "rollout/entropy": float(np.mean([s.generated.extra["entropy"] for _, s in batch.samples]))
        if batch.kept
        else math.nan,
        "rollout/tokens_per_second": tokens / seconds if seconds else 0.0,
        **{f"total/{name}": value for name, value in totals.items()},
    }


def policy_row(sample: StepSample, advantage: float) -> PolicyRow:
    """A step with the tokens that were fed and generated. It must have been played by a `LocalPolicy`."""
    generated = sample.generated
    assert generated.response_ids is not None
    assert generated.log_probs is not None
    return PolicyRow(Row.reply(generated.extra["prompt"], generated.response_ids), generated.log_probs, advantage)


def row_facts(rollout: Rollout, sample: StepSample) -> dict[str, Any]:
    """What `uis1_train.verl_ext.signal` wants to know of a step."""
    return {
        "goal": sample.goal,
        "rollout": sample.rollout,
        "step": sample.step,
        "match": sample.match,
        "reward": sample.reward.total,
        "format": sample.reward.format,
        "type": sample.reward.type,
        "accuracy": sample.reward.accuracy,
        "step_return": sample.step_return,
        "patched": sample.patched,
        "patched_before": len(sample.patched_before),
        "truncated": sample.generated.finish_reason == "length",
        "patches": rollout.patches,
        "fell_back": sum(rollout.fell_back.values()),
        "steps": len(rollout.samples),
        "progress": rollout.progress / rollout.of,
        "success": rollout.success,
    }


def _items(trajectories: Sequence[Trajectory], recipe: Recipe) -> list[GroupItem]:
    """What groups are played on: trajectories, or offline their steps."""
    if recipe.method.mode != "offline":
        return [GroupItem(t.id, t) for t in trajectories]
    return [GroupItem(f"{t.id}/{step}", t, step) for t in trajectories for step in range(len(t))]
