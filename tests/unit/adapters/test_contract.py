"""What holds for every adapter: formatting and parsing are inverse, no text crashes a parser, nothing of the recording reaches a request."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import fields, replace

import pytest
from hypothesis import assume, example, given, settings
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
    swipe_direction,
)
from sopbench.adapters import ADAPTERS, get_adapter
from sopbench.adapters.base import MAX_REPLY, Adapter, Image, Message, ParsedReply, ParseFailure, Text, Turn
from sopbench.clients.base import Sampling
from sopbench.errors import CannotExpress, UsageError
from sopbench.geometry import PER_MILLE, Box, Point, Size
from sopbench.protocols.semi_online import SemiOnlineEpisode
from sopbench.scoring.uis1_released import Uis1Released
from sopbench.screen import Screen
from sopbench.trajectory import Step, Trajectory
from tests.unit.adapters.screens import blank
from tests.unit.adapters.strategies import AWKWARD, SIZES, actions, texts

PHONE = Size(1080, 2400)
REASONS = {
    "reply_too_long",
    "empty_reply",
    "no_action",
    "bad_json",
    "truncated",
    "placeholder",
    "unknown_action",
    "missing_argument",
    "bad_argument",
}

every_adapter = pytest.mark.parametrize("adapter", [get_adapter(name) for name in ADAPTERS], ids=ADAPTERS)


def close(adapter: Adapter, a: Action, b: Action, size: Size) -> bool:
    """Equal up to half a pixel of the image as it was sent, half a millisecond, and what the family declares that its words leave out."""
    if type(a) is not type(b):
        return False
    if isinstance(a, Swipe) and isinstance(b, Swipe) and "swipe.path" in adapter.leaves_out:
        return swipe_direction(a.start, a.end, size) == swipe_direction(b.start, b.end, size)
    sent = adapter.sent_size(size)
    for field in fields(a):
        mine, theirs = getattr(a, field.name), getattr(b, field.name)
        if isinstance(mine, Point):
            slack = 0.5 + 1e-6
            if abs(mine.x - theirs.x) * sent.width > slack or abs(mine.y - theirs.y) * sent.height > slack:
                return False
        elif isinstance(mine, float):
            if f"{a.kind}.{field.name}" not in adapter.leaves_out and abs(mine - theirs) > 0.0005 + 1e-9:
                return False
        elif mine != theirs:
            return False
    return True


def said(adapter: Adapter, action: Action, size: Size, thought: str | None = None) -> str:
    """`action` in the family's words; skips the example where it has none."""
    assume(adapter.can_express(action))
    return adapter.format(action, size, thought)


@every_adapter
@given(action=actions, size=st.sampled_from(SIZES), thought=st.none() | texts)
@settings(max_examples=300, deadline=None)
def test_parse_is_the_inverse_of_format(adapter: Adapter, action: Action, size: Size, thought: str | None) -> None:
    parsed = adapter.parse(said(adapter, action, size, thought), size)
    assert isinstance(parsed, ParsedReply), parsed
    assert close(adapter, parsed.action, action, size)
    assert parsed.notes == ()


@every_adapter
@given(action=actions)
def test_an_adapter_says_what_it_claims_and_refuses_the_rest(adapter: Adapter, action: Action) -> None:
    if adapter.can_express(action):
        assert action.kind in adapter.expresses
        assert adapter.format(action, PHONE)
    else:
        with pytest.raises(CannotExpress, match=adapter.name):
            adapter.format(action, PHONE)


ONE_OF_EACH: tuple[Action, ...] = (
    Click(Point(0.5, 0.5)),
    LongPress(Point(0.5, 0.5)),
    Swipe(Point(0.5, 0.8), Point(0.5, 0.2)),
    Type("x"),
    Open("x"),
    SystemButton("Back"),
    Key("volume_up"),
    Wait(),
    Answer("x"),
    Terminate("success"),
)


