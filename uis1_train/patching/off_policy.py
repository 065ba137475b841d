"""Thoughts by another model: it is told the task, what was done, the screen and the expert's action, and writes why that action is right."""

from __future__ import annotations

from typing import ClassVar, Final

from sopbench.adapters.base import Message, Part, Text
from sopbench.clients.base import Ask, AskFailed, Policy
from sopbench.protocols.semi_online import PatchDue
from uis1_train.patching.base import MAX_THOUGHT, Patch, PatchContext, PatchStrategy, with_fallback, without_thought

MAX_TOLD: Final = 20
"""Earlier replies that the auxiliary model is told, the last ones, each cut to `MAX_TOLD_CHARACTERS`."""
MAX_TOLD_CHARACTERS: Final = 600

_OPEN, _CLOSE = "<thought>", "</thought>"

_SYSTEM = f"""\
You help to write down how somebody operates a phone. You are shown a task, what was done so far, the phone's screen, and the action that is right now. \
Write what goes through that person's mind just before the action: what on the screen matters, how far the task has come, and why this is the next thing to do. \
First person, present tense, at most three sentences, no coordinates. It was their own idea: say nothing of having been told. \
Put it between {_OPEN} and {_CLOSE}, and write nothing else."""

_TASK = """\
The task: {goal}

Done so far:
{history}

The screen now is the picture. The right action, in the language of the phone's driver:
{action}"""


class OffPolicyThought(PatchStrategy):
    """`auxiliary` is usually an `EndpointPool`, whose concurrency bounds the requests in flight. It is closed with this object.

    Where it gives no thought that can be used, the patch is thought-free and says why: `ask_failed:<kind>`, `cut_off` (its tokens were used up), or a reason
    of `patching.base.with_thought`. One failure is raised (`AskFailed`): a refusal that every request would meet, such as an unknown model or a wrong key,
    before any request has succeeded. A run that asked for thoughts must not go on for days without a single one.

    max_thought: characters that a thought may have; a longer one is not used.
    """

    kind: ClassVar[str] = "off_policy"

    def __init__(self, auxiliary: Policy, *, max_thought: int = MAX_THOUGHT) -> None:
        self.auxiliary = auxiliary
        self.max_thought = max_thought
        self._has_answered = False

    async def write(self, due: PatchDue, context: PatchContext) -> Patch:
        action = without_thought(due)
        try:
            reply = await self.auxiliary.ask(_request(due, context, action))
        except AskFailed as error:
            if error.fatal and not self._has_answered:
                detail = f"the auxiliary model that is to write thoughts: {error.detail}"
                raise AskFailed(error.kind, detail, error.attempts, error.queued, fatal=True) from error
            return Patch(action, self.kind, f"ask_failed:{error.kind}")
        self._has_answered = True
        thought = _thought(reply.text)
        if thought is None and reply.finish_reason == "length":
            return Patch(action, self.kind, "cut_off")
        return with_fallback(due, self.kind, reply.text if thought is None else thought, limit=self.max_thought)

    async def close(self) -> None:
        await self.auxiliary.close()


def _request(due: PatchDue, context: PatchContext, action: str) -> Ask:
    first = max(0, len(context.history) - MAX_TOLD)
    told = [f"{first + k + 1}. {_cut(text)}" for k, text in enumerate(context.history[first:])]
    task = _TASK.format(goal=context.trajectory.goal, history="\n".join(told) or "nothing yet", action=action)
    parts: tuple[Part, ...] = (Text(task), due.adapter.picture(due.step.screen))
    messages = (Message("system", (Text(_SYSTEM),)), Message("user", parts))
    ask = context.ask
    return Ask(ask.key, messages, ask.size, due.adapter, ask.seed)


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TOLD_CHARACTERS else text[:MAX_TOLD_CHARACTERS] + " [...]"


def _thought(text: str) -> str | None:
    """What stands between the last pair of our tags, or else behind the reasoning of a model that shows its own; None where neither is there."""
    end = text.rfind(_CLOSE)
    start = text.rfind(_OPEN, 0, end) if end >= 0 else -1
    if start >= 0:
        return text[start + len(_OPEN) : end]
    _, reasoned, rest = text.rpartition("</think>")
    return rest if reasoned and rest.strip() else None
