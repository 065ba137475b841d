"""The paper's choice: the expert's action, without a thought."""

from __future__ import annotations

from typing import ClassVar, Literal, get_args

from sopbench.errors import UsageError
from sopbench.protocols.semi_online import PatchDue
from uis1_train.patching.base import Patch, PatchContext, PatchStrategy, with_fallback, without_thought

Thought = Literal["none", "recorded"]


class ThoughtFree(PatchStrategy):
    """`thought="none"` is the paper's; `"recorded"` puts the recording's own thought there where it has one, as the released code does."""

    kind: ClassVar[str] = "thought_free"

    def __init__(self, thought: Thought = "none") -> None:
        if thought not in get_args(Thought):
            raise UsageError(f"a thought-free patch takes its thought from 'none' or 'recorded', not {thought!r}")
        self.thought = thought

    async def write(self, due: PatchDue, context: PatchContext) -> Patch:
        thought = (due.step.thought or "").strip() if self.thought == "recorded" else ""
        if not thought:
            return Patch(without_thought(due), self.kind)
        return with_fallback(due, self.kind, thought)
