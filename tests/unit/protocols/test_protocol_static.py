"""The static protocol: every step asked alone, with the expert's history in the family's words."""

from __future__ import annotations

import io
from typing import ClassVar

import pytest
from PIL import Image as Pillow

from sopbench.actions import Type, Wait, to_released
from sopbench.adapters import ADAPTERS, get_adapter
from sopbench.adapters.base import Adapter, Image, Message, ParsedReply, ParseFailure, PromptSource, Text
from sopbench.adapters.instruction import with_instruction, words_sha256
from sopbench.errors import DataError
from sopbench.geometry import Size
from sopbench.protocols.semi_online import ProtocolError
from sopbench.protocols.static import StaticEpisode
from sopbench.scoring import get_profile
from sopbench.screen import Screen
from sopbench.trajectory import Step, Trajectory

SIZE = Size(300, 500)


class WordsAdapter(Adapter):
    """A family that answers `type TEXT`, has no word for `wait`, and shows all that it was given."""

    name: ClassVar[str] = "words"
    summary: ClassVar[str] = "for tests"
    frame: ClassVar[str] = "original pixels"
    history: ClassVar[str] = "replies"
    expresses: ClassVar[frozenset[str]] = frozenset({"type"})

    def prompt_source(self):
        return PromptSource("builtin", "0" * 64)

    def sent_size(self, size):
        return size

    def render(self, goal, turns, images):
        messages = [Message("system", (Text(goal),))]
        for k, turn in enumerate(turns):
            shown = k >= len(turns) - images
            messages.append(Message("user", (Image(turn.screen),) if shown else (Text("old"),)))
            if turn.reply is not None:
                messages.append(Message("assistant", (Text(turn.reply),)))
        return tuple(messages)

    def parse(self, text, size, sent=None):
        word, _, rest = text.partition(" ")
        return ParsedReply(Type(rest)) if word == "type" else ParseFailure("no_action", text)

    def format(self, action, size, thought=None):
        return f"type {action.text}"


def screen(label):
    out = io.BytesIO()
    Pillow.new("RGB", (SIZE.width, SIZE.height)).save(out, "PNG")
    return Screen.from_bytes(out.getvalue(), label)


def recording(*actions, instruction="SENTINEL"):
    steps = tuple(
        Step(to_released(action, SIZE), screen(f"s{k}"), instruction=f"{instruction}-{k}", thought=f"THOUGHT-{k}")
        for k, action in enumerate(actions)
    )
    return Trajectory("t", "the goal", steps)


def episode(*actions, adapter=None, **options):
    return StaticEpisode(recording(*actions), adapter or WordsAdapter(), get_profile("strict"), **options)


def words(pending):
    """Every text of a request and every call of its history, with its role; a picture by the name of its screen."""
    said = []
    for message in pending.messages:
        said += [(message.role, p.text if isinstance(p, Text) else p.screen.label) for p in message.parts]
        said += [(message.role, call.arguments) for call in message.calls]
    return said


def test_a_step_is_asked_with_the_experts_actions_as_earlier_replies() -> None:
    ep = episode(Type("a"), Type("b"), Type("c"))
    assert words(ep.pending(2)) == [
        ("system", "the goal"),
        ("user", "old"),
        ("assistant", "type a"),
        ("user", "s1"),
        ("assistant", "type b"),
        ("user", "s2"),
    ]


def test_what_the_model_says_changes_no_other_request() -> None:
    ep, untouched = episode(Type("a"), Type("b")), episode(Type("a"), Type("b"))
    assert not ep.advance(0, "type wrong").verdict.match
    assert words(ep.pending(1)) == words(untouched.pending(1))


def test_steps_may_be_answered_in_any_order_and_each_once() -> None:
    ep = episode(Type("a"), Type("b"), Type("c"))
    for index, reply in ((2, "type c"), (0, "no idea"), (1, "type b")):
        assert not ep.over
        ep.advance(index, reply)
        assert ep.pending(index) is None
    assert ep.over
    assert [ep.results[k].verdict.match for k in range(3)] == [False, True, True]
    assert ep.results[0].verdict.reason == "parse:no_action"
    with pytest.raises(ProtocolError, match="answered already"):
        ep.advance(1, "type b")


