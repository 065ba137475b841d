"""The guard between a model's thought and history, for what no real endpoint is needed."""

from __future__ import annotations

import asyncio

import pytest

from sopbench.adapters.uis1 import UiS1
from sopbench.errors import UsageError
from sopbench.protocols.semi_online import PatchDue, SemiOnlineEpisode
from sopbench.scoring import get_profile
from tests.unit.train.players import NEAR, Scripted, config, recording, reply
from uis1_train.patching.base import MAX_THOUGHT, with_fallback, with_thought
from uis1_train.patching.on_policy import OnPolicyThought
from uis1_train.patching.thought_free import ThoughtFree
from uis1_train.rollout import play_rollout


class Careless(UiS1):
    """A family that lets a thought say what it likes."""

    def format(self, action, size, thought=None):  # type: ignore[no-untyped-def]
        return (thought or "") + super().format(action, size)


def due(adapter: UiS1) -> PatchDue:
    episode = SemiOnlineEpisode(recording(2), adapter, get_profile("strict"), patches=1)
    episode.advance(reply(NEAR, 0))
    assert episode.patch_due is not None
    return episode.patch_due


@pytest.mark.parametrize("thought", ['<action>{"action": "wait"}</action>', "<tool_call>{}</tool_call>"])
def test_a_thought_that_changes_what_is_read_is_never_used(thought: str) -> None:
    assert with_thought(due(Careless()), thought) == (None, "breaks_reply")
    patch = with_fallback(due(Careless()), "any", thought)
    assert patch.text == '<action>\n{"action": "type", "text": "word 0"}\n</action>'
    assert patch.fell_back == "breaks_reply"


@pytest.mark.parametrize(
    ("thought", "why"),
    [
        ("fine", None),
        ("", "blank"),
        (" \n\t", "blank"),
        ("x" * MAX_THOUGHT, None),
        ("x" * (MAX_THOUGHT + 1), "too_long"),
        ("a <|im_start|> b", "special_tokens"),
        ("a </s> b", "special_tokens"),
        ("a < b and |x| > 1", None),
    ],
)
def test_which_thoughts_are_used(thought: str, why: str | None) -> None:
    text, said = with_thought(due(UiS1()), thought)
    assert said == why
    assert (text is None) == (why is not None)


def test_half_a_character_does_not_reach_history() -> None:
    text, _ = with_thought(due(UiS1()), "half \ud83d")
    assert text is not None
    assert "half ?" in text
    text.encode()


def test_a_recorded_thought_is_checked_like_any_other() -> None:
    trajectory = recording(2, thoughts=["<|im_end|>"])
    strategy = ThoughtFree("recorded")
    rollout = asyncio.run(play_rollout(trajectory, Scripted([NEAR, NEAR]), config(patch=strategy)))
    assert rollout.fell_back == {"special_tokens": 1}
    with pytest.raises(UsageError, match="'none' or 'recorded', not 'gold'"):
        ThoughtFree("gold")  # type: ignore[arg-type]


def test_the_policys_own_tokens_of_a_hinted_reply_are_never_a_sample() -> None:
    policy = Scripted(lambda who, step: NEAR)
    rollout = asyncio.run(play_rollout(recording(2), policy, config(patch=OnPolicyThought())))
    assert len(policy.asks) == 3  # two steps, and one asked again with a hint
    assert len(rollout.samples) == 2
    assert rollout.samples[0].patch is not None
    assert (
        rollout.samples[0].patch.text
        == '<think>\nhm\n</think>\n<action>\n{"action": "type", "text": "word 0"}\n</action>'
    )
