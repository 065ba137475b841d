"""The endpoint pool against a real server that misbehaves: what is retried, what is final, what is recorded."""

from __future__ import annotations

import asyncio
import json
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import fault_server as faults
import pytest
from fault_server import FaultServer, answer, closed_port, status

from sopbench.adapters.base import Image, Message, Text
from sopbench.clients.base import Ask, AskFailed, Reply, Sampling
from sopbench.clients.body import RequestBody, request_json
from sopbench.clients.pool import BackOff, EndpointPool
from sopbench.clients.transport import Response, Transport
from sopbench.errors import UsageError
from sopbench.geometry import Size
from sopbench.screen import Screen

QUICK = BackOff(first=0.01, longest=0.05)
HELLO = (Message("system", (Text("be brief"),)), Message("user", (Text("tap OK"),)))


def ask(messages: tuple[Message, ...] = HELLO, *, step: int = 0, seed: int | None = None) -> Ask:
    return Ask(("e", 0, step), messages, Size(1080, 2400), adapter=None, seed=seed)  # type: ignore[arg-type]  # the pool needs no adapter


def pool(*servers: FaultServer | str, **options: Any) -> EndpointPool:
    urls = [s if isinstance(s, str) else s.base_url for s in servers]
    return EndpointPool(urls, options.pop("model", "tiny"), **({"back_off": QUICK, "attempt_timeout": 5.0} | options))


async def one(*servers: FaultServer | str, messages: tuple[Message, ...] = HELLO, **options: Any) -> Reply:
    async with pool(*servers, **options) as p:
        return await p.ask(ask(messages))


async def failure(*servers: FaultServer | str, messages: tuple[Message, ...] = HELLO, **options: Any) -> AskFailed:
    with pytest.raises(AskFailed) as caught:
        await one(*servers, messages=messages, **options)
    return caught.value


def errors(reply: Reply | AskFailed) -> list[str | None]:
    return [a.error for a in reply.attempts]


# -- a good answer ---------------------------------------------------------------------------------------------------


async def test_a_reply_carries_text_usage_latency_model_and_finish_reason(fault_server):
    server = fault_server(answer("tap", finish_reason="length", delay=0.05))
    reply = await one(server)
    assert (reply.text, reply.model, reply.finish_reason) == ("tap", "tiny", "length")
    assert (reply.prompt_tokens, reply.completion_tokens) == (11, 7)
    assert reply.endpoint == server.base_url
    assert 0.05 <= reply.latency < 5
    assert errors(reply) == [None]


async def test_the_streamed_body_is_the_json_of_the_request_with_images(fault_server, png_screens):
    server = fault_server(answer())
    first, second = png_screens
    messages = (
        Message("system", (Text("Sätze \U0001f600"),)),
        Message("user", (Text("one"), Image(first))),
        Message("assistant", (Text("<action>"),)),
        Message("user", (Image(second), Text('quote " and \\'))),
    )
    sampling = Sampling(temperature=0.0, top_k=1, max_tokens=9, extra_body={"mm": {"a": 1}})
    async with pool(server, sampling=sampling) as p:
        await p.ask(ask(messages, seed=5))
    got = server.requests[0]
    assert got.raw.decode() == request_json(messages, "tiny", sampling, seed=5)
    assert int(got.headers["Content-Length"]) == len(got.raw)
    assert [m["content"] if isinstance(m["content"], str) else "parts" for m in got.body["messages"]] == [
        "Sätze \U0001f600",
        "parts",
        "<action>",
        "parts",
    ]


async def test_the_key_is_sent_and_nowhere_recorded(fault_server):
    server = fault_server(status(400, "bad key sk-secret-1"))
    p = pool(server, api_key="sk-secret-1")
    with pytest.raises(AskFailed) as caught:
        await p.ask(ask())
    assert server.requests[0].headers["Authorization"] == "Bearer sk-secret-1"
    told = repr((caught.value.detail, caught.value.attempts, p.describe(), p.settings(), str(caught.value)))
    assert "sk-secret-1" not in told
    assert "***" in told
    await p.close()


@pytest.mark.parametrize(
    ("message", "text", "notes"),
    [
        ({"content": None}, "", ("no_content",)),
        ({"content": None, "refusal": "I will not"}, "I will not", ("refusal",)),
        ({"content": None, "reasoning_content": "hm"}, "", ("no_content", "reasoning_apart")),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "ab", ("content_parts",)),
        ({"content": ""}, "", ()),
    ],
)
async def test_an_unusual_message_is_still_an_answer(fault_server, message, text, notes):
    reply = await one(fault_server(answer(message={"role": "assistant"} | message)))
    assert (reply.text, reply.notes) == (text, notes)


