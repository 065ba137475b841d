"""Built-in policies answer by rule and seed alone: a submission of one is checked by asking the policy again, and stands among the re-run rows."""

from __future__ import annotations

from collections.abc import Callable

from sopbench.actions import Action
from sopbench.clients.base import Ask, Reply
from sopbench.clients.builtin import Builtin, make_builtin
from sopbench.errors import UsageError
from sopbench.leaderboard.case import Case, Refused
from sopbench.protocols.semi_online import Pending
from sopbench.runs.recording import ask_for
from sopbench.runs.records import StepRecord


def policy_of(case: Case) -> Builtin | None:
    """The built-in policy that the run says it played; None for any other model."""
    if (case.facts.get("policy") or {}).get("kind") != "builtin":
        return None
    try:
        policy = make_builtin(case.facts["model"], seed=case.facts["seed"] or 0)
    except UsageError as error:
        raise Refused(f"facts.model: {error}") from error
    told = {key: case.facts.get(key) for key in ("model", "sampling", "policy")}
    if policy.describe() != told:
        raise Refused(f"facts.policy is not what {policy.model} says of itself")
    return policy


def check_reply(
    case: Case, policy: Builtin, record: StepRecord, pending: Pending, expert: Callable[[], Action | None]
) -> None:
    """Raise `Refused` where the policy would have answered something else."""
    static = case.board.protocol == "static"
    ask = ask_for(
        case.adapter,
        record.episode,
        record.repeat,
        pending,
        seed=case.facts["seed"],
        expert=expert,
        gold_history=static,
    )
    if record.reply != (found := _answer(policy, ask).text):
        raise Refused(
            f"episode {record.episode} repeat {record.repeat} step {record.step}: {policy.model} answers {ascii(found)[:80]}, the line says {ascii(record.reply)[:80]}"
        )


def _answer(policy: Builtin, ask: Ask) -> Reply:
    """What `policy.ask` returns. It waits for nothing but its turn, so that no event loop is needed (one may be running)."""
    asking = policy.ask(ask)
    try:
        while True:
            asking.send(None)
    except StopIteration as done:
        reply: Reply = done.value
        return reply
