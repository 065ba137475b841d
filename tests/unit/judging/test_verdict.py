"""A judge's reply: a verdict where it is plain, and none where it is not."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sopbench.judging.verdict import MAX_REPLY, WHY_NOT, read_verdict

PLAIN = [
    ('{"success": true}', True),
    ('The page shows results.\n{"success": false}', False),
    ('```json\n{"success": true, "why": "seen"}\n```', True),
    ('{ "success" : "True" }', True),
    ('{"success": true} as said: {"success": true}', True),
    ("Status: success", True),
    ("**Verdict:** failure.", False),
    ("The clock is open.\n\nSuccess: yes", True),
    ("> final answer = No", False),
    ('<think>{"success": false}? No: it is there.</think>\n{"success": true}', True),
    ('He typed {text} and {"seen": 1}.\n{"success": false}', False),
    ('Status: success\n{"success": true}', True),
]
NONE = [
    ("", "empty"),
    (" \n\t", "empty"),
    ("<think>it was</think>  ", "empty"),
    ('<think>{"success": true}', "still_thinking"),
    ("The task was carried out with success.", "none_found"),
    ("success", "none_found"),
    ('{"result": {"success": true}}', "none_found"),
    ('{"success": tru', "none_found"),
    ("{'success': True}", "none_found"),
    ('{"success": true}\n{"success": false}', "contradictory"),
    ('{"success": true, "success": false}', "contradictory"),
    ('Status: failure\n{"success": true}', "contradictory"),
    ("Status: success\nStatus: failure", "contradictory"),
    ('{"success": null}', "contradictory"),
    ('{"success": 1}', "contradictory"),
    ('{"success": "maybe"}', "contradictory"),
    ('{"success": true}' + " " * MAX_REPLY, "too_long"),
]


@pytest.mark.parametrize(("reply", "success"), PLAIN)
def test_a_plain_verdict_is_read(reply: str, success: bool) -> None:
    verdict = read_verdict(reply)
    assert (verdict.success, verdict.why) == (success, None)


@pytest.mark.parametrize(("reply", "why"), NONE)
def test_what_is_not_plain_is_no_verdict(reply: str, why: str) -> None:
    verdict = read_verdict(reply)
    assert (verdict.success, verdict.why) == (None, why)


def test_a_reply_that_the_server_cut_off_is_no_verdict_whatever_it_held() -> None:
    assert read_verdict('{"success": true}', cut_off=True).why == "cut_off"


@given(st.text(max_size=400))
def test_any_text_has_a_verdict_or_a_reason(reply: str) -> None:
    verdict = read_verdict(reply)
    assert (verdict.success is None) == (verdict.why is not None)
    assert verdict.why is None or verdict.why in WHY_NOT


WORDS = st.text(alphabet=st.characters(exclude_characters="<>"), max_size=9)
"""Nothing that looks like the mark of a thought: a reply with one that does not end has no verdict, wherever it stands."""


@given(
    st.booleans(),
    st.dictionaries(WORDS.filter(lambda k: k != "success"), st.integers() | WORDS, max_size=4),
    st.text(alphabet=st.characters(exclude_characters="{}<>:="), max_size=80),
)
def test_the_object_that_was_asked_for_is_found_behind_any_prose(
    success: bool, more: dict[str, object], prose: str
) -> None:
    assert read_verdict(prose + "\n" + json.dumps({**more, "success": success})).success is success


@pytest.mark.parametrize(
    "reply",
    [
        "{" * MAX_REPLY,
        '{"a":' * (MAX_REPLY // 5),
        "[" * MAX_REPLY,
        '{"' * (MAX_REPLY // 2),
        "status" * 3333,
        "* " * 9999,
    ],
)
def test_hostile_replies_take_no_time(reply: str) -> None:
    began = time.perf_counter()
    assert read_verdict(reply).success is None
    assert time.perf_counter() - began < 1.0
