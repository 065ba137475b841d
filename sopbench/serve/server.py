"""The server: `/v1/models`, `/v1/chat/completions`, `/health`. Requests that are in flight together are answered as one batch."""

from __future__ import annotations

import asyncio
import secrets
import signal
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web

from sopbench.adapters import get_adapter
from sopbench.clients.base import Ask, AskFailed
from sopbench.errors import UsageError
from sopbench.geometry import Size
from sopbench.serve.answering import Answer, Completion, cut_at_stop
from sopbench.serve.reading import ChatRequest, Limits, read_chat, too_long
from sopbench.serve.refusing import Refused

if TYPE_CHECKING:
    from uis1_train.policies.local import LocalPolicy

MAX_BODY: Final = 64 * 1024 * 1024
MAX_WAITING: Final = 512
"""Requests in flight; more are told to come back in a second (503)."""
PATIENCE_AT_THE_END: Final = 20.0
"""Seconds that requests in flight have to be answered when the server is told to stop."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass(slots=True)
class Counts:
    answered: int = 0
    refused: int = 0
    waiting: int = 0


class ModelServer:
    """`policy` behind HTTP, under the name in `limits`."""

    def __init__(
        self, policy: LocalPolicy, limits: Limits, *, max_body: int = MAX_BODY, max_waiting: int = MAX_WAITING
    ) -> None:
        self.policy, self.limits, self.max_waiting = policy, limits, max_waiting
        self.counts = Counts()
        self.started = int(time.time())
        self.app = web.Application(client_max_size=max_body, middlewares=[self._in_openai_form])
        self.app.router.add_get("/health", self._health)
        self.app.router.add_get("/v1/models", self._models)
        self.app.router.add_post("/v1/chat/completions", self._chat)

    async def _health(self, request: web.Request) -> web.Response:
        counts = self.counts
        told = {"status": "ok", "model": self.limits.model, "waiting": counts.waiting}
        return web.json_response(told | {"answered": counts.answered, "refused": counts.refused})

    async def _models(self, request: web.Request) -> web.Response:
        card = {"id": self.limits.model, "object": "model", "created": self.started, "owned_by": "sopbench"}
        return web.json_response({"object": "list", "data": [card | {"max_model_len": self.limits.context}]})

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        if self.counts.waiting >= self.max_waiting:
            raise Refused(503, f"{self.counts.waiting} requests are waiting: come back in a second")
        self.counts.waiting += 1
        try:
            body = await request.read()
            # pictures are decoded from base64 and their headers read: some milliseconds each, in a thread
            asked = await asyncio.to_thread(read_chat, body, self.limits)
            answer = await self._answer(asked)
        finally:
            self.counts.waiting -= 1
        self.counts.answered += 1
        return await _streamed(request, answer) if asked.stream else web.json_response(answer.as_object())

    async def _answer(self, asked: ChatRequest) -> Answer:
        from uis1_train.embedded.decoding import Draw

        key = (asked.seed,) if asked.seed is not None else (secrets.token_hex(16),)
        # of an Ask the decoder reads the messages alone
        ask = Ask(("http", 0, 0), asked.messages, Size(1, 1), get_adapter("tiny"))
        try:
            decoded = await self.policy.answer(ask, Draw(asked.temperature, asked.max_tokens, key))
        except AskFailed as failed:
            raise self._refusal(failed) from failed
        except UsageError as error:  # a conversation that the chat template cannot hold
            raise Refused(400, str(error), "messages") from error
        featurizer = self.policy.decoder.featurizer
        done = Completion(decoded.text, decoded.finish_reason, len(decoded.prompt.ids), decoded.ids, decoded.log_probs)
        done = cut_at_stop(done, asked.stop, featurizer.decode)
        return Answer(self.limits.model, asked, done, lambda token: str(featurizer.model.tokenizer.decode([token])))

    def _refusal(self, failed: AskFailed) -> Refused:
        match failed.kind:
            case "context_overflow":
                return too_long(self.limits, failed.detail)
            case "screen":
                return Refused(400, f"Failed to load image: {failed.detail}", "messages")
            case "too_many_images":
                return Refused(400, f"At most {self.limits.images} image(s) may be provided in one prompt.", "image")
        return Refused(400, failed.detail, "messages")

    @web.middleware
    async def _in_openai_form(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Every refusal is an object with the key `error`; a fault of our own is a 500 that tells nothing of the inside."""
        try:
            return await handler(request)
        except Refused as refused:
            self.counts.refused += 1
            return refused.response()
        except web.HTTPRequestEntityTooLarge as error:
            self.counts.refused += 1
            return Refused(413, f"The body is too large: {error.text}").response()
        except web.HTTPException as error:
            self.counts.refused += 1
            return Refused(error.status, f"{error.reason}: {request.method} {request.path[:200]}").response()


async def _streamed(request: web.Request, answer: Answer) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
    with suppress(ConnectionResetError):  # whoever asked is gone
        await response.prepare(request)
        for event in answer.events():
            await response.write(event)
        await response.write_eof()
    return response


async def serve(
    server: ModelServer, host: str, port: int, *, ready: Callable[[str], None], stop: asyncio.Event | None = None
) -> None:
    """Serve until SIGINT or SIGTERM (or `stop`); then take no more, answer what is in flight, and return. `ready` is told the base URL.

    Raises `UsageError` where the address cannot be had.
    """
    stopping = stop or asyncio.Event()
    runner = web.AppRunner(
        server.app,
        handle_signals=False,
        access_log=None,
        shutdown_timeout=PATIENCE_AT_THE_END,
        handler_cancellation=True,  # whoever has gone is not answered: a client that tries again would otherwise pile up work
    )
    await runner.setup()
    try:
        site = web.TCPSite(runner, host, port, backlog=MAX_WAITING)
        try:
            await site.start()
        except OSError as error:
            raise UsageError(
                f"cannot serve at {host}:{port} ({error.strerror or error}): choose another --port, or --port 0 for a free one"
            ) from error
        loop = asyncio.get_running_loop()
        signals: tuple[Any, ...] = (signal.SIGINT, signal.SIGTERM) if stop is None else ()
        for number in signals:
            loop.add_signal_handler(number, stopping.set)
        try:
            ready(_base_url(host, runner))
            await stopping.wait()
        finally:
            for number in signals:
                loop.remove_signal_handler(number)
    finally:
        await runner.cleanup()
        await server.policy.close()


def _base_url(host: str, runner: web.AppRunner) -> str:
    port = runner.addresses[0][1]
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}/v1"
