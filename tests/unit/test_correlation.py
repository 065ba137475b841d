"""Correlation over a handful of models: known values, and what is refused."""

from __future__ import annotations

import math
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sopbench.correlation import fit
from sopbench.errors import UsageError

SHARED = Path(os.environ.get("SOPBENCH_SHARED", "../shared"))
SIX = ("OS-Atlas-7B", "Qwen2.5-VL-7B (base)", "Qwen2.5-VL-7B + offline RL", "AgentCPM-GUI-8B", "UI-TARS-7B", "UI-S1-7B")


def test_a_straight_line_is_found_exactly() -> None:
    found = fit([1, 2, 3, 4], [3, 5, 7, 9])
    assert (found.slope, found.intercept) == pytest.approx((2, 1))
    assert (found.r2, found.spearman) == pytest.approx((1, 1))
    assert found.r2_without_one is not None
    assert found.r2_without_one.low == pytest.approx(1)


def test_r2_and_rank_correlation_by_hand() -> None:
    """x 1 2 3, y 1 3 2: covariance 1/3 of variances 2/3 each, so r = 0.5 and R^2 = 0.25; ranks are the values themselves."""
    found = fit([1, 2, 3], [1, 3, 2])
    assert found.r2 == pytest.approx(0.25)
    assert found.spearman == pytest.approx(0.5)
    assert found.r2_without_one is None


def test_ties_share_their_rank() -> None:
    """Ranks 1.5 1.5 3 against 1 2 3: covariance 0.5, variances 0.5 and 2/3, so rho = sqrt(3)/2."""
    assert fit([1, 1, 5], [1, 2, 3]).spearman == pytest.approx(math.sqrt(3) / 2)


@pytest.mark.skipif(
    not SHARED.joinpath("data/published_results.csv").exists(), reason="needs the shared data (SOPBENCH_SHARED)"
)
def test_the_papers_figures_follow_from_its_table() -> None:
    """R^2 of AndroidWorld on SOP TSR: 0.934 over its six models, 0.439 over eight, 0.492 over all eleven rows with both."""
    table = pd.read_csv(SHARED / "data/published_results.csv", comment="#")
    both = table.dropna(subset=["sop_tsr", "androidworld"]).set_index("model")
    eight = both.loc[[*SIX, "OS-Genesis-7B", "Qwen2.5-VL-32B"]]
    assert len(both) == 11
    for rows, r2 in ((both.loc[list(SIX)], 0.934), (eight, 0.439), (both, 0.492)):
        found = fit(list(rows["sop_tsr"]), list(rows["androidworld"]))
        assert found.r2 == pytest.approx(r2, abs=5e-4)
        assert found.r2_interval is not None
        assert found.r2_interval.low <= found.r2 <= found.r2_interval.high


@given(st.lists(st.tuples(st.integers(-100, 100), st.integers(-100, 100)), min_size=3, max_size=12))
def test_coefficients_stay_in_their_range_and_do_not_depend_on_the_order(points: list[tuple[int, int]]) -> None:
    x, y = [float(p[0]) for p in points], [float(p[1]) for p in points]
    if len(set(x)) == 1 or len(set(y)) == 1:
        with pytest.raises(UsageError, match="nothing to correlate"):
            fit(x, y, resamples=50)
        return
    found, turned = fit(x, y, resamples=50), fit(x[::-1], y[::-1], resamples=50)
    assert 0 <= found.r2 <= 1 + 1e-9
    assert -1 - 1e-9 <= found.spearman <= 1 + 1e-9
    assert found.r2 == pytest.approx(turned.r2)
    assert found.r2 == pytest.approx(np.corrcoef(x, y)[0, 1] ** 2)


@pytest.mark.parametrize(
    ("x", "y", "why"),
    [
        ([1, 2], [1, 2], "too few"),
        ([1, 2, 3], [1, 2], "one value each"),
        ([1, 2, math.nan], [1, 2, 3], "no number"),
        ([2, 2, 2], [1, 2, 3], "nothing to correlate"),
    ],
)
def test_what_cannot_be_correlated_is_refused(x: list[float], y: list[float], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        fit(x, y)
