"""The tolerant reader: strict JSON is read as exactly that, repairs have names, and nothing is guessed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sopbench.adapters.loose_json import Bare, LooseJsonError, Numeral, Reader, without_lone_surrogates

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def read(text: str) -> tuple[Any, tuple[str, ...]]:
    value = Reader(text).read(0)
    return value.value, value.notes


@given(JSON, st.booleans(), st.text(max_size=20))
def test_strict_json_is_read_as_it_is_and_without_a_note(value: Any, ascii_only: bool, behind: str) -> None:
    written = json.dumps({"v": value}, ensure_ascii=ascii_only)
    found = Reader(written + behind).read(0)
    assert found.value == {"v": value}
    assert found.end == len(written)
    assert found.notes == ()


@given(
    st.dictionaries(st.text("abc_", min_size=1), st.text() | st.booleans() | st.none() | st.lists(st.integers(0, 9)))
)
def test_a_python_dict_is_read_as_json_would_be(value: dict[str, Any]) -> None:
    assert read(repr(value))[0] == value


REPAIRED = [
    ("{'a': 'b'}", {"a": "b"}, {"single_quotes"}),
    ("{'a': 'it's ok', 'b': 1}", {"a": "it's ok", "b": 1}, {"single_quotes", "unescaped_quote"}),
    (r"{'a': 'it\'s ok'}", {"a": "it's ok"}, {"single_quotes"}),
    ("{'a': \"it's ok\"}", {"a": "it's ok"}, {"single_quotes"}),
    ('{"a": "say "hi" now"}', {"a": 'say "hi" now'}, {"unescaped_quote"}),
    ('{"a": "say "hi", then go"}', {"a": 'say "hi", then go'}, {"unescaped_quote"}),
    ('{"a": 1,}', {"a": 1}, {"trailing_comma"}),
    ('{"a": [1, 2,],}', {"a": [1, 2]}, {"trailing_comma"}),
    ("{'a': True, 'b': False, 'c': None}", {"a": True, "b": False, "c": None}, {"single_quotes", "python_literal"}),
    ("{'a': (540, 1200)}", {"a": [540, 1200]}, {"single_quotes", "tuple"}),
    ("{“a”: “b”}", {"a": "b"}, {"typographic_quotes"}),
    ("{a: 1}", {"a": 1}, {"unquoted_name"}),
    ('{"a": "one\ntwo"}', {"a": "one\ntwo"}, {"raw_control_characters"}),
    (r'{"a": "C:\Users"}', {"a": r"C:\Users"}, {"bad_escape"}),
    ('{"a": {"b": 1}</tool_call>', {"a": {"b": 1}}, {"missing_brace"}),
    ('{"a": 1\n```', {"a": 1}, {"missing_brace"}),
    (r"{'a': '\ud83d\ude00 \x41'}", {"a": "😀 A"}, {"single_quotes"}),
]


@pytest.mark.parametrize(("text", "value", "notes"), REPAIRED)
def test_repairs_are_named(text: str, value: Any, notes: set[str]) -> None:
    found, found_notes = read(text)
    assert found == value
    assert set(found_notes) == notes


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "truncated"),
        ('{"action":', "truncated"),
        ('{"action": "cl', "truncated"),
        ('{"a": [540, 12', "truncated"),
        ('{"a": {"b": 1}', "truncated"),
        ('{"a": tru', "truncated"),
        ('{"a": "b\\', "truncated"),
        ('{"a" "b"}', "bad_json"),
        ('{"a": 1 "b": 2}', "bad_json"),
        ('{"a": "b" "c": 2}', "bad_json"),
        ('{"a": "b" "c": 2</action>', "bad_json"),
        ('{"a": [1, 2}', "bad_json"),
        ('{"a": // comment\n 1}', "bad_json"),
        ("{" * 50 + '"a": 1', "bad_json"),
        ("{'a': " + "[" * 50, "bad_json"),
    ],
)
def test_what_would_have_to_be_guessed_is_refused(text: str, reason: str) -> None:
    with pytest.raises(LooseJsonError) as caught:
        read(text)
    assert caught.value.reason == reason


def test_numbers_remember_how_they_were_written() -> None:
    (value, _) = read("{'code': 0042, 'x': 1.50}")
    assert isinstance(value["code"], Numeral)
    assert value["code"].raw == "0042"
    assert value["x"] == 1.5


@pytest.mark.parametrize("digits", ["9" * 5_000, "-" + "9" * 5_000, "1e999"])
def test_numbers_beyond_all_bounds_are_infinite_not_an_error(digits: str) -> None:
    value, _ = read(f'{{"a": {digits}}}')
    assert abs(value["a"]) == float("inf")


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_nan_and_infinities_are_words(word: str) -> None:
    assert read(f'{{"a": {word}}}')[0] == {"a": Bare(word)}


def test_lone_surrogates_become_replacement_characters_and_pairs_join() -> None:
    assert without_lone_surrogates("a\ud800b") == "a\ufffdb"
    assert without_lone_surrogates("\ud83d\ude00") == "😀"
    assert read(r"{'a': '\ud800'}")[0] == {"a": "\ufffd"}
