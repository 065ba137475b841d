"""The summary of a static run: TM, GR and SR over steps, or the accuracy of grounding, and both by groups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from sopbench import stats
from sopbench.adapters.base import Adapter
from sopbench.geometry import PER_MILLE
from sopbench.runs.folder import EpisodeKey, EpisodeLog, RunInfo
from sopbench.runs.records import StepRecord
from sopbench.stats import Interval
from sopbench.stepstats import METRICS, Shares, StepOutcome, shares
from sopbench.suites.base import Loaded
from sopbench.trajectory import Trajectory

Logs = Mapping[EpisodeKey, EpisodeLog]

ACCURACY = "accuracy"
"""What SR is called on grounding data, where it is the only metric."""

CROSSED = (("platform", "type"), ("group", "type"))
"""Pairs of tags whose combinations are listed too, as ScreenSpot's tables are."""
MAX_VALUES = 60
"""A tag with more values than that tells single trajectories apart rather than groups of them."""


def metrics_of(info: RunInfo) -> tuple[str, ...]:
    """The names of the run's metrics, the most important first."""
    return (ACCURACY,) if info.facts["static"]["metrics"] == ACCURACY else ("sr", "tm", "gr")


def step_outcomes(trajectories: Sequence[Trajectory], repeats: int, logs: Logs) -> list[StepOutcome]:
    """One outcome a step and repeat, in the data's order; steps that were never asked are not scored."""
    found = []
    for repeat in range(repeats):
        for trajectory in trajectories:
            log = logs.get((trajectory.id, repeat))
            for index, step in enumerate(trajectory.steps):
                record = log.steps.get(index) if log else None
                found.append(step_outcome(trajectory.id, repeat, index, step.kind, record))
    return found


def step_outcome(episode: str, repeat: int, index: int, gold: str, record: StepRecord | None) -> StepOutcome:
    if record is None or record.outcome != "scored" or record.verdict is None:
        reason = record.error.reason if record is not None and record.error else "not_played"
        return StepOutcome(episode, index, repeat, gold, False, reason=reason)
    verdict = record.verdict
    said = str(record.action["action"]) if record.action else None
    return StepOutcome(episode, index, repeat, gold, True, said, verdict.type_match, verdict.match, verdict.reason)


def static_part(info: RunInfo, loaded: Loaded, adapter: Adapter, logs: Logs) -> dict[str, Any]:
    """What the summary of a static run says instead of PG, TSR and what follows from them."""
    outcomes = step_outcomes(loaded.trajectories, info.facts["repeats"], logs)
    names = metrics_of(info)
    whole = shares(outcomes)
    unscored = [o for o in outcomes if not o.scored]
    episodes: dict[tuple[str, int], list[StepOutcome]] = {}
    for o in outcomes:
        episodes.setdefault((o.episode, o.repeat), []).append(o)
    scored = [steps for steps in episodes.values() if all(o.scored for o in steps)]
    solved = sum(all(o.match for o in steps) for steps in scored)
    part: dict[str, Any] = {
        "complete": not unscored,
        "n": whole.n // info.facts["repeats"],
        "n_trajectories": len(loaded.trajectories),
        **_values(whole, names),
        "ci95": {name: _interval(whole.ci[key]) for name, key in _keys(names) if key in whole.ci} or None,
        "bounds": {name: _interval(whole.bounds[key]) for name, key in _keys(names) if key in whole.bounds} or None,
        "whole_trajectories": stats.percent(solved / len(scored)) if len(scored) == len(episodes) and scored else None,
        "scored_trajectories": len(scored),
        "not_scored_trajectories": len(episodes) - len(scored),
        "groups": groups(loaded.trajectories, outcomes, names),
        "reasons": stats.sorted_counts(Counter(o.reason or "?" for o in outcomes if o.scored and not o.match)),
        "not_scored_reasons": stats.sorted_counts(Counter(o.reason or "?" for o in unscored)),
        "ceiling": static_ceiling(loaded.trajectories, adapter, names),
    }
    if info.facts["static"]["instruction"]:
        part["without_instruction"] = sum(
            not (step.instruction or "").strip() for t in loaded.trajectories for step in t.steps
        )
    return part


def groups(
    trajectories: Sequence[Trajectory], outcomes: Sequence[StepOutcome], names: Sequence[str]
) -> dict[str, dict[str, dict[str, Any]]]:
    """The metrics by the values of each tag that trajectories carry: {tag: {value: {n, scored, metric...}}}. A metric of a group with unscored steps is None."""
    table: dict[str, dict[str, dict[str, Any]]] = {}
    tags = {t.id: _with_crossed(t.tags) for t in trajectories}
    for tag in sorted({name for of_one in tags.values() for name in of_one}):
        members: dict[str, list[StepOutcome]] = {}
        for o in outcomes:
            if (value := tags[o.episode].get(tag)) is not None:
                members.setdefault(value, []).append(o)
        if len(members) <= MAX_VALUES:
            found = {value: shares(steps, with_intervals=False) for value, steps in sorted(members.items())}
            table[tag] = {value: {"n": s.n, "scored": s.scored, **_values(s, names)} for value, s in found.items()}
    return table


def _with_crossed(tags: Mapping[str, str]) -> dict[str, str]:
    crossed = {f"{a} and {b}": f"{tags[a]}, {tags[b]}" for a, b in CROSSED if a in tags and b in tags}
    return dict(tags) | crossed


def static_ceiling(trajectories: Sequence[Trajectory], adapter: Adapter, names: Sequence[str]) -> dict[str, Any]:
    """What an oracle could reach through this adapter (percent), and the gold actions that it has no words for."""
    missing: Counter[str] = Counter()
    total = 0
    for trajectory in trajectories:
        for step in trajectory.steps:
            total += 1
            if not adapter.can_express(step.action(PER_MILLE)):  # what can be said depends on no screen's size
                missing[step.kind] += 1
    said = stats.percent(1 - sum(missing.values()) / max(1, total))
    return {name: said for name in names if name != "gr"} | {"missing": stats.sorted_counts(missing)}


def _values(found: Shares, names: Sequence[str]) -> dict[str, float | None]:
    values = {name: found.values.get(key) for name, key in _keys(names)}
    return {name: None if value is None else stats.percent(value) for name, value in values.items()}


def _keys(names: Sequence[str]) -> list[tuple[str, str]]:
    """(name in the summary, name in `stepstats`)"""
    assert set(names) <= {*METRICS, ACCURACY}
    return [(name, "sr" if name == ACCURACY else name) for name in names]


def _interval(value: Interval) -> list[float]:
    return [stats.percent(value.low), stats.percent(value.high)]
