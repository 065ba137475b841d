"""Judging recorded replies again, under another profile, without the model."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from itertools import takewhile

from sopbench.actions import to_released
from sopbench.adapters.base import Adapter, ParseFailure
from sopbench.errors import DataError, UsageError
from sopbench.geometry import Size
from sopbench.protocols.reply import judge_reply
from sopbench.runs.fingerprint import fingerprint, require_same
from sopbench.runs.folder import EpisodeLog, RunFolder, RunInfo, require_own
from sopbench.runs.journal import Journal
from sopbench.runs.records import FailureRecord, StepRecord, VerdictRecord
from sopbench.scoring.base import Profile
from sopbench.suites.base import Loaded
from sopbench.trajectory import Step, Trajectory


def rescore_run(
    folder: RunFolder, info: RunInfo, loaded: Loaded, adapter: Adapter, profile: Profile, target: RunFolder
) -> RunInfo:
    """Write into `target` the run that these replies are under `profile`, and return its info."""
    data = {"data_sha256": loaded.sha256, "ids_sha256": loaded.ids_sha256}
    require_same({key: info.facts[key] for key in data}, data, what=f"cannot re-score {folder.path} on this data")
    facts = info.facts | {"profile": {"id": profile.id, "hash": profile.hash}}
    new_info = RunInfo(
        id=f"{info.id}-{secrets.token_hex(2)}",
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        version=info.version,
        fingerprint=fingerprint(facts),
        facts=facts,
        settings=info.settings | {"rescored_from": str(folder.path)},
    )
    logs = folder.episodes()
    require_own(logs, loaded.ids, facts["repeats"], folder)
    _make_room(target, info)
    target.create(new_info)
    keep_going = facts["after_mismatch"] == "continue"
    trajectories = {t.id: t for t in loaded.trajectories}
    with Journal(target.journal_path) as journal:
        for (episode, _), log in logs.items():
            if facts["protocol"] == "static":
                rescored = _each_rescored(trajectories[episode], log, adapter, profile)
            else:
                rescored = _rescored(trajectories[episode], log, adapter, profile, keep_going=keep_going)
            for record in rescored:
                journal.append(record)
    return new_info


def _each_rescored(trajectory: Trajectory, log: EpisodeLog, adapter: Adapter, profile: Profile) -> list[StepRecord]:
    """The lines of one episode whose steps do not depend on each other; those that were not scored stay so."""
    records = log.ordered()
    for record in records:
        _require_step(trajectory, record)
    return [
        _judged(record, trajectory.steps[record.step], adapter, profile) if record.outcome == "scored" else record
        for record in records
    ]


def _make_room(target: RunFolder, source: RunInfo) -> None:
    """Remove an earlier re-scoring of the same run from `target`. Whatever else stands there was played once, and is not ours to remove."""
    if target.exists():
        there = target.info()
        if "rescored_from" not in there.settings or there.id.rpartition("-")[0] != source.id:
            raise UsageError(f"{target.path} holds another run; choose a new folder with --out")
        for path in (target.summary_path, target.report_path, target.journal_path, target.info_path):
            path.unlink(missing_ok=True)
    elif target.has_other_files():
        raise UsageError(f"{target.path} exists and is no run; choose a new folder with --out")


def _rescored(
    trajectory: Trajectory, log: EpisodeLog, adapter: Adapter, profile: Profile, *, keep_going: bool
) -> list[StepRecord]:
    """The lines of one episode under `profile`: up to its new first mismatch, or all of them where the run went on after mismatches."""
    records = list(takewhile(lambda r: r.outcome == "scored", log.ordered()))
    out: list[StepRecord] = []
    failed = False
    for record in records:
        _require_step(trajectory, record)
        new = _judged(record, trajectory.steps[record.step], adapter, profile)
        out.append(new.model_copy(update={"diagnostic": failed}))
        failed = failed or not (new.verdict and new.verdict.match)
        if failed and not keep_going:
            return out
    rest = log.ordered()[len(records) :]
    if rest:
        return [*out, *rest]
    if len(out) < len(trajectory):
        out.append(_beyond(trajectory, log, len(out)))
    return out


def _require_step(trajectory: Trajectory, record: StepRecord) -> None:
    if record.step >= len(trajectory):
        raise DataError(f"episode {record.episode} has {len(trajectory)} steps, and a record of step {record.step}")


def _beyond(trajectory: Trajectory, log: EpisodeLog, step: int) -> StepRecord:
    """The original run stopped at a mismatch that counts as a match now: what the model would have said next is unknown."""
    first = log.ordered()[0]
    detail = (
        "the recorded run stopped here; play it with --after-mismatch continue to re-score under more lenient profiles"
    )
    return StepRecord(
        episode=first.episode,
        repeat=first.repeat,
        step=step,
        of=len(trajectory),
        outcome="not_scored",
        error=FailureRecord(reason="beyond_recording", detail=detail),
    )


def _judged(record: StepRecord, step: Step, adapter: Adapter, profile: Profile) -> StepRecord:
    if record.reply is None or record.screen is None:
        raise DataError(f"episode {record.episode} step {record.step}: a scored record without reply or screen size")
    size = Size(*record.screen)
    parsed, verdict = judge_reply(adapter, profile, record.reply, step, size)
    said: dict[str, object] = {"verdict": VerdictRecord(**verdict.as_dict()), "gold": dict(step.content)}
    if isinstance(parsed, ParseFailure):
        said |= {"action": None, "parse_failure": FailureRecord(reason=parsed.reason, detail=parsed.detail[:500])}
    else:
        said |= {"action": to_released(parsed.action, size), "parse_failure": None, "thought": parsed.thought}
    return record.model_copy(update=said)