# -- what is tried again ---------------------------------------------------------------------------------------------


async def test_field_case_8_503_503_200_is_one_reply_after_three_attempts(fault_server):
    server = fault_server(status(503), status(503), answer("ok"))
    reply = await one(server)
    assert reply.text == "ok"
    assert errors(reply) == ["http_503", "http_503", None]
    assert server.count == 3


async def test_field_case_8_503_for_ever_is_an_infrastructure_failure(fault_server):
    server = fault_server(status(503))
    failed = await failure(server, max_attempts=3)
    assert failed.kind == "server"
    assert not failed.fatal
    assert errors(failed) == ["http_503"] * 3
    assert "out of order" in failed.detail
    assert server.count == 3


@pytest.mark.parametrize(
    ("behaviour", "error"),
    [
        (status(408), "http_408"),
        (status(409), "http_409"),
        (status(500), "http_500"),
        (status(502), "http_502"),
        (faults.reset(), "connection"),
        (faults.half_body(), "bad_body"),
        (faults.raw("<html>gateway</html>", content_type="text/html"), "bad_body"),
        (faults.raw('{"choices": ['), "bad_body"),
        (faults.raw("{}"), "bad_body"),
        (faults.raw('{"choices": []}'), "bad_body"),
        (faults.raw('{"choices": [{"message": null}]}'), "bad_body"),
        (faults.raw("[" * 100_000), "bad_body"),
        (faults.raw('{"error": {"message": "upstream is gone"}}'), "bad_body"),
    ],
)
async def test_faults_of_the_infrastructure_are_tried_again(fault_server, behaviour, error):
    server = fault_server(behaviour, answer("ok"))
    reply = await one(server)
    assert reply.text == "ok"
    assert errors(reply) == [error, None]


async def test_nothing_listens(fault_server):
    failed = await failure(f"http://127.0.0.1:{closed_port()}", max_attempts=2)
    assert failed.kind == "connection"
    assert errors(failed) == ["connection", "connection"]
    assert "127.0.0.1" in failed.detail


async def test_back_off_grows_and_is_recorded(fault_server):
    server = fault_server(status(500), status(500), status(500), answer())
    reply = await one(server, back_off=BackOff(first=0.04, longest=10))
    waits = [a.waited for a in reply.attempts]
    assert waits[0] == 0
    for wait, most in zip(waits[1:], [0.04, 0.08, 0.16], strict=True):
        assert most / 2 <= wait <= most


# -- 429 -------------------------------------------------------------------------------------------------------------


async def test_field_case_27_sixteen_429s_are_waited_out_counted_and_recorded(fault_server):
    server = fault_server(*[status(429)] * 16, answer("ok"))
    p = pool(server, max_attempts=2)
    reply = await p.ask(ask())
    assert reply.text == "ok"
    assert errors(reply) == ["http_429"] * 16 + [None]
    assert (p.status().rate_limited, p.status().retries, p.status().faults) == (16, 16, 0)
    await p.close()


async def test_retry_after_in_seconds_is_honoured(fault_server):
    server = fault_server(status(429, headers={"Retry-After": "0.4"}), answer())
    reply = await one(server)
    assert server.requests[1].at - server.requests[0].at >= 0.4
    assert reply.attempts[1].waited >= 0.4


async def test_retry_after_as_a_date_is_honoured(fault_server):
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)  # whole seconds: 1 to 2 s from now
    server = fault_server(status(503, headers={"Retry-After": date}), answer())
    await one(server)
    assert server.requests[1].at - server.requests[0].at >= 0.9


async def test_retry_after_holds_every_other_request_too(fault_server):
    server = fault_server(status(429, headers={"Retry-After": "0.5"}), answer())
    async with pool(server, concurrency=1) as p:
        await asyncio.gather(*(p.ask(ask(step=k)) for k in range(4)))
    first, *others = [r.at for r in server.requests]
    assert len(others) == 4
    assert min(others) - first >= 0.5


