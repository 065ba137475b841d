"""The progress line of downloads and conversions: how much, how fast, how long yet."""

from __future__ import annotations

import io
import sys
import time

import pytest

from sopbench.cli.data_meter import Meter


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def test_rate_and_time_left_count_only_what_was_done_here(clock: list[float]) -> None:
    meter = Meter("pulling")
    clock[0] += 10
    assert meter.line(3_000_000_000, 4_000_000_000, 2_000_000_000, "f") == "3.0 GB of 4.0 GB  100.0 MB/s  ETA 0:10  f"


def test_without_a_total_there_is_no_time_left(clock: list[float]) -> None:
    meter = Meter("pulling")
    clock[0] += 2
    assert meter.line(5_000, None, 0, "") == "5.0 kB  2.5 kB/s"


def test_nothing_done_yet_divides_by_nothing(clock: list[float]) -> None:
    assert Meter("pulling").line(0, 10, 0, "") == "0 bytes of 10 bytes  0 bytes/s"


def test_names_from_a_publishers_list_cannot_write_to_the_terminal(clock: list[float]) -> None:
    assert "\x1b" not in Meter("pulling").line(0, 1, 0, "a\x1b[2Jb")


def test_without_a_terminal_there_is_a_plain_line_every_ten_seconds(
    clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = io.StringIO()
    monkeypatch.setattr(sys, "stderr", shown)
    with Meter("pulling") as meter:
        for _ in range(25):
            clock[0] += 1
            meter(10, 100)
    assert shown.getvalue().count("pulling: 10 bytes of 100 bytes") == 2


def test_nobody_reading_is_no_reason_to_end_the_work(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    monkeypatch.setattr(sys, "stderr", Closed())
    meter = Meter("pulling")
    clock[0] += 11
    meter(1, 2)
    clock[0] += 11
    meter(2, 2)
