"""One training rollout: the harness's own semi-online episode, driven by a policy that keeps its tokens, one sample a step.

A rollout with no patch *is* an evaluation: the same episode, the same requests, and records made by the same code as those of `sopbench run`
(`sopbench.runs.recording`). The rollout's number within its group is what the run calls a repeat.

One rollout is one coroutine; `uis1_train.session` plays many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sopbench.adapters.base import Adapter, ParsedReply
from sopbench.clients.base import Ask, Reply
from sopbench.errors import CannotExpress
from sopbench.protocols.semi_online import Pending, SemiOnlineEpisode, StepResult
from sopbench.protocols.static import StaticEpisode
from sopbench.runs.recording import (
    ask_for,
    base_record,
    noting_left_out,
    replied_record,
    semi_online_facts,
    static_facts,
    storable,
)
from sopbench.runs.records import StepRecord
from sopbench.scoring.base import Profile
from sopbench.trajectory import Trajectory
from uis1_train.core.returns import Cut, step_returns
from uis1_train.core.rewards import Reward, RewardName, reward
from uis1_train.patching.base import Patch, PatchContext, PatchStrategy
from uis1_train.patching.thought_free import ThoughtFree
from uis1_train.policies.base import Generated, RolloutId, TokenPolicy


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


async def play_rollout(
    trajectory: Trajectory, policy: TokenPolicy, config: RolloutConfig, *, goal: str | None = None, rollout: int = 0
) -> Rollout:
    """Play `trajectory` once. Raises `AskFailed` where no reply was to be had, and `DataError` for a screen that cannot be read.

    A mismatch on the last step is not patched: nothing is played after it.
    """
    me = RolloutId(trajectory.id if goal is None else goal, rollout)
    episode = SemiOnlineEpisode(
        trajectory, config.adapter, config.profile, images=config.images, patches=config.patches
    )
    played: list[_Step] = []
    unpatchable: str | None = None
    while (pending := episode.pending()) is not None:
        patched_before = tuple(episode.patched)
        ask = _ask(trajectory, pending, config, rollout)
        generated, reply = await _generated(policy, ask, me)
        result = episode.advance(reply.text)
        base = base_record(config.adapter, trajectory.id, rollout, pending, reply)
        record = replied_record(base, result.parsed, **semi_online_facts(episode, result))
        patch: Patch | None = None
        if (due := episode.patch_due) is not None and result.step_index + 1 < len(trajectory):
            history = tuple(step.in_history for step in played)
            try:
                patch = await config.patch.write(due, PatchContext(trajectory, ask, history, policy, me))
            except CannotExpress:
                unpatchable = f"cannot_express:{due.expert.kind}"
        if patch is not None:
            episode.patch(patch.text)
        elif due is not None:
            episode.decline_patch()
        played.append(_Step(generated, result, _noting_patches(record, patch, patched_before), patch, patched_before))
    patches = [step.patch for step in played if step.patch is not None]
    return Rollout(
        goal=me.goal,
        rollout=rollout,
        trajectory=trajectory.id,
        samples=_samples(played, me, config),
        progress=episode.progress,
        success=episode.success,
        of=len(trajectory),
        patches=len(patches),
        fell_back=dict(Counter(patch.fell_back for patch in patches if patch.fell_back is not None)),
        unpatchable=unpatchable,
    )


async def play_offline_step(
    trajectory: Trajectory,
    step: int,
    policy: TokenPolicy,
    config: RolloutConfig,
    *,
    goal: str | None = None,
    rollout: int = 0,
) -> Rollout:
    """Offline RL's rollout: one step, asked with the expert's history (`StaticEpisode`, as the suite `androidcontrol-high` asks it).

    A rollout of one sample (`of` is 1), whose return is its reward. Nothing is ever patched.
    """
    me = RolloutId(f"{trajectory.id}:{step}" if goal is None else goal, rollout)
    episode = StaticEpisode(trajectory, config.adapter, config.profile, images=config.images)
    pending = episode.pending(step)
    assert pending is not None  # a fresh episode has no answered step
    generated, reply = await _generated(policy, _ask(trajectory, pending, config, rollout), me)
    result = episode.advance(step, reply.text)
    base = noting_left_out(base_record(config.adapter, trajectory.id, rollout, pending, reply), episode, step)
    record = replied_record(base, result.parsed, **static_facts(episode, result))
    samples = _samples([_Step(generated, result, record, None, ())], me, config)
    match = result.verdict.match
    return Rollout(me.goal, rollout, trajectory.id, samples, progress=int(match), success=match, of=1)


@dataclass(frozen=True, slots=True)
class _Step:
    """A sample whose return is not known yet."""

    generated: Generated
    result: StepResult
    record: StepRecord
    patch: Patch | None
    patched_before: tuple[int, ...]

    @property
    def in_history(self) -> str:
        return self.result.reply if self.patch is None else self.patch.text


def _ask(trajectory: Trajectory, pending: Pending, config: RolloutConfig, rollout: int) -> Ask:
    step = trajectory.steps[pending.step_index]
    return ask_for(
        config.adapter, trajectory.id, rollout, pending, seed=config.seed, expert=lambda: step.action(pending.size)
    )


async def _generated(policy: TokenPolicy, ask: Ask, me: RolloutId) -> tuple[Generated, Reply]:
    """What the policy generated, and the reply as history and record keep it."""
    generated = await policy.generate(ask, rollout=me)
    return generated, storable(replace(generated.as_reply(), text=generated.text))


def _noting_patches(record: StepRecord, patch: Patch | None, before: tuple[int, ...]) -> StepRecord:
    """`record`, with notes on what of the history that it saw, and of what it leaves to later steps, is not the model's own."""
    notes = [f"history_patched:{','.join(map(str, before))}"] if before else []
    if patch is not None:
        notes.append(":".join(["patched", patch.kind, *([patch.fell_back] if patch.fell_back else [])]))
    return record.model_copy(update={"notes": (*record.notes, *notes)}) if notes else record


def _samples(played: list[_Step], me: RolloutId, config: RolloutConfig) -> tuple[StepSample, ...]:
    rewards = [_reward(step.result, config.reward) for step in played]
    returns = step_returns(
        [each.total for each in rewards],
        [step.result.verdict.match for step in played],
        [me.rollout] * len(played),
        [step.result.step_index for step in played],
        gamma=config.gamma,
        cut=config.cut,
    )
    return tuple(
        StepSample(
            goal=me.goal,
            rollout=me.rollout,
            step=step.result.step_index,
            generated=step.generated,
            record=step.record,
            match=step.result.verdict.match,
            patch=step.patch,
            patched_before=step.patched_before,
            reward=paid,
            step_return=worth,
        )
        for step, paid, worth in zip(played, rewards, returns.tolist(), strict=True)
    )


def _reward(result: StepResult, name: RewardName) -> Reward:
    parsed, verdict = result.parsed, result.verdict
    thought = isinstance(parsed, ParsedReply) and bool((parsed.thought or "").strip())
    return reward(name, isinstance(parsed, ParsedReply), verdict.type_match, verdict.match, thought=thought)
