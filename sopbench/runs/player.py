"""One episode, from its first request to its end: protocol, policy and environment brought together, whoever drives it and wherever it runs."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, ParamSpec, Protocol, TypeVar

from sopbench.actions import Action, Answer
from sopbench.adapters.base import Adapter, ParsedReply, ParseFailure
from sopbench.clients.base import AskFailed, Policy, Reply
from sopbench.errors import DataError, FingerprintMismatch, command
from sopbench.online.base import EnvironmentFailed, OnlineEnvironment, OnlineTask
from sopbench.protocols.online import OnlineEpisode
from sopbench.protocols.semi_online import Pending, SemiOnlineEpisode
from sopbench.protocols.static import StaticEpisode
from sopbench.runs.folder import EpisodeKey, EpisodeLog
from sopbench.runs.progress import Listener, Progress
from sopbench.runs.recording import (
    ask_for,
    attempt_records,
    base_record,
    noting_left_out,
    pair,
    replied_record,
    semi_online_facts,
    static_facts,
    storable,
)
from sopbench.runs.records import MAX_DETAILS, MAX_GOAL, EpisodeEnd, FailureRecord, StepRecord
from sopbench.scoring.base import Profile
from sopbench.screen import Screen
from sopbench.suites.base import Loaded, Suite
from sopbench.trajectory import Trajectory

FINAL_FAILURES: Final[frozenset[str]] = frozenset(
    {"no_reply", "not_installed", "unsupported", "judge_unreachable", "judge_no_verdict"}
)
"""Ends of an online episode that a fresh environment would not mend: the model's or the judge's endpoint is at fault, or something is missing on this machine."""


@dataclass(frozen=True, slots=True)
class Play:
    """Everything that one run plays with."""

    suite: Suite
    loaded: Loaded
    adapter: Adapter
    profile: Profile | None
    policy: Policy
    images: int
    after_mismatch: Literal["stop", "continue"]
    repeats: int
    seed: int | None
    concurrency: int
    environment_attempts: int = 1


class Sink(Protocol):
    """Where the lines and screens of episodes go."""

    def append(self, record: StepRecord | EpisodeEnd) -> None: ...

    def keep(self, sha256: str, data: bytes) -> None:
        """A screen that an online environment showed."""


class Player:
    """Plays episodes with a policy, and tells `sink` every line and screen and `listener` how far it came. One event loop may play many at once."""

    def __init__(
        self,
        plan: Play,
        folder: Path,
        sink: Sink,
        recorded: Mapping[EpisodeKey, EpisodeLog],
        listener: Listener,
    ) -> None:
        self.plan, self.folder, self.sink, self.recorded = plan, folder, sink, recorded
        self.listener = listener
        self.stopped: AskFailed | None = None
        if plan.suite.protocol == "static":
            steps = sum(map(len, plan.loaded.trajectories))
            self.progress = Progress(total=steps * plan.repeats, unit="steps", rate_name="SR")
        else:
            self.progress = Progress(total=len(plan.loaded.ids) * plan.repeats)

    def tell(self) -> None:
        self.progress.pool = self.plan.policy.status()
        self.listener(self.progress)

    def _finished(self, *, success: bool, scored: bool, resumed: bool) -> None:
        self.progress.finished += 1
        self.progress.resumed += resumed
        self.progress.succeeded += success and scored
        self.progress.not_scored += not scored
        self.tell()

    # -- semi-online -----------------------------------------------------------------------------------------------

    async def semi_online(self, trajectory: Trajectory, repeat: int) -> None:
        plan = self.plan
        assert plan.profile is not None
        episode = SemiOnlineEpisode(
            trajectory, plan.adapter, plan.profile, images=plan.images, after_mismatch=plan.after_mismatch
        )
        asked = False
        try:
            self._replay(episode, repeat)
            while (pending := episode.pending()) is not None:
                asked = True
                if not await self._semi_online_step(episode, pending, repeat):
                    self._finished(success=False, scored=False, resumed=False)
                    return
        except DataError as error:
            fault = AskFailed("screen", str(error))
            self._not_scored(trajectory.id, repeat, 0, episode.step_index, None, fault, of=len(trajectory))
            self._finished(success=False, scored=False, resumed=False)
            return
        self._finished(success=episode.success, scored=True, resumed=not asked)

    def _replay(self, episode: SemiOnlineEpisode, repeat: int) -> None:
        """Bring the episode to where the journal left it. Recorded replies must mean today what they meant then."""
        log = self.recorded.get((episode.trajectory.id, repeat))
        for record in log.ordered() if log else ():
            if record.outcome != "scored" or record.reply is None or episode.over:
                return
            verdict = episode.advance(record.reply).verdict
            if (
                record.verdict is None
                or record.verdict.match != verdict.match
                or record.step != len(episode.results) - 1
            ):
                raise self._judged_differently(record, episode.profile)

    async def _semi_online_step(self, episode: SemiOnlineEpisode, pending: Pending, repeat: int) -> bool:
        """Ask, judge, record. False when no reply was to be had."""
        step = episode.trajectory.steps[pending.step_index]
        trajectory = episode.trajectory
        reply = await self._ask(
            trajectory.id, repeat, 0, pending, expert=lambda: step.action(pending.size), of=len(trajectory)
        )
        if reply is None:
            return False
        result = episode.advance(reply.text)
        self._record(
            self._base(trajectory.id, repeat, 0, pending, reply), result.parsed, **semi_online_facts(episode, result)
        )
        return True

    # -- static ----------------------------------------------------------------------------------------------------

    async def static_step(self, episode: StaticEpisode, index: int, repeat: int) -> None:
        trajectory = episode.trajectory
        of = len(trajectory)
        try:
            recorded = self._recorded_match(episode, index, repeat)
            if recorded is not None:
                self._finished(success=recorded, scored=True, resumed=True)
                return
            pending = episode.pending(index)
            assert pending is not None
            step, size = trajectory.steps[index], pending.size
            reply = await self._ask(trajectory.id, repeat, 0, pending, expert=lambda: step.action(size), of=of)
            if reply is None:
                self._finished(success=False, scored=False, resumed=False)
                return
            result = episode.advance(index, reply.text)
        except DataError as error:
            self._not_scored(trajectory.id, repeat, 0, index, None, AskFailed("screen", str(error)), of=of)
            self._finished(success=False, scored=False, resumed=False)
            return
        base = noting_left_out(self._base(trajectory.id, repeat, 0, pending, reply), episode, index)
        self._record(base, result.parsed, **static_facts(episode, result))
        self._finished(success=result.verdict.match, scored=True, resumed=False)

    def _recorded_match(self, episode: StaticEpisode, index: int, repeat: int) -> bool | None:
        """What the journal says of this step, if it has been scored. The recorded reply must mean today what it meant then."""
        log = self.recorded.get((episode.trajectory.id, repeat))
        record = log.steps.get(index) if log else None
        if record is None or record.outcome != "scored" or record.reply is None:
            return None
        match = episode.advance(index, record.reply).verdict.match
        if record.verdict is None or record.verdict.match != match:
            raise self._judged_differently(record, episode.profile)
        return match

    # -- online ----------------------------------------------------------------------------------------------------

    async def online(self, task: OnlineTask, repeat: int) -> None:
        log = self.recorded.get((task.id, repeat))
        if log is not None and log.end is not None and log.end.outcome == "scored":
            self._finished(success=(log.end.score or 0) >= 1, scored=True, resumed=True)
            return
        attempt = log.attempt + 1 if log is not None else 0
        last = attempt + self.plan.environment_attempts - 1
        end = await self._online_attempt(task, repeat, attempt)
        while attempt < last and self.stopped is None and _mendable(end):
            self.sink.append(end)
            attempt += 1
            end = await self._online_attempt(task, repeat, attempt)
        self.sink.append(end)
        self._finished(success=(end.score or 0) >= 1, scored=end.outcome == "scored", resumed=False)

    async def _online_attempt(self, task: OnlineTask, repeat: int, attempt: int) -> EpisodeEnd:
        """One start of an episode, in an environment of its own, to its end or to what broke."""
        closing: EnvironmentFailed | None = None
        try:
            environment = await _call(self.plan.suite.environment, task)
            try:
                end = await self._online_episode(task, repeat, attempt, environment)
            finally:
                try:
                    await _call(environment.close)
                except EnvironmentFailed as error:
                    closing = error
        except EnvironmentFailed as error:
            failure = FailureRecord(reason=error.kind, detail=error.detail)
            end = EpisodeEnd(
                episode=task.id, repeat=repeat, attempt=attempt, outcome="not_scored", steps=0, error=failure
            )
        if (
            closing is not None and end.error is None
        ):  # what the environment said before counts; that it did not close is told
            end = end.model_copy(update={"error": FailureRecord(reason="not_closed", detail=closing.detail)})
        return end

    async def _online_episode(
        self, task: OnlineTask, repeat: int, attempt: int, environment: OnlineEnvironment
    ) -> EpisodeEnd:
        clock = asyncio.get_running_loop().time
        began = clock()
        screen = self._kept(await _call(environment.reset))
        told = await _call(environment.goal)
        shown = clock() - began
        goal = task.goal if told is None else told[:MAX_GOAL]
        episode = OnlineEpisode(goal, self.plan.adapter, screen, budget=task.budget, images=self.plan.images)
        while (pending := episode.pending()) is not None:
            reply = await self._ask(task.id, repeat, attempt, pending, expert=partial(_guarded, environment.expert))
            if reply is None:
                failure = FailureRecord(reason="no_reply", detail=f"no reply at step {pending.step_index}")
                return EpisodeEnd(
                    episode=task.id,
                    repeat=repeat,
                    attempt=attempt,
                    outcome="not_scored",
                    steps=len(episode.results),
                    error=failure,
                )
            result = episode.advance(reply.text)
            base = self._base(task.id, repeat, attempt, pending, reply)
            self._record(base, result.parsed, outcome="acted", shown=round(shown, 4))
            began = clock()
            if episode.over:
                if result.answer is not None and episode.said_done:
                    await _call(environment.act, Answer(result.answer))  # told in the same breath as the end
                break
            if result.action is not None:
                screen = self._kept(await _call(environment.act, result.action))
            shown = clock() - began
            episode.observe(screen)
        await _call(environment.finished, episode.said_done)
        score = await _call(environment.score)
        if not 0 <= score <= 1:
            raise EnvironmentFailed("environment_error", f"a verdict of {score}, which is not between 0 and 1")
        episode.finish(score)
        said = [r.action for r in episode.results if r.action is not None and r.action.kind == "terminate"]
        return EpisodeEnd(
            episode=task.id,
            repeat=repeat,
            attempt=attempt,
            outcome="scored",
            score=episode.score,
            steps=len(episode.results),
            said=getattr(said[-1], "status", None) if said else None,
            answers=tuple(r.answer for r in episode.results if r.answer is not None),
            goal=None if told is None else goal,
            details=await _call(_details, environment) or None,
        )

    def _kept(self, screen: Screen) -> Screen:
        """`screen`, which exists nowhere else, given to the sink."""
        try:
            _ = screen.size
            self.sink.keep(screen.sha256, screen.read())
        except DataError as error:
            raise EnvironmentFailed("environment_error", f"a screen that is none: {error}") from error
        return screen

    # -- shared ----------------------------------------------------------------------------------------------------

    def _judged_differently(self, record: StepRecord, profile: Profile) -> FingerprintMismatch:
        again = command("sopbench", "score", self.folder, "--profile", profile.name)
        return FingerprintMismatch(
            f"episode {record.episode} step {record.step}: the recorded reply is judged differently today. "
            f"Re-score the run instead of resuming it: {again}"
        )

    async def _ask(
        self,
        episode: str,
        repeat: int,
        attempt: int,
        pending: Pending,
        expert: Callable[[], Action | None],
        of: int | None = None,
    ) -> Reply | None:
        """The policy's reply, its text made storable; None (and a `not_scored` line) when there is none."""
        gold_history = self.plan.suite.protocol == "static"
        ask = ask_for(
            self.plan.adapter, episode, repeat, pending, seed=self.plan.seed, expert=expert, gold_history=gold_history
        )
        try:
            reply = await self.plan.policy.ask(ask)
        except AskFailed as error:
            self._not_scored(episode, repeat, attempt, pending.step_index, pending, error, of=of)
            if error.fatal:
                self.stopped = error
            return None
        self.progress.steps += 1
        return storable(reply)

    def _base(self, episode: str, repeat: int, attempt: int, pending: Pending, reply: Reply) -> StepRecord:
        return base_record(self.plan.adapter, episode, repeat, pending, reply, attempt=attempt)

    def _record(self, base: StepRecord, parsed: ParsedReply | ParseFailure, **more: object) -> None:
        self.progress.parse_failed += isinstance(parsed, ParseFailure)
        self.sink.append(replied_record(base, parsed, **more))
        self.tell()

    def _not_scored(
        self,
        episode: str,
        repeat: int,
        attempt: int,
        step: int,
        pending: Pending | None,
        error: AskFailed,
        of: int | None = None,
    ) -> None:
        self.sink.append(
            StepRecord(
                episode=episode,
                repeat=repeat,
                attempt=attempt,
                step=step,
                of=of,
                outcome="not_scored",
                screen=pair(pending.size) if pending else None,
                error=FailureRecord(reason=error.kind, detail=error.detail[:2000]),
                attempts=attempt_records(error.attempts),
                queued=round(error.queued, 4),
            )
        )
        self.tell()


