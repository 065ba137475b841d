"""What a patch is: the expert's action in the policy's own words, put into history where the policy's reply was a mismatch.

Paper, arXiv 2509.11543, section 3 and appendix: three kinds, which differ in the thought before the action. The number of patches a rollout may use (the patch
threshold) is not theirs to know: `sopbench.protocols.semi_online.SemiOnlineEpisode` counts.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from sopbench.adapters.base import ParseFailure
from sopbench.clients.base import Ask
from sopbench.protocols.semi_online import PatchDue
from sopbench.trajectory import Trajectory
from uis1_train.policies.base import RolloutId, TokenPolicy

MAX_THOUGHT = 2_000
"""Characters of a thought that may enter history by default: every later request of the rollout carries it."""
_SPECIAL = re.compile(r"<\|[^<>\n]{0,80}\|>|</?s>|<image>")
"""What the tokenizers of the families write their special tokens as."""


@dataclass(frozen=True, slots=True)
class Patch:
    """`text` goes into history. `fell_back`: why the thought was left out after all (a stable code such as `ask_failed:timeout`, for counting), else None."""

    text: str
    kind: str
    fell_back: str | None = None


@dataclass(frozen=True, slots=True)
class PatchContext:
    """Where a patch is due. `ask` is the request that the policy answered wrongly; `history` holds what stands in it for every earlier step (the policy's own
    reply, or the patch)."""

    trajectory: Trajectory
    ask: Ask
    history: tuple[str, ...]
    policy: TokenPolicy
    rollout: RolloutId


class PatchStrategy(ABC):
    """One kind of patch. `kind` stands in every sample that was patched, or has a patch in its history."""

    kind: ClassVar[str]

    @abstractmethod
    async def write(self, due: PatchDue, context: PatchContext) -> Patch:
        """The patch. Never fails for what a model or a server did: then it is thought-free, and says why.

        Raises `sopbench.errors.CannotExpress` where the family has no words for the expert's action: then there is nothing to patch with.
        """

    async def close(self) -> None:
        """Release what is held."""
        return


def without_thought(due: PatchDue) -> str:
    """The expert's action in the family's words and nothing else. Raises `CannotExpress`."""
    return due.adapter.format(due.expert, due.result.size)


def with_thought(due: PatchDue, thought: str, *, limit: int = MAX_THOUGHT) -> tuple[str, None] | tuple[None, str]:
    """(the expert's action with `thought` before it, None), or (None, why that must not be): a stable code.

    A thought comes from a model, and may be anything: `blank`, `too_long` (over `limit` characters), `special_tokens` (words such as `<|im_start|>` that a chat
    template would turn into turns of their own), or one that makes the reply say another action than the expert's when it is read again (`breaks_reply`).
    """
    thought = thought.strip().encode("utf-8", "replace").decode()
    if not thought:
        return None, "blank"
    if len(thought) > limit:
        return None, "too_long"
    if _SPECIAL.search(thought):
        return None, "special_tokens"
    text = due.adapter.format(due.expert, due.result.size, thought)
    if _action(due, text) != _action(due, without_thought(due)):
        return None, "breaks_reply"
    return text, None


def with_fallback(due: PatchDue, kind: str, thought: str, *, limit: int = MAX_THOUGHT) -> Patch:
    """The patch with `thought`, or the thought-free one that says why not."""
    text, why_not = with_thought(due, thought, limit=limit)
    return Patch(without_thought(due), kind, why_not) if text is None else Patch(text, kind)


def _action(due: PatchDue, text: str) -> object:
    parsed = due.adapter.parse(text, due.result.size)
    return parsed.reason if isinstance(parsed, ParseFailure) else parsed.action
