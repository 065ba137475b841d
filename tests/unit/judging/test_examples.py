"""Labelled examples of anybody's: read strictly, from below their own folder only."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from sopbench.errors import DataError
from sopbench.judging.examples import read_examples

GOOD = {"goal": "Open the clock", "screens": ["a.png"], "label": "success"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    own = tmp_path / "own"
    own.mkdir()
    for name in ("own/a.png", "own/b.png", "secret.png"):
        Image.new("RGB", (20, 40), (9, 9, 9)).save(tmp_path / name)
    (own / "text.png").write_text("no picture")
    (own / "link.png").symlink_to(tmp_path / "secret.png")
    return own


def write(folder: Path, *lines: Any) -> Path:
    path = folder / "labelled.jsonl"
    path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines) + "\n")
    return path


def test_examples_are_read_in_order(folder: Path) -> None:
    more = {"id": "x", "goal": "g", "screens": ["a.png", "b.png"], "actions": ["tapped"], "label": False}
    read = read_examples(write(folder, GOOD, "", more))
    assert [(e.id, e.case.goal, len(e.case.screens), e.case.actions, e.label) for e in read.found] == [
        ("1", "Open the clock", 1, (), True),
        ("x", "g", 2, ("tapped",), False),
    ]
    assert read.sha256 != read_examples(write(folder, GOOD)).sha256


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "is not JSON"),
        ("[" * 100_000, "is not JSON"),
        ([], "no JSON object"),
        (GOOD | {"goal": " "}, "`goal`"),
        (GOOD | {"goal": "x" * 20_001}, "`goal`"),
        (GOOD | {"screens": []}, "`screens`"),
        (GOOD | {"screens": "a.png"}, "`screens`"),
        (GOOD | {"screens": ["a.png"] * 201}, "`screens`"),
        (GOOD | {"screens": [7]}, "is no path of a screen"),
        (GOOD | {"screens": ["a\0.png"]}, "is no path of a screen"),
        (GOOD | {"screens": ["../secret.png"]}, "does not lie below"),
        (GOOD | {"screens": ["link.png"]}, "does not lie below"),
        (GOOD | {"screens": ["/etc/hostname"]}, "does not lie below"),
        (GOOD | {"screens": ["none.png"]}, "cannot read"),
        (GOOD | {"screens": ["text.png"]}, "text.png"),
        (GOOD | {"label": "maybe"}, "`label`"),
        (GOOD | {"label": 1}, "`label`"),
        (GOOD | {"actions": [{"action": "click"}]}, "`actions`"),
        (GOOD | {"id": True}, "`id`"),
    ],
)
def test_what_is_no_example_is_named_with_its_line(folder: Path, line: Any, says: str) -> None:
    with pytest.raises(DataError, match=says):
        read_examples(write(folder, GOOD, line))


def test_an_empty_file_is_told(folder: Path) -> None:
    with pytest.raises(DataError, match="no example"):
        read_examples(write(folder, ""))


@given(st.binary(max_size=200))
def test_any_bytes_are_examples_or_a_clear_error(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    path.write_bytes(data)
    with pytest.raises(DataError):
        read_examples(path)
