"""A judge behind an OpenAI-compatible endpoint, asked from any thread with the patience of `clients.pool`."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Mapping
from concurrent.futures import CancelledError
from dataclasses import dataclass
from io import BytesIO
from types import TracebackType
from typing import Any, Final, Self

from sopbench.adapters import get_adapter
from sopbench.clients.base import MAX_MODEL_NAME, Ask, AskFailed, Sampling, is_model_name
from sopbench.clients.keys import KEY_VARIABLES, api_key_from_environment
from sopbench.clients.pool import EndpointPool
from sopbench.errors import DataError, SopbenchError, UsageError
from sopbench.judging.verdict import WhyNot, read_verdict
from sopbench.judging.words import LONGEST, SCREENS, VERSION, Case, messages_for, words_sha256
from sopbench.runs.recording import storable
from sopbench.screen import Screen

KEY_VARIABLE: Final = "SOPBENCH_JUDGE_API_KEY"
MAX_TOKENS: Final = 1024
SAMPLING: Final = Sampling(temperature=0.0, max_tokens=MAX_TOKENS)
ATTEMPT: Final = 120.0
DEADLINE: Final = 300.0
"""Seconds that a verdict may take, with all attempts at it."""
ATTEMPTS: Final = 6


class JudgeFailed(SopbenchError):
    """No reply was to be had from the judge. `fatal`: nor will there be for any other case (an unknown model, a wrong key)."""

    def __init__(self, detail: str, *, fatal: bool = False) -> None:
        super().__init__(detail)
        self.fatal = fatal


@dataclass(frozen=True, slots=True)
class Judgement:
    """A judge's reply and what it says. `success` None: no verdict, for the reason `why`."""

    success: bool | None
    why: WhyNot | None
    reply: str
    model: str
    seconds: float
    attempts: int


class Judge:
    """`judge` blocks, and may be called from several threads. Close it, or use it as a context manager: it has a thread of its own.

    Raises `UsageError` for a name or an address that cannot be one. Nothing is sent before the first case.
    """

    def __init__(
        self,
        model: str,
        base_url: str,
        *,
        api_key: str | None = None,
        concurrency: int = 16,
        attempt_timeout: float = ATTEMPT,
        deadline: float = DEADLINE,
        max_attempts: int | None = None,
    ) -> None:
        self.model = checked_name(model)
        self._pool = EndpointPool(
            [base_url],
            self.model,
            SAMPLING,
            api_key=api_key,
            concurrency=concurrency,
            attempt_timeout=attempt_timeout,
            deadline=deadline,
            max_attempts=ATTEMPTS if max_attempts is None else max_attempts,
        )
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    def judge(self, case: Case, name: str = "case") -> Judgement:
        """Raises `JudgeFailed` where the judge does not answer, `DataError` where a screen cannot be sent."""
        messages = messages_for(case)
        ask = Ask(
            (name, 0, 0), messages, case.screens[-1].size, get_adapter("uis1")
        )  # the pool reads its messages only
        loop = self._running()
        try:
            reply = storable(asyncio.run_coroutine_threadsafe(self._pool.ask(ask), loop).result())
        except CancelledError as error:
            raise JudgeFailed("the judge was closed") from error
        except AskFailed as error:
            if error.kind == "screen":
                raise DataError(error.detail) from error
            raise JudgeFailed(f"the judge {self.model} gives no answer ({error})", fatal=error.fatal) from error
        verdict = read_verdict(reply.text, cut_off=reply.finish_reason == "length")
        return Judgement(
            verdict.success, verdict.why, reply.text, reply.model, round(reply.latency, 3), len(reply.attempts)
        )

    def probe(self) -> None:
        """Ask about a blank picture, so that a judge that cannot be asked is known before anything is played. Raises `JudgeFailed`."""
        from PIL import Image

        blank = BytesIO()
        Image.new("RGB", (64, 128), (128, 128, 128)).save(blank, "PNG")
        self.judge(Case("Open the clock", (Screen.from_bytes(blank.getvalue(), "blank"),)), "probe")

    def close(self) -> None:
        """End the connections and the thread; cases under way fail."""
        with self._lock:
            self._closed = True
            loop, self._loop = self._loop, None
            thread, self._thread = self._thread, None
        if loop is None or thread is None:
            return
        asyncio.run_coroutine_threadsafe(self._end(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def _end(self) -> None:
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self._pool.close()

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._closed:
                raise JudgeFailed("the judge was closed")
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._loop.run_forever, name="sopbench-judge", daemon=True)
                self._thread.start()
            return self._loop


def checked_name(model: str) -> str:
    """`model` as a judge's name, which stands in the names of suites and files. Raises `UsageError`."""
    if not is_model_name(model.strip()):
        raise UsageError(f"--judge-model is a name of 1 to {MAX_MODEL_NAME} characters that can be printed")
    return model.strip()


def judge_facts(model: str) -> dict[str, Any]:
    """What of a judge changes the meaning of its verdicts."""
    return {
        "model": model,
        "words": VERSION,
        "prompt_sha256": words_sha256(),
        "screens": SCREENS,
        "longest_side": LONGEST,
        "temperature": SAMPLING.temperature,
        "max_tokens": SAMPLING.max_tokens,
    }


def judge_key(environment: Mapping[str, str] | None = None) -> str | None:
    """The API key for the judge: SOPBENCH_JUDGE_API_KEY, else the one that models are asked with."""
    environment = os.environ if environment is None else environment
    return api_key_from_environment(environment, (KEY_VARIABLE, *KEY_VARIABLES))
