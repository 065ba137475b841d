"""Does an offline number tell the online one? Models with two metrics each, a straight line, and how little that says about so few of them.

Published numbers and submitted ones are never in one fit: they were not made by the same code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sopbench.correlation import LEAST, Fit, fit
from sopbench.errors import UsageError
from sopbench.leaderboard.boards import Boards
from sopbench.leaderboard.published import FOLDER, read_table
from sopbench.leaderboard.row import Row

RESAMPLES: Final = 4_000
SIX: Final = (
    "OS-Atlas-7B",
    "Qwen2.5-VL-7B (base)",
    "Qwen2.5-VL-7B + offline RL",
    "AgentCPM-GUI-8B",
    "UI-TARS-7B",
    "UI-S1-7B",
)
"""The models over which arXiv 2509.11543 (figure 1) fits AndroidWorld on SOP."""
EIGHT: Final = (*SIX, "OS-Genesis-7B", "Qwen2.5-VL-32B")
SETS: Final[dict[str, tuple[str, ...] | None]] = {"all": None, "six": SIX, "eight": EIGHT}

KINDS: Final = ("offline", "semi-online", "online")
FIXED: Final = {
    "screenspot_v2": ("ScreenSpot-v2", "offline"),
    "screenspot_pro": ("ScreenSpot-Pro", "offline"),
    "aitw_gen": ("AITW general", "online"),
    "aitw_web": ("AITW web shopping", "online"),
}
"""Published columns that no board here has."""
_KIND: Final = {"static": "offline", "semi_online": "semi-online", "online": "online"}


@dataclass(frozen=True, slots=True)
class Axis:
    key: str
    label: str
    kind: str


@dataclass(frozen=True, slots=True)
class Point:
    """A model with percents by axis. `submitted`: from verified submissions; otherwise published."""

    model: str
    submitted: bool
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Scatter:
    axes: tuple[Axis, ...]
    points: tuple[Point, ...]
    fits: Mapping[str, Fit] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return {
            "axes": [{"key": a.key, "label": a.label, "kind": a.kind} for a in self.axes],
            "points": [{"model": p.model, "submitted": p.submitted, "values": dict(p.values)} for p in self.points],
            "sets": {name: list(members) if members else None for name, members in SETS.items()},
            "fits": {key: _plain(found) for key, found in self.fits.items()},
        }


def scatter_of(boards: Boards, rows: Sequence[Row]) -> Scatter:
    """Axes, points and fits of everything that is known in `leaderboards`: published tables, and `rows` of verified submissions."""
    axes = _axes(boards)
    points = [*_published(boards), *_submitted(rows)]
    known = [axis for axis in axes if any(axis.key in point.values for point in points)]
    fits: dict[str, Fit] = {}
    for first, x in enumerate(known):
        for y in known[first + 1 :]:
            if x.kind == y.kind:
                continue
            for name, members in SETS.items():
                for submitted in (False, True) if members is None else (False,):
                    found = fit_of(points, x.key, y.key, members, submitted=submitted)
                    if found is not None:
                        fits[f"{x.key}|{y.key}|{'submitted' if submitted else name}"] = found
    return Scatter(tuple(known), tuple(points), fits)


def fit_of(
    points: Sequence[Point], x: str, y: str, members: Sequence[str] | None = None, *, submitted: bool = False
) -> Fit | None:
    """y on x over the points that have both (of `members`, where given); None where they are too few or do not vary."""
    both = [
        p
        for p in points
        if p.submitted == submitted and x in p.values and y in p.values and (members is None or p.model in members)
    ]
    if len(both) < LEAST or (members is not None and len(both) < len(members)):
        return None
    try:
        return fit([p.values[x] for p in both], [p.values[y] for p in both], resamples=RESAMPLES)
    except UsageError:  # one of the two is the same for all
        return None


def published_points(boards: Boards) -> list[Point]:
    return _published(boards)


def _axes(boards: Boards) -> list[Axis]:
    found = [Axis(key, label, kind) for key, (label, kind) in FIXED.items()]
    for board in boards.by_id.values():
        short = board.title.split(" (")[0].removesuffix(", semi-online").removesuffix(", online")
        found += [
            Axis(
                f"{board.id}.{metric}",
                f"{short}: {metric.upper() if metric not in ('score', 'success') else metric}",
                _KIND[board.protocol],
            )
            for metric in board.columns
        ]
    return sorted(found, key=lambda axis: KINDS.index(axis.kind))


def _published(boards: Boards) -> list[Point]:
    """One point a model, with what all tables say of it; a board's columns are known by the board's names."""
    names: dict[tuple[str, str], str] = {}
    for board in boards.by_id.values():
        if board.published is not None:
            names |= {(board.published.file, c): f"{board.id}.{m}" for m, c in board.published.columns.items()}
    values: dict[str, dict[str, float]] = {}
    for file in sorted({file for file, _ in names}):
        for reported in read_table(boards.root / FOLDER / file):
            own = values.setdefault(reported.model, {})
            for column, value in reported.values.items():
                key = names.get((file, column), column if column in FIXED else None)
                if key is not None:
                    own[key] = value
    return [Point(model, False, found) for model, found in values.items()]


def _submitted(rows: Sequence[Row]) -> list[Point]:
    """One point a model and organisation, with its latest number on each board."""
    values: dict[tuple[str, str], dict[str, float]] = {}
    for row in sorted(rows, key=lambda row: row.date or ""):
        if row.tier != "published":
            own = values.setdefault((row.organisation, row.model), {})
            own |= {f"{row.board}.{metric}": value for metric, value in row.values.items()}
    return [Point(model, True, found) for (_, model), found in values.items()]


def _plain(found: Fit) -> dict[str, Any]:
    spans = {"r2_ci": found.r2_interval, "rho_ci": found.spearman_interval, "without_one": found.r2_without_one}
    return {
        "n": found.n,
        "slope": round(found.slope, 5),
        "intercept": round(found.intercept, 4),
        "r2": round(found.r2, 3),
        "rho": round(found.spearman, 3),
    } | {name: [round(span.low, 3), round(span.high, 3)] if span else None for name, span in spans.items()}
