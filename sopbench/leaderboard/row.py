"""A line of a board: what a verified submission says, or what a paper published."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from sopbench.leaderboard.case import Case

Tier = Literal["published", "self-reported", "re-run"]


@dataclass(frozen=True, slots=True)
class Row:
    """`values` and `ranges` (95 % intervals) are percent by metric; a published row has no ranges, no fingerprint and no folder.

    `facts` are what a reader filters by and asks about: adapter, prompts, screens a request, repeats, seed, tokens, unreadable replies.
    """

    board: str
    model: str
    organisation: str
    tier: Tier
    values: dict[str, float]
    ranges: dict[str, tuple[float, float]] = field(default_factory=dict)
    n: int | None = None
    date: str | None = None
    citation: str | None = None
    folder: str | None = None
    fingerprint: str | None = None
    weights_open: bool | None = None
    trained_on_benchmark: str | None = None
    parameters: str | None = None
    facts: dict[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def row_of(case: Case) -> Row:
    """The row of a submission that every rule let pass."""
    summary, facts, metadata = case.summary, case.facts, case.metadata
    names = [name for name in case.board.columns if summary.get(name) is not None]
    spans = summary.get("ci95") or {}
    sampling = facts.get("sampling") or {}
    return Row(
        board=case.board.id,
        model=metadata.model,
        organisation=metadata.organisation,
        tier="self-reported",
        values={name: summary[name] for name in names},
        ranges={name: (spans[key][0], spans[key][1]) for name in names if (key := _span(name, spans)) is not None},
        n=summary["n"],
        date=metadata.date.isoformat(),
        folder=case.submission.folder,
        fingerprint=case.info.fingerprint,
        weights_open=metadata.weights_open,
        trained_on_benchmark=metadata.trained_on_benchmark,
        parameters=metadata.parameters,
        facts={
            "served as": facts["model"],
            "adapter": facts["adapter"]["name"],
            "prompts": facts["adapter"]["prompt"]["kind"],
            "screens a request": facts["images"],
            "repeats": facts["repeats"],
            "seed": facts["seed"],
            "temperature": sampling.get("temperature"),
            "tokens a reply": sampling.get("max_tokens"),
            "profile": facts["profile"]["id"] if facts["profile"] else None,
            "replies that were no action": summary["parse_failed_steps"],
            "without a verdict": summary.get("not_scored_trajectories", 0),
            "version": case.info.version,
        },
    )


def _span(name: str, spans: dict[str, Any]) -> str | None:
    """The interval of `success` is kept under `tsr`, of which it is another name."""
    for key in (name, "tsr" if name == "success" else name):
        if key in spans:
            return key
    return None
