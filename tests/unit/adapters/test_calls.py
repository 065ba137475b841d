"""Which of the things in a reply is the action: thoughts, tags, several calls. The rules of `sopbench.adapters.calls`, one table each."""

from __future__ import annotations

import pytest

from sopbench.actions import Click, SystemButton, Wait
from sopbench.adapters import get_adapter
from sopbench.adapters.base import ParsedReply, ParseFailure
from sopbench.geometry import Point, Size

PHONE = Size(1080, 2400)
UIS1 = get_adapter("uis1")

CLICK = '{"action": "click", "coordinate": [546, 1204]}'
WAIT = '{"action": "wait", "time": 2}'
MIDDLE = Click(Point(0.5, 0.5))

TAKEN = [
    ("as taught", f"<think>\nwhy\n</think>\n<action>\n{CLICK}\n</action>", "why", ()),
    ("on one line", f"<think>why</think><action>{CLICK}</action>", "why", ()),
    ("no thought", f"<action>\n{CLICK}\n</action>", None, ()),
    ("an empty thought", f"<think>\n\n</think>\n<action>{CLICK}</action>", None, ()),
    ("text around", f"Sure!\n<think>why</think>\nSo:\n<action>{CLICK}</action>\nDone.", "why", ()),
    ("text instead of a thought", f"I tap it.\n<action>{CLICK}</action>", "I tap it.", ("text_before",)),
    ("tags in capitals", f"<THINK>why</THINK><Action>{CLICK}</Action>", "why", ("tag_case",)),
    ("spaces in tags", f"< think >why</ think >< action >{CLICK}</ action >", "why", ()),
    ("the other think tag", f"<thinking>why</thinking><action>{CLICK}</action>", "why", ()),
    ("a call in the thought", f"<think>not <action>{WAIT}</action>!</think><action>{CLICK}</action>", None, ()),
    ("a bare call in the thought", f"<think>not {WAIT}</think>{CLICK}", None, ("no_tag",)),
    ("a tag in prose", f"<think>why</think>In <action> form: <action>{CLICK}</action>", "why", ()),
    ("two thoughts", f"<think>a</think><think>b</think><action>{CLICK}</action>", "a\nb", ()),
    ("a thought behind", f"<action>{CLICK}</action><think>that was it</think>", None, ()),
    ("unclosed think", f"<think>why\n<action>{CLICK}</action>", "why", ("unclosed_think",)),
    (
        "unclosed think that mentions a call",
        f"<think>like <action>{WAIT}</action>, but no.\n<action>{CLICK}</action>",
        None,
        ("unclosed_think",),
    ),
    (
        "unclosed think, several calls at the end",
        f"<think>why <action>{CLICK}</action>\n<action>{WAIT}</action>",
        "why",
        ("unclosed_think", "extra_calls:1"),
    ),
    ("unclosed think, no tag", f"<think>why\n{CLICK}", "why", ("unclosed_think", "no_tag")),
    ("a thought that was opened by the prompt", f"why</think><action>{CLICK}</action>", "why", ("stray_think_end",)),
    (
        "a call mentioned in a thought that was opened by the prompt",
        f"not <action>{WAIT}</action>!</think><action>{CLICK}</action>",
        None,
        ("stray_think_end",),
    ),
    ("a think end too many", f"<action>{CLICK}</action></think>", None, ("stray_think_end",)),
    (
        "the think end mentioned in the thought",
        f"<think>I end with </think> and write <action>.</think><action>{CLICK}</action>",
        None,
        ("stray_think_end",),
    ),
    ("no closing tag", f"<action>{CLICK}", None, ("unclosed_tag",)),
    ("an end-of-turn token", f"<action>{CLICK}</action><|im_end|>", None, ()),
    ("a fence inside the tag", f"<action>\n```json\n{CLICK}\n```\n</action>", None, ("code_fence",)),
    ("a fence around the tag", f"```\n<action>{CLICK}</action>\n```", "```", ("text_before",)),
    ("a fence and no tag", f"I tap it.\n```json\n{CLICK}\n```", "I tap it.", ("code_fence", "no_tag", "text_before")),
    ("bare JSON", CLICK, None, ("no_tag",)),
    ("bare JSON behind braces in prose", f"a {{set}} of {{1, 2}}: {CLICK}", None, ("no_tag", "text_before")),
    ("bare JSON with its name last", '{"coordinate": [546, 1204], "action": "click"}', None, ("no_tag",)),
    ("prose in the tag", f"<action>Tap: {CLICK}</action>", None, ("no_tag", "text_before")),
    ("several calls", f"<action>{CLICK}</action><action>{WAIT}</action>", None, ("extra_calls:1",)),
    ("several calls in one tag", f"<action>{CLICK}\n{WAIT}\n{WAIT}</action>", None, ("extra_calls:2",)),
    ("a list of calls", f"<action>[{CLICK}, {WAIT}]</action>", None, ("list_of_calls", "extra_calls:1")),
    ("several bare calls", f"{CLICK}\n{WAIT}", None, ("no_tag", "extra_calls:1")),
    ("a second call that is broken", f"<action>{CLICK}</action><action>{{broken", None, ("extra_calls:1",)),
    ("a brace too many", f"<action>{CLICK}}}</action>", None, ("extra_brace",)),
    ("a tool call", f"<tool_call>{CLICK}</tool_call>", None, ("other_tag:tool_call",)),
]


