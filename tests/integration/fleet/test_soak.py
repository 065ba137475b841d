"""A short soak: phones side by side under random faults give the scores of quiet ones. The long one is tests/benchmarks/soak_fleet.py."""

from __future__ import annotations

from tests.benchmarks.soak_fleet import soak, table


def test_random_faults_cost_no_score() -> None:
    report = soak(phones=3, seconds=15, every=2.0, seed=7, say=lambda line: None)
    assert report.ok, table(report)
    assert report.faults
    assert report.broke
