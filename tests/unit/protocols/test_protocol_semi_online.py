"""The semi-online protocol: what is asked, what a reply is worth, when it ends, and what a patch does."""

from __future__ import annotations

import io
import math
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as Pillow

from sopbench.actions import Swipe, Type, Wait, from_released, to_released
from sopbench.adapters.base import Adapter, Image, Message, ParsedReply, ParseFailure, PromptSource, Text
from sopbench.errors import DataError
from sopbench.geometry import Size
from sopbench.protocols.semi_online import ProtocolError, SemiOnlineEpisode
from sopbench.scoring import get_profile
from sopbench.screen import Screen
from sopbench.trajectory import Step, Trajectory


class WordsAdapter(Adapter):
    """A family that answers `wait`, `type TEXT` or `swipe` and shows all that it was given."""

    name: ClassVar[str] = "words"
    summary: ClassVar[str] = "for tests"
    frame: ClassVar[str] = "original pixels"
    history: ClassVar[str] = "own replies"
    expresses: ClassVar[frozenset[str]] = frozenset({"wait", "type", "swipe"})

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

    def parse(self, text, size):
        word, _, rest = text.split(": ")[-1].partition(" ")
        swipe = {"action": "swipe", "coordinate": [15, 40], "coordinate2": [15, 10]}
        actions = {"wait": Wait(), "type": Type(rest), "swipe": from_released(swipe, size)}
        return ParsedReply(actions[word]) if word in actions else ParseFailure("no_action", text)

    def format(self, action, size, thought=None):
        words = {"wait": "wait", "type": f"type {getattr(action, 'text', '')}", "swipe": "swipe"}
        return (f"{thought}: " if thought else "") + words[action.kind]


def screen(label):
    out = io.BytesIO()
    Pillow.new("RGB", (30, 50)).save(out, "PNG")
    return Screen.from_bytes(out.getvalue(), label)


SIZE = Size(30, 50)


def recording(*texts, thought=None):
    steps = tuple(
        Step(to_released(Type(text), SIZE), screen(f"s{k}"), instruction="SENTINEL", thought=thought)
        for k, text in enumerate(texts)
    )
    return Trajectory("t", "the goal", steps)


def episode(*texts, thought=None, **options):
    return SemiOnlineEpisode(recording(*texts, thought=thought), WordsAdapter(), get_profile("strict"), **options)


def play(ep, *replies):
    for reply in replies:
        assert ep.pending() is not None
        ep.advance(reply)
    return ep


def said(pending):
    return [part.text for message in pending.messages for part in message.parts if isinstance(part, Text)]


def shown(pending):
    return [part.screen.label for message in pending.messages for part in message.parts if isinstance(part, Image)]


def test_an_episode_of_matches_succeeds():
    ep = play(episode("a", "b", "c"), "type a", "type b", "type c")
    assert (ep.over, ep.success, ep.progress) == (True, True, 3)
    assert ep.pending() is None
    assert [result.verdict.match for result in ep.results] == [True] * 3


def test_the_first_mismatch_ends_it_and_keeps_the_progress():
    ep = play(episode("a", "b", "c"), "type a", "type x")
    assert (ep.over, ep.success, ep.progress) == (True, False, 1)
    assert ep.results[-1].verdict.reason == "text_differs"


def test_a_reply_that_is_cut_off_costs_that_step_only():
    """Field case 7."""
    ep = play(episode("a", "b", "c", "d", "e"), "type a", "type b", "type c", "type d", '{"action":')
    assert ep.progress == 4
    assert ep.results[-1].verdict.as_dict() == {"type_match": False, "match": False, "reason": "parse:no_action"}
    assert ep.results[-1].action is None
    assert isinstance(ep.results[-1].parsed, ParseFailure)


