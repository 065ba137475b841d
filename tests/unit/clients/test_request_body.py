"""The streamed request body is the JSON of the request, byte for byte, whatever the texts and screens."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sopbench.adapters.base import Image, Message, Text, ToolCall
from sopbench.clients.base import Sampling
from sopbench.clients.body import CHUNK, RequestBody, request_object, request_options
from sopbench.clients.prompt_hash import image_hashes, prompt_sha256
from sopbench.errors import DataError, UsageError
from sopbench.screen import Screen


class FakeScreen(Screen):
    """Any bytes, taken for a PNG: base64 does not care."""

    media_type = "image/png"  # type: ignore[assignment]


def screen(data: bytes) -> Screen:
    return FakeScreen(None, data, "fake")


parts = st.one_of(st.builds(Text, st.text(max_size=40)), st.binary(max_size=50).map(lambda b: Image(screen(b))))
calls = st.builds(ToolCall, st.text(max_size=5), st.text(max_size=10), st.text(max_size=5))
messages = st.lists(
    st.builds(
        Message,
        st.sampled_from(["system", "user", "assistant", "tool"]),
        st.lists(parts, max_size=4).map(tuple),
        st.lists(calls, max_size=2).map(tuple),
        st.none() | st.text(max_size=5),
    ),
    max_size=5,
)
TOOLS = {"tools": [{"type": "function", "function": {"name": "click"}}], "tool_choice": "auto"}


@given(
    messages,
    st.text(min_size=1, max_size=10),
    st.dictionaries(st.text(max_size=5), st.integers(), max_size=2),
    st.sampled_from([{}, TOOLS]),
)
def test_the_pieces_make_the_whole(conversation, model, extra, fields):
    extra = {key: value for key, value in extra.items() if key not in ("n", "model", "tools")}
    sampling = Sampling(temperature=0.25, extra_body=extra)
    body = RequestBody(conversation, model, request_options(sampling, 3, fields))
    text = b"".join(body.chunks())
    assert text.decode("ascii") == json.dumps(request_object(conversation, model, sampling, 3, fields))
    assert len(text) == body.length
    assert json.loads(text)["seed"] == 3


@pytest.mark.parametrize("nbytes", [0, 1, 2, 3, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 2])
def test_base64_joins_across_chunks(nbytes):
    data = bytes(k % 251 for k in range(nbytes))
    body = RequestBody([Message("user", (Image(screen(data)),))], "m", {})
    obj = json.loads(b"".join(body.chunks()))
    url = obj["messages"][0]["content"][0]["image_url"]["url"]
    assert url == "data:image/png;base64," + base64.b64encode(data).decode()
    assert max(len(chunk) for chunk in body.chunks()) <= max(4 * CHUNK // 3, 200)


def test_one_text_is_a_plain_string_and_anything_else_a_list():
    conversation = [
        Message("system", (Text("s"),)),
        Message("user", (Text("a"), Text("b"))),
        Message("user", (Text("a"), Image(screen(b"abc")), Text("b"))),
        Message("assistant", ()),
    ]
    assert [m["content"] for m in request_object(conversation, "m", Sampling())["messages"]] == [
        "s",
        [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
        [
            {"type": "text", "text": "a"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,YWJj"}},
            {"type": "text", "text": "b"},
        ],
        "",
    ]


def test_calls_and_their_results_stand_as_chat_completions_have_them():
    conversation = [
        Message("assistant", (), calls=(ToolCall("click", '{"coordinate": [1, 2]}', "c1"),)),
        Message("tool", (Text("The screen follows."),), answers="c1"),
        Message("assistant", (Text("I wait."),), calls=(ToolCall("wait", "{}", "c2"),)),
    ]
    first, result, second = request_object(conversation, "m", Sampling())["messages"]
    assert first == {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "click", "arguments": '{"coordinate": [1, 2]}'}}
        ],
    }
    assert result == {"role": "tool", "content": "The screen follows.", "tool_call_id": "c1"}
    assert (second["content"], second["tool_calls"][0]["id"]) == ("I wait.", "c2")


def test_the_user_s_own_tool_choice_goes_before_the_adapter_s():
    options = request_options(Sampling(extra_body={"tool_choice": "required"}), None, TOOLS)
    assert options == {"tools": TOOLS["tools"], "tool_choice": "required"}


def test_none_leaves_the_choice_to_the_server():
    assert request_options(Sampling(), None) == {}
    options = request_options(Sampling(temperature=0.0, top_k=1, extra_body={"top_k": 5}), 9)
    assert options == {"temperature": 0.0, "top_k": 5, "seed": 9}


@pytest.mark.parametrize("name", ["messages", "model", "stream", "n", "tools"])
def test_the_requests_own_fields_are_not_to_be_overridden(name):
    with pytest.raises(UsageError, match=name):
        request_options(Sampling(extra_body={name: 1}), None)


def test_a_screen_that_grew_is_noticed(tmp_path):
    path = tmp_path / "grows.png"
    path.write_bytes(b"123456")
    grows = FakeScreen(path, None, "grows.png")
    body = RequestBody([Message("user", (Image(grows),))], "m", {})
    path.write_bytes(b"1234567")
    with pytest.raises(DataError, match=r"grows\.png changed"):
        list(body.chunks())


def test_a_missing_screen_is_known_before_anything_is_sent(tmp_path):
    with pytest.raises(DataError, match="gone"):
        RequestBody([Message("user", (Image(Screen.from_file(tmp_path / "gone.png")),))], "m", {})


# -- prompt hash -----------------------------------------------------------------------------------------------------


def test_the_prompt_hash_is_pinned():
    """Journals of older runs hold it: a change here makes them incomparable."""
    conversation = [Message("system", (Text("ä"),)), Message("user", (Text("t"), Image(screen(b"abc"))))]
    form = '[["system",[["text","\\u00e4"]]],["user",[["text","t"],["image","ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"]]]]'
    import hashlib

    assert prompt_sha256(conversation) == hashlib.sha256(form.encode()).hexdigest()
    assert image_hashes(conversation) == ("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",)


@given(messages, messages)
def test_equal_hashes_mean_equal_prompts(one, two):
    def shown(conversation):
        return [
            (m.role, [p.text if isinstance(p, Text) else p.screen.read() for p in m.parts], m.calls, m.answers)
            for m in conversation
        ]

    assert (prompt_sha256(one) == prompt_sha256(two)) == (shown(one) == shown(two))
    assert prompt_sha256(one) != prompt_sha256(one, TOOLS)


def test_other_tools_make_another_prompt():
    conversation = [Message("user", (Text("t"),))]
    other = {**TOOLS, "tool_choice": "required"}
    assert len({prompt_sha256(conversation, fields) for fields in ({}, TOOLS, other)}) == 3
    assert prompt_sha256(conversation, TOOLS) == prompt_sha256(conversation, dict(reversed(TOOLS.items())))


def test_a_text_is_never_taken_for_an_image():
    data = screen(b"abc")
    assert prompt_sha256([Message("user", (Text(data.sha256),))]) != prompt_sha256([Message("user", (Image(data),))])
