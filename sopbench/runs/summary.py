"""From a journal to a summary: every number that a run may claim."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sopbench import stats
from sopbench.adapters.base import Adapter
from sopbench.clients.base import AskFailed
from sopbench.geometry import PER_MILLE
from sopbench.online.base import OnlineTask
from sopbench.runs.config import Prices
from sopbench.runs.folder import EpisodeKey, EpisodeLog, RunInfo
from sopbench.runs.records import StepRecord
from sopbench.runs.static_summary import static_part, step_outcomes
from sopbench.stats import Interval, Outcome
from sopbench.suites.base import Loaded
from sopbench.trajectory import Trajectory

Logs = Mapping[EpisodeKey, EpisodeLog]


def outcomes_of(loaded: Loaded, repeats: int, logs: Logs) -> list[Outcome]:
    """One outcome an episode and repeat, in the data's order; episodes that were never played are not scored."""
    found = []
    for repeat in range(repeats):
        found += [semi_online_outcome(t.id, repeat, logs.get((t.id, repeat)), len(t)) for t in loaded.trajectories]
        found += [online_outcome(t.id, repeat, logs.get((t.id, repeat))) for t in loaded.tasks]
    return found


def semi_online_outcome(episode: str, repeat: int, log: EpisodeLog | None, length: int) -> Outcome:
    """How far the episode came before its first mismatch. `length`: steps of the expert's recording."""
    progress = 0
    for record in log.ordered() if log else ():
        if record.outcome != "scored" or record.verdict is None or record.step != progress:
            break
        if not record.verdict.match:
            return Outcome(episode, repeat, length, progress, True, record.verdict.reason, _gold_kind(record))
        progress += 1
    if progress == length:
        return Outcome(episode, repeat, length, progress, True)
    missing = log.steps.get(progress) if log else None
    return Outcome(episode, repeat, length, progress, False, _why(missing))


def online_outcome(task: str, repeat: int, log: EpisodeLog | None) -> Outcome:
    """An online episode counts as one step: solved or not, by the environment's word."""
    end = log.end if log else None
    if log is None or end is None or end.outcome != "scored":
        failed = [r for r in log.ordered() if r.error] if log else []
        reason = _why(failed[-1]) if failed else end.error.reason if end and end.error else _why(None)
        return Outcome(task, repeat, 1, 0, False, reason)
    solved = (end.score or 0.0) >= 1.0
    return Outcome(task, repeat, 1, int(solved), True, None if solved else f"said:{end.said or 'nothing'}")


def _why(record: StepRecord | None) -> str:
    return record.error.reason if record is not None and record.error else "not_played"


def summarise(
    info: RunInfo,
    path: Path,
    loaded: Loaded,
    adapter: Adapter,
    logs: Logs,
    *,
    wall_s: float | None = None,
    stopped: AskFailed | None = None,
) -> dict[str, Any]:
    """The content of `summary.json`; `stopped` is the refusal that ended the run early, if any. Percents have one decimal; a run with unscored episodes has bounds in place of means."""
    facts = info.facts
    records = [record for log in logs.values() for record in log.ordered()]
    steps = [record for record in records if record.outcome in ("scored", "acted")]
    counted = [record for record in steps if not record.diagnostic]
    parse_failed = sum(record.parse_failure is not None for record in steps)
    summary: dict[str, Any] = {
        "suite": facts["suite"],
        "protocol": facts["protocol"],
        "model": facts["model"],
        "adapter": adapter.name,
        "profile": facts["profile"]["id"] if facts["profile"] else None,
        "fingerprint": info.fingerprint,
        "run": str(path),
        "stopped": {"reason": stopped.kind, "detail": stopped.detail} if stopped else None,
        "repeats": facts["repeats"],
        "limit": info.settings.get("limit"),
        **({"tasks": info.settings["tasks"]} if info.settings.get("tasks") else {}),
        **_judged(info, logs),
        "scored_steps": len(steps),
        "parse_failed_steps": parse_failed,
        "not_scored_steps": sum(record.outcome == "not_scored" for record in records),
        "parse_failure_rate": _percent(parse_failed / len(steps)) if steps else None,
        "other_models": stats.sorted_counts(Counter(r.model for r in steps if r.model and r.model != facts["model"])),
    }
    if facts["protocol"] == "static":
        summary |= static_part(info, loaded, adapter, logs)
        summary |= {"by_action": _by_action(counted), "confusion": _confusion(counted)}
        if facts["repeats"] > 1:
            summary["flips"] = _flipping_steps(loaded, facts["repeats"], logs)
        return summary | _costs(info, records, wall_s)
    outcomes = outcomes_of(loaded, facts["repeats"], logs)
    head = stats.headline(outcomes)
    unscored = [o for o in outcomes if not o.scored]
    summary |= {
        "complete": not unscored,
        "n": head.n,
        "pg": _percent(head.pg),
        "tsr": _percent(head.tsr),
        "score": _percent(head.score),
        "ci95": {name: _interval(value) for name, value in head.ci.items()} or None,
        "bounds": {name: _interval(value) for name, value in head.bounds.items()} or None,
        "scored_trajectories": len(outcomes) - len(unscored),
        "not_scored_trajectories": len(unscored),
    }
    if facts["protocol"] == "online":
        summary |= _online_part(logs, outcomes, loaded)
        for name in ("pg", "score"):
            summary.pop(name)
    else:
        summary |= _semi_online_part(counted, outcomes, loaded, adapter)
        if facts["after_mismatch"] == "continue":
            summary["diagnostic"] = _diagnostic(steps)
    summary["not_scored_reasons"] = stats.sorted_counts(Counter(o.reason or "?" for o in unscored))
    if facts["repeats"] > 1:
        summary["repeats_tsr"] = [
            _percent(stats.headline([o for o in outcomes if o.repeat == r]).tsr) for r in range(facts["repeats"])
        ]
        summary["flips"] = stats.flips(outcomes)
    return summary | _costs(info, records, wall_s)


