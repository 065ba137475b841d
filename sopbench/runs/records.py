"""The lines of a run's journal. One line a step; every line stands for itself."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

RECORD_VERSION: Literal[1] = 1


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class VerdictRecord(_Frozen):
    type_match: bool
    match: bool
    reason: str | None = None


class FailureRecord(_Frozen):
    """Why a reply was no action (`parse_failure`), or why there was no reply (`error`, where `reason` is the kind of `AskFailed`)."""

    reason: str
    detail: str


class AttemptRecord(_Frozen):
    endpoint: str
    seconds: float
    error: str | None = None
    detail: str | None = None
    waited: float = 0.0


class StepRecord(_Frozen):
    """One step of one episode: what was asked (by hash), answered, understood and decided.

    `outcome`: `scored` (the verdict counts; a parse failure is a mismatch), `not_scored` (infrastructure: `error` says why), or for online steps `acted`.
    `action` and `gold` are in the released form, pixels of the original screen (`screen`); `sent` is the size whose pixels the reply's numbers are.
    `attempt` counts the starts of an online episode: a live environment cannot be resumed in the middle, so a resumed run plays it again.
    `told` names what of the recording a static suite's request carried besides goal and screens: `expert_history`, `instruction`.
    `diagnostic` marks steps after the first mismatch in the continuing mode: they never feed the headline.
    """

    v: Literal[1] = RECORD_VERSION
    episode: str
    repeat: int = 0
    attempt: int = 0
    step: int
    of: int | None = Field(default=None, description="steps of the expert's recording")
    outcome: Literal["scored", "not_scored", "acted"]
    diagnostic: bool = False
    prompt_sha256: str | None = None
    images: tuple[str, ...] = ()
    told: tuple[str, ...] | None = None
    screen: tuple[int, int] | None = None
    sent: tuple[int, int] | None = None
    reply: str | None = None
    thought: str | None = None
    action: dict[str, Any] | None = None
    parse_failure: FailureRecord | None = None
    notes: tuple[str, ...] = ()
    gold: dict[str, Any] | None = None
    verdict: VerdictRecord | None = None
    error: FailureRecord | None = None
    finish_reason: str | None = None
    model: str | None = None
    endpoint: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    latency: float | None = None
    queued: float | None = None
    attempts: tuple[AttemptRecord, ...] = ()
    at: str | None = Field(default=None, description="UTC time, ISO 8601, when the line was written")


class EpisodeEnd(_Frozen):
    """The end of an online episode: the environment's word. `outcome` is `not_scored` where the environment failed (`error` says how)."""

    v: Literal[1] = RECORD_VERSION
    end: Literal[True] = True
    episode: str
    repeat: int = 0
    attempt: int = 0
    outcome: Literal["scored", "not_scored"]
    score: float | None = None
    steps: int
    said: str | None = None
    answers: tuple[str, ...] = ()
    error: FailureRecord | None = None
    at: str | None = None
