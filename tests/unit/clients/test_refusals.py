"""What error responses mean: real bodies of real servers, and hostile ones."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sopbench.clients.refusals import MAX_DETAIL, MAX_RETRY_AFTER, error_words, read_refusal, read_retry_after


def read(status: int, body: object, *, images: int = 2, retry_after: str | None = None, tools: bool = False):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return read_refusal(status, data, retry_after=retry_after, model="tiny", images=images, tools=tools)


OVERFLOWS = {
    "vllm 0.32": (400, {"error": {"message": "This model's maximum context length is 2048 tokens. However, your prompt contains at least 2049 input tokens"}}),
    "vllm 0.32, far too long": (400, {"error": {"message": "This model's maximum context length is 4096 tokens. However, your prompt contains 100050 characters (more than 65536 characters, which is the upper bound for 4096 input tokens)."}}),
    "vllm 0.9": (400, {"object": "error", "message": "This model's maximum context length is 16384 tokens. However, you requested 19591 tokens (9591 in the messages, 10000 in the completion)."}),
    "vllm with images": (400, {"object": "error", "message": "The decoder prompt (length 8357) is longer than the maximum model length of 8192."}),
    "vllm 0.4, max_tokens left to it": (400, {"object": "error", "message": "max_tokens must be at least 1, got -186.", "type": "BadRequestError"}),
    "sglang input": (400, {"object": "error", "message": "The input (61709 tokens) is longer than the model's context length (40960 tokens)."}),
    "sglang total": (400, {"object": "error", "message": "Requested token count exceeds the model's maximum context length of 202752 tokens. You requested a total of 202941 tokens"}),
    "sglang older": (400, {"object": "error", "message": "Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens)."}),
    "openai": (400, {"error": {"message": "Please shorten.", "type": "invalid_request_error", "code": "context_length_exceeded"}}),
    "openai responses": (400, {"error": {"message": "Your input exceeds the context window of this model. Please adjust your input and try again."}}),
    "llama.cpp": (400, {"error": {"code": 400, "message": "request (13392 tokens) exceeds the available context size (8192 tokens), try increasing it", "type": "exceed_context_size_error"}}),
    "llama.cpp, first form": (500, {"error": {"code": 500, "message": "the request exceeds the available context size. try increasing the context size or enable context shift", "type": "exceed_context_size_error"}}),
    "llama-cpp-python": (500, {"error": {"message": "Requested tokens (2285) exceed context window of 2048", "type": "internal_server_error"}}),
    "tgi": (422, {"error": "Input validation error: `inputs` must have less than 1024 tokens. Given: 2000", "error_type": "validation"}),
    "anthropic": (400, {"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 215000 tokens > 200000 maximum"}}),
    "gemini": (400, {"error": {"code": 400, "message": "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).", "status": "INVALID_ARGUMENT"}}),
    "behind a proxy": (400, {"detail": '{"error":{"message":"x","type":"exceed_context_size_error"}}'}),
}  # fmt: skip


@pytest.mark.parametrize("case", OVERFLOWS)
def test_field_case_25_context_overflow_in_every_dialect(case):
    status, body = OVERFLOWS[case]
    refusal = read(status, body)
    assert (refusal.kind, refusal.retry, refusal.fatal) == ("context_overflow", False, False)
    assert str(status) in refusal.detail


NOT_OVERFLOWS = {
    "vllm: max_tokens alone": (400, {"error": {"message": "max_tokens=5000 cannot be greater than max_model_len=2048. Please request fewer output tokens."}}),
    "vllm: bad image": (400, {"error": {"message": "Failed to load image: cannot identify image file <_io.BytesIO object>", "type": "BadRequestError"}}),
    "vllm: bad json": (400, {"error": {"message": "1 validation error:\n  {'type': 'json_invalid'}", "type": "Bad Request", "param": "body.5"}}),
    "max_tokens 0": (400, {"object": "error", "message": "max_tokens must be at least 1, got 0."}),
}  # fmt: skip


@pytest.mark.parametrize("case", NOT_OVERFLOWS)
def test_other_bad_requests_are_rejections(case):
    status, body = NOT_OVERFLOWS[case]
    refusal = read(status, body)
    assert (refusal.kind, refusal.error, refusal.retry) == ("rejected", "http_400", False)


IMAGE_LIMITS = [
    "At most 1 image(s) may be provided in one prompt. (parameter=image)",
    "At most 1 image(s) may be provided in one request.",
    "You set image=1 (or defaulted to 1) in `--limit-mm-per-prompt`, but passed 2 image items in the same prompt.",
    "Image count 2 exceeds limit 1 per request",
]


@pytest.mark.parametrize("message", IMAGE_LIMITS)
def test_field_case_24_the_image_limit_is_named_with_its_flag_in_both_syntaxes(message):
    refusal = read(400, {"error": {"message": message}}, images=2)
    assert (refusal.kind, refusal.retry, refusal.fatal) == ("too_many_images", False, True)
    assert """--limit-mm-per-prompt '{"image": 2}'""" in refusal.detail
    assert "--limit-mm-per-prompt image=2" in refusal.detail


NO_TOOLS = {
    "vllm, auto": (400, {"error": {"message": '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set', "type": "BadRequestError", "param": None, "code": 400}}),
    "vllm 0.32, forced": (400, {"error": {"message": 'tool_choice=function "click" requires --tool-call-parser to be set', "type": "BadRequestError"}}),
    "lmdeploy": (400, {"object": "error", "message": "Please launch the api_server with --tool-call-parser if you want to use tool."}),
    "llama.cpp": (500, {"error": {"code": 500, "message": "tools param requires --jinja flag", "type": "server_error"}}),
    "llama.cpp, older": (500, {"error": {"code": 500, "message": "Unsupported param: tools", "type": "server_error"}}),
    "ollama": (400, {"error": {"message": "registry.ollama.ai/library/llava:7b does not support tools", "type": "api_error"}}),
    "openrouter": (404, {"error": {"message": "No endpoints found that support tool use. To learn more about provider routing, visit the documentation", "code": 404}}),
    "openrouter, choice": (404, {"error": {"message": "No endpoints found that support the provided 'tool_choice' value.", "code": 404}}),
    "openai": (400, {"error": {"message": "tools is not supported in this model.", "type": "invalid_request_error", "param": "tools"}}),
    "gemini 3, calls in the history": (400, [{"error": {"code": 400, "message": "Function call is missing a thought_signature in functionCall parts.", "status": "INVALID_ARGUMENT"}}]),
    "mistral, screen behind a result": (400, {"object": "error", "message": "Unexpected role 'user' after role 'tool'", "type": "invalid_request_message_order", "code": "3230"}),
}  # fmt: skip


@pytest.mark.parametrize("case", NO_TOOLS)
def test_tools_that_are_not_taken_end_the_run_with_the_flags_to_change(case):
    status, body = NO_TOOLS[case]
    refusal = read(status, body, tools=True)
    assert (refusal.kind, refusal.retry, refusal.fatal) == ("no_tools", False, True)
    for flag in ("--enable-auto-tool-choice", "--tool-call-parser", "--jinja", "--adapter tools_text"):
        assert flag in refusal.detail


@pytest.mark.parametrize("case", NO_TOOLS)
def test_the_same_words_about_a_request_without_tools_are_an_ordinary_refusal(case):
    status, body = NO_TOOLS[case]
    assert read(status, body).kind in ("rejected", "server")


def test_a_busy_server_of_a_model_with_tools_is_asked_again():
    for words in ("the tool parser is overloaded", "tool_choice auto: engine dead"):
        assert read(503, {"error": {"message": words}}, tools=True).retry


def test_a_rate_limit_that_speaks_of_context_is_a_rate_limit():
    refusal = read(
        429, {"error": {"message": "tokens per minute; the maximum context length is 8192"}}, retry_after="3"
    )
    assert (refusal.kind, refusal.retry, refusal.retry_after) == ("rate_limited", True, 3.0)


@pytest.mark.parametrize(
    ("status", "kind", "retry"),
    [
        (408, "server", True), (409, "server", True), (425, "server", True), (500, "server", True), (503, "server", True), (529, "server", True),
        (429, "rate_limited", True),
        (301, "rejected", False), (400, "rejected", False), (401, "rejected", False), (404, "rejected", False), (413, "rejected", False),
        (415, "rejected", False), (422, "rejected", False), (451, "rejected", False),
    ],
)  # fmt: skip
def test_what_is_retried(status, kind, retry):
    refusal = read(status, {"error": {"message": "no"}})
    assert (refusal.kind, refusal.retry) == (kind, retry)
    assert refusal.error == f"http_{status}"


NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("0", 0.0),
        ("7", 7.0),
        (" 1.5 ", 1.5),
        ("-3", 0.0),
        ("100000", MAX_RETRY_AFTER),
        ("inf", MAX_RETRY_AFTER),
        ("nan", None),
        ("soon", None),
        ("", None),
        ("Fri, 02 Jan 2026 03:04:15 GMT", 10.0),
        ("Fri, 02 Jan 2026 03:04:15 -0000", 10.0),
        ("Fri, 02 Jan 2026 04:04:15 +0100", 10.0),
        ("Fri, 02 Jan 2026 03:03:15 GMT", 0.0),
        ("Fri, 02 Jan 2099 03:03:15 GMT", MAX_RETRY_AFTER),
        ("Fri, 99 Jan 2026 03:04:15 GMT", None),
    ],
)
def test_retry_after_in_both_forms_bounded(value, seconds):
    assert read_retry_after(value, NOW) == seconds


@given(st.text(max_size=80))
def test_no_retry_after_header_can_park_a_run(value):
    seconds = read_retry_after(value)
    assert seconds is None or 0 <= seconds <= MAX_RETRY_AFTER


@given(st.integers(300, 599), st.binary(max_size=300), st.text(max_size=20))
def test_any_body_is_read_without_crashing_and_its_words_are_bounded(status, body, retry_after):
    refusal = read_refusal(status, body, retry_after=retry_after, model="m", images=1)
    assert len(refusal.detail) <= MAX_DETAIL + 400
    assert all(c.isprintable() for c in refusal.detail)


@given(
    st.recursive(
        st.none() | st.text(max_size=5) | st.integers(),
        lambda v: (
            st.lists(v, max_size=3)
            | st.dictionaries(st.sampled_from(["error", "message", "detail", "code"]), v, max_size=3)
        ),
    )
)
def test_any_json_is_read_without_crashing(obj):
    assert isinstance(error_words(json.dumps(obj).encode()), str)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"error": {"message": "a", "code": "c", "type": "t"}}, "a [c] [t]"),
        ({"error": "plain"}, "plain"),
        ({"object": "error", "message": "m"}, "m"),
        ({"detail": "Not Found"}, "Not Found"),
        ({"detail": [{"loc": ["body"], "msg": "field required"}]}, "field required"),
        ("text", "text"),
        ({"x": 1}, '{"x": 1}'),
    ],
)
def test_the_servers_words_are_found_in_every_error_form(body, words):
    assert error_words(json.dumps(body).encode()) == words
    assert error_words(b"<html>\n<b>Bad\tGateway</b>") == "<html> <b>Bad Gateway</b>"
