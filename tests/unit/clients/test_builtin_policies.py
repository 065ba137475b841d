"""The built-in policies: they answer in the adapter's language, and chance depends on nothing but (seed, episode, repeat, step)."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sopbench.actions import (
    ACTION_KINDS,
    Action,
    Answer,
    Click,
    Key,
    LongPress,
    Open,
    Swipe,
    SystemButton,
    Terminate,
    Type,
    Wait,
    from_released,
    to_released,
)
from sopbench.adapters.base import Adapter, Message, ParsedReply, ParseFailure, PromptSource, Text
from sopbench.clients import make_policy
from sopbench.clients.base import Ask, AskFailed, Sampling
from sopbench.clients.builtin import REFUSAL, Builtin, builtins, make_builtin
from sopbench.errors import CannotExpress, UsageError
from sopbench.geometry import Point, Size

SIZE = Size(1080, 2400)


class Plain(Adapter):
    """Says the released JSON and nothing else; `expresses` may be narrowed."""

    name: ClassVar[str] = "plain"
    summary: ClassVar[str] = ""
    frame: ClassVar[str] = "pixels"
    history: ClassVar[str] = "none"
    expresses: ClassVar[frozenset[str]] = frozenset(ACTION_KINDS)

    def __init__(self, *without: str) -> None:
        self.expresses = type(self).expresses - set(without)  # type: ignore[misc]  # narrowed for one test

    def prompt_source(self):
        return PromptSource("builtin", "0" * 64)

    def sent_size(self, size):
        return size

    def render(self, goal, turns, images):
        return (Message("user", (Text(goal),)),)

    def parse(self, text, size, sent=None):
        try:
            return ParsedReply(from_released(json.loads(text), size))
        except ValueError:
            return ParseFailure("no_action", "")

    def format(self, action, size, thought=None):
        if action.kind not in self.expresses:
            raise CannotExpress(action.kind)
        return json.dumps(to_released(action, size))


def ask(expert: Action | None = None, *, key=("e", 0, 0), adapter: Adapter | None = None) -> Ask:
    return Ask(key, (), SIZE, adapter or Plain(), expert=lambda: expert)


def answer(policy: Builtin, request: Ask) -> Action | None:
    """The action that the policy's words say."""
    parsed = request.adapter.parse(asyncio.run(policy.ask(request)).text, SIZE)
    return parsed.action if isinstance(parsed, ParsedReply) else None


GOLDS: list[Action] = [
    Click(Point(0.5, 0.25)),
    LongPress(Point(0.25, 0.5)),
    Swipe(Point(0.5, 0.75), Point(0.5, 0.25)),
    Type("paris"),
    Open("Maps"),
    SystemButton("Back"),
    Key("volume_up"),
    Wait(),
    Answer("42"),
    Terminate("success"),
    Terminate("failure"),
]


@pytest.mark.parametrize("gold", GOLDS, ids=lambda g: g.kind)
def test_the_oracle_answers_with_the_experts_action(gold):
    assert answer(make_builtin("builtin:oracle"), ask(gold)) == gold


def test_the_oracle_gives_up_where_the_expert_knows_nothing():
    assert answer(make_builtin("builtin:oracle"), ask(None)) == Terminate("failure")


def test_an_oracle_without_an_expert_is_an_error_and_no_mismatch():
    request = Ask(("e", 0, 0), (), SIZE, Plain())
    with pytest.raises(AskFailed, match="knows no expert"):
        asyncio.run(make_builtin("builtin:oracle").ask(request))


def test_what_the_adapter_cannot_say_becomes_an_honest_mismatch_with_a_note():
    oracle = make_builtin("builtin:oracle")
    request = ask(Open("Maps"), adapter=Plain("open"))
    assert answer(oracle, request) == Terminate("failure")
    assert asyncio.run(oracle.ask(request)).notes == ("cannot_express:open",)
    mute = ask(Open("Maps"), adapter=Plain("open", "terminate"))
    assert asyncio.run(oracle.ask(mute)).text == "I cannot express open."


def test_null_says_done_and_swipe_swipes_up():
    assert answer(make_builtin("builtin:null"), ask()) == Terminate("success")
    assert answer(make_builtin("builtin:swipe"), ask()) == Swipe(Point(0.5, 0.75), Point(0.5, 0.25))


@pytest.mark.parametrize("gold", GOLDS, ids=lambda g: f"{g.kind}-{getattr(g, 'status', '')}")
@pytest.mark.parametrize("without", [(), ("swipe", "wait"), ("system_button", "terminate")])
def test_a_mistake_is_never_the_gold_action_and_always_sayable(gold, without):
    noisy = make_builtin("builtin:noisy:p=1")
    for step in range(40):
        request = ask(gold, key=("e", 0, step), adapter=Plain(*without))
        said = answer(noisy, request)
        assert said is not None or "terminate" in without
        assert said != gold
        if isinstance(gold, Type | Open | Answer) and type(said) is type(gold):
            ours, theirs = (getattr(a, "text", getattr(a, "app", "")).lower() for a in (said, gold))
            assert ours not in theirs
            assert theirs not in ours
        if isinstance(said, Click) and isinstance(gold, Click | LongPress):
            assert 0.2 <= abs(said.point.x - gold.point.x) <= 0.8
            assert 0 <= said.point.x < 1
            assert 0 <= said.point.y < 1


