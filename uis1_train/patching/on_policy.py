"""Thoughts by the policy itself: asked again with the expert's action as a hint in the prompt. The hint never enters history."""

from __future__ import annotations

from typing import ClassVar

from sopbench.protocols.semi_online import PatchDue
from uis1_train.patching.base import MAX_THOUGHT, Patch, PatchContext, PatchStrategy


class OnPolicyThought(PatchStrategy):
    """max_thought: characters that a thought may have; a longer one is not used."""

    kind: ClassVar[str] = "on_policy"

    def __init__(self, *, max_thought: int = MAX_THOUGHT) -> None:
        self.max_thought = max_thought

    async def write(self, due: PatchDue, context: PatchContext) -> Patch:
        raise NotImplementedError
