"""What the engine asks of a model, whoever answers: an endpoint pool or a built-in policy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from sopbench.actions import Action
from sopbench.adapters.base import Adapter, Message
from sopbench.errors import SopbenchError
from sopbench.geometry import Size

MAX_MODEL_NAME = 300


def is_model_name(name: str) -> bool:
    """Whether a model's name can stand in a request, a record and a terminal. Endpoints choose it, and so may anybody."""
    return 0 < len(name) <= MAX_MODEL_NAME and name.isprintable()


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling options. None leaves the choice to the server (and to the model's own generation config)."""

    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    max_tokens: int | None = None
    seed: int | None = None
    extra_body: Mapping[str, Any] = field(default_factory=dict)

    def as_body(self, seed: int | None) -> dict[str, Any]:
        """The fields of the request body; `top_k` is an extension that vLLM and SGLang understand."""
        named = {
            "temperature": self.temperature,
            "top_p": self.top_p,
            "top_k": self.top_k,
            "max_tokens": self.max_tokens,
            "seed": seed,
        }
        return {key: value for key, value in named.items() if value is not None} | dict(self.extra_body)


@dataclass(frozen=True, slots=True)
class Ask:
    """One request. `key` is (episode, repeat, step). `seed` goes to the server (None: none is sent), and so do `fields`, the adapter's `request_fields`.

    `expert` tells the right action; only built-in policies may call it, and nothing of it reaches an endpoint. `gold_history`: the messages tell the expert's
    earlier actions, not those of the model (a static suite): then no earlier mistake of the model has any bearing.
    """

    key: tuple[str, int, int]
    messages: tuple[Message, ...]
    size: Size
    adapter: Adapter
    seed: int | None = None
    expert: Callable[[], Action | None] | None = None
    fields: Mapping[str, Any] = field(default_factory=dict)
    gold_history: bool = False


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try at a request. `error` is None where it succeeded, else a kind such as `http_503`, `timeout`, `connection`, `bad_body`."""

    endpoint: str
    seconds: float
    error: str | None = None
    detail: str | None = None
    waited: float = 0.0
    """Seconds of back-off before this try."""


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's answer. `latency` is the seconds of the attempt that succeeded, `queued` the seconds spent in our own queue before the first."""

    text: str
    model: str
    endpoint: str
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    latency: float = 0.0
    queued: float = 0.0
    attempts: tuple[Attempt, ...] = ()
    notes: tuple[str, ...] = ()


class AskFailed(SopbenchError):
    """No reply was to be had: an infrastructure outcome, never the model's mistake.

    `kind`: `context_overflow`, `too_many_images`, `no_tools`, `deadline`, `timeout`, `connection`, `rejected` (a 4xx that no retry mends), `server` (5xx to the
    end), `rate_limited` (429 to the end), `bad_body`, `screen`.
    `fatal`: every request of the run would meet the same refusal (unknown model, missing key, too many images, no tool calling): better to stop than to go on.
    """

    def __init__(
        self,
        kind: str,
        detail: str,
        attempts: tuple[Attempt, ...] = (),
        queued: float = 0.0,
        *,
        fatal: bool = False,
    ) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind = kind
        self.detail = detail
        self.attempts = attempts
        self.queued = queued
        self.fatal = fatal


@dataclass(slots=True)
class PoolStatus:
    """Live counters for the progress line. `limit` is how many requests may be in flight now; `rate_limited` counts 429s, `faults` all other failed
    attempts, `retries` the attempts that followed either; `resting` is the number of endpoints that are left alone for the moment."""

    in_flight: int = 0
    queued: int = 0
    limit: int = 0
    retries: int = 0
    rate_limited: int = 0
    faults: int = 0
    resting: int = 0


class Policy(ABC):
    """Whoever answers. `describe()` is recorded in the run and must hold no secret."""

    name: ClassVar[str]

    @abstractmethod
    async def ask(self, ask: Ask) -> Reply:
        """Answer, or raise `AskFailed`."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """The facts that change what the answers mean: `model`, `sampling` (None for a built-in) and `policy`."""

    def settings(self) -> dict[str, Any]:
        """What was asked of the policy and changes no meaning, such as `base_urls`."""
        return {}

    def status(self) -> PoolStatus:
        return PoolStatus()

    async def close(self) -> None:
        """Release connections."""
        return
