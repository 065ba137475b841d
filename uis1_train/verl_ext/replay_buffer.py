"""Which groups are learned from: dropped where their rollouts earned the same, replaced where they failed, and never without end."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import transfer_queue as tq
from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer

from sopbench.errors import SopbenchError
from uis1_train.core.filtering import GroupStats, group_stats

log = logging.getLogger("uis1_train.groups")

POLL_SECONDS = 0.2


class NoBatch(SopbenchError):
    """A batch could not be filled within its bound: nearly every group says nothing, or fails."""


@dataclass(slots=True)
class Tally:
    """What became of the groups that were played for one batch."""

    submitted: int = 0
    dropped: int = 0
    dropped_high: int = 0
    """Dropped with a mean step-0 return above half of the highest of any group: too easy rather than too hard."""
    failed: int = 0


class FilteringReplayBuffer(ReplayBuffer):
    """verl's synchronous buffer with the paper's filter in the place of DAPO's (which drops a group only where all rows are equal, and looks at all rows).

    eta: see `uis1_train.core.filtering`; None keeps every group. most: goals that may be played for one batch before `NoBatch`.
    """

    def __init__(
        self, *args: Any, eta: float | None, most: int, refill_fn: Callable[[int], int], **kwargs: Any
    ) -> None:
        self.eta, self.most = eta, most
        self.tally = Tally()
        self._judged: dict[str, GroupStats] = {}
        self._best_return = 0.0
        self._submit = refill_fn
        super().__init__(*args, refill_fn=self._refill, **kwargs)

    def sample(self, global_steps: int, partition_id: str, batch_size: int) -> tuple[Any, dict[str, Any]]:
        """A batch of `batch_size` groups and what became of the others, as `uis1/groups/*`. Raises `NoBatch`."""
        self.tally = Tally(submitted=batch_size)
        batch, metrics = super().sample(global_steps=global_steps, partition_id=partition_id, batch_size=batch_size)
        metrics |= {
            "uis1/groups/played": float(self.tally.submitted),
            "uis1/groups/dropped": float(self.tally.dropped),
            "uis1/groups/dropped_high": float(self.tally.dropped_high),
            "uis1/groups/failed": float(self.tally.failed),
        }
        return batch, metrics

    def _refill(self, goals: int) -> int:
        """Play more goals, unless that would be too many."""
        wanted = min(goals, self.most - self.tally.submitted)
        if wanted <= 0:
            raise NoBatch(self._why())
        self.tally.submitted += wanted
        return self._submit(wanted)

    def _why(self) -> str:
        t = self.tally
        told = (
            f"no full batch after {t.submitted} goals (uis1.max_generated): {t.dropped} groups were dropped because the step-0 returns of their rollouts deviate by "
            f"at most eta={self.eta} ({t.dropped_high} of them with high returns), {t.failed} failed (the causes are in the log: 'rollout ... failed')"
        )
        if t.failed > t.dropped:
            return f"{told}. Mend what fails"
        advice = "a task set that is harder" if t.dropped_high * 2 > t.dropped else "more SFT first, or easier tasks"
        return f"{told}. Try a lower uis1.eta, a higher temperature or more rollouts a goal (actor_rollout_ref.rollout.n), or {advice}"

    def _terminal_eviction_reasons(
        self, global_steps: int, partition_id: str
    ) -> tuple[set[str], set[str], set[str], Counter[float]]:
        """(stale, dropped, failed, dropped by return): a group of which one rollout failed is replaced as a whole, for the others would be compared with less."""
        if partition_id == "val":
            return set(), set(), set(), Counter()
        dropped, by_return = self._dapo_filtered_keys(partition_id)
        failed = set(self.failure_keys[partition_id])
        self.tally.failed += len(failed)
        return set(), dropped, failed, by_return

    def _dapo_filtered_keys(self, partition_id: str) -> tuple[set[str], Counter[float]]:
        """The finished groups to drop, and how often each mean return occurs among them (to one decimal). Each group is judged once."""
        finished = self.finished_keys[partition_id]
        self._judged = {goal: stats for goal, stats in self._judged.items() if goal in finished}
        if partition_id == "val" or self.eta is None:
            return set(), Counter()
        new = finished - self._judged.keys()
        for stats in self._stats(partition_id, new):
            self._judged[str(stats.goal)] = stats
            self._best_return = max(self._best_return, stats.mean)
        dropped = {goal: stats for goal, stats in self._judged.items() if not stats.kept}
        self.tally.dropped += len(dropped)
        for stats in dropped.values():
            self.tally.dropped_high += stats.mean > self._best_return / 2
        return set(dropped), Counter(round(stats.mean, 1) for stats in dropped.values())

    def _stats(self, partition_id: str, goals: set[str]) -> tuple[GroupStats, ...]:
        """Of finished groups, from the first step of each rollout."""
        keys = sorted(k for k in self.partitions[partition_id] if goal_of(k) in goals and k.endswith("_0"))
        if not keys or self.eta is None:
            return ()
        facts = facts_of(tq.kv_batch_get(keys=keys, partition_id=partition_id, select_fields=["extra_fields"]))
        stats = group_stats([f["step_return"] for f in facts], [goal_of(k) for k in keys], eta=self.eta)
        names = {goal_of(key): fact["trajectory"] for key, fact in zip(keys, facts, strict=True)}
        for one in stats:
            if not one.kept:
                log.info(
                    "dropped: %s, %d rollouts, step-0 return %.3f +- %.3f (eta %g)",
                    names[str(one.goal)], one.rollouts, one.mean, one.std, self.eta,
                )  # fmt: skip
        return stats


def goal_of(key: str) -> str:
    """verl's keys are `<goal>_<rollout>_<number of the output>`."""
    return key.split("_")[0]


def facts_of(data: Any) -> list[dict[str, Any]]:
    """What the agent loop told of each row; verl's queue may wrap each in a `NonTensorData`."""
    return [getattr(fact, "data", fact) for fact in list(data["extra_fields"])]
