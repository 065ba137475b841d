"""From the rows of a batch to what is learned from them: rewards, advantages and the scalars that are logged. Pure, numpy only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from uis1_train.core.advantages import combined
from uis1_train.core.rows import Floats, Mask
from uis1_train.verl_ext.settings import MethodSettings


@dataclass(frozen=True, slots=True)
class Rows:
    """A batch in the trainer's order. `facts` holds what the agent loop told of each row; where `valid` is False it is another row's and counts for nothing."""

    facts: tuple[Mapping[str, Any], ...]
    valid: Mask

    @classmethod
    def of(cls, facts: Sequence[Mapping[str, Any]], padding: Sequence[bool]) -> Rows:
        return cls(tuple(facts), ~np.asarray(padding, dtype=np.bool_))

    def numbers(self, name: str) -> Floats:
        """One number a row; 0 for padding."""
        return np.where(self.valid, np.array([float(fact[name]) for fact in self.facts]), 0.0)

    def names(self, name: str) -> list[Any]:
        return [fact[name] for fact in self.facts]

    @property
    def first_of_rollout(self) -> Mask:
        """One row of each rollout, for what is told of whole rollouts."""
        seen: set[tuple[Any, Any]] = set()
        first = np.zeros(len(self.facts), dtype=np.bool_)
        for row, fact in enumerate(self.facts):
            key = (fact["goal"], fact["rollout"])
            if self.valid[row] and key not in seen:
                seen.add(key)
                first[row] = True
        return first


def advantages(rows: Rows, settings: MethodSettings) -> Floats:
    """One number a row, for every token of its response; padding gets 0.

    Offline there are no rollouts but single steps, whose two levels would be the same thing twice: only the step level counts there, with weight 1.
    """
    offline = settings.mode == "offline"
    return combined(
        rows.numbers("step_return"),
        rows.numbers("reward"),
        rows.names("goal"),
        rows.names("rollout"),
        rows.numbers("step").astype(np.int64),
        norm=settings.normalise,
        over=settings.episode_over,
        episode_weight=0.0 if offline else settings.episode_weight,
        step_weight=1.0 if offline else settings.step_weight,
        valid=rows.valid,
    )


def scalars(rows: Rows, advantage: Floats) -> dict[str, float]:
    """What the tracker draws of a batch, as `uis1/*`. Shares are between 0 and 1; means are over real rows, or over rollouts where the name says so."""
    valid, first = rows.valid, rows.first_of_rollout
    if not valid.any():
        return {"uis1/rows": 0.0, "uis1/padding_rows": float(len(valid))}

    def mean(name: str, among: Mask) -> float:
        return float(rows.numbers(name)[among].mean())

    real = advantage[valid]
    return {
        "uis1/rows": float(valid.sum()),
        "uis1/padding_rows": float((~valid).sum()),
        "uis1/rollouts": float(first.sum()),
        "uis1/goals": float(len({fact["goal"] for fact, counts in zip(rows.facts, valid, strict=True) if counts})),
        "uis1/reward/total": mean("reward", valid),
        "uis1/reward/format": mean("format", valid),
        "uis1/reward/type": mean("type", valid),
        "uis1/reward/accuracy": mean("accuracy", valid),
        "uis1/step_return": mean("step_return", valid),
        "uis1/match": mean("match", valid),
        "uis1/truncated_replies": mean("truncated", valid),
        "uis1/patch_rate": mean("patched", valid),
        "uis1/prompts_with_patches": float((rows.numbers("patched_before")[valid] > 0).mean()),
        "uis1/rollout/steps": mean("steps", first),
        "uis1/rollout/patches": mean("patches", first),
        "uis1/rollout/patches_fallen_back": mean("fell_back", first),
        "uis1/rollout/progress": mean("progress", first),
        "uis1/rollout/success": mean("success", first),
        "uis1/advantage/mean": float(real.mean()),
        "uis1/advantage/std": float(real.std()),
        "uis1/advantage/min": float(real.min()),
        "uis1/advantage/max": float(real.max()),
        "uis1/advantage/zero": float((np.abs(real) < 1e-9).mean()),
    }
