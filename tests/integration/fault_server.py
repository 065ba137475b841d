"""A real HTTP server on loopback that misbehaves to order.

`FaultServer(script)` runs in a thread of its own on a free port. The script is a list of behaviours; each request to `/v1/chat/completions` takes the
next one, the last repeats for ever. A behaviour is made by one of the functions below (`answer`, `status`, `reset`, `silence`, ...), and everything that the
server got stands in `requests`. `GET /v1/models` answers with `models` (or with `models_behaviour`).

    with FaultServer([status(503), status(503), answer("<action>...")]) as server:
        ... EndpointPool([server.base_url], "tiny") ...
        assert server.count == 3
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

KEPT_BYTES = 1 << 20

Behaviour = Callable[[web.Request, "Got"], Awaitable[web.StreamResponse]]
Reply = str | Callable[[dict[str, Any]], str]

# What real servers say, for `refuse(...)`. (status, body)
VLLM_NEW_OVERFLOW = (
    400,
    {
        "error": {
            "message": "This model's maximum context length is 2048 tokens. However, your prompt contains at least 2049 input tokens, which exceeds this limit even without any output tokens. Please reduce the length of the input prompt. (parameter=input_tokens, value=2049)",
            "type": "BadRequestError",
            "param": "input_tokens",
            "code": 400,
        }
    },
)
VLLM_OLD_OVERFLOW = (
    400,
    {
        "object": "error",
        "message": "This model's maximum context length is 6048 tokens. However, you requested 6616 tokens (568 in the messages, 6048 in the completion). Please reduce the length of the messages or completion.",
        "type": "BadRequestError",
        "param": None,
        "code": 400,
    },
)
VLLM_DECODER_OVERFLOW = (
    400,
    {
        "object": "error",
        "message": "The decoder prompt (length 8357) is longer than the maximum model length of 8192. Make sure that `max_model_len` is no smaller than the number of text tokens plus multimodal tokens.",
        "type": "BadRequestError",
        "param": None,
        "code": 400,
    },
)
SGLANG_OVERFLOW = (
    400,
    {
        "object": "error",
        "message": "The input (61709 tokens) is longer than the model's context length (40960 tokens).",
        "type": "BadRequestError",
        "param": None,
        "code": 400,
    },
)
OPENAI_OVERFLOW = (
    400,
    {
        "error": {
            "message": "This model's maximum context length is 128000 tokens. However, your messages resulted in 150000 tokens. Please reduce the length of the messages.",
            "type": "invalid_request_error",
            "param": "messages",
            "code": "context_length_exceeded",
        }
    },
)
LLAMA_CPP_OVERFLOW = (
    400,
    {
        "error": {
            "code": 400,
            "message": "request (13392 tokens) exceeds the available context size (8192 tokens), try increasing it",
            "type": "exceed_context_size_error",
            "n_prompt_tokens": 13392,
            "n_ctx": 8192,
        }
    },
)
VLLM_TOO_MANY_IMAGES = (
    400,
    {
        "error": {
            "message": "At most 1 image(s) may be provided in one prompt. (parameter=image)",
            "type": "BadRequestError",
            "param": "image",
            "code": 400,
        }
    },
)
VLLM_NO_SUCH_MODEL = (
    404,
    {
        "error": {
            "message": "The model `nope` does not exist.",
            "type": "NotFoundError",
            "param": "model",
            "code": 404,
        }
    },
)


@dataclass(slots=True)
class Got:
    """One request as it arrived. `body` is parsed JSON, with every data URL cut to its first 40 characters; `raw` the first bytes as they came."""

    headers: Mapping[str, str]
    body: dict[str, Any]
    raw: bytes
    at: float = field(default_factory=time.monotonic)


def completion(text: object, **more: Any) -> dict[str, Any]:
    """A chat completion that says `text`; `message=`, `finish_reason=`, `usage=` and others replace its fields."""
    message = more.pop("message", {"role": "assistant", "content": text})
    choice = {"index": 0, "message": message, "finish_reason": more.pop("finish_reason", "stop")}
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    return {"id": "x", "object": "chat.completion", "model": "tiny", "choices": [choice], "usage": usage} | more


def answer(reply: Reply = "hello", *, delay: float = 0.0, **more: Any) -> Behaviour:
    """A good answer after `delay` seconds; `reply` may be a function of the request's JSON."""

    async def behave(request: web.Request, got: Got) -> web.StreamResponse:
        await asyncio.sleep(delay)
        return web.json_response(completion(reply(got.body) if callable(reply) else reply, **more))

    return behave


def raw(body: str | bytes, *, content_type: str = "application/json", code: int = 200) -> Behaviour:
    """Exactly this body."""

    async def behave(request: web.Request, got: Got) -> web.StreamResponse:
        data = body if isinstance(body, bytes) else body.encode()
        return web.Response(body=data, status=code, headers={"Content-Type": content_type} if content_type else {})

    return behave


