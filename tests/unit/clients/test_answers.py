"""Reading chat completions: unusual ones are answers, foreign ones are faults, none crashes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sopbench.clients.answers import MAX_CALLS, BadBody, read_answer

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda v: (
        st.lists(v, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "message",
                    "content",
                    "text",
                    "usage",
                    "prompt_tokens",
                    "error",
                    "tool_calls",
                    "function",
                    "name",
                    "arguments",
                ]
            ),
            v,
            max_size=4,
        )
    ),
)


def read(message: object, **more: object):
    return read_answer("application/json", json.dumps({"choices": [{"message": message}]} | more).encode())


@given(values)
def test_any_json_is_an_answer_or_a_bad_body(obj):
    try:
        answer = read_answer("application/json; charset=utf-8", json.dumps(obj).encode())
    except BadBody:
        return
    assert isinstance(answer.text, str)


@given(values)
def test_any_message_is_an_answer_or_a_bad_body(message):
    try:
        answer = read(message)
    except BadBody:
        return
    assert isinstance(answer.text, str)


@pytest.mark.parametrize("content", [3, True, {"text": "a"}, [3], [["a"]]])
def test_a_content_of_another_type_is_a_fault(content):
    with pytest.raises(BadBody):
        read({"content": content})


@pytest.mark.parametrize(
    "kind", [None, "", "application/json", "Application/JSON; charset=utf-8", "application/problem+json"]
)
def test_json_by_any_of_its_names(kind):
    assert read_answer(kind, b'{"choices": [{"message": {"content": "a"}}]}').text == "a"


@pytest.mark.parametrize("kind", ["text/html", "text/event-stream", "text/plain", "application/octet-stream"])
def test_another_content_type_is_a_fault_that_names_it(kind):
    with pytest.raises(BadBody, match=kind):
        read_answer(kind, b'{"choices": [{"message": {"content": "a"}}]}')


@pytest.mark.parametrize(
    "body", [b"", b"\xff", b"nul", b"[]", b"3", b'{"choices": 1' + b"0" * 5000 + b"}", b'{"a":' * 50_000]
)
def test_foreign_bodies_are_faults(body):
    with pytest.raises(BadBody):
        read_answer(None, body)


@pytest.mark.parametrize("wrong", [-1, 1.5, True, "7", None, 2**70, {}])
def test_usage_that_is_no_count_is_left_out(wrong):
    assert read({"content": "a"}, usage={"prompt_tokens": wrong, "completion_tokens": 3}).prompt_tokens is None
    assert read({"content": "a"}, usage=wrong).completion_tokens is None


def test_separate_reasoning_is_noted():
    answer = read({"content": None, "reasoning": "hm"})
    assert (answer.text, answer.notes) == ("", ("no_content", "reasoning_apart"))


def call(name: object = "click", arguments: object = '{"coordinate": [500, 500]}'):
    return {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}


CLICK = '<tool_call>\n{"name": "click", "arguments": {"coordinate": [500, 500]}}\n</tool_call>'


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"content": None, "tool_calls": [call()]}, CLICK),
        ({"content": "", "tool_calls": [call()]}, CLICK),
        ({"tool_calls": [call()]}, CLICK),
        ({"content": "I tap it.", "tool_calls": [call()]}, f"I tap it.\n{CLICK}"),
        ({"content": [{"type": "text", "text": "I tap it."}], "tool_calls": [call()]}, f"I tap it.\n{CLICK}"),
        ({"content": None, "tool_calls": [call(), call()]}, f"{CLICK}\n{CLICK}"),
        ({"content": None, "function_call": {"name": "click", "arguments": '{"coordinate": [500, 500]}'}}, CLICK),
        ({"content": None, "tool_calls": [call(arguments={"coordinate": [500, 500]})]}, CLICK),
        ({"content": None, "tool_calls": [call("wait", "")]}, CLICK.replace("click", "wait").replace('{"coordinate": [500, 500]}', "{}")),
        ({"content": None, "tool_calls": [call("wait", None)]}, CLICK.replace("click", "wait").replace('{"coordinate": [500, 500]}', "{}")),
        ({"content": None, "tool_calls": [call(arguments='{"coordinate": [500')]}, CLICK.replace('{"coordinate": [500, 500]}', r'"{\"coordinate\": [500"')),
    ],
)  # fmt: skip
def test_tool_calls_become_part_of_the_text(message, text):
    answer = read(message)
    assert answer.text == text
    assert answer.notes[-1] == "tool_calls"
    assert "no_content" not in answer.notes


@pytest.mark.parametrize("unreadable", [{}, None, 3, "click", {"function": None}, call(name=None), call(name=["a"])])
def test_a_call_that_no_one_can_read_is_left_out_and_noted(unreadable):
    alone, first = (read({"content": None, "tool_calls": calls}) for calls in ([unreadable], [unreadable, call()]))
    assert (alone.text, alone.notes) == ("", ("no_content", "tool_calls", "unreadable_calls:1"))
    assert (first.text, first.notes) == (CLICK, ("tool_calls", "unreadable_calls:1"))


@pytest.mark.parametrize("calls", [[], {}, None, False, 3, "calls"])
def test_what_is_no_list_of_calls_is_none(calls):
    assert read({"content": "a", "tool_calls": calls}) == read({"content": "a"})


def test_calls_beyond_any_use_are_left_out_and_counted():
    answer = read({"content": None, "tool_calls": [call()] * 1000})
    assert answer.text.count("<tool_call>") == MAX_CALLS
    assert f"unreadable_calls:{1000 - MAX_CALLS}" in answer.notes


@pytest.mark.parametrize(
    ("logprobs", "told"), [({"content": [{"token": "a", "logprob": -0.1}]}, True), (None, False), ({}, False)]
)
def test_logprobs_beside_a_reply_are_noted(logprobs, told):
    answer = read({}, choices=[{"message": {"content": "a"}, "logprobs": logprobs}])
    assert ("logprobs" in answer.notes) is told


def test_a_name_that_no_file_could_hold_is_mended():
    answer = read(
        {"content": "a"}, model="gpt\ud800", choices=[{"message": {"content": "a"}, "finish_reason": "\udfff"}]
    )
    assert (answer.model, answer.finish_reason) == ("gpt?", "?")
