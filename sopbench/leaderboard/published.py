"""Rows that papers published: shown beside the others with their citation, in a tier of their own, never ranked among them (nobody here has re-scored them)."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sopbench.errors import DataError
from sopbench.files import open_regular, why
from sopbench.leaderboard.boards import Board, Boards
from sopbench.leaderboard.plain_text import one_line
from sopbench.leaderboard.row import Row

MAX_BYTES: Final = 256 * 1024
MAX_ROWS: Final = 2_000
FOLDER: Final = "published"
NOT_METRICS: Final = frozenset({"model", "params", "group"})


@dataclass(frozen=True, slots=True)
class Reported:
    """One line of a published table: `values` are percent by column, without those that the paper left out."""

    model: str
    parameters: str | None
    closed: bool | None
    values: Mapping[str, float]


def read_table(path: Path) -> list[Reported]:
    """A CSV of `model`, optionally `params` and `group`, and columns of percents; lines that begin with `#` are notes. Raises `DataError`."""
    try:
        with open_regular(path) as handle:
            data = handle.read(MAX_BYTES + 1)
        text = data.decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot read {path} ({why(error)})") from error
    if len(data) > MAX_BYTES:
        raise DataError(f"{path} is larger than {MAX_BYTES} bytes")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    found: list[Reported] = []
    for number, cells in enumerate(csv.DictReader(lines), start=1):
        if number > MAX_ROWS:
            raise DataError(f"{path} has more than {MAX_ROWS} rows")
        try:
            found.append(_reported(cells))
        except (ValueError, TypeError) as error:
            raise DataError(f"{path}, row {number}: {error}") from error
    return found


def _reported(cells: Mapping[str, str | None]) -> Reported:
    values: dict[str, float] = {}
    for name, text in cells.items():
        if name not in NOT_METRICS and text:
            value = float(text)
            if not 0 <= value <= 100:
                raise ValueError(f"{name} is {text[:20]}, no percentage")
            values[name] = value
    group = cells.get("group")
    return Reported(
        one_line(cells.get("model") or ""), cells.get("params") or None, group == "closed" if group else None, values
    )


def published_rows(boards: Boards, board: Board) -> list[Row]:
    """The published rows of a board, the best first; none where its definition names no table."""
    source = board.published
    if source is None:
        return []
    rows = []
    for reported in read_table(boards.root / FOLDER / source.file):
        values = {
            str(metric): reported.values[column]
            for metric, column in source.columns.items()
            if column in reported.values
        }
        if {"pg", "tsr"} <= values.keys() and "score" in board.columns:
            values["score"] = round(
                (values["pg"] + values["tsr"]) / 2, 2
            )  # what Score is, arXiv 2509.11543 section 3.3
        if values:
            rows.append(
                Row(
                    board=board.id,
                    model=reported.model,
                    organisation="",
                    tier="published",
                    values=values,
                    citation=source.citation,
                    parameters=reported.parameters,
                    weights_open=None if reported.closed is None else not reported.closed,
                )
            )
    return sorted(rows, key=lambda row: -row.values.get(board.headline, -1.0))