def test_a_refusal_is_not_a_wait():
    """Field case 4."""
    waiting = Trajectory("t", "g", (Step(to_released(Wait(), SIZE), screen("s")),))
    ep = play(SemiOnlineEpisode(waiting, WordsAdapter(), get_profile("uis1-released")), "Sorry, I can't help with that")
    assert (ep.progress, ep.results[0].verdict.reason) == (0, "parse:no_action")


def test_a_request_shows_the_recordings_screens_and_the_models_own_replies():
    ep = episode("a", "b", "c", images=2)
    assert (said(ep.pending()), shown(ep.pending())) == (["the goal"], ["s0"])
    play(ep, "first: type a", "second: type b")
    request = ep.pending()
    assert (request.step_index, request.size) == (2, SIZE)
    assert said(request) == ["the goal", "old", "first: type a", "second: type b"]
    assert shown(request) == ["s1", "s2"]


def test_no_instruction_of_the_recording_reaches_a_request():
    """Field case 9: outside of AC-Low nothing of the expert's is told."""
    ep = episode("a", "b", thought="SENTINEL")
    for reply in ("type a", "type b"):
        assert "SENTINEL" not in " ".join(said(ep.pending()))
        ep.advance(reply)


@pytest.mark.parametrize(("images", "labels"), [(0, []), (1, ["s2"]), (2, ["s1", "s2"]), (99, ["s0", "s1", "s2"])])
def test_images_bounds_the_screens_of_a_request(images, labels):
    """Field case 34: none means none."""
    ep = play(episode("a", "b", "c", images=images), "type a", "type b")
    assert shown(ep.pending()) == labels


def test_the_adapter_says_how_many_images_where_nobody_else_does():
    assert episode("a").images == WordsAdapter.default_images == 2


def test_asking_twice_asks_the_same():
    ep = episode("a", "b")
    assert ep.pending() == ep.pending()
    assert ep.step_index == 0


def test_out_of_turn_calls_are_the_drivers_fault():
    over = play(episode("a"), "type x")
    for call in (lambda: over.advance("type a"), lambda: over.patch("type a"), over.decline_patch):
        with pytest.raises(ProtocolError):
            call()
    due = play(episode("a", "b", patches=1), "type x")
    with pytest.raises(ProtocolError):
        due.advance("type a")
    fresh = episode("a", patches=1)
    with pytest.raises(ProtocolError):
        fresh.patch("type a")


def test_a_screen_that_cannot_be_read_leaves_the_episode_as_it_was():
    broken = Trajectory("t", "g", (Step(to_released(Type("a"), SIZE), Screen.from_bytes(b"", "gone")),))
    ep = SemiOnlineEpisode(broken, WordsAdapter(), get_profile("strict"))
    with pytest.raises(DataError, match="gone"):
        ep.pending()
    with pytest.raises(DataError, match="gone"):
        ep.advance("type a")
    assert (ep.over, ep.results) == (False, [])


@pytest.mark.parametrize("patches", [-1, 0.5, 1.5, math.nan, -math.inf])
def test_patches_are_counted_in_whole_numbers(patches):
    with pytest.raises(ProtocolError, match="patches must be"):
        episode("a", patches=patches)


def test_a_recording_without_steps_cannot_be_played():
    with pytest.raises(ProtocolError, match="no steps"):
        episode()


# The diagnostic mode


def test_the_diagnostic_mode_goes_on_past_mismatches_with_the_models_own_reply():
    ep = play(episode("a", "b", "c", after_mismatch="continue"), "type a", "type x")
    assert said(ep.pending())[-1] == "type x"
    assert shown(ep.pending())[-1] == "s2"
    play(ep, "type c")
    assert (ep.over, ep.progress, ep.success) == (True, 1, False)
    assert [result.verdict.match for result in ep.results] == [True, False, True]


def test_the_diagnostic_mode_keeps_what_could_not_be_parsed():
    ep = play(episode("a", "b", after_mismatch="continue"), "???")
    assert said(ep.pending())[-1] == "???"