@every_adapter
def test_what_a_family_can_say_is_declared_by_kind(adapter: Adapter) -> None:
    assert tuple(action.kind for action in ONE_OF_EACH) == ACTION_KINDS
    assert {action.kind for action in ONE_OF_EACH if adapter.can_express(action)} == adapter.expresses
    assert adapter.leaves_out <= {"swipe.path", "long_press.seconds", "wait.seconds"}
    assert {left.partition(".")[0] for left in adapter.leaves_out} <= adapter.expresses


@every_adapter
def test_default_sampling_uses_the_names_of_sampling(adapter: Adapter) -> None:
    Sampling(**adapter.default_sampling)  # type: ignore[arg-type]  # which names there are is what is tested


@every_adapter
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_a_screen_is_sent_in_the_size_that_the_family_takes(adapter: Adapter, size: Size) -> None:
    limit = adapter.image_limit
    messages = adapter.render("goal", [Turn(blank(size.width, size.height))], 1)
    (sent,) = [part.screen for m in messages for part in m.parts if isinstance(part, Image)]
    assert sent.original is blank(size.width, size.height)
    if limit is None or max(size.width, size.height) <= limit:
        assert sent is sent.original
    else:
        assert max(sent.size.width, sent.size.height) == limit


@every_adapter
@pytest.mark.parametrize("thought", [t for t in AWKWARD if t.strip()])
@pytest.mark.parametrize("typed", AWKWARD)
def test_no_text_and_no_thought_gets_in_the_way_of_the_action(adapter: Adapter, typed: str, thought: str) -> None:
    parsed = adapter.parse(adapter.format(Type(typed), PHONE, thought), PHONE)
    assert isinstance(parsed, ParsedReply)
    assert parsed.action == Type(typed)
    if not any(mark in thought for mark in ("think>", "action>", "tool_call>", "Action", "actions:")):
        assert parsed.thought == thought.strip()


@every_adapter
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_what_is_formatted_twice_stays_where_it_was_rounded_to(adapter: Adapter, size: Size) -> None:
    once = adapter.parse(adapter.format(Click(Point(0.123456, 0.98765)), size), size)
    assert isinstance(once, ParsedReply)
    assert adapter.parse(adapter.format(once.action, size), size) == once


@every_adapter
@given(text=st.text(max_size=300))
@settings(max_examples=300, deadline=None)
@example("")
@example("\0")
@example("\ud800")
@example("<think>")
@example("<action>")
@example("<tool_call>{")
@example("[[[[")
@example('<action>{"action": "click", "coordinate": [' + "9" * 5000 + ", 1]}</action>")
@example('<action>{"action": "click", "coordinate": [NaN, Infinity]}</action>')
@example('<action>{"action": "wait", "time": 1e999}</action>')
@example('<action>{"action": {"action": {"action": []}}}</action>')
@example('<action>{"action": "terminate", "status": {"a": []}}</action>')
def test_no_text_crashes_a_parser(adapter: Adapter, text: str) -> None:
    parsed = adapter.parse(text, PHONE)
    assert isinstance(parsed, ParsedReply) or parsed.reason in REASONS


GLUE = st.sampled_from(
    [
        "<think>",
        "</think>",
        "<action>",
        "</action>",
        "<tool_call>",
        "</tool_call>",
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        '"',
        "'",
        ",",
        ":",
        "\\",
        "```",
        "```json",
        '"action"',
        '"coordinate"',
        '"click"',
        "click",
        '"arguments"',
        '"name"',
        '"mobile_use"',
        "540",
        "1200",
        "NaN",
        "None",
        "true",
        "<value>",
        "x",
        "…",
        "“",
        "”",
        "\n",
        " ",
        "�",
        '{"action": "wait"}',
        '{"action": "click", "coordinate": [1, 2]}',
        "\nAction: ",
        "\naction: {",
        "Reason: ",
        '\n<tool_call>\n{"name": "',
        'click", "arguments": ',
        "}\n</tool_call>",
        '"action_type"',
        '{"action_type": "scroll", "direction": "up"}',
        '"index"',
        '"thought"',
        '"POINT"',
        '"to"',
        '"duration"',
        '"PRESS"',
        '"STATUS"',
        '{"POINT":[1,2]}',
    ]
)


