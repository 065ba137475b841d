"""The endpoint pool: one model behind one or several OpenAI-compatible servers, asked with patience but not without end.

What happens to a request:

1. It waits in our own queue for a slot (`gate`). That time is charged to nothing.
2. It goes to the least busy endpoint (`endpoints`). An attempt may take `attempt_timeout`; attempts and the waits between them together may take
   `deadline`. What arrives later is not used.
3. 408, 409, 425, 5xx, connection faults, half or foreign bodies and timeouts are tried again after an exponential back-off with jitter, `max_attempts`
   times in all; 429 too, honouring Retry-After, at most `MAX_RATE_LIMITED` times (being told to wait is no fault). Other 4xx, context overflow, too
   many images and tools that are not taken are final at once.
"""

from __future__ import annotations

import asyncio
import random
import resource
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

import aiohttp

from sopbench.adapters.base import Image
from sopbench.clients.answers import MAX_RESPONSE, Answer, BadBody, read_answer
from sopbench.clients.base import Ask, AskFailed, Attempt, Policy, PoolStatus, Reply, Sampling
from sopbench.clients.body import RequestBody, request_options
from sopbench.clients.endpoints import Endpoint, choose, next_release
from sopbench.clients.gate import Gate
from sopbench.clients.keys import without_secrets
from sopbench.clients.refusals import Refusal, read_refusal
from sopbench.clients.transport import ResponseTooLarge, Transport, connection_words
from sopbench.clients.urls import normalise_base_urls, proxy_for
from sopbench.errors import DataError, UsageError
from sopbench.screen import Screen

MAX_RATE_LIMITED = 100


@dataclass(frozen=True, slots=True)
class BackOff:
    """Waits between tries: `first` seconds, doubling up to `longest`, each shortened at random by up to half (so that a crowd does not return together)."""

    first: float = 0.5
    longest: float = 30.0

    def seconds(self, failures: int, rng: random.Random) -> float:
        return min(self.longest, self.first * 2.0 ** min(failures - 1, 30)) * rng.uniform(0.5, 1.0)


@dataclass(slots=True)
class _Job:
    """One ask on its way: its body and what it went through. `spent` is the time that its deadline is charged with."""

    body: RequestBody
    images: int
    tools: bool = False
    attempts: list[Attempt] = field(default_factory=list)
    spent: float = 0.0
    queued: float = 0.0
    waited: float = 0.0
    faults: int = 0
    rate_limited: int = 0
    avoid: Endpoint | None = None

    def failed(self, kind: str, detail: str, *, fatal: bool = False) -> AskFailed:
        return AskFailed(kind, detail, tuple(self.attempts), self.queued, fatal=fatal)