async def test_a_retry_after_past_the_deadline_ends_it_at_once(fault_server):
    server = fault_server(status(429, headers={"Retry-After": "86400"}))
    began = time.monotonic()
    failed = await failure(server, deadline=5)
    assert failed.kind == "rate_limited"
    assert time.monotonic() - began < 4
    assert server.count == 1


# -- what is final ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "case",
    [
        faults.VLLM_NEW_OVERFLOW,
        faults.VLLM_OLD_OVERFLOW,
        faults.VLLM_DECODER_OVERFLOW,
        faults.SGLANG_OVERFLOW,
        faults.OPENAI_OVERFLOW,
        faults.LLAMA_CPP_OVERFLOW,
    ],
    ids=["vllm-new", "vllm-old", "vllm-decoder", "sglang", "openai", "llama.cpp"],
)
async def test_field_case_25_context_overflow_is_its_own_outcome_and_not_retried(fault_server, case):
    server = fault_server(faults.refuse(case))
    failed = await failure(server)
    assert failed.kind == "context_overflow"
    assert not failed.fatal
    assert server.count == 1


async def test_field_case_24_too_many_images_names_the_flag_in_both_syntaxes(fault_server, png_screens):
    server = fault_server(faults.refuse(faults.VLLM_TOO_MANY_IMAGES))
    failed = await failure(server, messages=(Message("user", tuple(Image(s) for s in png_screens)),))
    assert failed.kind == "too_many_images"
    assert failed.fatal
    assert "--limit-mm-per-prompt image=2" in failed.detail
    assert """--limit-mm-per-prompt '{"image": 2}'""" in failed.detail
    assert server.count == 1


@pytest.mark.parametrize(
    ("behaviour", "fatal", "says"),
    [
        (status(400, "temperature must be non-negative"), False, "temperature must be non-negative"),
        (status(401), True, "SOPBENCH_API_KEY"),
        (status(403), True, "SOPBENCH_API_KEY"),
        (faults.refuse(faults.VLLM_NO_SUCH_MODEL), True, "'tiny'"),
        (status(413), False, "bodies of this size"),
        (status(422), False, "422"),
        (status(307, headers={"Location": "http://127.0.0.1:1/"}), True, "redirects"),
    ],
)
async def test_other_refusals_are_final_and_say_what_to_do(fault_server, behaviour, fatal, says):
    server = fault_server(behaviour, answer())
    failed = await failure(server)
    assert failed.kind == "rejected"
    assert failed.fatal is fatal
    assert says in failed.detail
    assert server.count == 1


async def test_a_response_without_end_is_cut_off(fault_server):
    server = fault_server(faults.huge(64 << 20))
    failed = await failure(server)
    assert failed.kind == "bad_body"
    assert server.count == 1


async def test_a_missing_screen_is_not_the_endpoints_fault(fault_server, tmp_path):
    server = fault_server(answer())
    missing = Message("user", (Image(Screen.from_file(tmp_path / "gone.png")),))
    failed = await failure(server, messages=(missing,))
    assert failed.kind == "screen"
    assert "gone.png" in failed.detail
    assert server.count == 0


async def test_a_screen_that_shrinks_while_it_is_sent_is_a_screen_failure(fault_server, png_screens, tmp_path):
    path = tmp_path / "shrinks.png"
    path.write_bytes(png_screens[0].read())
    screen = Screen.from_file(path)
    assert screen.nbytes == path.stat().st_size
    assert screen.media_type == "image/png"
    path.write_bytes(path.read_bytes()[:-10])
    server = fault_server(answer())
    failed = await failure(server, messages=(Message("user", (Image(screen),)),))
    assert failed.kind == "screen"
    assert "changed" in failed.detail
    assert server.count == 0


# -- time ------------------------------------------------------------------------------------------------------------


async def test_field_case_26_a_server_that_never_answers_times_out_attempt_by_attempt(fault_server):
    server = fault_server(faults.silence(), answer("ok"))
    reply = await one(server, attempt_timeout=0.2)
    assert errors(reply) == ["timeout", None]
    assert 0.2 <= reply.attempts[0].seconds < 2


async def test_field_case_26_the_deadline_is_over_all_attempts(fault_server):
    server = fault_server(faults.silence())
    began = time.monotonic()
    failed = await failure(server, attempt_timeout=0.25, deadline=0.6, max_attempts=100)
    assert failed.kind == "deadline"
    assert 0.4 <= time.monotonic() - began < 4
    assert errors(failed)[0] == "timeout"