@pytest.mark.parametrize("index", [-1, 2])
def test_a_step_that_does_not_exist_is_the_drivers_fault(index: int) -> None:
    ep = episode(Type("a"), Type("b"))
    with pytest.raises(ProtocolError, match="0 to 1"):
        ep.pending(index)


def test_the_history_leaves_out_what_the_family_cannot_say_and_counts_it() -> None:
    ep = episode(Type("a"), Wait(), Type("c"))
    assert [text for role, text in words(ep.pending(2)) if role == "assistant"] == ["type a"]
    assert [ep.left_out(k) for k in range(3)] == [0, 0, 1]
    assert ep.told(2) == ("expert_history",)


def test_it_says_what_of_the_recording_a_request_tells() -> None:
    high, low = episode(Type("a"), Type("b")), episode(Type("a"), Type("b"), instruct=True)
    assert [high.told(k) for k in range(2)] == [(), ("expert_history",)]
    assert [low.told(k) for k in range(2)] == [("instruction",), ("expert_history", "instruction")]


def test_an_empty_instruction_is_not_told() -> None:
    given = Trajectory("t", "the goal", (Step({"action": "type", "text": "a"}, screen("s0"), instruction=" \n"),))
    ep = StaticEpisode(given, WordsAdapter(), get_profile("strict"), instruct=True)
    assert ep.told(0) == ()
    assert words(ep.pending(0))[0] == ("system", "the goal")


def test_the_instruction_stands_behind_the_goal() -> None:
    ep = episode(Type("a"), instruct=True)
    assert words(ep.pending(0))[0] == ("system", with_instruction("the goal", "SENTINEL-0"))
    assert with_instruction("{instruction}", "{goal}").count("{") == 2
    assert len(words_sha256()) == 64


@pytest.mark.parametrize("name", ADAPTERS)
def test_every_family_tells_the_instruction_of_the_step_due_and_no_other_and_no_thought(name: str) -> None:
    adapter = get_adapter(name)
    actions = (Type("a"), Type("b"), Type("c"))
    for instruct in (False, True):
        ep = episode(*actions, adapter=adapter, instruct=instruct)
        told = "\n".join(text for _, text in words(ep.pending(2)))
        assert told.count("SENTINEL-2") == instruct
        assert "SENTINEL-0" not in told
        assert "SENTINEL-1" not in told
        assert "THOUGHT" not in told


@pytest.mark.parametrize("name", ADAPTERS)
def test_every_family_tells_the_experts_history_as_it_tells_its_own(name: str) -> None:
    adapter = get_adapter(name)
    ep = episode(Type("wombat"), Type("b"), adapter=adapter)
    tells = not adapter.history.startswith("none")
    assert any("wombat" in text for _, text in words(ep.pending(1))) is tells
    assert ep.told(1) == (("expert_history",) if tells else ())
    reply = adapter.format(Type("b"), SIZE)
    assert ep.advance(1, reply).verdict.match


def test_images_bound_the_screens_of_a_request() -> None:
    ep = episode(Type("a"), Type("b"), Type("c"), images=0)
    assert all(not text.startswith("s1") for _, text in words(ep.pending(2)))
    assert [t for _, t in words(ep.pending(2))].count("old") == 3


def test_a_screen_of_the_history_that_cannot_be_read_is_a_fault_of_the_data() -> None:
    steps = (
        Step({"action": "type", "text": "a"}, Screen.from_bytes(b"no image", "bad.png")),
        Step({"action": "type", "text": "b"}, screen("s1")),
    )
    ep = StaticEpisode(Trajectory("t", "g", steps), WordsAdapter(), get_profile("strict"))
    with pytest.raises(DataError, match=r"bad\.png"):
        ep.pending(1)


def test_a_trajectory_without_steps_cannot_be_played() -> None:
    with pytest.raises(ProtocolError, match="no steps"):
        StaticEpisode(Trajectory("t", "g", ()), WordsAdapter(), get_profile("strict"))
