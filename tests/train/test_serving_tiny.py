"""`sopbench serve`: real HTTP against a real (random) model. What is sound is answered as in process, what is not is refused in OpenAI's form."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from PIL import Image

import sopbench
from sopbench.clients.base import Sampling
from sopbench.clients.tiny import load
from sopbench.serve.reading import Limits
from sopbench.serve.server import ModelServer, serve

SOPBENCH = Path(sys.executable).with_name("sopbench")
MAX_BODY = 2 * 1024 * 1024
PATIENCE = 300
"""Seconds: for a machine that has other work."""


class Running:
    """A server in a thread of its own."""

    def __init__(self, folder: Path, **options: Any) -> None:
        self.folder, self.options = folder, options
        self.url = ""
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))

    async def _serve(self) -> None:
        self.stop, self.loop = asyncio.Event(), asyncio.get_running_loop()
        local = load(self.folder, what="this test", max_batch=8, max_images=2)
        context = local.decoder.model.context
        self.server = ModelServer(local, Limits("tiny", context, 64, 2), max_body=MAX_BODY, **self.options)
        await serve(self.server, "127.0.0.1", 0, ready=self._up, stop=self.stop)

    def _up(self, url: str) -> None:
        self.url = url
        self._ready.set()

    def __enter__(self) -> Running:
        self._thread.start()
        assert self._ready.wait(PATIENCE)
        return self

    def __exit__(self, *error: object) -> None:
        self.loop.call_soon_threadsafe(self.stop.set)
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


@pytest.fixture(scope="module")
def server(tiny_vl: Path) -> Iterator[Running]:
    with Running(tiny_vl) as running:
        yield running


def picture(width: int = 112, height: int = 224, colour: str = "red") -> str:
    out = io.BytesIO()
    Image.new("RGB", (width, height), colour).save(out, "PNG")
    return "data:image/png;base64," + base64.b64encode(out.getvalue()).decode()


def asking(*parts: str, **options: Any) -> dict[str, Any]:
    """A request whose user turn has `parts`: texts, and pictures as data URLs."""
    content = [
        {"type": "image_url", "image_url": {"url": p}} if p.startswith("data:") else {"type": "text", "text": p}
        for p in parts
    ]
    return {"model": "tiny", "messages": [{"role": "user", "content": content}], "max_tokens": 8} | options


def post(server: Running, body: dict[str, Any] | bytes, path: str = "/chat/completions") -> tuple[int, dict[str, Any]]:
    async def go() -> tuple[int, dict[str, Any]]:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        async with (
            aiohttp.ClientSession() as session,
            session.post(server.url + path, data=data, headers={"Content-Type": "application/json"}) as response,
        ):
            return response.status, await response.json()

    return asyncio.run(go())


def get(url: str) -> tuple[int, dict[str, Any]]:
    async def go() -> tuple[int, dict[str, Any]]:
        async with aiohttp.ClientSession() as session, session.get(url) as response:
            return response.status, await response.json()

    return asyncio.run(go())


# -- what is answered --------------------------------------------------------------------------------------------------


def test_a_reply_has_text_usage_and_the_reason_of_its_end(server: Running) -> None:
    status, reply = post(server, asking("Say hello.", picture()))
    assert status == 200
    [choice] = reply["choices"]
    assert choice["message"]["role"] == "assistant"
    assert choice["finish_reason"] in ("stop", "length")
    usage = reply["usage"]
    assert usage["prompt_tokens"] + usage["completion_tokens"] == usage["total_tokens"]
    assert 0 < usage["completion_tokens"] <= 8


def test_pictures_cost_tokens_and_change_the_reply_s_prompt(server: Running) -> None:
    _, without = post(server, asking("Look."))
    _, one = post(server, asking("Look.", picture()))
    _, two = post(server, asking("Look.", picture(), picture(colour="blue")))
    counts = [r["usage"]["prompt_tokens"] for r in (without, one, two)]
    # 112 x 224 pixels are 4 x 8 tokens of 28 pixels, between a start and an end
    assert counts[1] - counts[0] == counts[2] - counts[1] == 4 * 8 + 2


def test_the_greedy_reply_is_the_same_again_and_a_seed_fixes_chance(server: Running) -> None:
    def text(**options: Any) -> str:
        return str(post(server, asking("Say something.", **options))[1]["choices"][0]["message"]["content"])

    assert text() == text()
    assert text(temperature=1.0, seed=1) == text(temperature=1.0, seed=1)
    assert len({text(temperature=1.0, seed=seed) for seed in range(4)}) > 1
    assert text(temperature=1.0, top_k=1) == text()


def test_log_probabilities_are_those_of_the_tokens(server: Running) -> None:
    _, reply = post(server, asking("Say something.", logprobs=True, top_logprobs=1))
    [choice] = reply["choices"]
    told = choice["logprobs"]["content"]
    assert len(told) == reply["usage"]["completion_tokens"]
    assert all(one["logprob"] <= 0 for one in told)
    assert all(one["top_logprobs"][0]["token"] == one["token"] for one in told)
    assert choice["message"]["content"] in "".join(one["token"] for one in told)


def test_a_stop_text_ends_the_reply_and_is_left_out(server: Running) -> None:
    _, whole = post(server, asking("Say something.", logprobs=True))
    text = whole["choices"][0]["message"]["content"]
    stop = text[len(text) // 2 :][:3]
    _, cut = post(server, asking("Say something.", stop=[stop], logprobs=True))
    [choice] = cut["choices"]
    assert choice["message"]["content"] == text[: text.find(stop)]
    assert choice["finish_reason"] == "stop"
    assert cut["usage"]["completion_tokens"] <= whole["usage"]["completion_tokens"]
    assert len(choice["logprobs"]["content"]) == cut["usage"]["completion_tokens"]


def test_a_stream_tells_the_same_reply(server: Running) -> None:
    async def go() -> list[str]:
        body = asking("Say hello.", stream=True, stream_options={"include_usage": True})
        async with (
            aiohttp.ClientSession() as session,
            session.post(f"{server.url}/chat/completions", json=body) as response,
        ):
            assert response.headers["Content-Type"] == "text/event-stream"
            return [line.decode().removeprefix("data: ").strip() async for line in response.content if line.strip()]

    lines = asyncio.run(go())
    assert lines[-1] == "[DONE]"
    events = [json.loads(line) for line in lines[:-1]]
    _, whole = post(server, asking("Say hello."))
    assert (
        "".join(c["delta"].get("content", "") for e in events for c in e["choices"])
        == (whole["choices"][0]["message"]["content"])
    )
    assert events[1]["choices"][0]["finish_reason"] == whole["choices"][0]["finish_reason"]
    assert events[-1]["usage"] == whole["usage"]


def test_it_says_what_it_serves_and_how_it_is(server: Running) -> None:
    status, models = get(f"{server.url}/models")
    assert status == 200
    assert [m["id"] for m in models["data"]] == ["tiny"]
    assert models["data"][0]["max_model_len"] == 8192
    status, health = get(server.url.removesuffix("/v1") + "/health")
    assert (status, health["status"], health["waiting"]) == (200, "ok", 0)


# -- what is refused ---------------------------------------------------------------------------------------------------

LONG = "never ending story " * 4000


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        (b"{not json", 400, "no JSON"),
        (b"[" * 100_000, 400, "no JSON"),
        (b"[1, 2]", 400, "JSON object"),
        (asking("hi", model="gpt-9"), 404, "does not exist"),
        (asking(LONG), 400, "maximum context length is 8192"),
        (asking(LONG * 3), 400, "maximum context length is 8192"),
        (asking("hi", picture(), picture(), picture()), 400, "At most 2 image(s)"),
        (asking("hi", "data:image/png;base64,AAAA"), 400, "Failed to load image"),
        (asking("hi", "data:image/png;base64,§§"), 400, "not in base64"),
        (asking("hi", "data:image/png,abc"), 400, "base64"),
        (asking("hi", picture()[: len("data:image/png;base64,") + 200]), 400, "Failed to load image"),
        (asking("hi", temperature="warm"), 400, "temperature must be a number"),
        (asking("hi", temperature=-1), 400, "temperature must be a number"),
        (asking("hi", max_tokens=0), 400, "max_tokens must be a whole number"),
        (asking("hi", max_tokens=True), 400, "max_tokens must be a whole number"),
        (asking("hi", seed=1.5), 400, "seed must be a whole number"),
        (asking("hi", logprobs=1), 400, "logprobs must be true or false"),
        (asking("hi", logprobs=True, top_logprobs=5), 400, "top_logprobs"),
        (asking("hi", stop=[""]), 400, "stop must be"),
        (asking("hi", n=2), 400, "n: one reply"),
        (asking("hi", tools=[{}]), 400, "tools are not supported"),
        (asking("hi", top_p=0.5, temperature=1), 400, "top_p"),
        ({"model": "tiny", "messages": []}, 400, "messages must be"),
        ({"model": "tiny", "messages": [{"role": "tool", "content": "x"}]}, 400, "messages[0].role"),
        ({"model": "tiny", "messages": [{"role": "user", "content": 3}]}, 400, "messages[0].content"),
        ({"model": "tiny", "messages": [{"role": "user", "content": [{"type": "audio"}]}]}, 400, "content[0]"),
        (asking("look: <|image_pad|>", picture()), 400, "placeholder"),
    ],
)
def test_a_request_that_is_not_sound_is_refused_by_name(
    server: Running, body: dict[str, Any] | bytes, status: int, says: str
) -> None:
    got, reply = post(server, body)
    assert got == status, reply
    assert says in reply["error"]["message"]
    assert set(reply["error"]) == {"message", "type", "param", "code"}


def test_nothing_is_fetched_for_a_picture(server: Running) -> None:
    body = asking("hi")
    body["messages"][0]["content"].append({"type": "image_url", "image_url": {"url": "http://127.0.0.1:9/x.png"}})
    status, reply = post(server, body)
    assert status == 400
    assert "nothing is fetched" in reply["error"]["message"]


def test_a_body_that_is_too_large_is_refused_before_it_is_read(server: Running) -> None:
    status, reply = post(server, asking("x" * (MAX_BODY + 10)))
    assert status == 413
    assert "too large" in reply["error"]["message"]


def test_unknown_paths_and_methods_are_refused_in_the_same_form(server: Running) -> None:
    assert post(server, asking("hi"), "/completions")[0] == 404
    status, reply = get(f"{server.url}/chat/completions")
    assert (status, "error" in reply) == (405, True)


def test_whoever_comes_when_too_many_wait_is_told_to_come_back(tiny_vl: Path) -> None:
    with Running(tiny_vl, max_waiting=1) as running:

        async def crowd() -> list[int]:
            async with aiohttp.ClientSession() as session:

                async def one() -> int:
                    body = asking("hi", max_tokens=32)
                    async with session.post(f"{running.url}/chat/completions", json=body) as response:
                        return response.status

                return list(await asyncio.gather(*(one() for _ in range(6))))

        statuses = asyncio.run(crowd())
    assert set(statuses) == {200, 503}


def test_whoever_has_gone_is_not_answered(tiny_vl: Path) -> None:
    """A client that gives up and tries again leaves no work behind."""
    with Running(tiny_vl) as running:
        health = running.url.removesuffix("v1") + "health"

        async def give_up() -> None:
            async with aiohttp.ClientSession() as session:
                asked = asyncio.create_task(
                    session.post(f"{running.url}/chat/completions", json=asking("hi", max_tokens=64))
                )
                while (await (await session.get(health)).json())["waiting"] == 0:
                    assert not asked.done()
                    await asyncio.sleep(0.001)
                asked.cancel()

        asyncio.run(give_up())
        while get(health)[1]["waiting"]:
            time.sleep(0.01)
        assert get(health)[1]["answered"] == 0
        assert post(running, asking("hi"))[0] == 200


# -- the harness against it --------------------------------------------------------------------------------------------


def test_a_run_through_http_has_the_records_of_the_run_in_process(
    server: Running, tiny_vl: Path, tmp_path: Path
) -> None:
    def records(model: str) -> list[tuple[Any, ...]]:
        run = sopbench.run(
            suite="pocket",
            limit=6,
            model=model,
            adapter="tiny",
            sampling=Sampling(temperature=0.0, max_tokens=12),
            after_mismatch="continue",
            out=tmp_path / model.partition(":")[0],
        )
        assert run.summary["not_scored_steps"] == 0
        columns = [
            "episode",
            "step",
            "reply",
            "prompt_sha256",
            "images",
            "prompt_tokens",
            "completion_tokens",
            "reason",
            "match",
        ]
        frame = run.steps.sort_values(["episode", "step"])
        return [tuple(map(str, row)) for row in frame[columns].itertuples(index=False, name=None)]

    through_http, in_process = records(server.url), records(f"builtin:tiny:model={tiny_vl}")
    assert through_http == in_process
    assert len(in_process) > 30


def test_too_long_a_prompt_is_not_scored_rather_than_a_mistake(tiny_vl: Path, tmp_path: Path) -> None:
    from sopbench.clients.refusals import read_refusal
    from sopbench.serve.reading import too_long

    body = json.dumps(too_long(Limits("tiny", 100, 10, 1), "101 tokens").as_object()).encode()
    assert read_refusal(400, body, retry_after=None, model="tiny", images=1).kind == "context_overflow"


def test_the_doctor_finds_it_fit(server: Running) -> None:
    asked = [SOPBENCH, "doctor", "--base-url", server.url, "--adapter", "tiny", "--screen", "504x1092", "--json"]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=PATIENCE)
    found = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert done.returncode == 0, found
    assert found["logprobs"]["status"] == "ok"
    assert found["seed"]["status"] == "ok"


# -- the command -------------------------------------------------------------------------------------------------------


def test_the_command_serves_says_how_to_play_and_stops_in_good_order(tiny_vl: Path, tmp_path: Path) -> None:
    """SIGTERM in the middle of a request: it is answered, then the process ends with status 0."""
    command = [SOPBENCH, "serve", "tiny", "--model", tiny_vl, "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        url = process.stdout.readline().partition(" at ")[2].partition(";")[0]
        assert f"sopbench run --suite pocket-large --adapter tiny --model {url}" in process.stdout.readline()

        async def ask_and_stop() -> dict[str, Any]:
            async with aiohttp.ClientSession() as session:
                body = asking("hi", picture(), max_tokens=200)
                asked = asyncio.create_task(session.post(f"{url}/chat/completions", json=body))
                while (await (await session.get(url.removesuffix("v1") + "health")).json())["waiting"] == 0:
                    assert not asked.done()
                    await asyncio.sleep(0.005)
                process.send_signal(signal.SIGTERM)
                return dict(await (await asked).json())

        reply = asyncio.run(ask_and_stop())
        assert "choices" in reply
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, err
    assert "stopped" in out
    assert "Traceback" not in err


def test_an_address_that_is_taken_is_the_users_to_change(server: Running, tiny_vl: Path) -> None:
    port = server.url.rpartition(":")[2].partition("/")[0]
    command = [SOPBENCH, "serve", "tiny", "--model", tiny_vl, "--port", port]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 2
    assert "choose another --port" in done.stderr
    assert "Traceback" not in done.stderr


def test_help_comes_without_torch(tmp_path: Path) -> None:
    code = "import sys; sys.argv = ['sopbench', 'serve', 'tiny', '--help']\ntry:\n import sopbench.__main__ as m; m.main()\nfinally:\n assert 'torch' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    assert "pip install 'sopbench[tiny]'" in done.stdout
