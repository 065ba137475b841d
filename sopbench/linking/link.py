"""The link table: every model's metrics, how well each tells another, and per-task agreement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from sopbench.api import Run, load_run
from sopbench.correlation import LEAST, Fit, fit
from sopbench.errors import DataError, UsageError
from sopbench.files import open_regular, why
from sopbench.linking.agreement import Agreement, agreements
from sopbench.linking.gather import METRICS, Model, gather

PAIRS: Final = (
    ("static SR", "online success"),
    ("static accuracy", "online success"),
    ("SOP PG", "online success"),
    ("SOP TSR", "online success"),
    ("SOP Score", "online success"),
    ("static SR", "SOP TSR"),
)
"""(told by, what is told). The claim of arXiv 2509.11543 is that the SOP rows tell online success better than the static ones."""

PUBLISHED_SETS: Final[dict[str, tuple[str, ...] | None]] = {
    "the paper's six": (
        "OS-Atlas-7B",
        "Qwen2.5-VL-7B (base)",
        "Qwen2.5-VL-7B + offline RL",
        "AgentCPM-GUI-8B",
        "UI-TARS-7B",
        "UI-S1-7B",
    ),
    "these and OS-Genesis-7B, Qwen2.5-VL-32B": (
        "OS-Atlas-7B",
        "Qwen2.5-VL-7B (base)",
        "Qwen2.5-VL-7B + offline RL",
        "AgentCPM-GUI-8B",
        "UI-TARS-7B",
        "UI-S1-7B",
        "OS-Genesis-7B",
        "Qwen2.5-VL-32B",
    ),
    "every row with both numbers": None,
}
"""Rows of table 2 that the figure of arXiv 2509.11543 is drawn over, and what its R^2 becomes with the table's others."""
MAX_TABLE: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Told:
    """How well metric `by` tells metric `what`, over the models that have both."""

    by: str
    what: str
    models: tuple[str, ...]
    fit: Fit | None
    why_not: str | None = None


@dataclass(frozen=True, slots=True)
class Link:
    models: tuple[Model, ...]
    told: tuple[Told, ...]
    agreements: tuple[Agreement, ...]

    @property
    def metrics(self) -> list[str]:
        return [name for name in METRICS if any(name in model.values for model in self.models)]

    def as_dict(self) -> dict[str, Any]:
        return {
            "models": [
                {"model": m.name, "adapter": m.adapter, "values": m.values, "runs": m.runs} for m in self.models
            ],
            "told": [told_as_dict(t) for t in self.told],
            "agreements": [asdict(a) | {"n": a.n, "same": round(a.same, 4), "phi": a.phi} for a in self.agreements],
        }


def told_as_dict(told: Told) -> dict[str, Any]:
    return {
        "by": told.by,
        "what": told.what,
        "models": list(told.models),
        "fit": asdict(told.fit) if told.fit else None,
        "why_not": told.why_not,
    }


def link(runs: Sequence[Run | Path | str]) -> Link:
    """Put runs of several models and protocols side by side. Raises `UsageError` where they cannot stand in one table."""
    if not runs:
        raise UsageError("name the runs to link: at least one of each protocol, for several models")
    models = gather([run if isinstance(run, Run) else load_run(run) for run in runs])
    told = tuple(found for by, what in PAIRS if (found := _told(models, by, what)) is not None)
    return Link(tuple(models), told, tuple(agreements(models)))


def _told(models: Sequence[Model], by: str, what: str) -> Told | None:
    both = [m for m in models if by in m.values and what in m.values]
    if not both:
        return None
    names = tuple(m.label for m in both)
    if len(both) < LEAST:
        return Told(by, what, names, None, f"{len(both)} models have both: {LEAST} at least are needed")
    try:
        return Told(by, what, names, fit([m.values[by] for m in both], [m.values[what] for m in both]))
    except UsageError as error:
        return Told(by, what, names, None, str(error))


def published(file: Path | None = None) -> list[tuple[str, Told]]:
    """AndroidWorld told by SOP TSR over rows of the paper's table 2, for each set of rows. `file`: the table, by default the one beside the boards."""
    import pandas as pd

    path = file or _beside_the_boards()
    try:
        with open_regular(path) as handle:
            if len(handle.read(MAX_TABLE + 1)) > MAX_TABLE:
                raise DataError(f"{path} is larger than {MAX_TABLE} bytes")
            handle.seek(0)
            table = pd.read_csv(handle, comment="#")
        rows = table.dropna(subset=["sop_tsr", "androidworld"]).set_index("model")
        points: Mapping[str, tuple[float, float]] = {
            str(name): (float(row["sop_tsr"]), float(row["androidworld"])) for name, row in rows.iterrows()
        }
    except (OSError, ValueError, KeyError) as error:
        reason = why(error) if isinstance(error, OSError) else str(error)
        raise DataError(f"cannot read the published table {path} ({reason})") from error
    found = []
    for label, names in PUBLISHED_SETS.items():
        chosen = list(points) if names is None else list(names)
        if missing := [name for name in chosen if name not in points]:
            raise DataError(f"{path} has no row with both numbers for {missing[0]}")
        pairs = [points[name] for name in chosen]
        told = Told("SOP TSR", "AndroidWorld success", tuple(chosen), fit([p[0] for p in pairs], [p[1] for p in pairs]))
        found.append((label, told))
    return found


def _beside_the_boards() -> Path:
    from sopbench.leaderboard.boards import packaged

    return packaged() / "published" / "uis1-table2.csv"
