"""Nodes come out of a serialized forest as android_env's own classes have them, and hostile forests end in one kind of error."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sopbench.datasets.forest import MAX_NODES, Node, nodes_of
from sopbench.datasets.wire import WireError
from sopbench.geometry import Box
from tests.integration.datasets.archives import NodeSpec, block, forest, number, varint

edge = st.integers(-(2**31), 2**31 - 1)
words = st.text(max_size=8).filter(lambda text: text.isprintable())
specs = st.builds(
    NodeSpec,
    st.tuples(edge, edge, edge, edge),
    clickable=st.booleans(),
    visible=st.booleans(),
    long_clickable=st.booleans(),
    text=words,
    description=words,
)


def as_node(spec: NodeSpec, package: str = "com.example.app") -> Node:
    return Node(
        Box(*spec.bounds), spec.clickable, spec.long_clickable, spec.visible, spec.text, spec.description, package
    )


@given(st.lists(specs, max_size=6))
def test_every_field_that_matters_is_read_and_the_others_are_passed_over(nodes: list[NodeSpec]) -> None:
    assert nodes_of(forest(nodes)) == [as_node(spec) for spec in nodes]


@given(st.lists(specs, max_size=6))
def test_it_reads_what_android_env_writes(nodes: list[NodeSpec]) -> None:
    pb2 = pytest.importorskip(
        "android_env.proto.a11y.android_accessibility_forest_pb2", reason="android-env is not installed"
    )
    message = pb2.AndroidAccessibilityForest()
    for spec in nodes:
        written = message.windows.add().tree.nodes.add()
        box = written.bounds_in_screen
        box.left, box.top, box.right, box.bottom = spec.bounds
        written.is_clickable, written.is_visible_to_user = spec.clickable, spec.visible
        written.is_long_clickable = spec.long_clickable
        written.text, written.content_description, written.package_name = spec.text, spec.description, "com.example.app"
        written.labeled_by_id, written.text_selection_end = -5, -1
        written.clickable_spans.add().text = "span"
    assert nodes_of(message.SerializeToString()) == [as_node(spec) for spec in nodes]


def test_nodes_of_all_windows_come_in_their_order() -> None:
    first, second = NodeSpec((0, 0, 1, 1)), NodeSpec((0, 0, 2, 2))
    assert [node.bounds.x2 for node in nodes_of(forest([first]) + forest([second]))] == [1, 2]


def test_no_bytes_are_a_forest_without_nodes() -> None:
    assert nodes_of(b"") == []


def test_words_that_are_not_utf8_do_not_cost_the_episode() -> None:
    broken = block(7, b"ab\xff") + number(14, 1)
    (found,) = nodes_of(block(1, block(11, block(1, broken))))
    assert (found.text, found.clickable) == ("ab\N{REPLACEMENT CHARACTER}", True)


def in_a_node(field: bytes) -> bytes:
    return block(1, block(11, block(1, field)))


@pytest.mark.parametrize(
    ("forest_bytes", "complaint"),
    [
        (varint(1 << 3 | 2) + varint(2**63), "claims 9223372036854775808 bytes"),
        (in_a_node(number(2, 5)), "bounds has wire type 0"),
        (in_a_node(block(14, b"x")), "flag has wire type 2"),
        (in_a_node(varint(14 << 3)), "middle of a number"),
        (in_a_node(varint(14 << 3) + b"\xff" * 11), "more than 10 bytes"),
        (in_a_node(varint(2 << 3 | 3)), "wire type 3"),
        (in_a_node(b"\x00\x01"), "field number 0"),
        (number(1, 4), "window has wire type 0"),
    ],
)
def test_bytes_that_are_no_forest_are_refused(forest_bytes: bytes, complaint: str) -> None:
    with pytest.raises(WireError, match=complaint):
        nodes_of(forest_bytes)


def test_a_forest_of_nothing_but_nodes_is_bounded() -> None:
    tree = block(1, b"") * (MAX_NODES + 1)
    with pytest.raises(WireError, match=f"more than {MAX_NODES} nodes"):
        nodes_of(block(1, block(11, tree)))


@given(st.binary(max_size=200))
def test_any_bytes_give_nodes_or_a_wire_error(data: bytes) -> None:
    with suppress(WireError):
        assert all(isinstance(node, Node) for node in nodes_of(data))
