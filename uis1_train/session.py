"""Training rollouts: the harness's own semi-online episode, driven by a policy that keeps its tokens, one sample a step.

A rollout with no patch *is* an evaluation: the same episode, the same requests, and records made by the same code as those of `sopbench run`
(`sopbench.runs.recording`). The rollout's number within its group is what the run calls a repeat.

Nothing here waits for a batch: every rollout goes at its own pace, and a group is handed over as soon as its last rollout is over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field

from sopbench.adapters.base import Adapter
from sopbench.errors import SopbenchError
from sopbench.runs.records import StepRecord
from sopbench.scoring.base import Profile
from sopbench.trajectory import Trajectory
from uis1_train.core.returns import Cut
from uis1_train.core.rewards import Reward, RewardName
from uis1_train.patching.base import Patch, PatchStrategy
from uis1_train.patching.thought_free import ThoughtFree
from uis1_train.policies.base import Generated, RolloutId, TokenPolicy

__all__ = [
    "Generated",
    "GroupItem",
    "PlayCounts",
    "Rollout",
    "RolloutConfig",
    "RolloutId",
    "RolloutsFailed",
    "StepSample",
    "TokenPolicy",
    "play_group",
    "play_groups",
    "play_offline_step",
    "play_rollout",
]


class RolloutsFailed(SopbenchError):
    """Group after group could not be played: something is wrong with who answers, not with single requests."""


@dataclass(frozen=True, slots=True)
class RolloutConfig:
    """How rollouts are played and paid.

    images: screens a request carries (None: the adapter's own number). patches: the patch threshold epsilon, 0, 1, 2, ... or `math.inf`. `seed` goes with
    every request, plus the rollout's number (None: none is sent).
    """

    profile: Profile
    adapter: Adapter
    images: int | None = None
    patches: float = 1
    patch: PatchStrategy = field(default_factory=ThoughtFree)
    reward: RewardName = "paper"
    cut: Cut = "paper"
    gamma: float = 0.5
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class StepSample:
    """One step of one rollout: one training sample.

    `record` is the harness's own line about the step. `patch` replaced this step's reply in history (`patched`), or is None; `patched_before` are the steps of
    the history that this step's prompt tells in patched form. `step_return` is the discounted return under the configuration's cut and gamma.
    """

    goal: str
    rollout: int
    step: int
    generated: Generated
    record: StepRecord
    match: bool
    patch: Patch | None
    patched_before: tuple[int, ...]
    reward: Reward
    step_return: float

    @property
    def patched(self) -> bool:
        return self.patch is not None


@dataclass(frozen=True, slots=True)
class Rollout:
    """One rollout, over. `progress`: steps matched before the first mismatch; `success`: that is all of them; `of`: the expert's number of steps.

    `patches` counts the patches used, `fell_back` those that had to do without their thought, by reason; `unpatchable` says why a patch that was due could
    not be written at all (the rollout ended there), else None.
    """

    goal: str
    rollout: int
    trajectory: str
    samples: tuple[StepSample, ...]
    progress: int
    success: bool
    of: int
    patches: int = 0
    fell_back: Mapping[str, int] = field(default_factory=dict)
    unpatchable: str | None = None

    @property
    def first_return(self) -> float:
        """The return of the first step: what the group filter looks at."""
        return self.samples[0].step_return


@dataclass(frozen=True, slots=True)
class GroupItem:
    """What a group is played on: a trajectory, or with `step` one step of it with the expert's history (offline RL). `goal` names the group."""

    goal: str
    trajectory: Trajectory
    step: int | None = None


@dataclass(slots=True)
class PlayCounts:
    """Live counters of `play_groups`. `retried` and `dropped` by the kind of the failure: rollouts tried again, groups given up."""

    groups: int = 0
    rollouts: int = 0
    steps: int = 0
    retried: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)


async def play_rollout(
    trajectory: Trajectory, policy: TokenPolicy, config: RolloutConfig, *, goal: str | None = None, rollout: int = 0
) -> Rollout:
    """Play `trajectory` once. Raises `AskFailed` where no reply was to be had, and `DataError` for a screen that cannot be read."""
    raise NotImplementedError


async def play_offline_step(
    trajectory: Trajectory,
    step: int,
    policy: TokenPolicy,
    config: RolloutConfig,
    *,
    goal: str | None = None,
    rollout: int = 0,
) -> Rollout:
    """Offline RL's rollout: one step, asked with the expert's history (`StaticEpisode`). A rollout of one sample, whose return is its reward."""
    raise NotImplementedError


async def play_group(
    trajectory: Trajectory, policy: TokenPolicy, config: RolloutConfig, n: int, *, goal: str | None = None
) -> list[Rollout]:
    """`n` rollouts of one trajectory, played at the same time, in the order of their numbers. Raises as `play_rollout` does."""
    raise NotImplementedError


def play_groups(
    items: Iterable[GroupItem],
    policy: TokenPolicy,
    config: RolloutConfig,
    n: int,
    *,
    concurrency: int,
    retries: int = 2,
    give_up_after: int = 8,
    counts: PlayCounts | None = None,
) -> AsyncIterator[list[Rollout]]:
    """Groups of `n` rollouts, each as soon as it is complete (not in the order of `items`). At most `concurrency` rollouts are in flight.

    `items` is read only as far as there is room, so it may be endless: stop by leaving the loop and closing the iterator (`contextlib.aclosing`), which
    cancels what is in flight. A rollout that fails for want of a reply is tried again up to `retries` times; then its group is dropped, and counted in
    `counts`: it never becomes a reward. A failure that every request would meet ends the iteration with its `AskFailed`, and so do `give_up_after` dropped
    groups in a row, with `RolloutsFailed`.
    """
    raise NotImplementedError
