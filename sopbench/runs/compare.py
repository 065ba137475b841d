"""Two runs on the same trajectories, side by side: differences with intervals, McNemar on success, and the trajectories that flip."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sopbench import stats
from sopbench.api import Run
from sopbench.errors import UsageError, command
from sopbench.runs.compare_static import compare_steps
from sopbench.runs.fingerprint import require_same
from sopbench.stats import Outcome

SAME = ("protocol", "data_sha256", "ids_sha256", "profile", "static")
"""Facts in which runs must agree to be compared; all others (model, adapter, sampling, images) may be what is compared. The name of the suite is not among
them, since the data is; nor is what happens after the first mismatch, since no headline counts it."""


def shared_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """`SAME`, and of live environments whose verdict it was (a VLM's, asked in certain words, is a metric of its own) and whether the devices were simulated."""
    environment = facts.get("environment") or {}
    simulated = any(isinstance(own, Mapping) and own.get("simulated") is True for own in environment.values())
    return {key: facts.get(key) for key in SAME} | {"judge": environment.get("judge"), "simulated": simulated}


def _way_out(a: Run, b: Run) -> str:
    """What to do where only the profiles differ: the replies are there to be judged again."""
    mine, theirs = shared_facts(a.info.facts), shared_facts(b.info.facts)
    if [key for key in mine if mine[key] != theirs[key]] != ["profile"]:
        return ""
    profile = str(a.info.facts["profile"]["id"]).partition("@")[0]
    return (
        f"Judge the second run by the first one's profile: {command('sopbench', 'score', b.path, '--profile', profile)}"
    )


def compare(a: Run, b: Run) -> dict[str, Any]:
    """Paired comparison (b minus a, in percent points). Raises `FingerprintMismatch` where the two are not on the same data, trajectories and profile."""
    facts_a, facts_b = a.info.facts, b.info.facts
    require_same(
        shared_facts(facts_a),
        shared_facts(facts_b),
        what=f"{a.path} and {b.path} cannot be compared",
        sides="first run / second run",
        hint=_way_out(a, b),
    )
    if facts_a["protocol"] == "static":
        return {"differs_in": differing(facts_a, facts_b)} | compare_steps(a, b)
    one, two = _outcomes(a), _outcomes(b)
    for run, outcomes in ((a, one), (b, two)):
        expected = run.info.facts["n_trajectories"] * run.info.facts["repeats"]
        if len(outcomes) != expected or not all(o.scored for o in outcomes):
            raise UsageError(
                f"{run.path} has episodes that are not scored; finish it first: {command('sopbench', 'resume', run.path)}"
            )
    names, first = stats.per_trajectory(one)
    order, second = stats.per_trajectory(two)
    second = stats.aligned(names, order, second)
    differences = second - first
    means = stats.bootstrap_means(differences)
    online = facts_a["protocol"] == "online"
    metrics = {"tsr": 1} if online else {"pg": 0, "tsr": 1, "score": 2}
    gained = [n for n, d in zip(names, differences[:, 1], strict=True) if d > 0]
    lost = [n for n, d in zip(names, differences[:, 1], strict=True) if d < 0]
    single = facts_a["repeats"] == facts_b["repeats"] == 1
    return {
        "a": _side(a, first, metrics),
        "b": _side(b, second, metrics),
        "n": len(names),
        "differs_in": differing(facts_a, facts_b),
        "difference": {
            name: {
                "value": stats.percent(float(differences[:, k].mean())),
                "ci95": [stats.percent(v) for v in np.percentile(means[:, k], [2.5, 97.5])],
            }
            for name, k in metrics.items()
        },
        "mcnemar": {"only_a": len(lost), "only_b": len(gained), "p": stats.mcnemar(len(lost), len(gained))}
        if single
        else None,
        "only_a": lost,
        "only_b": gained,
    }


def differing(facts_a: Mapping[str, Any], facts_b: Mapping[str, Any]) -> list[str]:
    """The names of the facts in which two runs differ."""
    return sorted(k for k in facts_a.keys() | facts_b.keys() if facts_a.get(k) != facts_b.get(k))


def _outcomes(run: Run) -> list[Outcome]:
    fields = ["episode", "repeat", "length", "progress", "scored"]
    rows = run.trajectories[fields].to_dict("records") if len(run.trajectories) else []
    return sorted((Outcome(**{str(k): v for k, v in row.items()}) for row in rows), key=lambda o: (o.episode, o.repeat))


def _side(run: Run, values: stats.FloatArray, metrics: dict[str, int]) -> dict[str, Any]:
    facts = run.info.facts
    shown = {name: stats.percent(float(values[:, k].mean())) for name, k in metrics.items()}
    return {"run": str(run.path), "model": facts["model"], "adapter": facts["adapter"]["name"], **shown}