async def test_field_case_26_waiting_in_our_own_queue_is_charged_to_nothing(fault_server):
    server = fault_server(answer(delay=0.2))
    async with pool(server, concurrency=1, attempt_timeout=0.6, deadline=0.6) as p:
        replies = await asyncio.gather(*(p.ask(ask(step=k)) for k in range(6)))
    assert server.most_at_once == 1
    assert max(r.queued for r in replies) >= 0.8  # longer than attempt and deadline allow, and yet answered
    assert all(r.latency < 0.6 for r in replies)


async def test_a_reply_after_the_deadline_is_never_used(fault_server):
    server = fault_server(answer("late", delay=0.5))
    failed = await failure(server, attempt_timeout=30, deadline=0.2)
    assert failed.kind == "deadline"


async def test_a_reply_that_our_own_busy_loop_made_late_is_not_used_either(fault_server):
    server = fault_server(answer("late", delay=0.05))
    async with pool(server, attempt_timeout=30, deadline=0.3) as p:
        task = asyncio.create_task(p.ask(ask()))
        await server.has_got(1)
        time.sleep(0.6)  # the point of the test: nothing runs while the answer arrives
        with pytest.raises(AskFailed) as caught:
            await task
    assert caught.value.kind == "deadline"


async def test_an_answer_that_is_only_looked_at_after_the_deadline_is_not_used():
    """The timer of an attempt cannot fire while our own loop is busy; the clock is looked at again."""

    class Slow(Transport):
        def __init__(self) -> None:
            pass

        async def post(self, url: str, body: RequestBody, proxy: str | None = None) -> Response:
            time.sleep(0.2)  # keeps the loop from firing the timer
            return Response(200, "application/json", None, json.dumps(faults.completion("late")).encode())

        async def close(self) -> None:
            pass

    p = pool("http://127.0.0.1:1", attempt_timeout=30, deadline=0.1)
    p._transport = Slow()
    with pytest.raises(AskFailed) as caught:
        await p.ask(ask())
    assert caught.value.kind == "deadline"


async def test_a_trickling_body_is_bounded_by_the_attempt(fault_server):
    server = fault_server(faults.trickle(20.0), answer("ok"))
    reply = await one(server, attempt_timeout=0.3)
    assert errors(reply) == ["timeout", None]


# -- several endpoints -----------------------------------------------------------------------------------------------


async def test_requests_go_to_the_least_busy_endpoint(fault_server):
    slow, fast = fault_server(answer(delay=1.0)), fault_server(answer(delay=0.02))
    async with pool(slow, fast, concurrency=4) as p:
        await asyncio.gather(*(p.ask(ask(step=k)) for k in range(20)))
    assert slow.count + fast.count == 20
    assert 1 <= slow.count <= 4
    assert fast.count >= 16


async def test_a_failing_endpoint_rests_while_others_work_and_is_tried_again(fault_server, monkeypatch):
    monkeypatch.setattr("sopbench.clients.endpoints.FIRST_REST", 0.3)
    ill, well = fault_server(status(503), answer()), fault_server(answer(delay=0.01))
    async with pool(ill, well, concurrency=1) as p:
        for k in range(10):
            await p.ask(ask(step=k))
        assert ill.count == 1
        assert p.status().resting == 1
        await asyncio.sleep(0.35)
        await p.ask(ask(step=10))
        assert p.status().resting == 0
        await p.ask(ask(step=11))
    assert ill.count >= 2
    assert ill.count + well.count == 13  # twelve requests, one of them tried twice


async def test_a_dead_endpoint_costs_no_request(fault_server):
    server = fault_server(answer())
    async with pool(f"http://127.0.0.1:{closed_port()}", server, concurrency=8) as p:
        replies = await asyncio.gather(*(p.ask(ask(step=k)) for k in range(30)))
    assert all(r.endpoint == server.base_url for r in replies)
    assert server.count == 30


async def test_a_held_endpoint_sends_its_request_to_another(fault_server):
    held, other = fault_server(status(429, headers={"Retry-After": "60"})), fault_server(answer(delay=0.02))
    async with pool(held, other, concurrency=2) as p:
        began = time.monotonic()
        await asyncio.gather(*(p.ask(ask(step=k)) for k in range(6)))
    assert time.monotonic() - began < 10
    assert held.count == 1
    assert other.count == 6


