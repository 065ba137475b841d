"""One rollout: what is played, patched, paid and kept of every step."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sopbench.adapters import get_adapter
from sopbench.adapters.base import Text
from sopbench.clients.base import AskFailed
from sopbench.protocols.semi_online import ProtocolError
from sopbench.scoring import get_profile
from sopbench.trajectory import Step, Trajectory
from tests.unit.train.players import HIT, NEAR, PAID, PROSE, WRONG, Scripted, config, recording, reply
from uis1_train.core.returns import CUTS
from uis1_train.patching.thought_free import ThoughtFree
from uis1_train.policies.base import Generated
from uis1_train.rollout import Rollout, RolloutConfig, play_offline_step, play_rollout


def play(script: Sequence[str], *, length: int | None = None, **options: object) -> Rollout:
    return asyncio.run(play_rollout(recording(length or len(script)), Scripted(script), config(**options)))


@pytest.mark.parametrize(
    ("script", "patches", "steps", "used", "progress"),
    [
        ([HIT, HIT, HIT], 0, 3, 0, 3),
        ([HIT, WRONG, HIT], 0, 2, 0, 1),
        ([HIT, WRONG, HIT], 1, 3, 1, 1),
        ([PROSE, NEAR, HIT], 1, 2, 1, 0),
        ([PROSE, NEAR, HIT], 2, 3, 2, 0),
        ([WRONG, WRONG, WRONG, HIT], 2, 3, 2, 0),
        ([WRONG, WRONG, WRONG, HIT], math.inf, 4, 3, 0),
        ([HIT, HIT, NEAR], 1, 3, 0, 2),  # the last step: nothing is played after it, so nothing is patched
        ([WRONG], math.inf, 1, 0, 0),
    ],
)
def test_thresholds(script: list[str], patches: float, steps: int, used: int, progress: int) -> None:
    rollout = play(script, patches=patches)
    assert (len(rollout.samples), rollout.patches, rollout.progress) == (steps, used, progress)
    assert rollout.success == (progress == len(script))
    assert rollout.of == len(script)


def test_a_sample_says_everything_about_its_step() -> None:
    rollout = play([HIT, NEAR, HIT, WRONG, HIT], patches=1)
    assert [s.step for s in rollout.samples] == [0, 1, 2, 3]
    assert [s.match for s in rollout.samples] == [True, False, True, False]
    assert [s.patched for s in rollout.samples] == [False, True, False, False]
    assert [s.patched_before for s in rollout.samples] == [(), (), (1,), (1,)]
    assert [s.reward.total for s in rollout.samples] == [1.0, 0.5, 1.0, 0.1]
    assert [s.step_return for s in rollout.samples] == [1.25, 0.5, 1.05, 0.1]
    assert [s.generated.response_ids for s in rollout.samples] == [(100, 7), (101, 7), (102, 7), (103, 7)]
    assert rollout.first_return == 1.25
    assert {(s.goal, s.rollout) for s in rollout.samples} == {("t", 0)}


def test_what_was_patched_stands_in_every_record() -> None:
    records = [s.record for s in play([NEAR, NEAR, HIT], patches=2).samples]
    assert [r.notes for r in records] == [
        ("patched:thought_free",),
        ("history_patched:0", "patched:thought_free"),
        ("history_patched:0,1",),
    ]
    assert [r.diagnostic for r in records] == [False, True, True]  # never feeds a headline
    assert [r.reply for r in records] == [reply(NEAR, 0), reply(NEAR, 1), reply(HIT, 2)]
    assert (records[0].prompt_tokens, records[0].completion_tokens, records[0].endpoint) == (3, 2, "local")


def test_history_holds_the_patch_and_never_the_mistake() -> None:
    policy = Scripted([NEAR, HIT, HIT])
    asyncio.run(play_rollout(recording(3), policy, config(patches=1)))
    told = [p.text for m in policy.asks[2].messages if m.role == "assistant" for p in m.parts if isinstance(p, Text)]
    assert told == ['<action>\n{"action": "type", "text": "word 0"}\n</action>', reply(HIT, 1)]


scripts = st.lists(st.sampled_from([HIT, NEAR, WRONG, PROSE]), min_size=1, max_size=8)


@given(scripts, st.sampled_from([0, 1, 2, math.inf]), st.sampled_from(CUTS), st.floats(0, 1))
def test_any_sequence_of_replies(script, patches, cut, gamma) -> None:  # type: ignore[no-untyped-def]
    rollout = play(script, patches=patches, cut=cut, gamma=gamma)
    wrong = [k for k, kind in enumerate(script) if kind != HIT]
    last = wrong[int(patches)] if len(wrong) > patches else len(script) - 1
    assert [s.step for s in rollout.samples] == list(range(last + 1))
    patched = [k for k in wrong if k < last]
    assert [s.step for s in rollout.samples if s.patched] == patched
    assert rollout.patches == len(patched) <= patches
    assert rollout.progress == (wrong[0] if wrong else len(script))
    assert rollout.success == (not wrong)
    worth = 0.0
    for sample in reversed(rollout.samples):
        assert sample.reward.total == PAID[script[sample.step]]
        assert sample.patched_before == tuple(k for k in patched if k < sample.step)
        cut_here = (cut == "paper" and not sample.match) or (
            cut == "released" and not (sample.match and script[min(sample.step + 1, last)] == HIT)
        )
        worth = sample.reward.total + (0.0 if cut_here else gamma * worth)
        assert sample.step_return == pytest.approx(worth)


def test_the_released_reward_wants_a_thought() -> None:
    bare = '<action>\n{"action": "type", "text": "word 0"}\n</action>'
    assert play([bare], reward="released").samples[0].reward.total == pytest.approx(0.9)
    assert play([HIT], reward="released").samples[0].reward.total == pytest.approx(1.0)
    assert play([bare], reward="paper").samples[0].reward.total == 1.0


def test_the_recordings_own_thought_where_that_is_asked_for() -> None:
    trajectory = recording(3, thoughts=["because", None, None])
    strategy = ThoughtFree("recorded")
    rollout = asyncio.run(play_rollout(trajectory, Scripted([NEAR, NEAR, HIT]), config(patches=2, patch=strategy)))
    first, second, _ = (s.patch for s in rollout.samples)
    assert first is not None
    assert first.text.startswith("<think>\nbecause\n</think>\n<action>")
    assert second is not None
    assert second.text.startswith("<action>")
    assert rollout.fell_back == {}


def test_a_step_that_the_family_cannot_say_ends_the_rollout_and_is_told() -> None:
    steps = recording(2).steps
    opens = Step({"action": "open", "text": "Maps"}, steps[0].screen)
    trajectory = Trajectory("t", "goal", (opens, steps[1]))
    without_open = RolloutConfig(get_profile("strict"), get_adapter("agentcpm"), patches=1)
    rollout = asyncio.run(play_rollout(trajectory, Scripted(["no idea"]), without_open))
    assert len(rollout.samples) == 1
    assert (rollout.patches, rollout.unpatchable) == (0, "cannot_express:open")
    assert not rollout.samples[0].patched


def test_a_request_that_is_not_answered_is_no_reward() -> None:
    policy = Scripted(lambda rollout, step: HIT if step == 0 else AskFailed("timeout", "too slow"))
    with pytest.raises(AskFailed, match="too slow"):
        asyncio.run(play_rollout(recording(2), policy, config()))


def test_every_rollout_has_a_seed_of_its_own() -> None:
    for rollout, expected in ((0, 11), (3, 14)):
        policy = Scripted([HIT])
        asyncio.run(play_rollout(recording(1), policy, config(seed=11), goal="g", rollout=rollout))
        assert (policy.asks[0].seed, policy.asks[0].key) == (expected, ("t", rollout, 0))
    policy = Scripted([HIT])
    asyncio.run(play_rollout(recording(1), policy, config()))
    assert policy.asks[0].seed is None


def test_images_are_those_of_the_request() -> None:
    trajectory = recording(4)
    for images, shown in ((None, 2), (1, 1), (0, 0)):
        rollout = asyncio.run(play_rollout(trajectory, Scripted([HIT] * 4), config(images=images)))
        expected = [step.screen for step in trajectory.steps[4 - shown :]]
        assert list(rollout.samples[3].generated.images) == expected
        assert len(rollout.samples[3].record.images) == shown


def test_an_offline_step_is_asked_with_the_experts_history() -> None:
    policy = Scripted([NEAR] * 3)
    rollout = asyncio.run(play_offline_step(recording(3), 2, policy, config(patches=1), rollout=5))
    [sample] = rollout.samples
    [ask] = policy.asks
    told = [p.text for m in ask.messages if m.role == "assistant" for p in m.parts if isinstance(p, Text)]
    assert told == [f'<action>\n{{"action": "type", "text": "word {k}"}}\n</action>' for k in (0, 1)]
    assert (rollout.goal, rollout.rollout, sample.step, rollout.of) == ("t:2", 5, 2, 1)
    assert (sample.reward.total, sample.step_return, rollout.first_return) == (0.5, 0.5, 0.5)
    assert (rollout.progress, rollout.success, rollout.patches) == (0, False, 0)
    assert sample.record.told == ("expert_history",)
    assert not sample.patched


def test_an_offline_step_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ProtocolError, match="the steps 0 to 2, not 3"):
        asyncio.run(play_offline_step(recording(3), 3, Scripted([HIT] * 4), config()))


@pytest.mark.parametrize("patches", [-1, 0.5, math.nan])
def test_thresholds_that_are_none_are_refused(patches: float) -> None:
    with pytest.raises(ProtocolError, match="patches must be"):
        play([HIT], patches=patches)


def test_log_probs_without_their_tokens_are_refused() -> None:
    with pytest.raises(ProtocolError, match="3 log-probs for 2 response tokens"):
        Generated("x", response_ids=(1, 2), log_probs=(-0.1, -0.2, -0.3))
