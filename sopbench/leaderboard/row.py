"""A line of a board: what a verified submission says, or what a paper published."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np

from sopbench import stats, stepstats
from sopbench.leaderboard.case import Case
from sopbench.runs.static_summary import step_outcomes
from sopbench.runs.summary import outcomes_of

Tier = Literal["published", "self-reported", "re-run"]
COLUMN = {"pg": 0, "tsr": 1, "score": 2, "success": 1}
"""Where `stats.per_trajectory` has a metric; `success` is what TSR is called online."""


@dataclass(frozen=True, slots=True)
class Spread:
    """For paired comparison: the headline as a fraction, and how far each trajectory pulls it from its mean (in the data's order, mean 0)."""

    value: float
    pulls: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """`values` and `ranges` (95 % intervals) are percent by metric; a published row has no ranges, no fingerprint and no folder.

    `bounds` stand in for values where something has no verdict. `facts` are what a reader asks about: adapter, prompts, screens a request, repeats, seed, tokens,
    unreadable replies. `told` is the metadata. `replies_sha256` is equal for two submissions with the same replies.
    """

    board: str
    model: str
    organisation: str
    tier: Tier
    values: dict[str, float]
    ranges: dict[str, tuple[float, float]] = field(default_factory=dict)
    bounds: dict[str, tuple[float, float]] = field(default_factory=dict)
    n: int | None = None
    date: str | None = None
    citation: str | None = None
    folder: str | None = None
    fingerprint: str | None = None
    weights_open: bool | None = None
    trained_on_benchmark: str | None = None
    parameters: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    told: dict[str, Any] = field(default_factory=dict)
    replies_sha256: str | None = None
    spread: Spread | None = None

    def as_dict(self) -> dict[str, Any]:
        """For JSON; without what only ranking needs."""
        found = asdict(self)
        del found["spread"]
        return found


def row_of(case: Case) -> Row:
    """The row of a submission that every rule let pass."""
    summary, metadata = case.summary, case.metadata
    columns = case.board.columns
    return Row(
        board=case.board.id,
        model=metadata.model,
        organisation=metadata.organisation,
        tier="re-run" if case.reproduced else "self-reported",
        values={name: summary[name] for name in columns if summary.get(name) is not None},
        ranges=_spans(columns, summary.get("ci95") or {}),
        bounds=_spans(columns, summary.get("bounds") or {}),
        n=summary["n"],
        date=metadata.date.isoformat(),
        folder=case.submission.folder,
        fingerprint=case.info.fingerprint,
        weights_open=metadata.weights_open,
        trained_on_benchmark=metadata.trained_on_benchmark,
        parameters=metadata.parameters,
        facts=_facts(case),
        told=metadata.model_dump(mode="json", exclude_none=True),
        replies_sha256=case.replies_sha256,
        spread=_spread(case),
    )


def _facts(case: Case) -> dict[str, Any]:
    summary, facts = case.summary, case.facts
    sampling = facts.get("sampling") or {}
    found = {
        "served as": facts["model"],
        "adapter": facts["adapter"]["name"],
        "prompts": facts["adapter"]["prompt"]["kind"],
        "screens a request": facts["images"],
        "repeats": facts["repeats"],
        "seed": facts["seed"],
        "temperature": sampling.get("temperature"),
        "top_p": sampling.get("top_p"),
        "top_k": sampling.get("top_k"),
        "tokens a reply": sampling.get("max_tokens"),
        "other request fields": ", ".join(sorted(sampling.get("extra_body") or {})) or None,
        "profile": facts["profile"]["id"] if facts["profile"] else None,
        "replies that were no action": summary["parse_failed_steps"],
        "without a verdict": summary.get("not_scored_trajectories", 0),
        "answers named other models": ", ".join(summary.get("other_models") or {}) or None,
        "sizes of screens": ", ".join(f"{size} ({n:,} episodes)" for size, n in case.screen_sizes.items()) or None,
        "sopbench": case.info.version,
    }
    return {name: value for name, value in found.items() if value is not None}


def _spans(columns: list[Any], spans: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """The interval of `success` is kept under `tsr`, of which it is another name."""
    found = {}
    for name in columns:
        span = spans.get(name) or (spans.get("tsr") if name == "success" else None)
        if span is not None:
            found[name] = (span[0], span[1])
    return found


def _spread(case: Case) -> Spread | None:
    metric, repeats = case.board.headline, case.facts["repeats"]
    if case.summary.get(metric) is None:
        return None
    if case.board.protocol == "static":
        _, sums = stepstats.per_trajectory(step_outcomes(case.loaded.trajectories, repeats, case.logs))
        value = float(stepstats.RATIOS[metric](sums.sum(axis=0)[None, :])[0])
        part, whole = {"tm": (1, 0), "gr": (4, 3), "sr": (2, 0)}[metric]
        # a ratio of sums, linearised: what a trajectory adds to the part beyond its share of the whole
        pulls = (sums[:, part] - value * sums[:, whole]) / sums[:, whole].mean()
    else:
        _, means = stats.per_trajectory(outcomes_of(case.loaded, repeats, case.logs))
        column = means[:, COLUMN[metric]]
        value = float(column.mean())
        pulls = column - value
    return Spread(value, tuple(np.round(pulls, 9).tolist()))
