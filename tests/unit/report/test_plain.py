"""What is said by models, data and journals is cut down before it reaches a page."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sopbench.report import plain

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@given(ANYTHING)
def test_numbers_are_such_that_a_browser_can_read_them(value: Any) -> None:
    found = plain.number(value)
    json.dumps(found, allow_nan=False)
    assert found is None or (found == value and abs(found) < 2**53)


@pytest.mark.parametrize("value", [True, False, "3", None, float("nan"), float("inf"), -float("inf"), 2**60, [1]])
def test_what_is_no_finite_number_is_none(value: object) -> None:
    assert plain.number(value) is None


def test_long_text_ends_in_an_ellipsis() -> None:
    assert plain.text("x" * 11, 10) == "x" * 9 + "…"
    assert plain.text("x" * 10, 10) == "x" * 10
    assert plain.text("") is None


@given(
    st.dictionaries(
        st.sampled_from(["action", "coordinate", "coordinate2", "text", "button", "time", "bbox", "x"]), ANYTHING
    )
)
def test_any_action_is_reduced_to_the_arguments_of_the_action_space(value: dict[str, Any]) -> None:
    found = plain.action(value)
    assert found is not None
    assert set(found) <= {"action", "coordinate", "coordinate2", "text", "button", "status", "time"}
    json.dumps(found, allow_nan=False)


def test_an_action_keeps_what_it_means() -> None:
    swipe = {"action": "swipe", "coordinate": [1, 2.5], "coordinate2": [3, 4], "bbox": [0, 0, 1, 1]}
    assert plain.action(swipe) == {"action": "swipe", "coordinate": [1, 2.5], "coordinate2": [3, 4]}
    assert plain.action({"action": "type", "text": ""}) == {"action": "type", "text": ""}
    assert plain.action(None) is None


@pytest.mark.parametrize("value", [[0, 10], [10], [10, -1], [10, 10**9], "10x10", [1, float("nan")], None])
def test_a_size_that_no_screen_has_is_none(value: object) -> None:
    assert plain.size(value) is None


def test_absent_fields_are_left_out_but_zeros_and_empty_texts_stay() -> None:
    assert plain.without_none({"a": None, "b": 0, "c": "", "d": [], "e": False, "f": True}) == {
        "b": 0,
        "c": "",
        "f": True,
    }