@every_adapter
@given(parts=st.lists(GLUE, max_size=40))
@settings(max_examples=500, deadline=None)
def test_no_mixture_of_the_language_s_own_pieces_crashes_a_parser(adapter: Adapter, parts: list[str]) -> None:
    parsed = adapter.parse("".join(parts), PHONE)
    assert isinstance(parsed, ParsedReply) or parsed.reason in REASONS
    json.dumps([getattr(parsed, "detail", ""), getattr(parsed, "thought", "")]).encode()


@every_adapter
@given(action=actions, data=st.data())
@settings(max_examples=300, deadline=None)
def test_a_reply_cut_off_anywhere_is_never_another_action(
    adapter: Adapter, action: Action, data: st.DataObject
) -> None:
    whole = said(adapter, action, PHONE, "a thought")
    cut = data.draw(st.integers(0, len(whole)))
    parsed = adapter.parse(whole[:cut], PHONE)
    if isinstance(parsed, ParseFailure):
        assert parsed.reason in {"truncated", "no_action", "empty_reply", "bad_json"}
    else:
        assert close(adapter, parsed.action, action, PHONE)


@every_adapter
@given(action=actions, cut=st.integers(0, 400), extra=st.text(max_size=3), where=st.integers(0, 400))
@settings(max_examples=300, deadline=None)
def test_mutated_replies_do_not_crash_a_parser(
    adapter: Adapter, action: Action, cut: int, extra: str, where: int
) -> None:
    reply = said(adapter, action, PHONE, "why")
    where %= len(reply) + 1
    adapter.parse(reply[:where] + extra + reply[where + cut % 5 :], PHONE)


