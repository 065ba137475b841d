"""What `sopbench.run(...)` says to a caller who guesses its options."""

from __future__ import annotations

import pytest

import sopbench
from sopbench.errors import FingerprintMismatch, UsageError
from sopbench.runs.config import RunConfig
from sopbench.runs.fingerprint import require_same


def test_completion_offers_what_is_loaded_on_first_use() -> None:
    assert {"run", "arun", "load_run", "Run"} <= set(dir(sopbench))


def test_a_misspelt_option_is_told_with_the_one_that_was_meant() -> None:
    with pytest.raises(UsageError, match="no option 'base_url'; did you mean base_urls"):
        sopbench.run(base_url="http://127.0.0.1:1/v1")


def test_an_option_like_no_other_is_told_with_all_there_are() -> None:
    with pytest.raises(UsageError, match="no option 'qqq'; there are: suite, model"):
        sopbench.run(qqq=1)


def test_one_address_need_not_be_a_list() -> None:
    assert RunConfig(model="m", base_urls="http://a:1/v1").base_urls == ("http://a:1/v1",)  # type: ignore[arg-type]


def test_differing_facts_end_with_what_to_do() -> None:
    with pytest.raises(FingerprintMismatch) as raised:
        require_same({"a": 1}, {"a": 2}, what="no", sides="first / second", hint="do this")
    assert str(raised.value) == "no: these facts differ (first / second):\n  a: 1 / 2\n  do this"
