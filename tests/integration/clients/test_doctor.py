"""`sopbench doctor` against servers with one thing wrong each."""

from __future__ import annotations

import itertools
import json
from typing import Any

import fault_server as faults
import pytest
import typer
from fault_server import Behaviour, answer, closed_port, status
from typer.testing import CliRunner

from sopbench.actions import Click
from sopbench.adapters import get_adapter
from sopbench.cli.doctor import register
from sopbench.clients.doctor_pictures import TARGETS
from sopbench.geometry import Point, Size

CLICK = '<think>ok</think><action>{"action": "click", "coordinate": [546, 1204]}</action>'
TINY = Size(280, 560)
MODELS = [{"id": "tiny", "object": "model", "max_model_len": 16384}]


def server_of(
    tokens_a_screen: int | None,
    *,
    adapter: str = "uis1",
    reply: str = CLICK,
    limit: int = 99,
    seeds: str = "honoured",
    logprobs: bool = True,
    taps: tuple[float, float] | None = (1.0, 1.0),
) -> Behaviour:
    """A vision model: it answers, tells usage by the images it got, and refuses more than `limit` of them.

    It taps the coloured squares in the adapter's words, its coordinates being off by the factors `taps` (None: it does not see them).
    """
    family, count = get_adapter(adapter), itertools.count()

    def said(body: dict[str, Any], words: str) -> str:
        if "Name an animal" in words:
            return {"honoured": f"heron {body['seed']}", "ignored": f"heron {next(count)}", "dull": "heron"}[seeds]
        colour = next((colour for colour in TARGETS if f"Tap the {colour} square" in words), None)
        if colour is None or taps is None:
            return reply
        target = TARGETS[colour]
        return family.format(Click(Point(target.x * taps[0], target.y * taps[1])), TINY)

    async def behave(request: Any, got: Any) -> Any:
        words = json.dumps(got.body["messages"])
        images = words.count('"image_url", "image_url"')
        if images > limit:
            return await faults.refuse(faults.VLLM_TOO_MANY_IMAGES)(request, got)
        completion = faults.completion(said(got.body, words))
        if tokens_a_screen is not None:
            completion["usage"] = {"prompt_tokens": 50 + images * tokens_a_screen, "completion_tokens": 9}
        else:
            del completion["usage"]
        if got.body.get("logprobs") and logprobs:
            completion["choices"][0]["logprobs"] = {"content": [{"token": "a", "logprob": -0.5}]}
        return await faults.raw(json.dumps(completion))(request, got)

    return behave


def doctor(base_url: str | None, *more: str) -> tuple[int, dict[str, Any]]:
    app = typer.Typer()
    register(app)
    address = ["--base-url", base_url] if base_url else []
    result = CliRunner().invoke(app, [*address, "--screen", str(TINY), "--json", *more])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, json.loads(result.stdout)


def checks(report: dict[str, Any], status: str) -> dict[str, str]:
    return {c["name"]: f"{c['detail']} -> {c['fix']}" for c in report["checks"] if c["status"] == status}