class EndpointPool(Policy):
    """`Policy` over endpoints. All times in seconds; `adaptive` lets the number of requests in flight find itself (see `gate`), `concurrency` being its bound.

    One event loop for the whole life of a pool; `close()` it, or use it as `async with`. Raises `UsageError` for options that cannot work.
    """

    name: ClassVar[str] = "endpoint"

    def __init__(
        self,
        base_urls: Sequence[str],
        model: str,
        sampling: Sampling | None = None,
        *,
        api_key: str | None = None,
        concurrency: int = 16,
        adaptive: bool = False,
        attempt_timeout: float = 120.0,
        deadline: float = 600.0,
        max_attempts: int = 8,
        back_off: BackOff | None = None,
    ) -> None:
        if not model:
            raise UsageError("no model named: give --model NAME as the endpoint serves it")
        if concurrency < 1 or max_attempts < 1 or attempt_timeout <= 0 or deadline <= 0:
            raise UsageError("concurrency and max_attempts are at least 1, timeouts positive numbers of seconds")
        _require_files(concurrency)
        self.base_urls = normalise_base_urls(base_urls)
        self.model = model
        self.sampling = sampling or Sampling()
        request_options(self.sampling, None)
        self.attempt_timeout = attempt_timeout
        self.deadline = deadline
        self.max_attempts = max_attempts
        self._api_key = api_key
        self._back_off = back_off or BackOff()
        self._rng = random.Random()  # only spreads retries in time; no result depends on it
        self._gate = Gate(concurrency, adaptive=adaptive)
        self._endpoints = [Endpoint(url, proxy_for(url)) for url in self.base_urls]
        self._transport: Transport | None = None
        self._retries = self._rate_limited = self._faults = 0

    def describe(self) -> dict[str, Any]:
        sampling = asdict(self.sampling) | {"extra_body": dict(self.sampling.extra_body)}
        return {"model": self.model, "sampling": sampling, "policy": {"kind": self.name}}

    def settings(self) -> dict[str, Any]:
        return {"base_urls": list(self.base_urls)}

    def status(self) -> PoolStatus:
        now = _now() if self._transport is not None else 0.0
        return PoolStatus(
            in_flight=self._gate.taken,
            queued=self._gate.waiting,
            limit=self._gate.limit,
            retries=self._retries,
            rate_limited=self._rate_limited,
            faults=self._faults,
            resting=sum(e.unavailable(now) for e in self._endpoints) if self._transport is not None else 0,
        )

    async def close(self) -> None:
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.close()

    async def __aenter__(self) -> EndpointPool:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def ask(self, ask: Ask) -> Reply:
        screens = [part.screen for message in ask.messages for part in message.parts if isinstance(part, Image)]
        try:
            if any(screen.must_be_made for screen in screens):
                await asyncio.to_thread(_make, screens)
            body = RequestBody(ask.messages, self.model, request_options(self.sampling, ask.seed, ask.fields))
        except DataError as error:
            raise AskFailed("screen", str(error)) from error
        job = _Job(body, images=len(screens), tools="tools" in ask.fields)
        while True:
            endpoint, epoch = await self._slot(job)
            try:
                outcome = await self._attempt(job, endpoint, epoch)
            finally:
                endpoint.outstanding -= 1
                self._gate.release()
            if isinstance(outcome, Answer):
                return self._reply(job, endpoint, outcome)
            await self._pause(job, endpoint, outcome)

    # -- before an attempt -----------------------------------------------------------------------------------------

    async def _slot(self, job: _Job) -> tuple[Endpoint, int]:
        """Wait for a slot and an endpoint that may be asked. Whoever calls gives both back."""
        while True:
            asked = _now()
            epoch = await self._gate.acquire(retry=bool(job.attempts))
            job.queued += _now() - asked
            endpoint = choose(self._endpoints, _now(), job.avoid)
            if endpoint is not None:
                endpoint.outstanding += 1
                endpoint.served += 1
                return endpoint, epoch
            self._gate.release()
            await self._wait_for_release(job)

    async def _wait_for_release(self, job: _Job) -> None:
        """All endpoints asked for a pause: keep it. A request that was never tried is still in the queue, so its deadline is not charged."""
        seconds = max(0.0, next_release(self._endpoints) - _now())
        if not job.attempts:
            await asyncio.sleep(seconds)
            job.queued += seconds
            return
        if job.spent + seconds >= self.deadline:
            raise job.failed("rate_limited", f"every endpoint asks to wait, past the deadline of {self.deadline:g} s")
        await asyncio.sleep(seconds)
        job.spent += seconds
        job.waited += seconds

    # -- an attempt ------------------------------------------------------------------------------------------------

    async def _attempt(self, job: _Job, endpoint: Endpoint, epoch: int) -> Answer | Refusal:
        """Ask once. Everything that can go wrong on the way comes back as a `Refusal`, and is counted."""
        started = _now()
        allowed = min(self.attempt_timeout, self.deadline - job.spent)
        self._retries += bool(job.attempts)
        outcome = await self._exchange(job, endpoint, allowed)
        now = _now()
        if isinstance(outcome, Answer) and now - started > allowed:
            outcome = self._too_slow(allowed)  # it came while our own loop was busy: late all the same
        job.spent += now - started
        if isinstance(outcome, Answer):
            job.attempts.append(Attempt(endpoint.url, now - started, waited=job.waited))
            endpoint.answered()
            self._gate.succeeded()
        else:
            detail = without_secrets(outcome.detail, self._api_key)
            job.attempts.append(Attempt(endpoint.url, now - started, outcome.error, detail, job.waited))
            self._note_failure(outcome, endpoint, started, now, epoch)
        job.waited = 0.0
        return outcome

    async def _exchange(self, job: _Job, endpoint: Endpoint, allowed: float) -> Answer | Refusal:
        if self._transport is None:
            self._transport = Transport(self._api_key)
        try:
            async with asyncio.timeout(allowed):
                response = await self._transport.post(f"{endpoint.url}/chat/completions", job.body, endpoint.proxy)
        except DataError as error:
            return Refusal("screen", "screen", str(error), retry=False)
        except ResponseTooLarge:
            return Refusal("bad_body", "bad_body", f"the response is larger than {MAX_RESPONSE} bytes", retry=False)
        except aiohttp.ClientPayloadError as error:
            return Refusal("bad_body", "bad_body", f"the response broke off: {connection_words(error)}", retry=True)
        except aiohttp.ClientConnectorCertificateError as error:
            return Refusal(
                "connection", "connection", f"{endpoint.url}: {connection_words(error)}", retry=False, fatal=True
            )
        except aiohttp.ClientError as error:
            return Refusal("connection", "connection", f"{endpoint.url}: {connection_words(error)}", retry=True)
        except TimeoutError:
            return self._too_slow(allowed)
        except OSError as error:
            return Refusal("connection", "connection", f"{endpoint.url}: {connection_words(error)}", retry=True)
        if not 200 <= response.status < 300:
            return read_refusal(
                response.status,
                response.body,
                retry_after=response.retry_after,
                model=self.model,
                images=job.images,
                tools=job.tools,
            )
        try:
            return read_answer(response.content_type, response.body)
        except BadBody as error:
            return Refusal("bad_body", "bad_body", str(error), retry=True)

    def _too_slow(self, allowed: float) -> Refusal:
        if allowed < self.attempt_timeout:
            return Refusal("deadline", "deadline", f"no answer within the deadline of {self.deadline:g} s", retry=False)
        return Refusal("timeout", "timeout", f"no answer within {self.attempt_timeout:g} s", retry=True)

    def _note_failure(self, refusal: Refusal, endpoint: Endpoint, started: float, now: float, epoch: int) -> None:
        if refusal.kind == "rate_limited":
            self._rate_limited += 1
        else:
            self._faults += 1
        if refusal.kind in ("rate_limited", "timeout", "deadline"):
            self._gate.overloaded(epoch)
        if refusal.kind in ("server", "connection", "timeout", "deadline", "bad_body"):
            endpoint.failed(started, now)
        elif refusal.kind != "screen":
            endpoint.answered()  # it works, and did not like this request
        if refusal.retry_after is not None:
            endpoint.hold(now + refusal.retry_after)

    # -- after an attempt ------------------------------------------------------------------------------------------

    def _reply(self, job: _Job, endpoint: Endpoint, answer: Answer) -> Reply:
        return Reply(
            text=answer.text,
            model=answer.model or self.model,
            endpoint=endpoint.url,
            finish_reason=answer.finish_reason,
            prompt_tokens=answer.prompt_tokens,
            completion_tokens=answer.completion_tokens,
            latency=job.attempts[-1].seconds,
            queued=job.queued,
            attempts=tuple(job.attempts),
            notes=answer.notes,
        )

    async def _pause(self, job: _Job, endpoint: Endpoint, refusal: Refusal) -> None:
        """Wait before the next try, or raise the `AskFailed` that ends it."""
        detail = without_secrets(refusal.detail, self._api_key)
        if not refusal.retry:
            raise job.failed(refusal.kind, detail, fatal=refusal.fatal)
        job.avoid = endpoint
        if refusal.kind == "rate_limited":
            job.rate_limited += 1
        else:
            job.faults += 1
        if job.faults >= self.max_attempts or job.rate_limited >= MAX_RATE_LIMITED:
            raise job.failed(refusal.kind, f"{detail} (after {len(job.attempts)} tries)")
        seconds = self._wait_after(job, refusal)
        if job.spent + seconds >= self.deadline:
            kind = "rate_limited" if refusal.kind == "rate_limited" else "deadline"
            tries = len(job.attempts)
            raise job.failed(
                kind, f"{detail} (after {tries} tries; the next would pass the deadline of {self.deadline:g} s)"
            )
        await asyncio.sleep(seconds)
        job.spent += seconds
        job.waited += seconds

    def _wait_after(self, job: _Job, refusal: Refusal) -> float:
        """The server's own word where it gave one and no other endpoint may be asked meanwhile, with up to a tenth more; else the back-off."""
        usual = self._back_off.seconds(job.faults + job.rate_limited, self._rng)
        if refusal.retry_after is None:
            return usual
        now = _now()
        if any(not e.unavailable(now) for e in self._endpoints):
            return min(usual, self._back_off.first)
        return max(
            refusal.retry_after * self._rng.uniform(1.0, 1.1), self._back_off.first * self._rng.uniform(0.5, 1.0)
        )


def _make(screens: Sequence[Screen]) -> None:
    """Compute the bytes of scaled screens, away from the loop that serves all requests."""
    for screen in screens:
        _ = screen.nbytes


def _now() -> float:
    return asyncio.get_running_loop().time()


def _require_files(concurrency: int) -> None:
    """Every request in flight has a socket open and, while it is sent, a screen."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = 2 * concurrency + 64
    if soft != resource.RLIM_INFINITY and needed > soft:
        raise UsageError(
            f"concurrency {concurrency} needs {needed} open files, the limit is {soft}: raise it with `ulimit -n {needed}`"
        )
