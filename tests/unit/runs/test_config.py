"""What cannot be asked of a run is refused before anything is started."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from sopbench.errors import UsageError
from sopbench.runs.config import Prices, RunConfig
from sopbench.suites import DataSource, get_suite


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"limit": 0}, "limit"),
        ({"repeats": 0}, "repeats"),
        ({"repeats": 1_000_000_000}, "at most 1000"),
        ({"concurrency": 0}, "concurrency"),
        ({"attempt_timeout": 0}, "timeouts"),
        ({"attempt_timeout": math.nan}, "timeouts"),
        ({"deadline": math.inf}, "timeouts"),
        ({"seed": -1}, "seed"),
        ({"after_mismatch": "maybe"}, "stop or continue"),
        ({"model": ""}, "name"),
        ({"model": "a\udcffb"}, "name"),
        ({"model": "\x1b[31mred"}, "name"),
        ({"model": "a" * 400}, "name"),
    ],
)
def test_options_that_cannot_be(options: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        RunConfig(**options)


@pytest.mark.parametrize("price", [math.nan, math.inf, -0.1])
def test_prices_that_are_none(price: float) -> None:
    with pytest.raises(UsageError, match="prices"):
        Prices(price, 1.0)


def test_a_suite_with_data_of_its_own_takes_no_screens_of_others() -> None:
    with pytest.raises(UsageError, match="--suite sop"):
        get_suite("pocket").load(DataSource(images=Path("somewhere")))


@pytest.mark.parametrize("name", ["limit", "repeats", "concurrency", "max_attempts", "environment_attempts"])
@pytest.mark.parametrize("value", ["3", 2.0, True, 0])
def test_a_number_that_is_none_is_told_with_its_name(name: str, value: object) -> None:
    with pytest.raises(UsageError, match=f"{name} must be a whole number of at least 1, not {value!r}"):
        RunConfig(**{name: value})  # type: ignore[arg-type]
