"""From a request and its reply to the line of the journal: the one place where both the engine and a training rollout make their records."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from sopbench.actions import Action, to_released
from sopbench.adapters.base import MAX_REPLY, Adapter, ParsedReply, ParseFailure
from sopbench.clients.base import Ask, Reply
from sopbench.clients.prompt_hash import image_hashes, prompt_sha256
from sopbench.geometry import Size
from sopbench.protocols.semi_online import Pending, SemiOnlineEpisode, StepResult
from sopbench.protocols.static import StaticEpisode
from sopbench.runs.records import AttemptRecord, FailureRecord, StepRecord, VerdictRecord


def ask_for(
    adapter: Adapter,
    episode: str,
    repeat: int,
    pending: Pending,
    *,
    seed: int | None,
    expert: Callable[[], Action | None],
    gold_history: bool = False,
) -> Ask:
    """The request for `pending`. Every repeat has a seed of its own, which starts at the run's `seed`."""
    own_seed = None if seed is None else (seed + repeat) % 2**31
    key = (episode, repeat, pending.step_index)
    fields = adapter.request_fields()
    return Ask(key, pending.messages, pending.size, adapter, own_seed, expert, fields, gold_history)


def storable(reply: Reply) -> Reply:
    """The reply as it is kept: before anybody reads the text, so that it re-scores the same.

    Lone surrogates, which UTF-8 has no bytes for, become U+FFFD. Of a text that no parser reads anyway (over `MAX_REPLY`) so much is kept that it stays
    too long: an endpoint may send megabytes a step, and history and journal would carry them.
    """
    text = reply.text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    notes = [] if text == reply.text else ["surrogates_replaced"]
    if len(text) > MAX_REPLY + 1:
        notes.append(f"reply_cut:{len(text)}")
        text = text[: MAX_REPLY + 1]
    return replace(reply, text=text, notes=(*reply.notes, *notes)) if notes else reply


def base_record(
    adapter: Adapter, episode: str, repeat: int, pending: Pending, reply: Reply, *, attempt: int = 0
) -> StepRecord:
    """What is known of a step before its reply is read: what was asked, and how the answer came."""
    return StepRecord(
        episode=episode,
        repeat=repeat,
        attempt=attempt,
        step=pending.step_index,
        outcome="scored",
        prompt_sha256=prompt_sha256(pending.messages, adapter.request_fields()),
        images=image_hashes(pending.messages),
        screen=pair(pending.size),
        sent=pair(adapter.sent_size(pending.size)),
        reply=reply.text,
        notes=reply.notes,
        finish_reason=reply.finish_reason,
        model=reply.model,
        endpoint=reply.endpoint,
        prompt_tokens=reply.prompt_tokens,
        completion_tokens=reply.completion_tokens,
        latency=round(reply.latency, 4),
        queued=round(reply.queued, 4),
        attempts=attempt_records(reply.attempts) if len(reply.attempts) > 1 else (),
    )


def replied_record(base: StepRecord, parsed: ParsedReply | ParseFailure, **more: object) -> StepRecord:
    """`base` with what the reply says, or why it could not be read."""
    if isinstance(parsed, ParseFailure):
        failure = FailureRecord(reason=parsed.reason, detail=parsed.detail[:500])
        return base.model_copy(update={"parse_failure": failure, **more})
    assert base.screen is not None
    said = {
        "action": to_released(parsed.action, Size(*base.screen)),
        "thought": parsed.thought,
        "notes": (*base.notes, *parsed.notes),
    }
    return base.model_copy(update={**said, **more})


def semi_online_facts(episode: SemiOnlineEpisode, result: StepResult) -> dict[str, Any]:
    """What the protocol says of a step: for `replied_record`."""
    before = episode.results[: result.step_index]
    diagnostic = any(not earlier.verdict.match for earlier in before)
    return {"of": len(episode.trajectory), "diagnostic": diagnostic, **_scored(episode, result)}


def static_facts(episode: StaticEpisode, result: StepResult) -> dict[str, Any]:
    """What the protocol says of a step: for `replied_record`."""
    return {"of": len(episode.trajectory), "told": episode.told(result.step_index), **_scored(episode, result)}


def _scored(episode: SemiOnlineEpisode | StaticEpisode, result: StepResult) -> dict[str, Any]:
    gold = dict(episode.trajectory.steps[result.step_index].content)
    return {"outcome": "scored", "gold": gold, "verdict": VerdictRecord(**result.verdict.as_dict())}


def noting_left_out(base: StepRecord, episode: StaticEpisode, index: int) -> StepRecord:
    """`base`, with a note where the expert's history is not told in full."""
    left_out = episode.left_out(index)
    return base.model_copy(update={"notes": (*base.notes, f"history_left_out:{left_out}")}) if left_out else base


def attempt_records(attempts: Iterable[object]) -> tuple[AttemptRecord, ...]:
    return tuple(AttemptRecord.model_validate(a, from_attributes=True) for a in attempts)


def pair(size: Size) -> tuple[int, int]:
    return size.width, size.height
