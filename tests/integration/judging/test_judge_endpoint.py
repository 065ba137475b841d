"""A judge over real HTTP: patient with a server that stumbles, clear about one that does not answer, and never making a verdict up."""

from __future__ import annotations

import io
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from fault_server import VLLM_NO_SUCH_MODEL, ServerMaker, answer, closed_port, raw, refuse, silence, status
from judge_server import green, seeing
from PIL import Image

from sopbench.actions import Type
from sopbench.errors import UsageError
from sopbench.judging.judge import Judge, JudgeFailed, judge_key
from sopbench.judging.words import SYSTEM, Case
from sopbench.screen import Screen

RED, GREEN = (200, 0, 0), (0, 200, 0)


def screen(colour: tuple[int, int, int]) -> Screen:
    out = io.BytesIO()
    Image.new("RGB", (54, 120), colour).save(out, "PNG")
    return Screen.from_bytes(out.getvalue())


def case(*colours: tuple[int, int, int]) -> Case:
    return Case("Make it green", tuple(map(screen, colours)), (Type("x"),))


def test_the_last_screen_decides_and_the_request_is_plain(fault_server: ServerMaker) -> None:
    server = fault_server(seeing(lambda body, screens: green(screens[-1])))
    with Judge("tiny", server.base_url, api_key="k") as judge:
        assert judge.judge(case(RED, GREEN)).success is True
        failure = judge.judge(case(GREEN, RED))
    assert (failure.success, failure.why, failure.model, failure.attempts) == (False, None, "tiny", 1)
    got = server.requests[0]
    assert got.headers["Authorization"] == "Bearer k"
    assert (got.body["model"], got.body["temperature"], "seed" in got.body) == ("tiny", 0.0, False)
    assert got.body["messages"][0] == {"role": "system", "content": SYSTEM}


def test_a_server_that_stumbles_is_asked_again(fault_server: ServerMaker) -> None:
    server = fault_server(status(503), raw("not json"), answer('{"success": true}'))
    with Judge("tiny", server.base_url) as judge:
        judged = judge.judge(case(RED))
    assert (judged.success, judged.attempts, server.count) == (True, 3, 3)


@pytest.mark.parametrize(
    ("behaviour", "why"),
    [
        (answer("It may have worked, or not."), "none_found"),
        (answer('{"success": true} or {"success": false}'), "contradictory"),
        (answer('{"success": true}', finish_reason="length"), "cut_off"),
        (answer('{"success": true}' * 9999), "too_long"),
    ],
)
def test_a_reply_without_a_plain_verdict_is_none(fault_server: ServerMaker, behaviour: object, why: str) -> None:
    server = fault_server(behaviour)
    with Judge("tiny", server.base_url) as judge:
        judged = judge.judge(case(GREEN))
    assert (judged.success, judged.why) == (None, why)


@pytest.mark.parametrize("words", ["\ud800 seen\n", "\x00\x1b[2J\u202e", "x" * 3_000_000])
def test_what_a_judge_says_can_be_kept_whatever_it_is(fault_server: ServerMaker, words: str) -> None:
    server = fault_server(answer(words + '{"success": true}'))
    with Judge("tiny", server.base_url) as judge:
        judged = judge.judge(case(GREEN))
    assert judged.reply.encode()
    assert len(judged.reply) < 300_000
    assert judged.success is (None if len(words) > 1000 else True)


def test_a_judge_that_is_down_has_no_verdict() -> None:
    with (
        Judge("tiny", f"http://127.0.0.1:{closed_port()}/v1", max_attempts=2) as judge,
        pytest.raises(JudgeFailed, match="gives no answer") as caught,
    ):
        judge.judge(case(GREEN))
    assert not caught.value.fatal


def test_a_judge_that_hangs_is_left_at_its_deadline(fault_server: ServerMaker) -> None:
    server = fault_server(silence())
    with (
        Judge("tiny", server.base_url, attempt_timeout=0.3, deadline=0.6) as judge,
        pytest.raises(JudgeFailed, match="gives no answer"),
    ):
        judge.judge(case(GREEN))


def test_a_model_that_is_not_served_is_known_before_anything_is_played(fault_server: ServerMaker) -> None:
    server = fault_server(refuse(VLLM_NO_SUCH_MODEL))
    with Judge("nope", server.base_url) as judge, pytest.raises(JudgeFailed, match="does not exist") as caught:
        judge.probe()
    assert caught.value.fatal


def test_several_threads_ask_at_once(fault_server: ServerMaker) -> None:
    server = fault_server(answer('{"success": true}', delay=0.2))
    with Judge("tiny", server.base_url, concurrency=4) as judge, ThreadPoolExecutor(4) as crew:
        verdicts = list(crew.map(lambda _: judge.judge(case(GREEN)).success, range(8)))
    assert verdicts == [True] * 8
    assert 2 <= server.most_at_once <= 4


def test_closing_ends_a_case_under_way(fault_server: ServerMaker) -> None:
    server = fault_server(silence())
    judge = Judge("tiny", server.base_url)
    failed: list[JudgeFailed] = []

    def ask() -> None:
        try:
            judge.judge(case(GREEN))
        except JudgeFailed as error:
            failed.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    while not server.count:
        asking.join(0.01)
    judge.close()
    asking.join(10)
    assert [str(error) for error in failed] == ["the judge was closed"]
    with pytest.raises(JudgeFailed, match="was closed"):
        judge.judge(case(GREEN))


def test_the_key_is_the_judges_own_or_the_models() -> None:
    assert judge_key({"SOPBENCH_JUDGE_API_KEY": "j", "SOPBENCH_API_KEY": "m"}) == "j"
    assert judge_key({"SOPBENCH_API_KEY": "m"}) == "m"
    assert judge_key({}) is None
    with pytest.raises(UsageError, match="SOPBENCH_JUDGE_API_KEY holds characters") as caught:
        judge_key({"SOPBENCH_JUDGE_API_KEY": "a b"})
    assert "a b" not in str(caught.value)
