"""A model in this process as the player of training rollouts, and of evaluations.

Requests that many rollouts make at the same time are answered as one batch, in a thread of its own, so that the event loop lives. Which requests make a batch
depends on the rollouts alone and not on the clock, and every reply's chance depends on (seed, goal, rollout, step) alone: the same weights, rollouts and
seeds give the same tokens.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

from sopbench.clients.base import Ask, AskFailed, Policy, PoolStatus, Reply
from sopbench.errors import UsageError
from uis1_train.embedded.decoding import Decoded, Decoder, Draw
from uis1_train.embedded.featurize import Prompt
from uis1_train.policies.base import Generated, RolloutId, TokenPolicy, screens_of

QUIET_TURNS = 12
"""Turns of the event loop without a new request after which a batch is complete: more than the harness ever takes between a reply and its next request."""


@dataclass(slots=True)
class LocalCounts:
    """What was answered so far. `seconds`: of the generating thread."""

    replies: int = 0
    tokens: int = 0
    batches: int = 0
    cut: int = 0
    seconds: float = 0.0


@dataclass(slots=True, eq=False)
class _Waiting:
    ask: Ask
    draw: Draw
    future: asyncio.Future[Decoded | AskFailed]


@dataclass(slots=True, eq=False)
class _Desk:
    """Where the requests of one event loop wait. `busy`: a batch is being collected or answered."""

    loop: asyncio.AbstractEventLoop
    waiting: list[_Waiting] = field(default_factory=list)
    busy: bool = False


class LocalPolicy(TokenPolicy):
    """`decoder` answers. `temperature` 0 is greedy; above it replies are drawn from the model's own distribution at that temperature, whole (no top-p, no top-k).

    At most `max_batch` requests are answered at once. `seed` and `salt` start all chance: give every training step another `salt`, or a goal that comes
    again is answered with the same luck. The reply's `extra` has the `prompt` as it was fed, for the learner, and the `entropy` of the reply's tokens.
    """

    def __init__(
        self,
        decoder: Decoder,
        *,
        temperature: float = 1.0,
        max_tokens: int = 512,
        max_batch: int = 64,
        seed: int = 0,
        name: str | None = None,
    ) -> None:
        if temperature < 0 or max_tokens < 1 or max_batch < 1:
            raise UsageError("temperature must be at least 0, max_tokens and max_batch at least 1")
        self.decoder = decoder
        self.temperature, self.max_tokens, self.max_batch, self.seed = temperature, max_tokens, max_batch, seed
        self.name = name or decoder.model.folder.name
        self.salt = 0
        self.counts = LocalCounts()
        self._thread = ThreadPoolExecutor(1, "generation")
        self._desk: _Desk | None = None

    def greedy(self) -> LocalPolicy:
        """The same weights, answering without chance."""
        return LocalPolicy(
            self.decoder,
            temperature=0.0,
            max_tokens=self.max_tokens,
            max_batch=self.max_batch,
            seed=self.seed,
            name=self.name,
        )

    async def generate(self, ask: Ask, *, rollout: RolloutId) -> Generated:
        key = (self.seed, self.salt, ask.seed, *ask.key, rollout.goal, rollout.rollout)
        decoded = await self.answer(ask, Draw(self.temperature, self.max_tokens, key))
        return Generated(
            text=decoded.text,
            prompt_ids=decoded.prompt.ids,
            response_ids=decoded.ids,
            log_probs=decoded.log_probs,
            images=screens_of(ask) if self.decoder.model.sees else (),
            model=self.name,
            finish_reason=decoded.finish_reason,
            extra={"prompt": decoded.prompt, "entropy": decoded.entropy},
            latency=decoded.seconds,
        )

    async def answer(self, ask: Ask, draw: Draw) -> Decoded:
        """The reply to `ask`, drawn as `draw` says. Raises `AskFailed`."""
        desk = self._here()
        waiting = _Waiting(ask, draw, desk.loop.create_future())
        desk.waiting.append(waiting)
        if not desk.busy:
            desk.busy = True
            self._settle(desk, 0, 0)
        found = await waiting.future
        if isinstance(found, AskFailed):
            raise found
        return found

    async def close(self) -> None:
        self.shut()

    def shut(self) -> None:
        """`close` for callers without an event loop."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _here(self) -> _Desk:
        """The desk of this event loop; one policy may be used in one loop after another."""
        loop = asyncio.get_running_loop()
        if self._desk is None or self._desk.loop is not loop:
            self._desk = _Desk(loop)
        return self._desk

    def _settle(self, desk: _Desk, seen: int, quiet: int) -> None:
        """Answer what waits once nothing new has come for some turns of the loop: rollouts that were answered together ask again together."""
        quiet = quiet + 1 if len(desk.waiting) == seen else 0
        if quiet < QUIET_TURNS and len(desk.waiting) < self.max_batch:
            desk.loop.call_soon(self._settle, desk, len(desk.waiting), quiet)
            return
        desk.waiting = [
            waiting for waiting in desk.waiting if not waiting.future.done()
        ]  # done: its rollout was cancelled
        batch, desk.waiting = desk.waiting[: self.max_batch], desk.waiting[self.max_batch :]
        if not batch:
            desk.busy = False
            return
        work = desk.loop.run_in_executor(self._thread, self._batch, [w.ask for w in batch], [w.draw for w in batch])
        work.add_done_callback(lambda done: self._answered(desk, batch, done))

    def _answered(
        self, desk: _Desk, batch: Sequence[_Waiting], done: asyncio.Future[list[Decoded | AskFailed]]
    ) -> None:
        error = None if done.cancelled() else done.exception()
        for index, waiting in enumerate(batch):
            if waiting.future.done():
                continue
            if done.cancelled():
                waiting.future.cancel()
            elif error is not None:
                waiting.future.set_exception(error)
            else:
                waiting.future.set_result(done.result()[index])
        self._settle(desk, len(desk.waiting), 0)

    def _batch(self, asks: Sequence[Ask], draws: Sequence[Draw]) -> list[Decoded | AskFailed]:
        """In the generating thread: a prompt that cannot be fed fails alone."""
        began = time.perf_counter()
        prompts: list[Prompt | AskFailed] = []
        for ask in asks:
            try:
                prompts.append(self.decoder.featurizer.prompt(ask.messages))
            except AskFailed as error:
                prompts.append(error)
        fed = [(p, d) for p, d in zip(prompts, draws, strict=True) if isinstance(p, Prompt)]
        decoded = iter(self.decoder.decode([p for p, _ in fed], [d for _, d in fed]))
        out: list[Decoded | AskFailed] = []
        seconds = time.perf_counter() - began
        for prompt in prompts:
            if isinstance(prompt, AskFailed):
                out.append(prompt)
                continue
            reply = replace(next(decoded), seconds=seconds)
            self.counts.replies += 1
            self.counts.tokens += len(reply.ids)
            self.counts.cut += reply.finish_reason == "length"
            out.append(reply)
        self.counts.batches += 1
        self.counts.seconds += seconds
        return out


class InProcess(Policy):
    """A `LocalPolicy` as sopbench's engine asks it: `await sopbench.arun(config, policy=InProcess(policy))`. Recorded as an evaluation of `policy.name`.

    Its sampling is the policy's own; use `policy.greedy()` for the numbers that are compared.
    """

    name = "local"

    def __init__(self, policy: LocalPolicy) -> None:
        self.policy = policy

    async def ask(self, ask: Ask) -> Reply:
        generated = await self.policy.generate(ask, rollout=RolloutId(ask.key[0], ask.key[1]))
        return generated.as_reply()

    def describe(self) -> dict[str, Any]:
        policy = self.policy
        sampling = {"temperature": policy.temperature, "max_tokens": policy.max_tokens}
        return {"model": policy.name, "sampling": sampling, "policy": {"kind": "local", "seed": policy.seed}}

    def status(self) -> PoolStatus:
        return PoolStatus(limit=self.policy.max_batch)
