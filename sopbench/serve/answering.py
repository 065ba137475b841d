"""What goes back: completions in OpenAI's form, cut at stop texts, whole or as a stream of events."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sopbench.serve.reading import ChatRequest


@dataclass(frozen=True, slots=True)
class Completion:
    """A reply in tokens. `shown` is its text; `pieces` the text of each token that is told with its log-probability."""

    text: str
    finish_reason: str
    prompt_tokens: int
    ids: tuple[int, ...]
    log_probs: tuple[float, ...]


def cut_at_stop(done: Completion, stops: Sequence[str], decode: Callable[[Sequence[int]], str]) -> Completion:
    """`done` up to the first of `stops`, which is itself left out, with the tokens that were needed to get there."""
    found = [at for at in (done.text.find(stop) for stop in stops) if at >= 0]
    if not found:
        return done
    at = min(found)
    count = len(done.ids)
    for taken in range(1, len(done.ids) + 1):
        text = decode(done.ids[:taken])
        if any(stop in text for stop in stops):
            count = taken
            break
    return Completion(done.text[:at], "stop", done.prompt_tokens, done.ids[:count], done.log_probs[:count])


class Answer:
    """One answer of `model` to `request`. `piece` gives the text of a single token."""

    def __init__(self, model: str, request: ChatRequest, done: Completion, piece: Callable[[int], str]) -> None:
        self.model, self.request, self.done, self.piece = model, request, done, piece
        self.id = f"chatcmpl-{secrets.token_hex(12)}"
        self.created = int(time.time())

    def as_object(self) -> dict[str, Any]:
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": self.done.text},
            "logprobs": self._logprobs(),
            "finish_reason": self.done.finish_reason,
        }
        return self._head("chat.completion") | {"choices": [choice], "usage": self._usage()}

    def events(self) -> Iterator[bytes]:
        """The same as a stream: the whole text in one event, since replies are short and made in batches."""
        first = {"index": 0, "delta": {"role": "assistant", "content": self.done.text}, "logprobs": self._logprobs()}
        last = {"index": 0, "delta": {}, "finish_reason": self.done.finish_reason}
        for choice in (first | {"finish_reason": None}, last):
            yield _event(self._head("chat.completion.chunk") | {"choices": [choice]})
        if self.request.stream_usage:
            yield _event(self._head("chat.completion.chunk") | {"choices": [], "usage": self._usage()})
        yield b"data: [DONE]\n\n"

    def _head(self, kind: str) -> dict[str, Any]:
        return {"id": self.id, "object": kind, "created": self.created, "model": self.model}

    def _usage(self) -> dict[str, int]:
        prompt, reply = self.done.prompt_tokens, len(self.done.ids)
        return {"prompt_tokens": prompt, "completion_tokens": reply, "total_tokens": prompt + reply}

    def _logprobs(self) -> dict[str, Any] | None:
        if not self.request.logprobs:
            return None
        told = []
        for token, log_prob in zip(self.done.ids, self.done.log_probs, strict=True):
            text = self.piece(token)
            one = {"token": text, "logprob": log_prob, "bytes": list(text.encode("utf-8", "replace"))}
            told.append(one | {"top_logprobs": [one] if self.request.top_logprobs else []})
        return {"content": told}


def _event(obj: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(obj).encode() + b"\n\n"