def _judged(info: RunInfo, logs: Logs) -> dict[str, Any]:
    """Where a VLM decided success: which one, asked in which words, how far it was measured to agree with labels (None: it was not), and the episodes that by its replies' own
    word another model judged."""
    judge = info.facts.get("environment", {}).get("judge")
    if not isinstance(judge, dict):
        return {}
    told = [(log.end.details or {}).get("judge") for log in logs.values() if log.end is not None]
    names = Counter(str(one.get("model")) for one in told if isinstance(one, dict))
    others = {name: n for name, n in stats.sorted_counts(names).items() if name != judge.get("model")}
    return {"judge": {**judge, "agreement": info.settings.get("judge_agreement"), "other_models": others}}


def _flipping_steps(loaded: Loaded, repeats: int, logs: Logs) -> list[str]:
    """Steps (`episode step index`) that some repeat matches and another does not."""
    seen: dict[tuple[str, int], set[bool]] = {}
    for o in step_outcomes(loaded.trajectories, repeats, logs):
        if o.scored:
            seen.setdefault((o.episode, o.step), set()).add(o.match)
    return [f"{episode} step {step}" for (episode, step), values in seen.items() if len(values) == 2]


def _semi_online_part(
    counted: Sequence[StepRecord], outcomes: Sequence[Outcome], loaded: Loaded, adapter: Adapter
) -> dict[str, Any]:
    failed = [o for o in outcomes if o.scored and not o.success]
    return {
        "by_action": _by_action(counted),
        "by_length": stats.by_length(outcomes),
        "first_failure_by_step": _by_step(o.progress for o in failed),
        "first_failure_by_action": stats.sorted_counts(Counter(o.failed_kind or "?" for o in failed)),
        "reasons": stats.sorted_counts(Counter(o.reason or "?" for o in failed)),
        "confusion": _confusion(counted),
        "ceiling": ceiling(loaded.trajectories, adapter),
    }


def ceiling(trajectories: Sequence[Trajectory], adapter: Adapter) -> dict[str, Any]:
    """What an oracle could reach through this adapter (percent), and the gold actions that it has no words for."""
    missing: Counter[str] = Counter()
    prefixes = []
    for trajectory in trajectories:
        actions = [step.action(PER_MILLE) for step in trajectory.steps]  # what can be said depends on no screen's size
        unsaid = [k for k, action in enumerate(actions) if not adapter.can_express(action)]
        missing.update(actions[k].kind for k in unsaid)
        first = unsaid[0] if unsaid else len(actions)
        prefixes.append((first / len(actions), not unsaid))
    n = max(1, len(prefixes))
    return {
        "pg": _percent(sum(p for p, _ in prefixes) / n),
        "tsr": _percent(sum(whole for _, whole in prefixes) / n),
        "missing": stats.sorted_counts(missing),
    }


def _online_part(logs: Logs, outcomes: Sequence[Outcome], loaded: Loaded) -> dict[str, Any]:
    ends = [log.end for log in logs.values() if log.end is not None and log.end.outcome == "scored"]
    n = len(ends)
    broken = Counter(why for log in logs.values() for why in log.failures if why != "no_reply")
    return {
        "success": _percent(sum((e.score or 0.0) >= 1.0 for e in ends) / n) if n == len(outcomes) and n else None,
        "mean_score": round(sum(e.score or 0.0 for e in ends) / n, 4) if n else None,
        "mean_steps": round(sum(e.steps for e in ends) / n, 2) if n else None,
        "solved_without_acting": sorted(_untouched(logs)),
        "said": stats.sorted_counts(Counter(e.said or "nothing" for e in ends)),
        "reasons": stats.sorted_counts(Counter(o.reason or "?" for o in outcomes if o.scored and not o.success)),
        "by_template": _by_template(outcomes, loaded),
        **_over_instances(outcomes, loaded),
        **({"environment_failures": stats.sorted_counts(broken)} if broken else {}),
    }


