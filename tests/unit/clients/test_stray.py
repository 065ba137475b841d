"""`builtin:stray`: an agent that does not find back after its first mistake."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sopbench.actions import Click, Terminate, Type
from sopbench.clients.builtin import make_builtin
from sopbench.clients.stray import Stray
from sopbench.errors import UsageError
from sopbench.geometry import Point
from tests.unit.clients.test_builtin_policies import ask

TAP = Click(Point(0.5, 0.5))
EPISODES = 400


def wrong(policy: Stray, step: int, episode: int = 0, gold=TAP, *, gold_history: bool = False) -> bool:
    asked = replace(ask(gold, key=(str(episode), 0, step)), gold_history=gold_history)
    return policy.choose(asked) != gold


def first_mistake(policy: Stray, episode: int, steps: int = 8) -> int | None:
    return next((k for k in range(steps) if wrong(policy, k, episode)), None)


@pytest.mark.parametrize("errors", ["uniform", "early", "drift"])
def test_after_its_first_mistake_it_makes_nothing_else(errors):
    policy = make_builtin(f"builtin:stray:p=0.3,errors={errors}", seed=1)
    firsts = [first_mistake(policy, e) for e in range(EPISODES)]
    assert any(f is not None for f in firsts)
    for episode, first in enumerate(firsts):
        if first is not None:
            assert all(wrong(policy, k, episode) for k in range(first, 8))


def test_where_it_is_told_the_experts_history_earlier_mistakes_have_no_bearing():
    """Static: the share of mistakes at step 5 is p, not 1 - (1-p)^6."""
    policy = make_builtin("builtin:stray:p=0.3", seed=1)
    alone = sum(wrong(policy, 5, e, gold_history=True) for e in range(EPISODES)) / EPISODES
    lost = sum(wrong(policy, 5, e) for e in range(EPISODES)) / EPISODES
    assert abs(alone - 0.3) < 0.07
    assert abs(lost - (1 - 0.7**6)) < 0.07


def test_early_mistakes_come_at_the_first_two_steps_only():
    policy = make_builtin("builtin:stray:p=0.3,errors=early", seed=1)
    firsts = {first_mistake(policy, e) for e in range(EPISODES)}
    assert firsts == {None, 0, 1}


def test_drift_grows_with_its_own_history_and_spares_the_first_step():
    policy = make_builtin("builtin:stray:p=0.1,errors=drift", seed=1)
    shares = [sum(wrong(policy, k, e, gold_history=True) for e in range(EPISODES)) / EPISODES for k in range(8)]
    assert shares[0] == 0
    for k, share in enumerate(shares):
        assert abs(share - (1 - 0.9**k)) < 0.08


def test_a_garbler_of_text_does_the_rest_right():
    policy = make_builtin("builtin:stray:p=0.5,errors=text", seed=1)
    garbled = [wrong(policy, 3, e, Type("milk")) for e in range(EPISODES)]
    assert abs(sum(garbled) / EPISODES - 0.5) < 0.08
    assert garbled == [wrong(policy, 6, e, Type("milk")) for e in range(EPISODES)]
    assert not any(
        wrong(policy, k, e, gold) for k in range(4) for e in range(50) for gold in (TAP, Terminate("success"))
    )


def test_its_name_and_facts_tell_its_options():
    policy = make_builtin("builtin:stray:errors=early,p=0.25", seed=9)
    assert policy.model == "builtin:stray:p=0.25,errors=early"
    assert policy.describe()["policy"] == {"kind": "builtin", "p": 0.25, "errors": "early", "seed": 9}
    assert make_builtin("builtin:stray").model == "builtin:stray"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("builtin:stray:p=2", "not 2"),
        ("builtin:stray:p=x", "not 'x'"),
        ("builtin:stray:errors=late", "uniform, early, drift, text, not 'late'"),
        ("builtin:stray:prose=0.1", "takes p=PROBABILITY and errors="),
    ],
)
def test_options_that_it_does_not_have_are_explained(text, says):
    with pytest.raises(UsageError, match=says):
        make_builtin(text)
