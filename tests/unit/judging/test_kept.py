"""What is known of a judge is kept by its model and its words, and believed only where it still fits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sopbench.errors import Notice
from sopbench.judging import kept
from sopbench.judging.agreement import Confusion
from sopbench.judging.judge import judge_facts


def result(model: str, **more: Any) -> dict[str, Any]:
    counted = Confusion(20, 10, 5, 15).as_json()
    return {"judge": judge_facts(model), "no_verdict": 2, "data_sha256": "d" * 64, **counted, **more}


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOPBENCH_CACHE", str(tmp_path))


def test_a_judge_is_found_again_by_its_model() -> None:
    with pytest.warns(Notice, match="judge agreement: not measured"):
        kept.warn_unmeasured("org/vlm")
    kept.keep("org/vlm", result("org/vlm"))
    found = kept.agreement_of("org/vlm")
    assert found is not None
    assert found.as_settings() == {"n": 50, "no_verdict": 2, "accuracy": 0.7, "kappa": 0.4, "data": "d" * 64}
    assert kept.agreement_of("org/other") is None


def test_other_words_are_another_judge(monkeypatch: pytest.MonkeyPatch) -> None:
    kept.keep("vlm", result("vlm"))
    monkeypatch.setattr(kept, "words_sha256", lambda: "0" * 64)
    assert kept.agreement_of("vlm") is None


@pytest.mark.parametrize(
    "told",
    [
        [],
        {},
        result("another"),
        result("vlm", n=0),
        result("vlm", n=True),
        result("vlm", accuracy=1.5),
        result("vlm", accuracy=None),
        result("vlm", kappa="high"),
        result("vlm", kappa=-2),
        result("vlm", data_sha256=None),
    ],
)
def test_a_file_that_was_changed_by_hand_says_nothing(told: Any) -> None:
    path = kept.place("vlm")
    path.parent.mkdir()
    path.write_text(json.dumps(told))
    assert kept.agreement_of("vlm") is None


def test_a_file_that_is_no_json_says_nothing() -> None:
    path = kept.place("vlm")
    path.parent.mkdir()
    path.write_text("NaN")
    assert kept.agreement_of("vlm") is None
