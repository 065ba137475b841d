"""Runs of the adapter `tools`: calls come and go as calls, and the journal keeps each reply as one text that re-scores and resumes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fault_server import Behaviour, FaultServer, answer, status
from recordings import CLICK, SWIPE, Recording, make_recording

import sopbench
from sopbench import api
from sopbench.actions import ACTION_KINDS, from_released
from sopbench.adapters import get_adapter
from sopbench.adapters.tool_calls import from_text
from sopbench.clients.base import Sampling
from sopbench.geometry import Size

SIZE = Size(540, 1200)
GOLD = (SWIPE, CLICK, {"action": "wait", "time": 2})


def gold(episode: int, step: int) -> dict[str, Any]:
    return GOLD[step % 3]


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    return make_recording(tmp_path / "data", n=1, length=3, content=gold)


def model(wrong: dict[int, dict[str, Any]] | None = None, content: str | None = "I see it.") -> Behaviour:
    """Calls what the recording asks for, told apart by the calls in the history; `wrong` replaces the message of a step."""

    async def behave(request: Any, got: Any) -> Any:
        step = sum(message["role"] == "assistant" for message in got.body["messages"])
        _, (call,) = from_text(get_adapter("tools").format(from_released(gold(0, step), SIZE), SIZE))
        function = {"name": call.name, "arguments": call.arguments}
        calls = [{"id": f"server-{step}", "type": "function", "function": function}]
        message = {"role": "assistant", "content": content, "tool_calls": calls}
        return await answer("", message=(wrong or {}).get(step, message), finish_reason="tool_calls")(request, got)

    return behave


def play(recording: Recording, server: FaultServer, out: Path, **more: Any) -> sopbench.Run:
    asked = {"model": "tiny", "base_urls": (server.base_url,), "adapter": "tools", "prompts": "builtin"}
    return sopbench.run(**recording.options, **asked, out=out, profile="strict", **more)


def records(run: sopbench.Run) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run.path / "steps.jsonl").read_text().splitlines()]


def test_a_whole_episode(recording: Recording, tmp_path: Path, fault_server: Any) -> None:
    server = fault_server(model())
    run = play(recording, server, tmp_path / "run")
    assert (run.summary["pg"], run.summary["tsr"]) == (100.0, 100.0)
    last = server.requests[-1].body
    assert [tool["function"]["name"] for tool in last["tools"]] == list(ACTION_KINDS)
    assert last["tool_choice"] == "auto"
    assert [m["role"] for m in last["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
        "user",
        "assistant",
        "tool",
        "user",
    ]
    said, result = last["messages"][2:4]
    assert said["content"] == "I see it."
    assert said["tool_calls"][0]["function"] == {
        "name": "swipe",
        "arguments": '{"coordinate": [500, 750], "coordinate2": [500, 250]}',
    }
    assert result == {"role": "tool", "content": "The screen follows.", "tool_call_id": said["tool_calls"][0]["id"]}
    first, *_ = records(run)
    assert first["reply"] == (
        'I see it.\n<tool_call>\n{"name": "swipe", "arguments": {"coordinate": [500, 750], "coordinate2": [500, 250]}}\n</tool_call>'
    )
    assert first["thought"] == "I see it."
    assert first["finish_reason"] == "tool_calls"
    assert first["notes"] == ["tool_calls"]


def test_the_journal_scores_again_without_the_model(recording: Recording, tmp_path: Path, fault_server: Any) -> None:
    run = play(recording, fault_server(model()), tmp_path / "run")
    again = api.rescore(run.path, "uis1-boxes").summary
    assert (again["profile"].startswith("uis1-boxes"), again["pg"], again["tsr"]) == (True, 100.0, 100.0)


def test_a_run_that_was_cut_short_goes_on_where_it_was(recording: Recording, tmp_path: Path, fault_server: Any) -> None:
    right = model()
    server = fault_server(right, right, status(400, "not now"), right)
    run = play(recording, server, tmp_path / "run")
    assert run.summary["complete"] is False
    assert server.count == 3
    done = api.resume(tmp_path / "run")
    assert (done.summary["complete"], done.summary["pg"]) == (True, 100.0)
    assert server.count == 4


def test_what_cannot_go_back_as_a_call_goes_back_as_text(
    recording: Recording, tmp_path: Path, fault_server: Any
) -> None:
    broken = {"name": "click", "arguments": '{"coordinate": [185'}
    wrong = {
        0: {"content": None, "tool_calls": [{"id": "a", "type": "function", "function": broken}]},
        1: {"content": "I would tap it."},
    }
    server = fault_server(model(wrong))
    run = play(recording, server, tmp_path / "run", after_mismatch="continue")
    assert [r.get("parse_failure", {}).get("reason") for r in records(run)] == [
        "truncated",
        "no_action",
        None,
    ]
    messages = server.requests[-1].body["messages"]
    assert [m["role"] for m in messages] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert messages[2]["content"] == records(run)[0]["reply"]
    assert messages[4]["content"] == "I would tap it."


def test_an_endpoint_that_takes_no_tools_ends_the_run_at_once_with_the_flags(
    recording: Recording, tmp_path: Path, fault_server: Any
) -> None:
    words = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
    server = fault_server(status(400, words))
    run = play(recording, server, tmp_path / "run")
    assert server.count == 1
    assert run.summary["complete"] is False
    assert run.summary["not_scored_reasons"] == {"no_tools": 1}
    assert "--adapter tools_text" in records(run)[0]["error"]["detail"]


def test_other_tools_or_another_choice_are_another_prompt_or_run(
    recording: Recording, tmp_path: Path, fault_server: Any
) -> None:
    server = fault_server(model())
    runs = [
        play(recording, server, tmp_path / "auto"),
        play(recording, server, tmp_path / "forced", sampling=Sampling(extra_body={"tool_choice": "required"})),
    ]
    assert server.requests[-1].body["tool_choice"] == "required"
    assert runs[0].info.fingerprint != runs[1].info.fingerprint
    prompt = runs[0].info.facts["adapter"]["prompt"]
    assert prompt["sha256"] == get_adapter("tools").prompt_source().sha256


@pytest.mark.parametrize("adapter", ["tools", "tools_text"])
def test_an_oracle_scores_100(recording: Recording, tmp_path: Path, adapter: str) -> None:
    run = sopbench.run(
        **recording.options, model="builtin:oracle", adapter=adapter, prompts="builtin", out=tmp_path / "run"
    )
    assert run.summary["score"] == 100.0


def test_in_text_nothing_but_messages_is_sent(recording: Recording, tmp_path: Path, fault_server: Any) -> None:
    def said(body: dict[str, Any]) -> str:
        step = sum(message["role"] == "assistant" for message in body["messages"])
        return get_adapter("tools_text").format(from_released(gold(0, step), SIZE), SIZE, "I see it.")

    server = fault_server(answer(said))
    asked = {"model": "tiny", "base_urls": (server.base_url,), "adapter": "tools_text", "prompts": "builtin"}
    run = sopbench.run(**recording.options, **asked, out=tmp_path / "run")
    assert run.summary["tsr"] == 100.0
    assert not {"tools", "tool_choice"} & server.requests[-1].body.keys()
    assert all(set(m) == {"role", "content"} for m in server.requests[-1].body["messages"])
