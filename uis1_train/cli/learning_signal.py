"""What groups of rollouts say: the numbers that a trainer would learn from, and the lines of a samples file."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, pstdev
from typing import Any

from uis1_train.core.filtering import GroupStats, group_stats
from uis1_train.session import Rollout, StepSample


@dataclass(frozen=True, slots=True)
class Group:
    """One goal's rollouts. `spread`: population standard deviation of the step-0 returns, which the filter compares with eta."""

    goal: str
    rollouts: tuple[Rollout, ...]
    kept: bool
    mean: float
    spread: float


@dataclass(slots=True)
class Signal:
    """All groups, one after the other. `eta` None keeps every group."""

    eta: float | None
    groups: list[Group] = field(default_factory=list)

    def add(self, rollouts: Sequence[Rollout]) -> Group:
        returns = [r.first_return for r in rollouts]
        [stats] = group_stats(returns, [r.goal for r in rollouts], eta=self.eta or 0.0)
        group = Group(rollouts[0].goal, tuple(rollouts), self._kept(stats), stats.mean, stats.std)
        self.groups.append(group)
        return group

    def _kept(self, stats: GroupStats) -> bool:
        return True if self.eta is None else stats.kept

    @property
    def samples(self) -> list[StepSample]:
        return [sample for group in self.groups for rollout in group.rollouts for sample in rollout.samples]

    def summary(self) -> dict[str, Any]:
        """Means over samples, rollouts and groups; fractions, and returns in reward units. None where there is nothing to average."""
        rollouts = [r for g in self.groups for r in g.rollouts]
        samples, patches = self.samples, sum(r.patches for r in rollouts)
        by_step: dict[int, list[float]] = {}
        for sample in samples:
            by_step.setdefault(sample.step, []).append(sample.step_return)
        fell_back: Counter[str] = Counter()
        for rollout in rollouts:
            fell_back.update(rollout.fell_back)
        return {
            "groups": len(self.groups),
            "groups_kept": sum(g.kept for g in self.groups),
            "rollouts": len(rollouts),
            "samples": len(samples),
            "samples_kept": sum(len(r.samples) for g in self.groups if g.kept for r in g.rollouts),
            "steps_a_rollout": _mean(len(r.samples) for r in rollouts),
            "reward": {
                "total": _mean(s.reward.total for s in samples),
                "format": _mean(s.reward.format for s in samples),
                "type": _mean(s.reward.type for s in samples),
                "accuracy": _mean(s.reward.accuracy for s in samples),
            },
            "step_match": _mean(float(s.match) for s in samples),
            "progress": _mean(r.progress / r.of for r in rollouts),
            "success": _mean(float(r.success) for r in rollouts),
            "patches": patches,
            "patched_steps": _mean(float(s.patched) for s in samples),
            "fell_back": dict(fell_back),
            "unpatchable": dict(Counter(r.unpatchable for r in rollouts if r.unpatchable)),
            "step0_return": _mean(g.mean for g in self.groups),
            "group_spread": _mean(g.spread for g in self.groups),
            "returns_by_step": {
                str(step): {"n": len(values), "mean": round(fmean(values), 4), "std": round(pstdev(values), 4)}
                for step, values in sorted(by_step.items())
            },
        }


def sample_line(sample: StepSample, rollout: Rollout, *, kept: bool) -> dict[str, Any]:
    """One sample for a JSONL file: what was asked and answered (the harness's record), what it earned, what was patched. No token ids: see `log_probs`."""
    generated = sample.generated
    probabilities = generated.log_probs
    return {
        "goal": sample.goal,
        "rollout": sample.rollout,
        "step": sample.step,
        "of": rollout.of,
        "match": sample.match,
        "reward": {
            "total": sample.reward.total,
            "format": sample.reward.format,
            "type": sample.reward.type,
            "accuracy": sample.reward.accuracy,
        },
        "step_return": sample.step_return,
        "kept": kept,
        "patch": None
        if sample.patch is None
        else {"kind": sample.patch.kind, "text": sample.patch.text, "fell_back": sample.patch.fell_back},
        "patched_before": list(sample.patched_before),
        "response_tokens": None if generated.response_ids is None else len(generated.response_ids),
        "mean_log_prob": None if not probabilities else round(math.fsum(probabilities) / len(probabilities), 5),
        "record": sample.record.model_dump(mode="json"),
    }


def table_lines(summary: Mapping[str, Any]) -> list[str]:
    """The summary for a terminal."""
    reward = summary["reward"]
    lines = [
        f"groups      {summary['groups']}, of which {summary['groups_kept']} would be kept (spread of step-0 returns {_shown(summary['group_spread'])} on average)",
        f"rollouts    {summary['rollouts']}, {_shown(summary['steps_a_rollout'])} steps each; {summary['samples']} samples, {summary['samples_kept']} in kept groups",
        f"reward      {_shown(reward['total'])} = format {_shown(reward['format'])}, type {_shown(reward['type'])}, accuracy {_shown(reward['accuracy'])} (shares of samples)",
        f"progress    {_percent(summary['progress'])} of the way before the first mismatch, {_percent(summary['success'])} whole",
        f"patches     {summary['patches']}, on {_percent(summary['patched_steps'])} of the steps"
        + "".join(f"; fell back ({why}) {n}x" for why, n in summary["fell_back"].items())
        + "".join(f"; impossible ({why}) {n}x" for why, n in summary["unpatchable"].items()),
    ]
    rows = [
        f"{step}: {v['mean']:.3f} +- {v['std']:.3f} ({v['n']})"
        for step, v in list(summary["returns_by_step"].items())[:12]
    ]
    return [*lines, "returns     by step: " + "  ".join(rows)]


def _mean(values: Iterable[float]) -> float | None:
    values = list(values)
    return round(fmean(values), 4) if values else None


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"
