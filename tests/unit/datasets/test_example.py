"""`tf.train.Example` in, named lists out."""

from __future__ import annotations

import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sopbench.datasets.example import MAX_FEATURES, Example
from sopbench.datasets.wire import WireError
from tests.integration.datasets.archives import block, example, number, varint

int64 = st.integers(-(2**63), 2**63 - 1)
single = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(st.lists(int64, min_size=1), st.lists(single, min_size=1), st.lists(st.binary(), min_size=1))
def test_lists_come_out_as_they_went_in(numbers: list[int], reals: list[float], blobs: list[bytes]) -> None:
    read = Example(example({"n": numbers, "r": reals, "b": blobs}))
    assert read.names == {"n", "r", "b"}
    assert read.integers("n") == numbers
    assert read.reals("r") == reals
    assert [bytes(blob) for blob in read.many_bytes("b")] == blobs


def named(name: str, feature: bytes) -> bytes:
    return block(1, block(1, block(1, name.encode()) + block(2, feature)))


def test_numbers_may_be_stored_one_by_one() -> None:
    """Writers pack them; the format allows both."""
    assert Example(named("n", block(3, number(1, 3) + number(1, -4)))).integers("n") == [3, -4]
    loose = varint(1 << 3 | 5) + struct.pack("<f", 0.5)
    assert Example(named("r", block(2, loose + loose))).reals("r") == [0.5, 0.5]


def test_an_empty_list_and_a_missing_feature_have_no_values() -> None:
    read = Example(example({"none": []}))
    assert read.integers("none") == read.integers("other") == []


def test_the_last_of_two_features_of_a_name_counts() -> None:
    assert Example(named("n", block(3, number(1, 1))) + named("n", block(3, number(1, 2)))).integers("n") == [2]


@pytest.mark.parametrize(
    ("ask", "complaint"),
    [
        (lambda e: e.integers("b"), "`b` holds values of another type"),
        (lambda e: e.many_bytes("n"), "`n` holds values of another type"),
        (lambda e: e.one_integer("n"), "`n` has 2 values, not one"),
        (lambda e: e.one_text("gone"), "`gone` has 0 values, not one"),
        (lambda e: e.texts("b"), r"`b` 1 is not UTF-8 \(byte 2 is 0xff\)"),
    ],
)
def test_what_is_not_as_it_should_be_is_named(ask, complaint: str) -> None:  # type: ignore[no-untyped-def]
    read = Example(example({"n": [1, 2], "b": [b"fine", b"ab\xffc"]}))
    with pytest.raises(WireError, match=complaint):
        ask(read)


def test_the_number_of_features_is_bounded() -> None:
    with pytest.raises(WireError, match=f"more than {MAX_FEATURES} features"):
        Example(b"".join(named(str(k), b"") for k in range(MAX_FEATURES + 1)))


def test_blocks_in_blocks_do_not_reach_the_stack() -> None:
    """The reader goes as deep as the message is defined, not as deep as the bytes are."""
    deep = b""
    for _ in range(20_000):
        deep = block(1, deep)[:60_000]
    with pytest.raises(WireError, match="bytes"):
        Example(deep)


@given(st.binary(max_size=300))
def test_any_bytes_give_an_example_or_a_wire_error(data: bytes) -> None:
    with suppress(WireError):
        read = Example(data)
        assert all(isinstance(value, int) for name in read.names for value in read.integers(name))
