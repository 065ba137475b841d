"""Judge cases from a stream of JSON lines, one verdict a line: what `sopbench judge` does, for programs that have an agent of their own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from sopbench.errors import DataError
from sopbench.scoring.base import Profile, judge_case
from sopbench.trajectory import read_json_object

MAX_LINE_BYTES = 1024 * 1024


def judge_stream(profile: Profile, lines: BinaryIO) -> Iterator[dict[str, Any]]:
    """The verdict on each line in turn, as `{"type_match", "match", "reason"}`; blank lines are left out.

    A prediction that is no action is a verdict too (`judge_case`). Raises `DataError`, naming the line, at the first line that cannot be judged.
    """
    number = 0
    while line := lines.readline(MAX_LINE_BYTES + 1):
        number += 1
        if not line.strip():
            continue
        try:
            yield judge_case(profile, read_json_object(line, MAX_LINE_BYTES)).as_dict()
        except DataError as error:
            raise DataError(f"line {number} of standard input: {error}") from error
