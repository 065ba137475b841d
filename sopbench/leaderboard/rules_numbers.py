"""Rules about what the submission claims: its numbers, and what the environment said."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from sopbench.actions import Answer
from sopbench.adapters.base import ParsedReply
from sopbench.leaderboard.case import Case, Refused, Skipped
from sopbench.leaderboard.reading import RUN, SUMMARY
from sopbench.leaderboard.recorded import screen_of
from sopbench.leaderboard.rules_files import json_object
from sopbench.online.base import EnvironmentFailed, OnlineTask
from sopbench.runs.fingerprint import differences
from sopbench.runs.folder import EpisodeLog, RunInfo
from sopbench.runs.records import StepRecord
from sopbench.runs.summary import summarise
from sopbench.suites.base import Loaded

LOOKED_AT: Final = 8
"""Online episodes whose every screen is drawn again and compared, unless all are asked for. Which ones depends on the submission's own bytes."""


def summary_of(
    info: RunInfo, loaded: Loaded, adapter: Any, logs: dict[tuple[str, int], EpisodeLog], wall_s: float | None
) -> dict[str, Any]:
    """The summary that a submission holds: of its own lines, without the folder that the run was in."""
    found = summarise(info, Path("."), loaded, adapter, logs, wall_s=wall_s)
    whole: dict[str, Any] = json.loads(json.dumps(found))
    return whole


def headline(case: Case) -> str:
    """Every number of `summary.json`, computed again from the lines. Only `wall_s` is the submitter's word."""
    claimed = json_object(case.submission.file(SUMMARY), SUMMARY)
    wall = claimed.get("wall_s")
    if wall is not None and (isinstance(wall, bool) or not isinstance(wall, int | float) or not 0 <= wall < 1e9):
        raise Refused(f"{SUMMARY}: wall_s is no number of seconds")
    found = summary_of(case.info, case.loaded, case.adapter, case.logs, wall)
    found["wall_s"] = wall
    for difference in differences(claimed, found):
        raise Refused(f"{SUMMARY} claims what its replies do not give (claimed / found): {difference[:300]}")
    case.summary = found
    values = ", ".join(f"{name} {found[name]}" for name in case.board.columns if found.get(name) is not None)
    return values or "bounds only: not everything has a verdict"


def version(case: Case) -> str:
    if not case.info.version or len(case.info.version) > 40:
        raise Refused(f"{RUN}: `version` does not name a version of sopbench")
    return f"made by sopbench {case.info.version}"


def environment(case: Case) -> str:
    """Played again in the environment, the replies lead to the same verdicts and, in some episodes, to the same screens."""
    if case.board.protocol != "online":
        raise Skipped("not an online board")
    tasks = {t.id: t for t in case.loaded.tasks}
    try:
        case.suite.environment(next(iter(tasks.values()))).close()
    except EnvironmentFailed as error:
        raise Skipped(f"the environment of {case.suite.name} is not on this machine ({error.detail[:100]})") from error
    if not case.board.simulated:
        raise Skipped("a live environment cannot be played again to the same end")
    chosen = set(_looked_at(case))
    looked = 0
    for (episode, repeat), log in case.logs.items():
        if log.end is None or log.end.outcome != "scored":
            continue
        look = (episode, repeat) in chosen
        looked += look
        score = _played_again(case, tasks[episode], log, look=look)
        if score != log.end.score:
            raise Refused(
                f"episode {episode} repeat {repeat}: the line claims a score of {log.end.score}, its replies lead to {score}"
            )
    return f"{len(case.logs):,} episodes end as claimed, {looked:,} of them compared screen by screen"


def _looked_at(case: Case) -> Sequence[tuple[str, int]]:
    keys = sorted(case.logs)
    if case.every_screen or len(keys) <= LOOKED_AT:
        return keys
    seed = hashlib.sha256(b"".join(case.submission.files[name] for name in sorted(case.submission.files))).digest()
    return random.Random(seed).sample(keys, LOOKED_AT)


def _played_again(case: Case, task: OnlineTask, log: EpisodeLog, *, look: bool) -> float:
    environment = case.suite.environment(task)
    try:
        screen = environment.reset()
        for record in log.ordered():
            if look:
                _compare_screen(record, screen.sha256)
            parsed = case.adapter.parse(record.reply or "", screen_of(record).size)
            if not isinstance(parsed, ParsedReply):
                continue
            if parsed.action.kind == "terminate":
                if parsed.answer is not None:
                    environment.perform(Answer(parsed.answer))  # told in the same breath as the end
                break
            if look:
                screen = environment.act(parsed.action)
            else:
                environment.perform(parsed.action)
        return environment.score()
    except EnvironmentFailed as error:
        raise Refused(
            f"episode {task.id}: the environment broke when its replies were played again ({error})"
        ) from error
    finally:
        environment.close()


def _compare_screen(record: StepRecord, found: str) -> None:
    if record.images and record.images[-1] != found:
        raise Refused(
            f"episode {record.episode} step {record.step}: the line names another screen than its replies lead to"
        )
