"""Thoughts by another model: it is told the task, what was done, the screen and the expert's action, and writes why that action is right."""

from __future__ import annotations

from typing import ClassVar

from sopbench.clients.base import Policy
from sopbench.protocols.semi_online import PatchDue
from uis1_train.patching.base import MAX_THOUGHT, Patch, PatchContext, PatchStrategy


class OffPolicyThought(PatchStrategy):
    """`auxiliary` is usually an `EndpointPool`, whose concurrency bounds the requests in flight. It is closed with this object.

    max_thought: characters that a thought may have; a longer one is not used.
    """

    kind: ClassVar[str] = "off_policy"

    def __init__(self, auxiliary: Policy, *, max_thought: int = MAX_THOUGHT) -> None:
        self.auxiliary = auxiliary
        self.max_thought = max_thought

    async def write(self, due: PatchDue, context: PatchContext) -> Patch:
        raise NotImplementedError

    async def close(self) -> None:
        await self.auxiliary.close()
