"""Rules about what the submission claims: its numbers, and what the environment said."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from sopbench.actions import Action, Answer
from sopbench.adapters.base import ParsedReply
from sopbench.clients.builtin import Builtin
from sopbench.leaderboard import journal
from sopbench.leaderboard.case import Case, Refused, Skipped
from sopbench.leaderboard.reading import RUN, STEPS, SUMMARY
from sopbench.leaderboard.recorded import screen_of
from sopbench.leaderboard.reproducing import check_reply, policy_of
from sopbench.leaderboard.strict_json import json_object
from sopbench.online.base import EnvironmentFailed, OnlineEnvironment, OnlineTask
from sopbench.protocols.semi_online import Pending
from sopbench.runs.fingerprint import differences
from sopbench.runs.folder import EpisodeLog, RunInfo
from sopbench.runs.records import StepRecord
from sopbench.runs.summary import summarise
from sopbench.suites.base import Loaded

LOOKED_AT: Final = 8
"""Online episodes whose every screen is drawn again and compared, unless all are asked for. Which ones depends on the submission's own bytes."""

NEEDED: Final = (
    "n",
    "complete",
    "ci95",
    "scored_steps",
    "parse_failed_steps",
    "not_scored_trajectories",
    "fingerprint",
)
NEARLY: Final = {"ci95": 0.1001, "latency": 0.0002}


def summary_of(
    info: RunInfo, loaded: Loaded, adapter: Any, logs: dict[tuple[str, int], EpisodeLog], wall_s: float | None
) -> dict[str, Any]:
    """The summary that a submission holds: of its own lines, without the folder that the run was in."""
    found = summarise(info, Path("."), loaded, adapter, logs, wall_s=wall_s)
    whole: dict[str, Any] = json.loads(json.dumps(found))
    return whole


def headline(case: Case) -> str:
    """Every number of `summary.json`, computed again from the lines. Only `wall_s` is the submitter's word.

    A later version may compute more than the summary holds; all that the board shows must be in it. Ends of intervals may differ by the last digit, since
    machines add up floating-point numbers in different orders.
    """
    claimed = json_object(case.submission.file(SUMMARY), SUMMARY)
    wall = claimed.get("wall_s")
    if wall is not None and (isinstance(wall, bool) or not isinstance(wall, int | float) or not 0 <= wall < 1e9):
        raise Refused(f"{SUMMARY}: wall_s is no number of seconds")
    found = summary_of(case.info, case.loaded, case.adapter, case.logs, wall)
    found["wall_s"] = wall
    needed = {*NEEDED, *case.board.columns} & found.keys()
    wanted = {key: value for key, value in found.items() if key in claimed or key in needed}
    for difference in _differences(claimed, wanted):
        raise Refused(f"{SUMMARY} claims what its replies do not give (claimed / found): {difference[:300]}")
    case.summary = found
    values = ", ".join(f"{name} {found[name]}" for name in case.board.columns if found.get(name) is not None)
    return values or "bounds only: not everything has a verdict"


def _differences(claimed: dict[str, Any], found: dict[str, Any]) -> Iterator[str]:
    for key, slack in NEARLY.items():
        mine, theirs = claimed.get(key), found.get(key)
        if isinstance(mine, dict) and isinstance(theirs, dict) and _near(mine, theirs, slack):
            claimed, found = claimed | {key: None}, found | {key: None}
    yield from differences(claimed, found)


def _near(mine: Any, theirs: Any, slack: float) -> bool:
    if isinstance(mine, dict) and isinstance(theirs, dict):
        return mine.keys() == theirs.keys() and all(_near(mine[k], theirs[k], slack) for k in mine)
    if isinstance(mine, list) and isinstance(theirs, list):
        return len(mine) == len(theirs) and all(_near(a, b, slack) for a, b in zip(mine, theirs, strict=True))
    numbers = [v for v in (mine, theirs) if isinstance(v, int | float) and not isinstance(v, bool)]
    return abs(numbers[0] - numbers[1]) <= slack if len(numbers) == 2 else bool(mine == theirs)


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
    chosen, policy = set(_looked_at(case)), policy_of(case)
    looked = 0
    for (episode, repeat), log in journal.episodes(case.submission.file(STEPS)):
        if log.end is None or log.end.outcome != "scored":
            continue
        look = (episode, repeat) in chosen
        looked += look
        score = _played_again(case, tasks[episode], log, policy, look=look)
        if score != log.end.score:
            raise Refused(
                f"episode {episode} repeat {repeat}: the line claims a score of {log.end.score}, its replies lead to {score}"
            )
    case.reproduced = policy is not None
    again = f"; {policy.model} asked again says the same" if policy is not None else ""
    return f"{len(case.logs):,} episodes end as claimed, {looked:,} of them compared screen by screen{again}"


def _looked_at(case: Case) -> Sequence[tuple[str, int]]:
    keys = sorted(case.logs)
    if case.every_screen or len(keys) <= LOOKED_AT:
        return keys
    seed = hashlib.sha256(b"".join(case.submission.files[name] for name in sorted(case.submission.files))).digest()
    return random.Random(seed).sample(keys, LOOKED_AT)


def _played_again(case: Case, task: OnlineTask, log: EpisodeLog, policy: Builtin | None, *, look: bool) -> float:
    environment = case.suite.environment(task)
    try:
        screen = environment.reset()
        display = screen.size
        for record in log.ordered():
            if record.screen != (display.width, display.height):
                raise Refused(
                    f"episode {task.id} step {record.step}: the line says that the screen has {record.screen}, the environment's has {display}"
                )
            if look:
                _compare_screen(record, screen.sha256)
            if policy is not None:
                check_reply(case, policy, record, Pending(record.step, (), display), partial(_expert, environment))
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


def _expert(environment: OnlineEnvironment) -> Action | None:
    """As when the run was played: an expert that fails knows nothing."""
    try:
        return environment.expert()
    except EnvironmentFailed:
        return None


def _compare_screen(record: StepRecord, found: str) -> None:
    if record.images and record.images[-1] != found:
        raise Refused(
            f"episode {record.episode} step {record.step}: the line names another screen than its replies lead to"
        )