@given(st.text(max_size=6))
@settings(max_examples=30)
def test_mistakes_are_made_for_any_text(text):
    assert answer(make_builtin("builtin:noisy:p=1"), ask(Type(text))) is not None


def errs(seed: int, p: float, n: int = 2000) -> list[bool]:
    noisy = make_builtin(f"builtin:noisy:p={p}", seed=seed)
    gold = Wait()
    return [noisy.choose(ask(gold, key=(str(k), 0, k % 7))) != gold for k in range(n)]


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 1.0])
def test_noise_errs_as_often_as_asked(p):
    share = sum(errs(seed=1, p=p)) / 2000
    assert abs(share - p) < 0.035 * (0 < p < 1) + 1e-9


def test_chance_depends_on_seed_episode_repeat_and_step_only():
    keys = [("a", 0, 0), ("a", 0, 1), ("a", 1, 0), ("b", 0, 0)]

    def said(seed: int, order: list[tuple[str, int, int]]) -> dict[tuple[str, int, int], str]:
        policy = make_builtin("builtin:random", seed=seed)
        clicks = Plain(*set(ACTION_KINDS) - {"click"})  # two random points are never the same

        async def all_of_them() -> list[str]:
            asked = [policy.ask(ask(key=key, adapter=clicks)) for key in order]
            return [reply.text for reply in await asyncio.gather(*asked)]

        return dict(zip(order, asyncio.run(all_of_them()), strict=True))

    assert said(3, keys) == said(3, keys[::-1])
    assert said(3, keys) != said(4, keys)
    assert len(set(said(3, keys).values())) == len(keys)


def test_random_uses_the_whole_space_of_the_family_and_no_more():
    policy = make_builtin("builtin:random")
    kinds = [policy.choose(ask(key=("e", 0, k), adapter=Plain("key", "answer"))).kind for k in range(800)]
    assert set(kinds) == set(ACTION_KINDS) - {"key", "answer"}
    assert all(60 <= kinds.count(kind) <= 145 for kind in set(kinds))  # 100 each, more than four sigma


# -- by name ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Options:
    model: str
    base_urls: tuple[str, ...] = ()
    sampling: Sampling = field(default_factory=Sampling)
    seed: int | None = None
    concurrency: int = 2
    adaptive: bool = False
    attempt_timeout: float = 1.0
    deadline: float = 1.0
    max_attempts: int = 1


@pytest.mark.parametrize("name", sorted(builtins()))
async def test_every_built_in_is_found_and_says_what_it_is(name):
    policy = await make_policy(Options(name, seed=7))
    facts = json.loads(json.dumps(policy.describe()))
    assert facts["model"] == name
    assert facts["sampling"] is None
    assert facts["policy"].get("seed", 7) == 7


async def test_the_noise_is_a_fact_of_the_run():
    policy = await make_policy(Options("builtin:noisy:p=0.2", seed=7))
    assert policy.describe() == {
        "model": "builtin:noisy:p=0.2",
        "sampling": None,
        "policy": {"kind": "builtin", "p": 0.2, "seed": 7},
    }


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (Options("builtin:orcale"), "known: builtin:oracle, builtin:noisy"),
        (Options("builtin:"), "known: builtin:oracle"),
        (Options("builtin:oracle:p=0.2"), "takes no options"),
        (Options("builtin:noisy:q=0.2"), "takes p=PROBABILITY"),
        (Options("builtin:noisy:p=much"), "not 'much'"),
        (Options("builtin:noisy:p=1.5"), r"not 1\.5"),
        (Options("builtin:noisy:p=nan"), "not nan"),
        (Options("builtin:oracle", base_urls=("http://a",)), "leave --base-url away"),
        (Options("UI-S1-7B"), "give --base-url"),
        (Options("http://a:1", base_urls=("http://b:1",)), "--model NAME"),
    ],
)
async def test_a_policy_that_cannot_be_is_explained(options, says):
    with pytest.raises(UsageError, match=says):
        await make_policy(options)


async def test_a_named_model_needs_no_question_to_the_endpoint():
    policy = await make_policy(Options("UI-S1-7B", base_urls=("http://127.0.0.1:1",)))
    assert policy.describe()["model"] == "UI-S1-7B"
    assert policy.settings() == {"base_urls": ["http://127.0.0.1:1/v1"]}


async def test_some_replies_may_be_prose_and_the_others_are_what_they_were():
    plain, mixed = make_builtin("builtin:noisy:p=0.3", seed=4), make_builtin("builtin:noisy:p=0.3,prose=0.2", seed=4)
    assert mixed.describe()["model"] == "builtin:noisy:p=0.3,prose=0.2"
    assert mixed.describe()["policy"]["prose"] == 0.2
    asks = [ask(Wait(), key=("e", 0, k)) for k in range(200)]
    replies = [((await plain.ask(a)).text, (await mixed.ask(a)).text) for a in asks]
    prose = [said for _, said in replies if said == REFUSAL]
    assert 20 <= len(prose) <= 60
    assert all(said in (before, REFUSAL) for before, said in replies)


async def test_prose_is_a_probability():
    with pytest.raises(UsageError, match="prose is a probability"):
        make_builtin("builtin:noisy:prose=2")
