"""A trainer's policy, asked by the harness: the other direction of `policies.endpoint`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, ClassVar

from sopbench.clients.base import Ask, Policy, Reply, Sampling
from uis1_train.policies.base import RolloutId, TokenPolicy


class AskedTokenPolicy(Policy):
    """`policy` as sopbench asks it. `model` is the name that the run records, `sampling` what the policy samples with (None: not told), `facts` more of the kind.

    The policy stays the caller's, and open.
    """

    name: ClassVar[str] = "trainer"

    def __init__(
        self, policy: TokenPolicy, model: str, sampling: Sampling | None = None, facts: Mapping[str, Any] | None = None
    ) -> None:
        self.policy, self.model, self.sampling, self.facts = policy, model, sampling, dict(facts or {})

    async def ask(self, ask: Ask) -> Reply:
        goal, repeat, _ = ask.key
        return (await self.policy.generate(ask, rollout=RolloutId(goal, repeat))).as_reply()

    def describe(self) -> dict[str, Any]:
        sampling = asdict(self.sampling) | {"extra_body": dict(self.sampling.extra_body)} if self.sampling else None
        return {"model": self.model, "sampling": sampling, "policy": {"kind": self.name, **self.facts}}
