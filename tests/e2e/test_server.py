"""The server itself: it serves the tiny model, shows it both images in their order, and refuses what it cannot do in known words.

If one of these fails, look here before looking at the harness.
"""

from __future__ import annotations

import base64
from typing import Any

import httpx
import pytest

from .colours import COLOURS, Colour, png, reply
from .serve import MODEL_NAME, VllmServer

TOKENS_A_SCREEN = 3 + 3
"""The visual tokens of a screen of 540x1200 after the tiny model's image processor, and the marks around them."""

pytestmark = pytest.mark.e2e


def conversation(*screens: Colour) -> list[dict[str, Any]]:
    """One user turn a screen, with a useless reply between them. The screens' seeds are ones that no training screen has."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You operate a phone."}]
    for turn, colour in enumerate(screens):
        if turn:
            messages.append({"role": "assistant", "content": reply("green", "green")})
        data = base64.b64encode(png(colour, 7000 + turn)).decode()
        image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
        messages.append({"role": "user", "content": [{"type": "text", "text": "Goal: open the settings"}, image]})
    return messages


def post(server: VllmServer, messages: list[dict[str, Any]], **body: Any) -> httpx.Response:
    asked = {"model": MODEL_NAME, "messages": messages, "temperature": 0, "max_tokens": 96} | body
    return httpx.post(f"{server.base_url}/chat/completions", json=asked, timeout=60)


def said(answer: httpx.Response) -> str:
    assert answer.status_code == 200, answer.text
    return str(answer.json()["choices"][0]["message"]["content"])


def test_it_lists_the_model_and_its_context(server: VllmServer) -> None:
    models = httpx.get(f"{server.base_url}/models", timeout=10).json()["data"]
    assert [(m["id"], m["max_model_len"]) for m in models] == [(MODEL_NAME, server.context)]


@pytest.mark.parametrize("colour", COLOURS)
def test_one_image_is_first_and_last(server: VllmServer, colour: Colour) -> None:
    assert said(post(server, conversation(colour))) == reply(colour, colour)


@pytest.mark.parametrize(("first", "last"), [(a, b) for a in COLOURS for b in COLOURS if a != b])
def test_two_images_reach_the_model_in_their_order(server: VllmServer, first: Colour, last: Colour) -> None:
    assert said(post(server, conversation(first, last))) == reply(first, last)


def test_greedy_decoding_repeats_itself(server: VllmServer) -> None:
    asked = conversation("green", "red")
    assert len({said(post(server, asked, seed=seed)) for seed in (1, 1, 2)}) == 1


def test_usage_counts_the_visual_tokens(server: VllmServer) -> None:
    """This server shrinks images far below what the `uis1` family declares: three tokens for a screen, not 817."""
    with_screen = conversation("red")
    without = [with_screen[0], {"role": "user", "content": [with_screen[1]["content"][0]]}]
    cost = [post(server, asked).json()["usage"]["prompt_tokens"] for asked in (with_screen, without)]
    assert cost[0] - cost[1] == TOKENS_A_SCREEN


def test_too_many_images_are_refused(server: VllmServer, narrow_server: VllmServer) -> None:
    for limit, refusing in ((2, server), (1, narrow_server)):
        answer = post(refusing, conversation(*(["red"] * (limit + 1))))  # type: ignore[arg-type]
        assert answer.status_code == 400
        assert answer.json()["error"] == {
            "message": f"At most {limit} image(s) may be provided in one prompt. (parameter=image)",
            "type": "BadRequestError",
            "param": "image",
            "code": 400,
        }


@pytest.mark.parametrize(
    ("words", "param", "told"),
    [
        (
            300,
            "input_tokens",
            "contains at least 513 input tokens, which exceeds this limit even without any output tokens.",
        ),
        (
            900,
            "input_text",
            "contains 16250 characters (more than 8192 characters, which is the upper bound for 512 input tokens).",
        ),
    ],
)
def test_a_prompt_longer_than_the_context_is_refused(
    narrow_server: VllmServer, words: int, param: str, told: str
) -> None:
    """Counted in tokens, or where the text alone shows it, in characters."""
    answer = post(narrow_server, [{"role": "user", "content": "open the settings " * words}])
    assert answer.status_code == 400
    error = answer.json()["error"]
    start = f"This model's maximum context length is {narrow_server.context} tokens. However, your prompt "
    assert error["message"].startswith(start + told), error["message"]
    assert (error["type"], error["param"], error["code"]) == ("BadRequestError", param, 400)


def test_a_reply_that_does_not_fit_is_cut_at_the_context(narrow_server: VllmServer) -> None:
    """No error then: the reply ends with `finish_reason` length."""
    asked = [{"role": "user", "content": "open the settings " * (narrow_server.context // 4)}]
    answer = post(narrow_server, asked, max_tokens=narrow_server.context // 2, ignore_eos=True).json()
    assert answer["usage"]["total_tokens"] == narrow_server.context
    assert answer["choices"][0]["finish_reason"] == "length"


def test_an_unknown_model_is_refused(server: VllmServer) -> None:
    answer = post(server, conversation("red"), model="another")
    assert answer.status_code == 404
    assert answer.json()["error"]["message"] == f"The model `another` does not exist. Valid aliases: {MODEL_NAME}."