def status(code: int, message: str = "out of order", headers: Mapping[str, str] | None = None) -> Behaviour:
    """An error of `code` in the OpenAI form."""

    async def behave(request: web.Request, got: Got) -> web.StreamResponse:
        return web.json_response({"error": {"message": message}}, status=code, headers=headers)

    return behave


def refuse(case: tuple[int, dict[str, Any]]) -> Behaviour:
    """One of the refusals above, as the real server words it."""
    return raw(json.dumps(case[1]), code=case[0])


def reset() -> Behaviour:
    """Close the connection with a TCP reset, without a word."""

    async def behave(request: web.Request, got: Got) -> web.StreamResponse:
        _reset(request)
        return web.Response()

    return behave


def silence(seconds: float = 60.0) -> Behaviour:
    """Accept, read, and never answer (as far as a test can wait)."""

    async def behave(request: web.Request, got: Got) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return web.Response()

    return behave


def half_body() -> Behaviour:
    """Announce a whole body, send half of it, close."""

    async def behave(request: web.Request, got: Got) -> web.StreamResponse:
        data = json.dumps(completion("hello")).encode()
        response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": str(len(data))})
        await response.prepare(request)
        await response.write(data[: len(data) // 2])
        assert request.transport is not None
        request.transport.close()
        return response

    return behave


def huge(nbytes: int) -> Behaviour:
    """A body of `nbytes` blanks before the JSON, sent without a length."""

    async def behave(request: web.Request, got: Got) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for _ in range(0, nbytes, 1 << 20):
            await response.write(b" " * (1 << 20))
        await response.write(json.dumps(completion("hello")).encode())
        return response

    return behave


def trickle(seconds: float, pieces: int = 20) -> Behaviour:
    """A good body, a few bytes at a time, over `seconds`."""

    async def behave(request: web.Request, got: Got) -> web.StreamResponse:
        data = json.dumps(completion("hello")).encode()
        response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": str(len(data))})
        await response.prepare(request)
        size = -(-len(data) // pieces)
        for start in range(0, len(data), size):
            await response.write(data[start : start + size])
            await asyncio.sleep(seconds / pieces)
        return response

    return behave


class FaultServer:
    """See the module. `requests` holds what came to `/v1/chat/completions`, `most_at_once` how many were open together."""

    def __init__(
        self,
        script: Sequence[Behaviour] = (),
        *,
        models: Sequence[Mapping[str, Any]] = ({"id": "tiny", "object": "model", "max_model_len": 2048},),
        models_behaviour: Behaviour | None = None,
    ) -> None:
        self.script = list(script) or [answer()]
        self.models = [dict(m) for m in models]
        self.models_behaviour = models_behaviour
        self.requests: list[Got] = []
        self.most_at_once = 0
        self._open = 0
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port: int = self._socket.getsockname()[1]
        self._started = threading.Event()
        self._end: Callable[[], object] = lambda: None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def count(self) -> int:
        return len(self.requests)

    async def has_got(self, count: int) -> None:
        """Wait, in the test's event loop, until `count` requests have arrived."""
        async with asyncio.timeout(10):
            while self.count < count:  # the server lives in another thread's loop
                await asyncio.sleep(0.005)

    def __enter__(self) -> FaultServer:
        self._thread.start()
        assert self._started.wait(10), "the fault server did not start"
        return self

    def __exit__(self, *error: object) -> None:
        self._end()
        self._thread.join(10)

    async def _serve(self) -> None:
        app = web.Application(client_max_size=1 << 30)
        app.router.add_post("/v1/chat/completions", self._chat)
        app.router.add_get("/v1/models", self._models)
        runner = web.AppRunner(app, shutdown_timeout=0.02, access_log=None)
        await runner.setup()
        await web.SockSite(runner, self._socket).start()
        loop, stop = asyncio.get_running_loop(), asyncio.Event()
        self._end = lambda: loop.call_soon_threadsafe(stop.set)
        self._started.set()
        await stop.wait()
        await runner.cleanup()

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        self._open += 1
        self.most_at_once = max(self.most_at_once, self._open)
        try:
            data = await request.read()
            got = Got(dict(request.headers), _cut(json.loads(data)), data[:KEPT_BYTES])
            index = len(self.requests)
            self.requests.append(got)
            return await self.script[min(index, len(self.script) - 1)](request, got)
        finally:
            self._open -= 1

    async def _models(self, request: web.Request) -> web.StreamResponse:
        if self.models_behaviour is not None:
            return await self.models_behaviour(request, Got(dict(request.headers), {}, b""))
        return web.json_response({"object": "list", "data": self.models})


def closed_port() -> int:
    """A port of loopback on which nothing listens (it was free a moment ago)."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


def _reset(request: web.Request) -> None:
    transport = request.transport
    assert transport is not None
    raw_socket = transport.get_extra_info("socket")
    raw_socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


def _cut(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _cut(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_cut(v) for v in value]
    if isinstance(value, str) and value.startswith("data:"):
        return value[:40]
    return value


ServerMaker = Callable[..., FaultServer]
"""The fixture `fault_server` of `conftest.py`."""