EXPECTED = (TINY.width // 28) * (TINY.height // 28)


def test_a_good_endpoint(fault_server):
    code, report = doctor(fault_server(server_of(EXPECTED + 2), models=MODELS).base_url)
    assert code == 0
    assert report["ok"] is True
    assert list(checks(report, "ok")) == [
        "models",
        "context",
        "text request",
        "2 screens of 280x560",
        "reply",
        "step 24 of an episode",
        "image size",
        "coordinates",
        "same again",
        "seed",
        "logprobs",
    ]
    assert "16384 tokens" in checks(report, "ok")["context"]
    assert "reads it as click" in checks(report, "ok")["reply"]
    assert report["server_flags"] == list(get_adapter("uis1").server_flags)


def test_it_asks_no_more_than_it_must(fault_server):
    server = fault_server(server_of(EXPECTED), models=MODELS)
    doctor(server.base_url)
    assert server.count <= 13


def test_the_two_screen_request_is_what_a_run_would_send(fault_server):
    server = fault_server(server_of(EXPECTED))
    doctor(server.base_url)
    messages = server.requests[1].body["messages"]
    assert [m["role"] for m in messages] == ["system", "user", "assistant", "user"]
    assert json.dumps(messages).count("data:image/png;base64") == 2


def test_field_case_24_the_image_limit_names_the_flag_in_both_syntaxes(fault_server):
    code, report = doctor(fault_server(server_of(EXPECTED, limit=1)).base_url)
    assert code == 2
    (told,) = [c["fix"] for c in report["checks"] if c["name"] == "2 screens of 280x560"]
    assert "--limit-mm-per-prompt image=2" in told
    assert """--limit-mm-per-prompt '{"image": 2}'""" in told


def test_field_case_21_a_server_that_resizes_by_other_limits_is_detected(fault_server):
    code, report = doctor(fault_server(server_of(EXPECTED // 2)).base_url)
    assert code == 2
    assert "other limits" in checks(report, "problem")["image size"]


def test_the_size_that_the_server_really_applies_is_estimated_and_the_right_flag_is_told(fault_server):
    _, report = doctor(fault_server(server_of(EXPECTED // 4)).base_url)
    told = checks(report, "problem")["image size"]
    assert "about the size 140x280" in told
    assert """--mm-processor-kwargs '{"min_pixels": 3136, "max_pixels": 10035200}'""" in told
    assert """{"size": {"shortest_edge": 3136, "longest_edge": 10035200}}""" in told


def test_as_many_screens_as_asked_for(fault_server):
    code, report = doctor(fault_server(server_of(EXPECTED, limit=1)).base_url, "--history-images", "1")
    assert code == 0
    assert "1 screen of 280x560" in checks(report, "ok")
    assert not any("2 screens" in check["name"] for check in report["checks"])


@pytest.mark.parametrize(("limit", "word"), [(1, "note"), (2, "ok")])
def test_two_screens_are_tried_where_the_adapter_needs_one(fault_server, limit, word):
    server = fault_server(server_of(EXPECTED, adapter="qwen25vl", limit=limit), models=MODELS)
    code, report = doctor(server.base_url, "--adapter", "qwen25vl", "--prompts", "builtin")
    assert code == 0
    told = checks(report, word)["2 screens"]
    assert ("--limit-mm-per-prompt image=2" in told) == (limit == 1)


def test_a_request_without_screens(fault_server):
    code, report = doctor(fault_server(server_of(EXPECTED, limit=0), models=MODELS).base_url, "--history-images", "0")
    assert code == 0
    assert "0 screens of 280x560" in checks(report, "ok")
    assert not {"image size", "coordinates"} & {check["name"] for check in report["checks"]}


def test_a_server_that_tells_no_usage_leaves_the_image_size_open(fault_server):
    code, report = doctor(fault_server(server_of(None)).base_url)
    assert code == 0
    assert "tells no usage" in checks(report, "note")["image size"]


def test_a_server_whose_usage_counts_no_images_leaves_the_image_size_open(fault_server):
    code, report = doctor(fault_server(server_of(0)).base_url)
    assert code == 0
    assert "does not count images" in checks(report, "note")["image size"]


def test_the_address_may_be_given_as_the_model_as_for_run(fault_server):
    code, report = doctor(fault_server(server_of(EXPECTED)).base_url)
    again, same = doctor(None, "--model", fault_server(server_of(EXPECTED)).base_url)
    assert (code, again) == (0, 0)
    assert [c["name"] for c in same["checks"]] == [c["name"] for c in report["checks"]]


def test_field_case_25_screens_that_do_not_fit_the_context(fault_server):
    server = fault_server(answer("hi"), faults.refuse(faults.VLLM_NEW_OVERFLOW))
    code, report = doctor(server.base_url)
    assert code == 2
    assert "--max-model-len" in checks(report, "problem")["2 screens of 280x560"]


@pytest.mark.parametrize(
    ("prompt", "context", "word"),
    [(50, 16384, "ok"), (50, 2090, "note"), (1900, 2048, "problem")],
)
def test_the_longest_episode_has_to_fit_the_context_with_room_for_a_reply(fault_server, prompt, context, word):
    usage = {"prompt_tokens": prompt, "completion_tokens": 9}
    server = fault_server(answer(CLICK, usage=usage), models=[{"id": "tiny", "max_model_len": context}])
    _, report = doctor(server.base_url, "--history-images", "0")
    told = checks(report, word)["step 24 of an episode"]
    assert f"{prompt} tokens of {context}, which leaves {context - prompt}" in told
    assert ("--max-model-len" in told) == (word != "ok")


def test_the_history_of_the_longest_episode_is_as_long_as_models_make_it(fault_server):
    server = fault_server(server_of(EXPECTED), models=MODELS)
    _, report = doctor(server.base_url, "--suite", "pocket")
    (name,) = [check["name"] for check in report["checks"] if check["name"].startswith("step ")]
    steps = int(name.split()[1])
    longest = max((r.body["messages"] for r in server.requests), key=len)
    assert [m["role"] for m in longest].count("assistant") == steps - 1
    assert all(len(m["content"]) > 250 for m in longest if m["role"] == "assistant")
    assert json.dumps(longest).count("data:image/png;base64") == 2


def test_an_episode_that_outgrows_the_context_is_a_problem(fault_server):
    async def behave(request: Any, got: Any) -> Any:
        if len(got.body["messages"]) > 20:
            return await faults.refuse(faults.VLLM_NEW_OVERFLOW)(request, got)
        return await server_of(EXPECTED)(request, got)

    code, report = doctor(fault_server(behave, models=MODELS).base_url)
    assert code == 2
    assert list(checks(report, "problem")) == ["step 24 of an episode"]
    assert "--max-model-len" in checks(report, "problem")["step 24 of an episode"]


@pytest.mark.parametrize(
    ("suite", "says"),
    [(["--suite", "sop"], "--data"), (["--suite", "nope"], "nope"), (["--data", "x.jsonl"], "--suite")],
)
def test_a_suite_that_cannot_be_looked_at_is_named(fault_server, suite, says):
    app = typer.Typer()
    register(app)
    result = CliRunner().invoke(app, ["--base-url", fault_server().base_url, *suite])
    assert says in str(result.exception)


# -- coordinates -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("adapter", "taps", "frame", "counts"),
    [
        ("qwen25vl", (1000 / 280, 1000 / 560), "1000x1000", "280x560"),
        ("qwen3vl", (0.28, 0.56), "280x560", "1000x1000"),
        ("uis1", (0.5, 0.5), "140x280", "280x560"),
    ],
)
def test_field_case_20_a_model_that_counts_in_another_frame_is_found_by_where_it_taps(
    fault_server, adapter, taps, frame, counts
):
    server = fault_server(server_of(EXPECTED, adapter=adapter, taps=taps), models=MODELS)
    code, report = doctor(server.base_url, "--adapter", adapter, "--prompts", "builtin")
    assert code == 2
    told = checks(report, "problem")["coordinates"]
    assert f"an image of about {frame}" in told
    assert f"counts in {counts}" in told
    assert "sopbench adapters" in told


@pytest.mark.parametrize("reply", [CLICK, '<action>{"action": "wait"}</action>', "I see two squares."])
def test_a_model_that_does_not_aim_tells_nothing_about_its_coordinates(fault_server, reply):
    code, report = doctor(fault_server(server_of(EXPECTED, reply=reply, taps=None), models=MODELS).base_url)
    assert code == 0
    assert "not known" in checks(report, "note")["coordinates"]


# -- tools -----------------------------------------------------------------------------------------------------------


def tool_server(*, auto: bool, forced: bool, seen: bool = True, refuse: str = "", history: bool = True) -> Behaviour:
    """A model of the adapter `tools`: it calls when asked or when forced, its template shows it the tools or not, and the server refuses what `refuse` says."""

    async def behave(request: Any, got: Any) -> Any:
        body = got.body
        tools = body.get("tools") or []
        if tools and refuse:
            return await status(400, refuse)(request, got)
        if not history and any("tool_calls" in message for message in body["messages"]):
            return await status(400, "Unexpected role 'user' after role 'tool'")(request, got)
        calls = tools and (forced if isinstance(body.get("tool_choice"), dict) else auto)
        named = {"name": tools[0]["function"]["name"], "arguments": '{"coordinate": [500, 500]}'} if calls else {}
        message = {"role": "assistant", "content": None if calls else "Hello."}
        if calls:
            message["tool_calls"] = [{"id": "a", "type": "function", "function": named}]
        usage = {"prompt_tokens": 50 + (100 if tools and seen else 0), "completion_tokens": 9}
        return await answer("", message=message, usage=usage)(request, got)

    return behave


def tools_doctor(server: Any, *more: str) -> tuple[int, dict[str, Any]]:
    return doctor(server.base_url, "--adapter", "tools", *more)


def test_an_endpoint_that_calls_tools(fault_server):
    server = fault_server(tool_server(auto=True, forced=True), models=MODELS)
    code, report = tools_doctor(server)
    assert code == 0
    assert "calls a tool when asked to" in checks(report, "ok")["tool calling"]
    assert "reads it as click" in checks(report, "ok")["reply"]
    with_screens = server.requests[2].body
    assert [tool["function"]["name"] for tool in with_screens["tools"]][:2] == ["click", "long_press"]
    assert [m["role"] for m in with_screens["messages"]] == ["system", "user", "assistant", "tool", "user"]


def test_a_server_started_without_tool_calling_names_both_flags(fault_server):
    refusal = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
    server = fault_server(tool_server(auto=True, forced=True, refuse=refusal), models=MODELS)
    code, report = tools_doctor(server)
    assert code == 2
    assert list(checks(report, "problem")) == ["tool calling"]
    assert server.count == 2
    (fix,) = [check["fix"] for check in report["checks"] if check["name"] == "tool calling"]
    assert "--enable-auto-tool-choice --tool-call-parser" in fix
    assert "--adapter tools_text" in fix


def test_a_model_that_calls_only_when_forced_is_noted(fault_server):
    code, report = tools_doctor(fault_server(tool_server(auto=False, forced=True), models=MODELS))
    assert code == 0
    assert "when forced to" in checks(report, "note")["tool calling"]
    assert '"tool_choice": "required"' in checks(report, "note")["tool calling"]


def test_an_endpoint_that_drops_tools_is_no_place_for_this_adapter(fault_server):
    code, report = tools_doctor(fault_server(tool_server(auto=False, forced=False), models=MODELS))
    assert code == 2
    assert "drops tools" in checks(report, "problem")["tool calling"]
    assert "--adapter tools_text" in checks(report, "problem")["tool calling"]


def test_a_chat_template_that_does_not_tell_the_tools_is_found_by_the_tokens(fault_server):
    """llama.cpp and vLLM take the tools of such a request without a word."""
    code, report = tools_doctor(fault_server(tool_server(auto=False, forced=True, seen=False), models=MODELS))
    assert code == 2
    assert "chat template" in checks(report, "problem")["tool calling"]
    assert "--chat-template" in checks(report, "problem")["tool calling"]


def test_a_server_that_takes_no_screen_behind_a_result_is_found(fault_server):
    """Mistral's; Gemini 3 refuses calls whose signature is missing."""
    code, report = tools_doctor(fault_server(tool_server(auto=True, forced=True, history=False), models=MODELS))
    assert code == 2
    assert "--adapter tools_text" in checks(report, "problem")["2 screens of 280x560"]


def test_other_adapters_need_no_tools(fault_server):
    server = fault_server(server_of(EXPECTED, adapter="tools_text"), models=MODELS)
    _, report = doctor(server.base_url, "--adapter", "tools_text")
    assert "tool calling" not in [check["name"] for check in report["checks"]]
    assert not any("tools" in request.body for request in server.requests)


# -- seed, logprobs, sampling ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("seeds", "word", "says"),
    [("honoured", "ok", "honoured"), ("ignored", "note", "--repeats"), ("dull", "note", "does not show")],
)
def test_whether_a_seed_is_honoured(fault_server, seeds, word, says):
    server = fault_server(server_of(EXPECTED, seeds=seeds), models=MODELS)
    code, report = doctor(server.base_url)
    assert code == 0
    assert says in checks(report, word)["seed"]
    drawn = [r.body for r in server.requests if "Name an animal" in json.dumps(r.body)]
    assert [(body["temperature"], body["seed"]) for body in drawn] == [(1.0, 1), (1.0, 1), (1.0, 2)]


def test_an_endpoint_without_logprobs(fault_server):
    _, report = doctor(fault_server(server_of(EXPECTED, logprobs=False), models=MODELS).base_url)
    assert "no suite needs them" in checks(report, "note")["logprobs"]


@pytest.mark.parametrize(
    "words",
    [
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        "Unsupported value: 'temperature' does not support 0.0 with this model. Only the default (1) value is supported.",
    ],
)
def test_a_model_that_takes_no_sampling_options_is_looked_at_without_them(fault_server, words):
    async def behave(request: Any, got: Any) -> Any:
        if {"temperature", "max_tokens"} & got.body.keys():
            return await status(400, words)(request, got)
        return await server_of(EXPECTED)(request, got)

    code, report = doctor(fault_server(behave, models=MODELS).base_url)
    assert code == 0
    assert "--server-defaults" in checks(report, "note")["text request"]
    assert "max_completion_tokens" in checks(report, "note")["text request"]
    assert {"reply", "coordinates", "seed"} <= checks(report, "ok").keys()


# -- replies and endpoints -------------------------------------------------------------------------------------------


def test_a_reply_in_another_language_is_noted(fault_server):
    code, report = doctor(fault_server(server_of(EXPECTED, reply="I would tap the blue row.")).base_url)
    assert code == 0
    assert "finds no action" in checks(report, "note")["reply"]


def test_several_models_have_to_be_chosen_from(fault_server):
    server = fault_server(server_of(EXPECTED), models=[{"id": "base"}, {"id": "lora"}])
    code, report = doctor(server.base_url)
    assert code == 2
    assert "base, lora" in checks(report, "problem")["models"]
    assert server.count == 0
    code, report = doctor(server.base_url, "--model", "lora")
    assert code == 0
    assert {r.body["model"] for r in server.requests} == {"lora"}
    code, report = doctor(server.base_url, "--model", "nope")
    assert code == 2
    assert "does not list 'nope'" in checks(report, "problem")["models"]


def test_an_endpoint_without_a_list_of_models_is_fit_when_the_model_is_named(fault_server):
    server = fault_server(server_of(EXPECTED), models_behaviour=status(404))
    assert doctor(server.base_url)[0] == 2
    code, report = doctor(server.base_url, "--model", "tiny")
    assert code == 0
    assert "models" in checks(report, "note")


@pytest.mark.parametrize(
    ("behaviour", "says"),
    [(status(401), "SOPBENCH_API_KEY"), (status(500, "boom"), "boom"), (faults.silence(), "no answer within 0.5 s")],
)
def test_a_text_request_that_fails_ends_the_visit(fault_server, behaviour, says):
    server = fault_server(behaviour)
    code, report = doctor(server.base_url, "--timeout", "0.5")
    assert code == 2
    assert says in checks(report, "problem")["text request"]
    assert server.count == 1


def test_nothing_listens():
    code, report = doctor(f"http://127.0.0.1:{closed_port()}")
    assert code == 2
    assert "cannot be reached" in checks(report, "problem")["models"]


def test_the_words_for_people(fault_server):
    app = typer.Typer()
    register(app)
    server = fault_server(server_of(EXPECTED, limit=1))
    result = CliRunner().invoke(app, ["--base-url", server.base_url, "--screen", str(TINY)])
    assert result.exit_code == 2
    assert "FAIL  2 screens of 280x560" in result.stdout
    assert "vllm serve flags for adapter uis1" in result.stdout
    assert "not fit for a run yet" in result.stdout
