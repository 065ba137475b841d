"""What a training rollout asks of a policy: text for the history, and the tokens as they were generated for the gradient."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sopbench.adapters.base import Image
from sopbench.clients.base import Ask, Reply
from sopbench.protocols.semi_online import ProtocolError
from sopbench.screen import Screen

LOCAL = "local"
"""The `endpoint` in the records of replies that no endpoint gave."""


@dataclass(frozen=True, slots=True)
class RolloutId:
    """`goal` names the group (unique in its batch), `rollout` counts within it from 0."""

    goal: str
    rollout: int


@dataclass(frozen=True, slots=True)
class Generated:
    """One reply. `text` is decoded with special tokens skipped, so that none of them enters history.

    `prompt_ids`, `response_ids` and `log_probs` (one a response token, of the sampled token) are those of the generation itself, never of a text that was
    tokenised again; None where the policy cannot tell. `images` are the screens of the prompt in order. `extra` is the policy's own.
    `reply` carries what the record says of the transport (endpoint, usage, latency, attempts), where there was one.
    """

    text: str
    prompt_ids: tuple[int, ...] | None = None
    response_ids: tuple[int, ...] | None = None
    log_probs: tuple[float, ...] | None = None
    images: tuple[Screen, ...] = ()
    model: str = "policy"
    finish_reason: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    reply: Reply | None = None
    latency: float = 0.0

    def __post_init__(self) -> None:
        if self.log_probs is not None and len(self.log_probs) != len(self.response_ids or ()):
            raise ProtocolError(
                f"{len(self.log_probs)} log-probs for {len(self.response_ids or ())} response tokens: a policy gives one for each"
            )

    def as_reply(self) -> Reply:
        """What the harness records of this reply."""
        if self.reply is not None:
            return self.reply
        return Reply(
            text=self.text,
            model=self.model,
            endpoint=LOCAL,
            finish_reason=self.finish_reason,
            prompt_tokens=None if self.prompt_ids is None else len(self.prompt_ids),
            completion_tokens=None if self.response_ids is None else len(self.response_ids),
            latency=self.latency,
        )


class TokenPolicy(ABC):
    """Whoever plays a rollout. Asked by many rollouts at once, in one event loop."""

    @abstractmethod
    async def generate(self, ask: Ask, *, rollout: RolloutId) -> Generated:
        """Answer, or raise `AskFailed` where no reply was to be had (an infrastructure outcome, never the model's mistake)."""

    async def close(self) -> None:
        """Release what is held."""
        return


def screens_of(ask: Ask) -> tuple[Screen, ...]:
    """The screens that a request carries, in order."""
    return tuple(part.screen for message in ask.messages for part in message.parts if isinstance(part, Image))
