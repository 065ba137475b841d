"""A sopbench policy, an endpoint pool or a built-in one, as the player of training rollouts: text only, no tokens."""

from __future__ import annotations

from sopbench.clients.base import Ask, Policy
from uis1_train.policies.base import Generated, RolloutId, TokenPolicy, screens_of


class EndpointPolicy(TokenPolicy):
    """`EndpointPolicy(EndpointPool(...))` or `EndpointPolicy(make_builtin("builtin:noisy"))`.

    It answers exactly as it would in `sopbench run`: the rollout's number is the run's repeat, so noise and seeds are the same. Token ids and log-probs are
    None: such rollouts can be measured, patched and written down, but not learned from by a policy gradient.
    """

    def __init__(self, policy: Policy) -> None:
        self.policy = policy

    async def generate(self, ask: Ask, *, rollout: RolloutId) -> Generated:
        reply = await self.policy.ask(ask)
        return Generated(
            text=reply.text,
            images=screens_of(ask),
            model=reply.model,
            finish_reason=reply.finish_reason,
            reply=reply,
            latency=reply.latency,
        )

    async def close(self) -> None:
        await self.policy.close()