def _mendable(end: EpisodeEnd) -> bool:
    """Whether the episode broke in a way that a fresh environment may not."""
    return end.outcome == "not_scored" and end.error is not None and end.error.reason not in FINAL_FAILURES


def _details(environment: OnlineEnvironment) -> dict[str, Any]:
    """What it says for the journal. Raises `EnvironmentFailed` where that cannot stand there."""
    details = environment.details()
    try:
        size = len(json.dumps(details))
    except (TypeError, ValueError) as error:
        raise EnvironmentFailed("environment_error", f"details that are no JSON: {error}") from error
    if size > MAX_DETAILS:
        raise EnvironmentFailed("environment_error", f"{size} characters of details, more than {MAX_DETAILS}")
    return details


P = ParamSpec("P")
R = TypeVar("R")


async def _call(method: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run a blocking call of an environment in a thread."""
    return await asyncio.to_thread(partial(_guarded, method, *args, **kwargs))


def _guarded(method: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Whatever breaks in an environment is its own fault, not the agent's."""
    try:
        return method(*args, **kwargs)
    except EnvironmentFailed:
        raise
    except Exception as error:  # the boundary to foreign code: reported as its own outcome, with its name
        raise EnvironmentFailed("environment_error", f"{type(error).__name__}: {error}") from error
