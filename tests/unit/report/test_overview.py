"""The top of the page from `run.json` and `summary.json`."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from sopbench.report.overview import build_overview
from sopbench.report.page import json_for_html
from sopbench.runs.folder import RunInfo

FACTS: dict[str, Any] = {
    "suite": "sop",
    "protocol": "semi_online",
    "model": "m",
    "repeats": 2,
    "n_trajectories": 7,
    "seed": 0,
    "images": 0,
    "profile": {"id": "strict@1", "hash": "ab" * 32},
    "adapter": {"name": "uis1", "prompt": {"kind": "builtin", "sha256": "cd" * 32, "note": "n"}},
    "sampling": {"temperature": 0, "top_p": None, "extra_body": {}},
}


def info(**changes: Any) -> RunInfo:
    return RunInfo(
        id="r",
        created="now",
        version="1",
        fingerprint="ef" * 32,
        facts=FACTS | changes,
        settings={"data": "/secret/place"},
    )


def test_a_complete_run_has_values_and_intervals() -> None:
    summary = {
        "complete": True,
        "pg": 60.9,
        "tsr": 44.2,
        "score": 52.5,
        "ci95": {"pg": [50, 70], "tsr": [40, 50], "score": [45, 60]},
    }
    overview = build_overview(info(), summary)
    assert [(row["key"], row["value"], row["ci"]) for row in overview["headline"]] == [
        ("score", 52.5, [45, 60]),
        ("pg", 60.9, [50, 70]),
        ("tsr", 44.2, [40, 50]),
    ]


def test_an_incomplete_run_has_bounds_and_no_value() -> None:
    summary = {
        "complete": False,
        "pg": None,
        "tsr": None,
        "score": None,
        "ci95": None,
        "bounds": {"score": [30, 60], "pg": [1, 2], "tsr": [3, 4]},
    }
    overview = build_overview(info(), summary)
    assert not overview["complete"]
    assert [(row.get("value"), row["bounds"]) for row in overview["headline"]] == [
        (None, [30, 60]),
        (None, [1, 2]),
        (None, [3, 4]),
    ]


def test_an_online_run_has_its_success_rate() -> None:
    summary = {"complete": True, "success": 50.0, "tsr": 50.0, "ci95": {"tsr": [40, 60]}}
    overview = build_overview(info(protocol="online", profile=None), summary)
    assert [(row["label"], row["value"], row["ci"]) for row in overview["headline"]] == [("Success", 50.0, [40, 60])]


def test_zeros_are_facts_and_absent_options_are_not() -> None:
    facts = {label: value for label, value, _ in build_overview(info(), {})["facts"]}
    assert facts["Seed"] == "0"
    assert facts["Images per request"] == "0"
    assert facts["Sampling"] == "temperature 0"
    assert "Policy" not in facts


def test_no_path_of_the_machine_is_told() -> None:
    assert "secret" not in json.dumps(build_overview(info(), {"run": "/secret/run"}))


def test_accuracy_by_action_is_a_share_of_its_steps() -> None:
    overview = build_overview(
        info(), {"by_action": {"click": {"n": 8, "type_match": 6, "match": 5}, "wait": {"n": 0, "match": 0}}}
    )
    assert overview["charts"]["by_action"] == [
        {"kind": "click", "n": 8, "type_match": 75.0, "match": 62.5},
        {"kind": "wait", "n": 0, "type_match": None, "match": None},
    ]


def test_steps_at_which_nothing_failed_stand_in_the_histogram_as_zero() -> None:
    overview = build_overview(info(), {"first_failure_by_step": [{"step": 0, "n": 3}, {"step": 2, "n": 1}]})
    assert [row["n"] for row in overview["charts"]["first_failure"]] == [3, 0, 1]


KEYS = [
    "n",
    "pg",
    "ci95",
    "bounds",
    "by_action",
    "by_length",
    "first_failure_by_step",
    "reasons",
    "confusion",
    "ceiling",
    "tokens",
    "latency",
    "faults",
    "repeats_tsr",
    "flips",
    "diagnostic",
]
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["step", "n", "pg", "length", "prompt", "x"]), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(st.dictionaries(st.sampled_from(KEYS), ANYTHING), st.dictionaries(st.sampled_from(list(FACTS)), ANYTHING))
def test_no_summary_and_no_facts_break_the_page(summary: dict[str, Any], facts: dict[str, Any]) -> None:
    json_for_html(build_overview(info(**facts), summary))


STATIC = {"protocol": "static", "static": {"history": "expert", "instruction": "12" * 32, "metrics": "steps"}}


def test_a_static_run_is_led_by_step_success_and_says_what_its_requests_told() -> None:
    summary = {
        "complete": True,
        "n": 40,
        "sr": 61.0,
        "tm": 80.0,
        "gr": None,
        "ci95": {"sr": [50, 70], "tm": [70, 90]},
        "groups": {"category": {"shop": {"n": 10, "scored": 10, "sr": 50.0, "tm": 60.0, "gr": None}}},
    }
    overview = build_overview(info(**STATIC), summary)
    assert [(row["label"], row.get("value")) for row in overview["headline"]] == [("SR", 61.0), ("TM", 80.0)]
    assert (overview["protocol"], overview["n"], overview["steps"]) == ("static", 7, 40)
    facts = {label: value for label, value, _ in overview["facts"]}
    assert facts["History told"] == "the expert's"
    assert facts["Instruction words"] == "12" * 32
    assert "After a mismatch" not in facts
    assert overview["charts"]["groups"] == [
        {"tag": "category", "rows": [{"value": "shop", "n": 10, "main": 50.0, "tm": 60.0}]}
    ]


def test_a_grounding_run_is_led_by_accuracy() -> None:
    static = STATIC["static"] | {"metrics": "accuracy", "instruction": None}  # type: ignore[operator]
    summary = {"complete": False, "accuracy": None, "bounds": {"accuracy": [40.0, 60.0]}}
    overview = build_overview(info(protocol="static", static=static), summary)
    assert [(row["label"], row["bounds"]) for row in overview["headline"]] == [("Accuracy", [40.0, 60.0])]
