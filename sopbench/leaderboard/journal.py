"""The journal of a submission, episode by episode: only one episode's texts are in memory at a time.

Its lines stand in the data's order (repeat by repeat), the steps of an episode in theirs and its end last, as `sopbench submit` writes them. What is kept of all
lines is what a summary is made of: no replies, no thoughts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from pydantic import ValidationError

from sopbench.errors import DataError
from sopbench.leaderboard.plain_text import plain
from sopbench.leaderboard.reading import MAX_LINE, STEPS, journal_lines
from sopbench.leaderboard.strict_json import json_object
from sopbench.runs.folder import EpisodeKey, EpisodeLog
from sopbench.runs.records import AttemptRecord, EpisodeEnd, FailureRecord, StepRecord, VerdictRecord
from sopbench.runs.shapes import first_fault

MAX_WORD: Final = 200
MAX_DETAIL: Final = 1_000
MAX_ATTEMPTS: Final = 200
MAX_IMAGES: Final = 100
_SHA: Final = re.compile(r"[0-9a-f]{64}")
_WORDS: Final = ("finish_reason", "model", "endpoint", "at", "prompt_sha256")
_OF_A_REPLY: Final = ("reply", "prompt_sha256", "screen", "sent")
_READ_OUT_OF_IT: Final = ("reply", "action", "thought", "parse_failure", "verdict", "gold")


def read_line(line: bytes, where: str) -> StepRecord | EpisodeEnd:
    """One line as a record. Raises `DataError` that says what is wrong with it."""
    value = json_object(line, where, limit=MAX_LINE)
    try:
        return EpisodeEnd.model_validate(value) if value.get("end") is True else StepRecord.model_validate(value)
    except ValidationError as error:
        raise DataError(f"{where}: not a record ({first_fault(error)})") from error


def records(data: bytes) -> Iterator[tuple[str, StepRecord | EpisodeEnd]]:
    """(where it stands, record) for every line of `steps.jsonl.zst`. Raises `DataError`."""
    for number, line in enumerate(journal_lines(data), start=1):
        where = f"{STEPS} line {number}"
        yield where, read_line(line, where)


def episodes(data: bytes) -> Iterator[tuple[EpisodeKey, EpisodeLog]]:
    """Each episode whole, in the journal's order. For journals that the rule `records` let pass: nothing is checked again."""
    now: EpisodeKey | None = None
    log = EpisodeLog()
    for _, record in records(data):
        key = (record.episode, record.repeat)
        if now is not None and key != now:
            yield now, log
            log = EpisodeLog()
        now = key
        log.add(record)
    if now is not None:
        yield now, log


def fault_of(record: StepRecord | EpisodeEnd, *, online: bool) -> str | None:
    """What of a record contradicts itself, or is no word that a run writes; None where all is well."""
    if isinstance(record, EpisodeEnd):
        if not online:
            return "only online episodes have an end of their own"
        if (record.outcome == "scored") != (record.score is not None) or (record.outcome == "scored") == bool(
            record.error
        ):
            return "an end has a score, or an error that says why it has none"
        return _words_fault({"said": record.said}) or _failure_fault(record.error)
    if record.outcome == "not_scored":
        if record.error is None or any(getattr(record, name) is not None for name in _READ_OUT_OF_IT):
            return "a step without a verdict has an error, and no reply or verdict"
    elif record.outcome != ("acted" if online else "scored"):
        return f"the outcome {record.outcome!r} is not one of this protocol"
    elif record.error is not None or any(getattr(record, name) is None for name in _OF_A_REPLY):
        return f"a step with a reply has {', '.join(_OF_A_REPLY)}, and no error"
    if record.diagnostic:
        return "a board takes no diagnostic steps"
    if len(record.attempts) > MAX_ATTEMPTS:
        return f"more than {MAX_ATTEMPTS} attempts"
    if len(record.images) > MAX_IMAGES or not all(map(_SHA.fullmatch, record.images)):
        return "an image is not named by the hash of its file"
    words = {name: getattr(record, name) for name in _WORDS} | {
        f"attempts[{k}].error": a.error for k, a in enumerate(record.attempts)
    }
    return _words_fault(words) or _failure_fault(record.error) or _failure_fault(record.parse_failure)


def _words_fault(words: dict[str, str | None]) -> str | None:
    for name, word in words.items():
        if word is None:
            continue
        if len(word) > MAX_WORD:
            return f"{name} is longer than {MAX_WORD} characters"
        try:
            plain(word)
        except ValueError as error:
            return f"{name} {error}"
    return None


def _failure_fault(failure: FailureRecord | None) -> str | None:
    if failure is None:
        return None
    if len(failure.detail) > MAX_DETAIL:
        return f"a detail of more than {MAX_DETAIL} characters"
    return _words_fault({"reason": failure.reason})


class Kept:
    """Makes the small records that a summary needs, sharing what is alike: a run of many repeats has a line for each step of each."""

    def __init__(self) -> None:
        self._same: dict[Any, Any] = {}
        self._set: set[str] = set()

    def of(self, record: StepRecord | EpisodeEnd) -> StepRecord | EpisodeEnd:
        if isinstance(record, EpisodeEnd):
            return record.model_copy(update={"answers": (), "episode": self._one(record.episode)})
        values: dict[str, Any] = dict.fromkeys(StepRecord.model_fields)
        values |= {
            "v": record.v,
            "episode": self._one(record.episode),
            "repeat": record.repeat,
            "attempt": record.attempt,
            "step": record.step,
            "of": record.of,
            "outcome": self._one(record.outcome),
            "diagnostic": False,
            "screen": self._one(record.screen),
            "images": tuple(self._one(name) for name in record.images[-1:]),
            "notes": (),
            "action": self._kind(record.action),
            "gold": self._kind(record.gold),
            "verdict": self._verdict(record.verdict),
            "parse_failure": self._failure(record.parse_failure),
            "error": self._failure(record.error),
            "model": self._one(record.model),
            "prompt_tokens": record.prompt_tokens,
            "completion_tokens": record.completion_tokens,
            "latency": record.latency,
            "attempts": self._attempts(record.attempts),
        }
        return StepRecord.model_construct(_fields_set=self._set, **values)

    def _one(self, value: Any) -> Any:
        return self._same.setdefault(value, value)

    def _kind(self, action: dict[str, Any] | None) -> dict[str, Any] | None:
        if action is None:
            return None
        kind = action["action"]
        found: dict[str, Any] = self._same.setdefault(("kind", kind), {"action": kind})
        return found

    def _verdict(self, verdict: VerdictRecord | None) -> VerdictRecord | None:
        return None if verdict is None else self._one(verdict)

    def _failure(self, failure: FailureRecord | None) -> FailureRecord | None:
        return None if failure is None else self._one(FailureRecord(reason=failure.reason, detail=""))

    def _attempts(self, attempts: tuple[AttemptRecord, ...]) -> tuple[AttemptRecord, ...]:
        found: tuple[AttemptRecord, ...] = self._one(
            tuple(self._one(AttemptRecord(endpoint="", seconds=0.0, error=a.error)) for a in attempts)
        )
        return found
