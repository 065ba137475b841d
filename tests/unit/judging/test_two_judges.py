"""Verdicts of two judges are two metrics: runs with them are never compared, and simulated devices never stand beside real ones."""

from __future__ import annotations

from typing import Any

import pytest

from sopbench.runs.compare import shared_facts
from sopbench.suites import SuiteOptions, get_suite


def facts(model: str, devices: str = "avd:1") -> dict[str, Any]:
    suite = get_suite("aitw-web", SuiteOptions(judge_model=model, devices=devices))
    return {"protocol": "online", "data_sha256": "d", "ids_sha256": "i", "profile": None, "environment": suite.facts()}


@pytest.mark.parametrize(
    ("other", "differs"),
    [
        (facts("vlm"), []),
        (facts("vlm", "docker:3"), []),
        (facts("another"), ["judge"]),
        (facts("vlm", "sim:1"), ["simulated"]),
    ],
)
def test_what_two_runs_must_share(other: dict[str, Any], differs: list[str]) -> None:
    mine, theirs = shared_facts(facts("vlm")), shared_facts(other)
    assert [key for key in mine if mine[key] != theirs[key]] == differs


def test_the_wording_of_the_judge_counts_too() -> None:
    reworded = facts("vlm")
    reworded["environment"]["judge"] = {**reworded["environment"]["judge"], "prompt_sha256": "0" * 64}
    assert shared_facts(reworded) != shared_facts(facts("vlm"))