N = MAX_REPLY
HOSTILE = {
    "open think": "<think>" * (N // 7),
    "closed thinks": "<think></think>" * (N // 15),
    "open actions": "<action>" * (N // 8),
    "broken actions": '<action>{"' * (N // 10),
    "whole actions": '<action>{"action": "wait"}</action>' * (N // 36),
    "braces": "{" * N,
    "brackets in an action": '<action>{"a": ' + "[" * (N - 20),
    "keys": '{"action":' * (N // 10),
    "half objects": '{"a": {"a": {"a": [' + "1," * (N // 2 - 20),
    "many numbers behind many braces": '{"a":' * 16 + "[" + "1," * (N // 2 - 60),
    "quotes": '<action>{"action": "' + '" ' * (N // 2 - 20),
    "apostrophes": "<action>{'action': '" + "' " * (N // 2 - 20),
    "typographic quotes": '<action>{"action":"wait"}</action>' + "<action>{“" * (N // 11),
    "backslashes": "<action>{'a': '" + "\\\\" * (N // 2 - 20),
    "digits": '<action>{"action": "click", "coordinate": [' + "9" * (N - 60) + ", 1]}",
    "a tag that never ends": "<" + " " * (N - 1),
    "spaces in a tag": "< " * (N // 2),
    "space behind a tag": "<action>" + " " * (N - 8),
    "brackets in a text": '<action>{"action":"click","coordinate":"' + "(" * (N - 60) + '"}',
    "numbers in a text": '<action>{"action":"click","coordinate":"' + "1 " * (N // 2 - 60) + '"}',
    "stray think ends": '<action>{"action":"wait"}</action> </think>' * (N // 43),
    "deep and valid": '<action>{"action": ' + '{"a":' * 900 + "1" + "}" * 901,
    "calls": '<tool_call>\n{"name": "click", "arguments": {}}\n</tool_call>\n' * (N // 64),
    "calls that end only": "\n</tool_call>" * (N // 13),
    "a deep call": '<tool_call>\n{"name": "click", "arguments": ' + '{"a":' * 30_000 + "}\n</tool_call>",
    "a call with long arguments": '<tool_call>\n{"name": "wait", "arguments": "{' + " " * (N - 80) + '"}\n</tool_call>',
    "labels": "action:" * (N // 7),
    "labels on lines": "action:\n" * (N // 8),
    "labels and braces": 'action: {"' * (N // 10),
    "labels and whole objects": 'action: {"action_type": "wait"}\n' * (N // 33),
    "labelled, broken, on lines": "Action: {'a': (\n" * (N // 16),
    "fences": "```json\n{" * (N // 9),
    "whole points": '{"POINT":[1,2]}' * (N // 16),
    "a deep thought": '{"thought":' + "[" * (N - 11),
    "spaces behind a label": "action:" + " " * (N - 8) + "{",
    "spaces behind braces": ("{" + " " * 199) * (N // 200),
    "think ends between calls": ('{"POINT":[1,2]}' + "</think>" * 20) * (N // 176),
    "stars": "*" * N,
    "encoded again and again": "<action>"
    + json.dumps(json.dumps(json.dumps(json.dumps(json.dumps('{"action":"wait"}'))))),
}


@every_adapter
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_texts_cost_no_time(adapter: Adapter, text: str) -> None:
    assert len(text) <= MAX_REPLY
    start = time.process_time()
    parsed = adapter.parse(text, PHONE)
    assert time.process_time() - start < 2.0
    assert isinstance(parsed, ParsedReply) or len(parsed.detail) < 500


@every_adapter
def test_a_reply_beyond_the_limit_is_refused_unread(adapter: Adapter) -> None:
    parsed = adapter.parse(adapter.format(Click(Point(0.5, 0.5)), PHONE) + " " * MAX_REPLY, PHONE)
    assert parsed == ParseFailure("reply_too_long", parsed.detail)  # type: ignore[union-attr]


@every_adapter
def test_the_size_that_was_really_sent_overrides_the_one_worked_out_where_pixels_are_counted(adapter: Adapter) -> None:
    reply = adapter.format(Click(Point(0.5, 0.5)), PHONE)
    counted = adapter.sent_size(PHONE)
    half = adapter.parse(reply, PHONE, Size(counted.width * 2, counted.height * 2))
    assert isinstance(half, ParsedReply)
    assert half.action == Click(Point(0.5, 0.5) if counted == PER_MILLE else Point(0.25, 0.25))


def texts_of(messages: Sequence[Message]) -> list[str]:
    """Everything that a request tells in words: texts, and tool calls of earlier turns."""
    texts = [part.text for m in messages for part in m.parts if isinstance(part, Text)]
    return texts + [text for m in messages for call in m.calls for text in (call.name, call.arguments)]


SECRET = "SENTINEL"


def recording(steps: int = 4) -> Trajectory:
    """Every field that a request must not tell holds the sentinel."""
    return Trajectory(
        "7",
        "Turn on the torch",
        tuple(
            Step(
                content={"action": "type", "text": f"{SECRET} typed"},
                screen=blank(540, 1200, shade=index),
                boxes=(Box(0, 0, 10, 10),),
                instruction=f"{SECRET} instruction",
                thought=f"{SECRET} thought",
                description=f"{SECRET} description",
                check_options={"action": "type", "text": f"{SECRET} check"},
            )
            for index in range(steps)
        ),
    )


@every_adapter
def test_field_case_9_nothing_of_the_recording_but_goal_and_screens_reaches_a_request(adapter: Adapter) -> None:
    trajectory = recording()
    episode = SemiOnlineEpisode(trajectory, adapter, Uis1Released(), images=4, after_mismatch="continue")
    asked = 0
    while pending := episode.pending():
        told = "\n".join(texts_of(pending.messages))
        assert trajectory.goal in told
        assert SECRET not in told
        assert all(trajectory.id != word for word in told.split())
        asked += 1
        episode.advance(adapter.format(Click(Point(0.5, asked / 10)), Size(540, 1200), f"own thought {asked}"))
    assert asked == 4


@every_adapter
def test_history_is_told_from_the_model_s_own_replies(adapter: Adapter) -> None:
    turns = [Turn(blank(540, 1200), adapter.format(Type("own words"), Size(540, 1200))), Turn(blank(540, 1200))]
    assert "own words" in "\n".join(texts_of(adapter.render("goal", turns, 2)))


@every_adapter
@pytest.mark.parametrize("images", [0, 1, 2, 3, 9])
def test_field_case_34_the_last_n_screens_are_sent_and_none_means_none(adapter: Adapter, images: int) -> None:
    reply = adapter.format(Click(Point(0.5, 0.5)), Size(540, 1200))
    screens = [blank(540, 1200, shade=shade) for shade in range(4)]
    turns = [Turn(screen, reply) for screen in screens[:-1]] + [Turn(screens[-1])]
    messages = adapter.render("goal", turns, images)
    sent = [part.screen.original for m in messages for part in m.parts if isinstance(part, Image)]
    assert sent == (screens[-images:] if images else [])
    assert messages[-1].role == "user"
    shown = [part.screen.original for part in messages[-1].parts if isinstance(part, Image)]
    assert shown[-1:] == ([screens[-1]] if images else []), "the screen to act on is the last of the last turn"


@every_adapter
def test_rendering_depends_on_nothing_but_its_arguments(adapter: Adapter) -> None:
    turns = [Turn(blank(540, 1200), "first"), Turn(blank(540, 1200))]
    assert adapter.render("goal", turns, 2) == get_adapter(adapter.name).render("goal", list(turns), 2)


@every_adapter
def test_fields_in_the_goal_are_text(adapter: Adapter) -> None:
    goal = "{goal} {progress} {width} {0} 100% {"
    assert sum(goal in text for text in texts_of(adapter.render(goal, [Turn(blank(540, 1200))], 1))) == 1


@every_adapter
def test_messages_can_be_encoded_whatever_the_model_said(adapter: Adapter) -> None:
    turns = [Turn(blank(540, 1200), "half a pair: \ud83d"), Turn(blank(540, 1200))]
    for text in texts_of(adapter.render("goal \udc00", turns, 1)):
        text.encode()


@every_adapter
@pytest.mark.parametrize(
    ("replies", "images"), [([], 1), (["said", "said"], 1), ([None, None], 1), ([None], -1)], ids=str
)
def test_turns_that_make_no_request_are_refused(adapter: Adapter, replies: list[str | None], images: int) -> None:
    with pytest.raises(UsageError):
        adapter.render("goal", [Turn(blank(540, 1200), reply) for reply in replies], images)


@every_adapter
def test_facts_are_stated(adapter: Adapter) -> None:
    assert adapter.name in ADAPTERS
    for fact in (adapter.summary, adapter.frame, adapter.history):
        assert len(fact) > 20
    source = adapter.prompt_source()
    assert source.kind == "builtin"
    assert len(source.sha256) == 64
    assert source.note == "our words"


def test_an_unknown_adapter_is_refused_with_the_known_names() -> None:
    with pytest.raises(UsageError, match=f"'uis2'; known: {', '.join(ADAPTERS)}"):
        get_adapter("uis2")


def test_a_screen_too_long_and_thin_is_named_not_rendered() -> None:
    step = replace(recording(1).steps[0], screen=Screen.from_bytes(blank(10, 2010).read()))
    with pytest.raises(Exception, match="aspect ratios up to 200"):
        get_adapter("qwen25vl").render("goal", [Turn(step.screen)], 1)
