"""`sopbench doctor` against servers with one thing wrong each."""

from __future__ import annotations

import json
from typing import Any

import fault_server as faults
import pytest
import typer
from fault_server import Behaviour, answer, closed_port, status
from typer.testing import CliRunner

from sopbench.adapters import get_adapter
from sopbench.cli.doctor import register
from sopbench.geometry import Size

CLICK = '<think>ok</think><action>{"action": "click", "coordinate": [546, 1204]}</action>'
TINY = Size(280, 560)


def server_of(tokens_a_screen: int | None, *, reply: str = CLICK, limit: int = 99) -> Behaviour:
    """A vision model: it answers, tells usage by the images it got, and refuses more than `limit` of them."""

    async def behave(request: Any, got: Any) -> Any:
        images = json.dumps(got.body).count('"image_url", "image_url"')
        if images > limit:
            return await faults.refuse(faults.VLLM_TOO_MANY_IMAGES)(request, got)
        usage = {"prompt_tokens": 50 + images * tokens_a_screen, "completion_tokens": 9} if tokens_a_screen else None
        return await answer(reply, usage=usage)(request, got)

    return behave


def doctor(base_url: str, *more: str) -> tuple[int, dict[str, Any]]:
    app = typer.Typer()
    register(app)
    result = CliRunner().invoke(app, ["--base-url", base_url, "--screen", str(TINY), "--json", *more])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, json.loads(result.stdout)


def checks(report: dict[str, Any], status: str) -> dict[str, str]:
    return {c["name"]: f"{c['detail']} -> {c['fix']}" for c in report["checks"] if c["status"] == status}


EXPECTED = (TINY.width // 28) * (TINY.height // 28)


def test_a_good_endpoint(fault_server):
    code, report = doctor(fault_server(server_of(EXPECTED + 2)).base_url)
    assert code == 0
    assert report["ok"] is True
    assert list(checks(report, "ok")) == [
        "models",
        "context",
        "text request",
        "same again",
        "2 screens of 280x560",
        "reply",
        "image size",
    ]
    assert "2048 tokens" in checks(report, "ok")["context"]
    assert "reads it as click" in checks(report, "ok")["reply"]
    assert report["server_flags"] == list(get_adapter("uis1").server_flags)


def test_the_two_screen_request_is_what_a_run_would_send(fault_server):
    server = fault_server(server_of(EXPECTED))
    doctor(server.base_url)
    messages = server.requests[2].body["messages"]
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


def test_as_many_screens_as_asked_for(fault_server):
    code, report = doctor(fault_server(server_of(EXPECTED, limit=1)).base_url, "--history-images", "1")
    assert code == 0
    assert "1 screen of 280x560" in checks(report, "ok")


def test_a_server_that_tells_no_usage_leaves_the_image_size_open(fault_server):
    code, report = doctor(fault_server(server_of(None)).base_url)
    assert code == 0
    assert "tells no usage" in checks(report, "note")["image size"]


def test_field_case_25_screens_that_do_not_fit_the_context(fault_server):
    server = fault_server(answer("hi"), answer("hi"), faults.refuse(faults.VLLM_NEW_OVERFLOW))
    code, report = doctor(server.base_url)
    assert code == 2
    assert "--max-model-len" in checks(report, "problem")["2 screens of 280x560"]


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