@pytest.mark.parametrize(("reply", "thought", "notes"), [row[1:] for row in TAKEN], ids=[row[0] for row in TAKEN])
def test_the_call_that_counts(reply: str, thought: str | None, notes: tuple[str, ...]) -> None:
    parsed = UIS1.parse(reply, PHONE)
    assert isinstance(parsed, ParsedReply), parsed
    assert parsed.action == MIDDLE
    assert set(parsed.notes) == set(notes)
    if thought is not None:
        assert parsed.thought == thought


REFUSED = [
    ("nothing", "", "empty_reply"),
    ("white space", " \n\t", "empty_reply"),
    ("field case 4: a refusal", "Sorry, I can't help with that", "no_action"),
    ("field case 7: cut off", '{"action":', "truncated"),
    ("cut off behind the tag", "<think>why</think>\n<action>", "truncated"),
    ("cut off in the tag", "<think>why</think>\n<act", "no_action"),
    ("cut off in the thought", "<think>first I", "no_action"),
    ("cut off in a number", '<action>{"action": "click", "coordinate": [546, 12', "truncated"),
    ("cut off before the last brace", '<action>{"action": "click", "coordinate": [546, 1204]', "truncated"),
    ("a thought only", "<think>why</think>", "no_action"),
    ("a call inside the thought only", f"<think>why <action>{WAIT}</action></think>", "no_action"),
    ("a bare call inside the thought only", f"<think>why {WAIT}</think> done", "no_action"),
    ("a mention in an unclosed think", f"<think>not <action>{WAIT}</action> but", "no_action"),
    ("a mention in a thought opened by the prompt", f"not <action>{WAIT}</action> but</think>", "no_action"),
    ("no JSON in the tag", "<action>wait</action>", "bad_json"),
    (
        "the first call broken, the second whole",
        f"<action>{{'action': wait wait}}</action><action>{WAIT}</action>",
        "bad_json",
    ),
    ("a list of nothing", "<action>[]</action>", "bad_json"),
    ("JSON without an action", '<action>{"click": [1, 2]}</action>', "no_action"),
    ("prose with braces", "a {set} of things", "no_action"),
    ("another agent's JSON", '{"action_type": "click", "x": 5, "y": 6}', "no_action"),
]


@pytest.mark.parametrize(("reply", "reason"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
@pytest.mark.parametrize("name", ["uis1", "qwen25vl"])
def test_what_is_no_call_is_refused_by_name(name: str, reply: str, reason: str) -> None:
    parsed = get_adapter(name).parse(reply, PHONE)
    assert isinstance(parsed, ParseFailure), parsed
    assert parsed.reason == reason
    assert parsed.detail


def test_a_closing_tag_inside_a_text_belongs_to_the_text() -> None:
    reply = (
        '<action>{"action": "system_button", "button": "Back", "why": "</action><action>{}</action></think>"}</action>'
    )
    assert UIS1.parse(reply, PHONE) == ParsedReply(SystemButton("Back"))


def test_two_families_read_the_same_call_and_say_whose_tag_it_was() -> None:
    reply = f"<action>{WAIT}</action>"
    assert UIS1.parse(reply, PHONE) == ParsedReply(Wait(2.0))
    assert get_adapter("qwen25vl").parse(reply, PHONE) == ParsedReply(Wait(2.0), None, ("other_tag:action",))
