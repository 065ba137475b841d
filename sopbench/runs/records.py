"""The lines of a run's journal. One line a step; every line stands for itself."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from sopbench.actions import ACTION_KINDS

RECORD_VERSION: Literal[1] = 1
MAX_GOAL = 20_000
MAX_DETAILS = 256 * 1024
MAX_RECORD_BYTES = 32 * 1024 * 1024
"""More than any line that a run writes: a response has at most 4 MiB (`clients.answers`), whose text takes three times as much as ASCII JSON."""


def _named(action: dict[str, Any]) -> dict[str, Any]:
    if action.get("action") not in ACTION_KINDS:
        raise ValueError("no action of the space")
    return action


def _small(details: dict[str, Any]) -> dict[str, Any]:
    if len(json.dumps(details)) > MAX_DETAILS:
        raise ValueError(f"more than {MAX_DETAILS} characters of details")
    return details


Count = Annotated[int, Field(ge=0, lt=2**53)]
Side = Annotated[int, Field(ge=1, lt=2**31)]
Seconds = Annotated[float, Field(ge=0)]
ReleasedAction = Annotated[dict[str, Any], AfterValidator(_named)]
"""An action in the released form; of what is in it, only the name has been checked."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


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
    seconds: Seconds
    error: str | None = None
    detail: str | None = None
    waited: Seconds = 0.0


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
    repeat: Count = 0
    attempt: Count = 0
    step: Count
    of: Annotated[int, Field(ge=1, lt=2**53)] | None = Field(
        default=None, description="steps of the expert's recording"
    )
    outcome: Literal["scored", "not_scored", "acted"]
    diagnostic: bool = False
    prompt_sha256: str | None = None
    images: tuple[str, ...] = ()
    told: tuple[str, ...] | None = None
    screen: tuple[Side, Side] | None = None
    sent: tuple[Side, Side] | None = None
    reply: str | None = None
    thought: str | None = None
    action: ReleasedAction | None = None
    parse_failure: FailureRecord | None = None
    notes: tuple[str, ...] = ()
    gold: ReleasedAction | None = None
    verdict: VerdictRecord | None = None
    error: FailureRecord | None = None
    finish_reason: str | None = None
    model: str | None = None
    endpoint: str | None = None
    prompt_tokens: Count | None = None
    completion_tokens: Count | None = None
    latency: Seconds | None = None
    shown: Seconds | None = Field(
        default=None, description="seconds that a live environment took to show this screen, the action before included"
    )
    queued: Seconds | None = None
    attempts: tuple[AttemptRecord, ...] = ()
    at: str | None = Field(default=None, description="UTC time, ISO 8601, when the line was written")


class EpisodeEnd(_Frozen):
    """The end of an online episode: the environment's word. `outcome` is `not_scored` where the environment failed (`error` says how).

    `goal` stands where only the environment could tell it; `details` is what else it had to say (a raw reward, a judge's words).
    """

    v: Literal[1] = RECORD_VERSION
    end: Literal[True] = True
    episode: str
    repeat: Count = 0
    attempt: Count = 0
    outcome: Literal["scored", "not_scored"]
    score: Annotated[float, Field(ge=0, le=1)] | None = None
    steps: Count
    said: str | None = None
    answers: tuple[str, ...] = ()
    goal: Annotated[str, Field(max_length=MAX_GOAL)] | None = None
    details: Annotated[dict[str, Any], AfterValidator(_small)] | None = None
    error: FailureRecord | None = None
    at: str | None = None
