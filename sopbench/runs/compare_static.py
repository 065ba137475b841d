"""Two static runs on the same steps, side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from sopbench import stats
from sopbench.api import Run
from sopbench.errors import UsageError, command
from sopbench.runs.static_summary import ACCURACY, metrics_of, step_outcome
from sopbench.stepstats import RATIOS, StepOutcome, per_trajectory

Key = tuple[str, int]


def compare_steps(a: Run, b: Run) -> dict[str, Any]:
    """Paired comparison of what is comparable (`runs.compare` has seen to that): b minus a, in percent points, resampled by trajectory; McNemar's test is on single
    steps. Steps are named `episode step index`, from 0."""
    one, two = _outcomes(a), _outcomes(b)
    facts_a, facts_b = a.info.facts, b.info.facts
    names, first = per_trajectory(one)
    order, second = per_trajectory(two)
    second = stats.aligned(names, order, second)
    means = stats.bootstrap_means(np.column_stack([first, second]))
    width = first.shape[1]
    difference: dict[str, Any] = {}
    sides: tuple[dict[str, float | None], ...] = ({}, {})
    for name in metrics_of(a.info):
        ratio = RATIOS["sr" if name == ACCURACY else name]
        values = [float(ratio(sums.mean(axis=0)[None, :])[0]) for sums in (first, second)]
        for side, value in zip(sides, values, strict=True):
            side[name] = None if np.isnan(value) else stats.percent(value)
        spread = ratio(means[:, width:]) - ratio(means[:, :width])
        spread = spread[~np.isnan(spread)]
        if not np.isnan(values).any() and len(spread):
            interval = [stats.percent(float(v)) for v in np.percentile(spread, [2.5, 97.5])]
            difference[name] = {"value": stats.percent(values[1] - values[0]), "ci95": interval}
    single = facts_a["repeats"] == facts_b["repeats"] == 1
    matched_a, matched_b = _matched(one), _matched(two)
    only_a = [f"{episode} step {step}" for episode, step in sorted(matched_a - matched_b)]
    only_b = [f"{episode} step {step}" for episode, step in sorted(matched_b - matched_a)]
    return {
        "a": _side(a, sides[0]),
        "b": _side(b, sides[1]),
        "n": len(one) // facts_a["repeats"],
        "unit": "steps",
        "n_trajectories": len(names),
        "difference": difference,
        "mcnemar": {
            "only_a": len(only_a),
            "only_b": len(only_b),
            "p": stats.mcnemar(len(only_a), len(only_b)),
        }
        if single
        else None,
        "only_a": only_a,
        "only_b": only_b,
    }


def _outcomes(run: Run) -> list[StepOutcome]:
    """Raises `UsageError` where a step is not scored."""
    facts, logs = run.info.facts, run.folder.episodes()
    found: list[StepOutcome] = []
    whole = len(logs) == facts["n_trajectories"] * facts["repeats"]
    for (episode, repeat), log in logs.items():
        records = log.ordered()
        whole = whole and bool(records) and len(records) == records[0].of
        found += [step_outcome(episode, repeat, r.step, str((r.gold or {}).get("action", "?")), r) for r in records]
    if not whole or not all(o.scored for o in found):
        raise UsageError(
            f"{run.path} has steps that are not scored; finish it first: {command('sopbench', 'resume', run.path)}"
        )
    return found


def _matched(outcomes: list[StepOutcome]) -> set[Key]:
    """The steps that every repeat matches."""
    seen: dict[Key, bool] = {}
    for o in outcomes:
        seen[o.episode, o.step] = seen.get((o.episode, o.step), True) and o.match
    return {key for key, match in seen.items() if match}


def _side(run: Run, values: dict[str, float | None]) -> dict[str, Any]:
    facts = run.info.facts
    return {"run": str(run.path), "model": facts["model"], "adapter": facts["adapter"]["name"], **values}
