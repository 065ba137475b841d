"""`sopbench judge` and `sopbench profiles`: JSON lines for machines."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import time

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from sopbench.cli import judge as judge_verb
from sopbench.cli import profiles as profiles_verb
from sopbench.errors import DataError, UsageError
from sopbench.scoring import PROFILES, get_profile
from sopbench.scoring.base import load_cases
from sopbench.scoring.stream import MAX_LINE_BYTES, judge_stream

WAIT = {"screen": [1080, 2400], "pred": {"action": "wait"}, "gold": {"action": "wait", "time": 2}}
MATCH = {"type_match": True, "match": True, "reason": None}


@pytest.fixture
def app():
    app = typer.Typer()
    judge_verb.register(app)
    profiles_verb.register(app)
    return app


def stream(*lines, profile="strict"):
    data = b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
    return judge_stream(get_profile(profile), io.BytesIO(data))


def one(**changes):
    return next(stream({**WAIT, **changes}))


def test_a_line_in_gives_a_verdict_out():
    assert list(stream(WAIT, b"", WAIT)) == [MATCH, MATCH]


@pytest.mark.parametrize("name", PROFILES)
def test_the_tables_of_cases_are_valid_input(name):
    cases = load_cases(name)
    assert list(stream(*cases, profile=name)) == [case["expect"] for case in cases]


def test_sent_is_the_screen_where_it_is_left_out():
    gold = {"action": "click", "coordinate": [540, 1200]}
    assert one(gold=gold, pred=gold)["match"]
    assert not one(gold=gold, pred=gold, sent=[2160, 4800])["match"]


def test_boxes_come_from_check_options_or_from_the_training_forms_own_box():
    gold = {"action": "click", "coordinate": [540, 1200]}
    pred = {"action": "click", "coordinate": [100, 1200]}
    assert not one(gold=gold, pred=pred)["match"]
    assert one(gold=gold, pred=pred, check_options={"candidate_bbox": [[0, 1100, 1080, 1300]]})["match"]
    assert one(gold=gold, pred=pred, check_options={"candidate_bbox": [0, 1100, 1080, 1300]})["match"]
    assert one(gold={**gold, "bbox": [0, 1100, 1080, 1300]}, pred=pred, check_options=None)["match"]


@pytest.mark.parametrize(
    ("pred", "code"),
    [
        ({"action": "scroll"}, "unknown_action"),
        ({}, "unknown_action"),
        ({"parse_failure": "no_action"}, "unknown_action"),
        ({"action": "click"}, "missing_argument"),
        ({"action": "click", "coordinate": ["x", "y"]}, "bad_argument"),
        ({"action": "click", "coordinate": [float("nan"), 1]}, "bad_argument"),
        ({"action": "click", "coordinate": [float("inf"), 1]}, "bad_argument"),
        ({"action": "click", "coordinate": [10**30, 1]}, "bad_argument"),
        ({"action": "system_button", "button": "Recent"}, "bad_argument"),
        (None, "not_an_object"),
        ("wait", "not_an_object"),
        ([{"action": "wait"}], "not_an_object"),
    ],
)
def test_a_prediction_that_is_no_action_is_a_mismatch_that_says_why(pred, code):
    assert one(pred=pred) == {"type_match": False, "match": False, "reason": f"not_an_action:{code}"}


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (b"{", "not JSON"),
        (b"\xff\xfe{", "not JSON"),
        (b"[]", "not a JSON object"),
        (b"[" * 100_000, "not JSON"),
        (b'{"a":' + b"9" * 5_000 + b"}", "not JSON"),
        (b" " + b"x" * MAX_LINE_BYTES, "longer than"),
        ({k: v for k, v in WAIT.items() if k != "screen"}, "`screen`"),
        ({**WAIT, "screen": [0, 5]}, "`screen`"),
        ({**WAIT, "screen": [True, 5]}, "`screen`"),
        ({**WAIT, "sent": "1080x2400"}, "`sent`"),
        ({k: v for k, v in WAIT.items() if k != "pred"}, "`pred` is missing"),
        ({k: v for k, v in WAIT.items() if k != "gold"}, "`gold`"),
        ({**WAIT, "gold": {"action": "scroll"}}, "unknown_action"),
        ({**WAIT, "check_options": [1]}, "`check_options`"),
        ({**WAIT, "check_options": {"candidate_bbox": [[1, 2, 3]]}}, "box"),
        ({**WAIT, "check_options": {"candidate_bbox": [[1, 2, 3, float("nan")]]}}, "box"),
        ({**WAIT, "check_options": {"candidate_bbox": {}}}, "box"),
    ],
)
def test_a_line_that_cannot_be_judged_stops_with_its_number_and_fault(bad, says):
    verdicts = stream(WAIT, bad, WAIT)
    assert next(verdicts) == MATCH
    with pytest.raises(DataError, match="line 2 of standard input") as caught:
        next(verdicts)
    assert says in str(caught.value)
    assert len(str(caught.value)) < 500


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=8,
)
fields = st.sampled_from(["action", "coordinate", "coordinate2", "text", "button", "time", "status", "bbox"])
kinds = st.sampled_from(["click", "swipe", "type", "open", "wait", "terminate", "key", "system_button"])
near_actions = st.builds(lambda kind, rest: {**rest, "action": kind}, kinds, st.dictionaries(fields, json_values))


@given(json_values | near_actions)
def test_no_prediction_makes_it_fail(pred):
    verdict = one(pred=pred)
    assert set(verdict) == {"type_match", "match", "reason"}


@given(
    st.dictionaries(st.sampled_from(["screen", "sent", "pred", "gold", "check_options"]), json_values | near_actions)
)
def test_no_line_makes_it_fail_otherwise_than_with_a_data_error(changes):
    said = "line 1"
    try:
        verdict = one(**changes)
    except DataError as error:
        verdict, said = None, str(error)
    assert "line 1" in said
    assert verdict is None or set(verdict) == {"type_match", "match", "reason"}


def test_the_verb_keeps_what_it_said_before_a_fault(app):
    result = CliRunner().invoke(app, ["judge", "--profile", "strict"], input=json.dumps(WAIT) + "\n{}\n")
    assert isinstance(result.exception, DataError)
    assert [json.loads(line) for line in result.stdout.splitlines()] == [MATCH]


def test_the_verb_refuses_an_unknown_profile(app):
    result = CliRunner().invoke(app, ["judge", "--profile", "lenient"], input="")
    assert isinstance(result.exception, UsageError)


def test_each_line_is_answered_before_the_next_is_sent():
    """Programs talk to `judge` through a pipe, one question at a time."""
    code = "import typer; from sopbench.cli import judge, profiles; a = typer.Typer(); judge.register(a); profiles.register(a); a()"
    with subprocess.Popen(
        [sys.executable, "-c", code, "judge", "--profile", "strict"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        for _ in range(3):
            process.stdin.write(json.dumps(WAIT).encode() + b"\n")
            process.stdin.flush()
            assert json.loads(process.stdout.readline()) == MATCH
        process.stdin.close()
        assert process.wait(10) == 0


def test_12000_pairs_are_judged_in_well_under_5_seconds():
    lines = [json.dumps(case).encode() for case in load_cases("strict") * 200][:12_000]
    assert len(lines) == 12_000
    began = time.perf_counter()
    assert sum(1 for _ in stream(*lines)) == 12_000
    assert time.perf_counter() - began < 4


def test_profiles_are_listed_and_shown_for_machines_and_people(app):
    listed = json.loads(CliRunner().invoke(app, ["profiles", "--json"]).stdout)
    assert list(listed) == list(PROFILES)
    shown = json.loads(CliRunner().invoke(app, ["profiles", "strict", "--json"]).stdout)
    assert shown["hash"] == get_profile("strict").hash == listed["strict"]["hash"]
    assert len(shown["cases"]) == len(load_cases("strict"))
    text = CliRunner().invoke(app, ["profiles", "strict"], env={"COLUMNS": "200"}).stdout
    assert shown["hash"] in text
    for case in load_cases("strict"):
        assert case["name"] in text
    assert "uis1-boxes@1" in CliRunner().invoke(app, ["profiles"]).stdout