async def test_a_retry_prefers_another_endpoint_even_a_busier_one(fault_server):
    busy, refusing = fault_server(answer(delay=0.4)), fault_server(status(429), answer())
    async with pool(busy, refusing, concurrency=2) as p:
        await asyncio.gather(p.ask(ask(step=0)), p.ask(ask(step=1)))
    assert (busy.count, refusing.count) == (2, 1)


async def test_a_retry_goes_before_first_tries(fault_server):
    server = fault_server(status(503), answer(delay=0.2), answer())
    async with pool(server, concurrency=1) as p:
        await asyncio.gather(*(p.ask(ask((Message("user", (Text(name),)),))) for name in "abc"))
    assert [r.body["messages"][0]["content"] for r in server.requests] == ["a", "b", "a", "c"]


# -- how many at once ------------------------------------------------------------------------------------------------


async def test_concurrency_is_bounded(fault_server):
    server = fault_server(answer(delay=0.02))
    async with pool(server, concurrency=5) as p:
        await asyncio.gather(*(p.ask(ask(step=k)) for k in range(40)))
    assert server.most_at_once == 5


async def test_adaptive_concurrency_grows_from_a_slow_start_and_halves_on_429(fault_server):
    server = fault_server(*[answer(delay=0.02)] * 60, status(429), answer(delay=0.02))
    limits = []
    async with pool(server, concurrency=32, adaptive=True) as p:
        limits.append(p.status().limit)

        async def watched(step: int) -> None:
            await p.ask(ask(step=step))
            limits.append(p.status().limit)

        await asyncio.gather(*(watched(k) for k in range(120)))
    assert limits[0] == 4
    assert max(limits) == 32
    falls = [(a, b) for a, b in pairwise(limits) if b < a]
    assert falls == [(32, 16)]
    assert server.most_at_once <= 32


# -- being stopped ---------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("error")
async def test_cancelling_leaves_no_task_slot_or_warning(fault_server, png_screens):
    server = fault_server(faults.silence())
    picture = (Message("user", tuple(Image(s) for s in png_screens)),)
    before = asyncio.all_tasks()
    async with pool(server, concurrency=3) as p:
        tasks = [asyncio.create_task(p.ask(ask(picture, step=k))) for k in range(8)]
        await server.has_got(3)
        for task in tasks:
            task.cancel()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(o, asyncio.CancelledError) for o in outcomes)
        assert (p.status().in_flight, p.status().queued) == (0, 0)
    await asyncio.sleep(0)
    assert asyncio.all_tasks() == before


async def test_a_pool_serves_again_after_a_cancelled_request(fault_server):
    server = fault_server(faults.silence(), answer("ok"))
    async with pool(server, concurrency=1) as p:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await p.ask(ask())
        assert (await p.ask(ask(step=1))).text == "ok"


# -- options ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"model": ""},
        {"concurrency": 0},
        {"concurrency": 10**9},
        {"deadline": 0},
        {"sampling": Sampling(extra_body={"messages": []})},
        {"sampling": Sampling(temperature=float("nan"))},
        {"sampling": Sampling(extra_body={"x": object()})},
    ],
)
def test_options_that_cannot_work_are_refused_before_anything_is_sent(options):
    with pytest.raises(UsageError):
        pool("http://127.0.0.1:1", **options)


def test_what_is_recorded_of_a_pool_is_json_and_complete():
    p = pool("http://127.0.0.1:1", sampling=Sampling(temperature=0.5, extra_body={"repetition_penalty": 1.1}))
    facts = json.loads(json.dumps(p.describe()))
    assert facts["model"] == "tiny"
    assert facts["sampling"]["temperature"] == 0.5
    assert facts["sampling"]["extra_body"] == {"repetition_penalty": 1.1}
    assert p.settings() == {"base_urls": ["http://127.0.0.1:1/v1"]}


@pytest.fixture
def png_screens(tmp_path: Path) -> tuple[Screen, Screen]:
    """Two pictures of sizes that no chunk divides; the first is larger than several chunks, the second is held in memory."""
    import random

    from PIL import Image as Picture

    rng = random.Random(1)
    first = tmp_path / "first.png"
    Picture.frombytes("RGB", (331, 477), rng.randbytes(331 * 477 * 3)).save(first)
    second = tmp_path / "second.png"
    Picture.new("RGB", (31, 47), (1, 2, 3)).save(second)
    return Screen.from_file(first), Screen.from_bytes(second.read_bytes())
