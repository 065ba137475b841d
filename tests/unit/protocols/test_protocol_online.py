"""The online protocol: the environment stands in the middle, and has the last word."""

from __future__ import annotations

import io
import math
from typing import ClassVar

import pytest
from PIL import Image as Pillow

from sopbench.actions import Terminate, Wait
from sopbench.adapters.base import Adapter, Image, Message, ParsedReply, ParseFailure, PromptSource, Text
from sopbench.protocols.online import OnlineEpisode
from sopbench.protocols.semi_online import ProtocolError
from sopbench.screen import Screen


class BriefAdapter(Adapter):
    """A family that answers `wait`, `done` or `fail`."""

    name: ClassVar[str] = "brief"
    summary: ClassVar[str] = "for tests"
    frame: ClassVar[str] = "none"
    history: ClassVar[str] = "own replies"
    expresses: ClassVar[frozenset[str]] = frozenset({"wait", "terminate"})

    def prompt_source(self):
        return PromptSource("builtin", "0" * 64)

    def sent_size(self, size):
        return size

    def render(self, goal, turns, images):
        said = [Message("assistant", (Text(turn.reply),)) for turn in turns if turn.reply is not None]
        return (Message("user", (Text(goal), *(Image(turn.screen) for turn in turns[-images:] if images))), *said)

    def parse(self, text, size):
        actions = {"wait": Wait(), "done": Terminate("success"), "fail": Terminate("failure")}
        return ParsedReply(actions[text]) if text in actions else ParseFailure("no_action", text)

    def format(self, action, size, thought=None):
        return "wait" if isinstance(action, Wait) else "done"


def screen(label):
    out = io.BytesIO()
    Pillow.new("RGB", (30, 50)).save(out, "PNG")
    return Screen.from_bytes(out.getvalue(), label)


def episode(budget=3, **options):
    return OnlineEpisode("the goal", BriefAdapter(), screen("s0"), budget=budget, **options)


def labels(pending):
    return [part.screen.label for message in pending.messages for part in message.parts if isinstance(part, Image)]


def test_each_reply_is_acted_on_and_its_screen_observed():
    ep = episode(images=2)
    assert labels(ep.pending()) == ["s0"]
    result = ep.advance("wait")
    assert (result.step_index, result.action) == (0, Wait())
    assert ep.pending() is None
    ep.observe(screen("s1"))
    assert labels(ep.pending()) == ["s0", "s1"]
    assert ep.pending().step_index == 1
    assert ep.pending().messages[-1].parts == (Text("wait"),)


@pytest.mark.parametrize("word", ["done", "fail"])
def test_the_agent_may_end_it_but_success_is_the_environments_word(word):
    """Field case 30: the agent says success, the environment says 0: 0."""
    ep = episode()
    ep.advance(word)
    assert (ep.over, ep.said_done, ep.pending()) == (True, True, None)
    ep.finish(0.0)
    assert ep.score == 0.0


def test_the_budget_ends_it_once_the_last_action_has_been_seen():
    ep = episode(budget=2)
    ep.advance("wait")
    ep.observe(screen("s1"))
    ep.advance("wait")
    assert not ep.over
    ep.observe(screen("s2"))
    assert (ep.over, ep.said_done, len(ep.results)) == (True, False, 2)
    ep.finish(1.0)
    assert ep.score == 1.0


def test_a_reply_that_is_no_action_costs_a_step_and_changes_nothing():
    ep = episode(budget=2)
    result = ep.advance("???")
    assert result.action is None
    assert isinstance(result.parsed, ParseFailure)
    ep.observe(screen("s0"))
    assert ep.pending().step_index == 1
    ep.advance("???")
    ep.observe(screen("s0"))
    assert ep.over


def test_out_of_turn_calls_are_the_drivers_fault():
    ep = episode()
    for call in (lambda: ep.observe(screen("x")), lambda: ep.finish(1)):
        with pytest.raises(ProtocolError):
            call()
    ep.advance("wait")
    for call in (lambda: ep.advance("wait"), lambda: ep.finish(1)):
        with pytest.raises(ProtocolError):
            call()
    ep.observe(screen("s1"))
    ep.advance("done")
    for call in (lambda: ep.advance("wait"), lambda: ep.observe(screen("s2"))):
        with pytest.raises(ProtocolError):
            call()


@pytest.mark.parametrize("budget", [0, -1])
def test_a_budget_of_nothing_is_refused(budget):
    with pytest.raises(ProtocolError, match="budget"):
        episode(budget=budget)


@pytest.mark.parametrize("score", [-0.1, 1.1, math.nan, math.inf])
def test_a_score_lies_between_0_and_1(score):
    ep = episode()
    ep.advance("done")
    with pytest.raises(ProtocolError, match=r"0\.\.1"):
        ep.finish(score)
    assert ep.score is None


def test_no_images_means_none():
    assert labels(episode(images=0).pending()) == []
    assert episode().images == BriefAdapter.default_images
