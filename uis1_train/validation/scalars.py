"""From the summary of a run to the scalars that a tracker draws."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SCORES = {
    "semi_online": ("pg", "tsr", "score", "parse_failure_rate"),
    "static": ("tm", "gr", "sr", "accuracy", "parse_failure_rate"),
    "online": ("tsr", "parse_failure_rate"),
}
RENAMED = {("online", "tsr"): "success"}


def scalars_of(name: str, summary: Mapping[str, Any]) -> dict[str, float]:
    """`val/<name>/<metric>` in percent, as the summary has them, and `val/<name>/scored`, the episodes or steps that count.

    A run that is not complete has no means: only its bounds, as `<metric>_low` and `<metric>_high`, so that no curve shows a number that leaves some out.
    """
    protocol = str(summary["protocol"])
    values: dict[str, float] = {}
    bounds = summary.get("bounds") or {}
    for metric in SCORES[protocol]:
        told = RENAMED.get((protocol, metric), metric)
        if isinstance(value := summary.get(metric), int | float):
            values[f"val/{name}/{told}"] = float(value)
        elif metric in bounds:
            low, high = bounds[metric]
            values |= {f"val/{name}/{told}_low": float(low), f"val/{name}/{told}_high": float(high)}
    counted = "scored_steps" if protocol == "static" else "scored_trajectories"
    values[f"val/{name}/scored"] = float(summary[counted])
    return values


def sop_score(scalars: Mapping[str, float]) -> float | None:
    """What checkpoints are compared by: sopbench's Score, the mean of PG and TSR, in percent; None where SOP was not measured whole."""
    return scalars.get("val/sop/score")
