"""Every profile does what its table of cases says, and its hash names exactly that."""

from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import ClassVar

import pytest

from sopbench.errors import UsageError
from sopbench.scoring import PROFILES, base, get_profile
from sopbench.scoring.base import judge_case, load_cases

DOCS = Path(__file__).parents[3] / "docs" / "profiles"
NAMES = ("uis1-released", "uis1-boxes", "strict", "androidcontrol", "odyssey", "grounding")
CASES = [(name, case) for name in NAMES for case in load_cases(name)]


@pytest.mark.parametrize(("name", "case"), CASES, ids=[f"{name}: {case['name']}" for name, case in CASES])
def test_verdict_is_the_tables(name, case):
    assert judge_case(get_profile(name), case).as_dict() == case["expect"], case["why"]


@pytest.mark.parametrize("name", NAMES)
def test_the_table_shows_every_reason_and_every_action_and_names_each_case_once(name):
    cases = load_cases(name)
    assert (30 if name == "grounding" else 40) <= len(cases) <= 80
    assert {case["expect"]["reason"] for case in cases} - {None} == set(get_profile(name).reasons)
    assert len({case["gold"]["action"] for case in cases}) == 10
    assert len({case["name"] for case in cases}) == len(cases)
    assert all(case["why"] for case in cases)


@pytest.mark.parametrize("name", NAMES)
def test_a_match_has_no_reason_and_a_mismatch_has_one(name):
    for case in load_cases(name):
        expect = case["expect"]
        assert (expect["reason"] is None) == expect["match"]
        assert expect["type_match"] or not expect["match"]


def test_released_and_boxes_differ_exactly_where_boxes_matter():
    """The shared part of the two tables is word for word the same: the profiles differ in nothing but boxes."""
    released = {case["name"]: case for case in load_cases("uis1-released") if "check_options" not in case}
    boxes = {case["name"]: case for case in load_cases("uis1-boxes") if "check_options" not in case}
    boxes.pop("open by a click without boxes")
    assert released == boxes


def test_profiles_are_found_by_name_and_by_id():
    assert tuple(PROFILES) == NAMES
    for name in NAMES:
        assert PROFILES[name].name == name
        assert get_profile(f"{name}@1") is get_profile(name)
    with pytest.raises(KeyError):
        PROFILES["lenient"]


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("lenient", "uis1-released, uis1-boxes, strict"),
        ("strict@9", "strict@1"),
        ("", "there are"),
        ("@1", "there are"),
    ],
)
def test_an_unknown_profile_is_an_error_that_names_the_known_ones(name, says):
    with pytest.raises(UsageError, match=re.escape(says)):
        get_profile(name)


def test_hash_is_stable_and_differs_between_profiles():
    hashes = {name: get_profile(name).hash for name in NAMES}
    assert len(set(hashes.values())) == len(NAMES)
    for name, value in hashes.items():
        assert re.fullmatch(r"[0-9a-f]{64}", value)
        assert type(get_profile(name))().hash == value


def test_hash_changes_with_what_the_profile_does(monkeypatch):
    strict = type(get_profile("strict"))
    before = strict().hash

    class OtherNumber(strict):
        constants: ClassVar = {**strict.constants, "distance": 0.05}

    class OtherTable(strict):
        tables: ClassVar = {"app_names": ()}

    class OtherRule(strict):
        def judge(self, pred, step, size):
            return base.MATCH

    cases = copy.deepcopy(load_cases("strict"))
    assert len({before, OtherNumber().hash, OtherTable().hash, OtherRule().hash}) == 4
    monkeypatch.setattr(base, "load_cases", lambda name: cases[1:])
    assert strict().hash != before


@pytest.mark.parametrize("name", NAMES)
def test_the_docs_page_states_each_constant_and_reason_and_how_to_print_the_hash(name):
    page = (DOCS / f"{name}.md").read_text(encoding="utf-8")
    profile = get_profile(name)
    assert profile.id in page
    for constant, value in profile.constants.items():
        assert f"`{constant}`" in page
        assert f"{value:g}" in page
    for reason in profile.reasons:
        assert f"`{reason}`" in page
    assert f"sopbench profiles {name}" in page
