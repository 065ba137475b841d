"""From runs to models: the metrics that each model has in each protocol, and its successes task by task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sopbench.api import Run
from sopbench.errors import UsageError, command
from sopbench.runs.compare import shared_facts

PROTOCOLS = ("static", "semi_online", "online")
METRICS: dict[str, tuple[str, str]] = {
    "static SR": ("static", "sr"),
    "static accuracy": ("static", "accuracy"),
    "SOP PG": ("semi_online", "pg"),
    "SOP TSR": ("semi_online", "tsr"),
    "SOP Score": ("semi_online", "score"),
    "online success": ("online", "success"),
}
"""Name of a metric, as it is shown: the protocol whose runs have it, and its key in their summaries. All in percent."""


@dataclass(slots=True)
class Model:
    """One model through one adapter. `values`: metric -> percent, the mean over its runs of that protocol. `solved`: protocol -> task -> share of
    episodes in which every step matched (online: in which the environment said success)."""

    name: str
    adapter: str
    values: dict[str, float] = field(default_factory=dict)
    runs: dict[str, list[str]] = field(default_factory=dict)
    solved: dict[str, dict[str, float]] = field(default_factory=dict)
    ids: dict[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        return self.name


def gather(runs: Sequence[Run]) -> list[Model]:
    """The models of `runs`, in the order in which they first come. Raises `UsageError` for runs that are not whole, or that cannot stand in one column."""
    models: dict[tuple[str, str], Model] = {}
    shared: dict[str, tuple[Run, Mapping[str, Any]]] = {}
    parts: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for run in runs:
        facts, summary = run.info.facts, run.summary
        if not summary.get("complete"):
            raise UsageError(f"{run.path} is not whole; finish it first: {command('sopbench', 'resume', run.path)}")
        _same_column(run, shared)
        key = (str(facts["model"]), str(facts["adapter"]["name"]))
        model = models.setdefault(key, Model(*key))
        protocol = str(facts["protocol"])
        model.runs.setdefault(protocol, []).append(str(run.path))
        model.ids[protocol] = str(facts["ids_sha256"])
        parts.setdefault((*key, protocol), []).append(dict(summary))
        for task, share in _solved(run).items():
            model.solved.setdefault(protocol, {}).setdefault(task, 0.0)
            model.solved[protocol][task] += share
    for (name, adapter, protocol), summaries in parts.items():
        model = models[name, adapter]
        for metric, (owner, key_in_summary) in METRICS.items():
            found = [
                float(s[key_in_summary]) for s in summaries if owner == protocol and s.get(key_in_summary) is not None
            ]
            if found and len(found) == len(summaries):
                model.values[metric] = round(sum(found) / len(found), 2)
        for task in model.solved.get(protocol, {}):
            model.solved[protocol][task] /= len(summaries)
    return list(models.values())


def _same_column(run: Run, shared: dict[str, tuple[Run, Mapping[str, Any]]]) -> None:
    """Runs of one protocol stand in one column only if they are on the same data under the same profile, and judged by the same judge if by any."""
    facts = run.info.facts
    mine = shared_facts(facts)
    first, theirs = shared.setdefault(str(facts["protocol"]), (run, mine))
    odd = [key for key in mine if mine[key] != theirs[key]]
    if odd:
        raise UsageError(
            f"{run.path} and {first.path} cannot stand in one column: they differ in {', '.join(odd)}. Link runs of one suite for each protocol"
        )


def _solved(run: Run) -> dict[str, float]:
    rows = run.trajectories
    if not len(rows):
        return {}
    return {str(task): float(share) for task, share in rows.groupby("episode")["success"].mean().items()}