def _template(task: OnlineTask) -> str:
    return str(task.facts.get("template", task.id))


def _by_template(outcomes: Sequence[Outcome], loaded: Loaded) -> list[dict[str, Any]]:
    """Of each template, in the data's order: episodes played, scored, solved."""
    templates = {task.id: _template(task) for task in loaded.tasks}
    rows: dict[str, dict[str, Any]] = {
        name: {"template": name, "n": 0, "scored": 0, "solved": 0} for name in templates.values()
    }
    for o in outcomes:
        row = rows[templates[o.episode]]
        row["n"] += 1
        row["scored"] += o.scored
        row["solved"] += o.scored and o.success
    return list(rows.values())


def _over_instances(outcomes: Sequence[Outcome], loaded: Loaded) -> dict[str, Any]:
    """Where tasks have several instances (`facts["instance"]`): the success (percent) of each set of instances, and its mean and standard deviation."""
    instance = {task.id: task.facts.get("instance") for task in loaded.tasks}
    sets = sorted({i for i in instance.values() if type(i) is int})
    if len(sets) < 2 or not all(o.scored for o in outcomes):
        return {}
    rates = []
    for one in sets:
        own = [o.success for o in outcomes if instance[o.episode] == one]
        rates.append(sum(own) / len(own))
    mean = sum(rates) / len(rates)
    deviation = math.sqrt(sum((rate - mean) ** 2 for rate in rates) / (len(rates) - 1))
    return {
        "over_instances": {
            "success": [_percent(rate) for rate in rates],
            "mean": _percent(mean),
            "sd": _percent(deviation),
        }
    }


def _untouched(logs: Logs) -> set[str]:
    """Tasks that the environment calls solved though the agent did nothing but end: solved at the start, a fault of the task."""
    return {
        episode
        for (episode, _), log in logs.items()
        if log.end is not None
        and (log.end.score or 0.0) >= 1.0
        and all(r.action is not None and r.action["action"] == "terminate" for r in log.ordered())
    }


def _diagnostic(steps: Sequence[StepRecord]) -> dict[str, Any]:
    """Over every step, also those after the first mismatch. Never the headline."""
    n = len(steps)
    matched = sum(bool(r.verdict and r.verdict.match) for r in steps)
    typed = sum(bool(r.verdict and r.verdict.type_match) for r in steps)
    return {
        "steps": n,
        "step_accuracy": _percent(matched / n) if n else None,
        "type_accuracy": _percent(typed / n) if n else None,
        "by_action": _by_action(steps),
        "confusion": _confusion(steps),
    }


def _by_action(steps: Iterable[StepRecord]) -> dict[str, dict[str, int]]:
    table: dict[str, dict[str, int]] = {}
    for r in steps:
        row = table.setdefault(_gold_kind(r), {"n": 0, "type_match": 0, "match": 0})
        row["n"] += 1
        row["type_match"] += bool(r.verdict and r.verdict.type_match)
        row["match"] += bool(r.verdict and r.verdict.match)
    return dict(sorted(table.items(), key=lambda item: -item[1]["n"]))


def _confusion(steps: Iterable[StepRecord]) -> dict[str, dict[str, int]]:
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for r in steps:
        table[_gold_kind(r)][str(r.action["action"]) if r.action else "parse_failure"] += 1
    return {gold: stats.sorted_counts(row) for gold, row in sorted(table.items())}


def _gold_kind(record: StepRecord) -> str:
    return str(record.gold["action"]) if record.gold else "?"


def _by_step(indices: Iterable[int]) -> list[dict[str, int]]:
    return [{"step": step, "n": n} for step, n in sorted(Counter(indices).items())]


def _costs(info: RunInfo, records: Sequence[StepRecord], wall_s: float | None) -> dict[str, Any]:
    prompt = [r.prompt_tokens for r in records if r.prompt_tokens is not None]
    completion = [r.completion_tokens for r in records if r.completion_tokens is not None]
    tried = [a for r in records for a in r.attempts]
    prices = Prices(**info.settings["prices"]) if info.settings.get("prices") else None
    cost = None
    if prices and prompt:
        cost = round((sum(prompt) * prices.prompt + sum(completion) * prices.completion) / 1e6, 6)
    return {
        "tokens": {"prompt": sum(prompt), "completion": sum(completion)} if prompt or completion else None,
        "cost": cost,
        "latency": stats.quantiles([r.latency for r in records if r.latency]),
        "faults": stats.sorted_counts(Counter(a.error for a in tried if a.error)),
        "retries": sum(max(0, len(r.attempts) - 1) for r in records),
        "wall_s": round(wall_s, 2) if wall_s is not None else None,
    }


def _percent(fraction: float | None) -> float | None:
    return None if fraction is None else stats.percent(fraction)


def _interval(value: Interval) -> list[float]:
    return [stats.percent(value.low), stats.percent(value.high)]