def test_the_diagnostic_mode_never_patches():
    with pytest.raises(ProtocolError, match="never patches"):
        episode("a", patches=1, after_mismatch="continue")


# Patches


def test_without_patches_a_mismatch_asks_for_none():
    ep = play(episode("a", "b", patches=0), "type x")
    assert (ep.over, ep.patch_due, ep.patched) == (True, None, {})


@pytest.mark.parametrize("patches", [1, 2, math.inf])
def test_so_many_mismatches_are_patched_and_the_next_one_ends_it(patches):
    texts = list("abcde")
    ep = episode(*texts, patches=patches)
    used = 0
    while not ep.over:
        ep.advance("type wrong")
        if ep.patch_due is not None:
            assert ep.pending() is None
            ep.patch(ep.patch_due.thought_free())
            used += 1
    assert used == min(patches, len(texts))
    assert len(ep.results) == min(patches + 1, len(texts))
    assert ep.patched == {k: f"type {texts[k]}" for k in range(used)}
    assert (ep.progress, ep.success) == (0, False)


def test_a_patch_stands_in_history_in_place_of_the_mismatch():
    ep = play(episode("a", "b", "c", patches=1), "type a", "type x")
    due = ep.patch_due
    assert due.result.reply == "type x"
    assert due.expert == Type("b")
    ep.patch(due.thought_free())
    request = ep.pending()
    assert said(request)[1:] == ["old", "type a", "type b"]
    assert shown(request) == ["s1", "s2"]
    play(ep, "type c")
    assert (ep.over, ep.progress, ep.success) == (True, 1, False)
    assert ep.results[1].verdict.match is False


def test_a_recordings_own_thought_goes_into_the_patch():
    ep = play(episode("a", thought="I must", patches=1), "type x")
    assert ep.patch_due.thought_free() == "I must: type a"


def test_a_patch_may_be_declined():
    ep = play(episode("a", "b", patches=math.inf), "type x")
    ep.decline_patch()
    assert (ep.over, ep.patch_due, ep.patched, ep.progress) == (True, None, {}, 0)
    assert ep.pending() is None


def test_a_patch_on_the_last_step_ends_the_episode_without_success():
    ep = play(episode("a", "b", patches=1), "type a", "type x")
    ep.patch("type b")
    assert (ep.over, ep.progress, ep.success) == (True, 1, False)


def test_a_parse_failure_may_be_patched_too():
    ep = play(episode("a", "b", patches=1), "???")
    assert ep.patch_due.expert == Type("a")


replies = st.lists(st.sampled_from(["right", "type wrong", "swipe", "???"]), min_size=1, max_size=8)


@given(replies)
def test_without_patches_a_training_rollout_is_an_evaluation(words):
    """The same replies give the same results whether or not the driver could have patched, up to the first mismatch."""
    texts = [f"t{k}" for k in range(len(words))]
    plain, patched = episode(*texts), episode(*texts, patches=math.inf)
    for k, word in enumerate(words):
        reply = f"type {texts[k]}" if word == "right" else word
        if not plain.over:
            assert said(plain.pending()) == said(patched.pending())
            assert plain.advance(reply) == patched.advance(reply)
        else:
            patched.advance(reply)
        if patched.patch_due:
            patched.patch(patched.patch_due.thought_free())
    assert patched.over
    assert len(patched.results) == len(words)
    expected = words.index(next((w for w in words if w != "right"), None)) if set(words) != {"right"} else len(words)
    assert plain.progress == patched.progress == expected
    assert plain.success == patched.success == (set(words) == {"right"})


def test_the_adapter_of_these_tests_can_say_what_it_reads():
    adapter = WordsAdapter()
    for action in (
        Type("x y"),
        Wait(),
        from_released({"action": "swipe", "coordinate": [15, 40], "coordinate2": [15, 10]}, SIZE),
    ):
        assert adapter.parse(adapter.format(action, SIZE), SIZE).action == action
    assert isinstance(adapter.parse("swipe", SIZE).action, Swipe)
