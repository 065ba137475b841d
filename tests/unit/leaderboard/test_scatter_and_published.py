"""The paper's rows, and what a straight line through them is worth."""

from __future__ import annotations

from pathlib import Path

import pytest

from sopbench.errors import DataError
from sopbench.leaderboard.boards import load_boards
from sopbench.leaderboard.published import published_rows, read_table
from sopbench.leaderboard.row import Row
from sopbench.leaderboard.scatter import EIGHT, SIX, Point, fit_of, published_points, scatter_of

TSR, WORLD = "sop-androidcontrol.tsr", "androidworld.success"


@pytest.mark.parametrize(("members", "n", "r2"), [(SIX, 6, 0.934), (EIGHT, 8, 0.439), (None, 11, 0.492)])
def test_androidworld_on_sop_over_the_papers_models(members: tuple[str, ...] | None, n: int, r2: float) -> None:
    found = fit_of(published_points(load_boards()), TSR, WORLD, members)
    assert found is not None
    assert (found.n, round(found.r2, 3)) == (n, r2)
    assert found.r2_interval is not None
    assert found.r2_interval.low < r2 < found.r2_interval.high


def test_the_page_gets_those_fits() -> None:
    fits = scatter_of(load_boards(), []).as_dict()["fits"]
    assert {name: fits[f"{TSR}|{WORLD}|{name}"]["r2"] for name in ("six", "eight", "all")} == {"six": 0.934, "eight": 0.439, "all": 0.492}  # fmt: skip
    assert all(fit["n"] >= 3 for fit in fits.values())


def test_published_and_submitted_rows_are_never_in_one_fit() -> None:
    points = [Point(f"m{k}", k % 2 == 0, {"a": float(k), "b": float(k * k)}) for k in range(8)]
    assert [f.n for f in (fit_of(points, "a", "b"), fit_of(points, "a", "b", submitted=True)) if f] == [4, 4]


def test_submitted_rows_of_one_model_on_two_boards_are_a_point() -> None:
    rows = [
        Row(board, f"m{k}", "o", "self-reported", {metric: float(10 * k + 3)}, date="2026-01-01")
        for k in range(4)
        for board, metric in (("pocket-sop", "tsr"), ("pocket-online", "success"))
    ]
    found = scatter_of(load_boards(), rows).as_dict()["fits"]["pocket-sop.tsr|pocket-online.success|submitted"]
    assert (found["n"], found["r2"]) == (4, 1.0)


def test_too_few_models_or_equal_numbers_give_no_fit() -> None:
    assert fit_of([Point("a", False, {"x": 1.0, "y": 2.0})] * 2, "x", "y") is None
    assert fit_of([Point("a", False, {"x": 1.0, "y": 2.0})] * 5, "x", "y") is None


def test_published_rows_carry_their_citation_and_nothing_that_was_not_published() -> None:
    boards = load_boards()
    rows = published_rows(boards, boards.get("sop-androidcontrol"))
    assert len(rows) == 11
    assert {row.tier for row in rows} == {"published"}
    assert all(row.citation == "arXiv 2509.11543, table 2" and row.folder is None and not row.ranges for row in rows)
    best = rows[0]
    assert (best.model, best.values) == ("UI-S1-7B", {"pg": 32.4, "tsr": 16.3, "score": 24.35})
    assert published_rows(boards, boards.get("pocket-sop")) == []


@pytest.mark.parametrize("line", ["a,101", "a,-1", "a,x", ",5", "a\x1b,5", "a,nan"])
def test_a_table_with_another_value_is_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "t.csv").write_text(f"# note\nmodel,tsr\n{line}\n")
    with pytest.raises(DataError, match="row 1"):
        read_table(tmp_path / "t.csv")
