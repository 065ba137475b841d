"""Thoughts by the policy itself: asked again with the expert's action as a hint in the prompt. The hint never enters history."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from sopbench.adapters.base import Message, ParseFailure, Text
from sopbench.clients.base import AskFailed
from sopbench.protocols.semi_online import PatchDue
from sopbench.runs.recording import storable
from uis1_train.patching.base import MAX_THOUGHT, Patch, PatchContext, PatchStrategy, with_thought, without_thought

_HINT = """\

For this turn you are told which action is right:
{action}
Look at the screen, think why it is right as if you had found it yourself, without mentioning that you were told, and reply in the usual form with exactly this action."""

_SLACK = 200
"""Characters by which a reply may be longer than its thought and action need, to be taken as it is."""


class OnPolicyThought(PatchStrategy):
    """The policy's own reply to the hinted request becomes the patch if its action is the expert's; else its thought does, before the expert's action.

    The hinted reply is no training sample. Where it gives no thought that can be used, the patch is thought-free and says why: `ask_failed:<kind>`,
    `parse:<reason>`, or a reason of `patching.base.with_thought`. A refusal that every request to the policy would meet is raised (`AskFailed`).

    max_thought: characters that a thought may have; a longer one is not used.
    """

    kind: ClassVar[str] = "on_policy"

    def __init__(self, *, max_thought: int = MAX_THOUGHT) -> None:
        self.max_thought = max_thought

    async def write(self, due: PatchDue, context: PatchContext) -> Patch:
        action = without_thought(due)
        hinted = replace(context.ask, messages=with_hint(context.ask.messages, action))
        try:
            generated = await context.policy.generate(hinted, rollout=context.rollout)
        except AskFailed as error:
            if error.fatal:
                raise
            return Patch(action, self.kind, f"ask_failed:{error.kind}")
        reply = storable(replace(generated.as_reply(), text=generated.text)).text
        parsed = due.adapter.parse(reply, due.result.size)
        if isinstance(parsed, ParseFailure):
            return Patch(action, self.kind, f"parse:{parsed.reason}")
        text, why_not = with_thought(due, parsed.thought or "", limit=self.max_thought)
        if text is None:
            return Patch(action, self.kind, why_not)
        own = due.adapter.parse(action, due.result.size)
        if not isinstance(own, ParseFailure) and parsed.action == own.action and len(reply) <= len(text) + _SLACK:
            text = reply
        return Patch(text, self.kind)


def with_hint(messages: tuple[Message, ...], action: str) -> tuple[Message, ...]:
    """`messages` with the hint at the end of the last turn of the user (or in one of its own, where the last message is another's)."""
    hint = Text(_HINT.format(action=action))
    last = messages[-1]
    if last.role != "user":
        return (*messages, Message("user", (hint,)))
    return (*messages[:-1], replace(last, parts=(*last.parts, hint)))
