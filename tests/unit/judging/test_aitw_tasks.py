"""DigiRL's lists: pinned, bounded, the first 96 in order."""

from __future__ import annotations

import dataclasses
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sopbench.errors import DataError, UsageError
from sopbench.online.aitw import tasks
from sopbench.online.aitw.tasks import COUNT, LISTS, MAX_GOAL, instructions, pinned, read_list, web_template
from sopbench.suites import SuiteOptions, get_suite


def lines(count: int = 120) -> bytes:
    return "".join(f"Search for  item {n}\n\n" for n in range(count)).encode()


def test_the_budgets_are_the_publishers() -> None:
    assert {name: item.budget for name, item in LISTS.items()} == {"general": 10, "web": 20}


def test_the_first_96_lines_are_the_tasks() -> None:
    assert read_list(lines(), "list") == [f"Search for item {n}" for n in range(COUNT)]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (lines(95), "95 instructions"),
        (b"\xff" + lines(), "not UTF-8"),
        (b"x" * (MAX_GOAL + 1) + b"\n" + lines(), "instruction 0 is none"),
        (b"a\x1b[2J\n" + lines(), "instruction 0 is none"),
    ],
)
def test_what_is_no_list_is_told(data: bytes, says: str) -> None:
    with pytest.raises(DataError, match=says):
        read_list(data, "list")


@given(st.binary(max_size=2000))
def test_any_bytes_are_a_list_or_a_clear_error(data: bytes) -> None:
    with pytest.raises(DataError):
        read_list(data, "list")


def test_a_list_that_was_not_pulled_says_how(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="sopbench data pull aitw-tasks"):
        instructions(LISTS["web"], tmp_path)


def test_a_list_that_is_not_the_published_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "webshop_test.txt").write_bytes(lines())
    with pytest.raises(DataError, match="not the published list"):
        instructions(LISTS["web"], tmp_path)


def test_a_list_with_the_pinned_hash_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    published = pinned(LISTS["web"])
    fake = dataclasses.replace(published, size=len(lines()), sha256=sha256(lines()).hexdigest())
    monkeypatch.setattr(tasks, "pinned", lambda which: fake)
    (tmp_path / "webshop_test.txt").write_bytes(lines())
    assert len(instructions(LISTS["web"], tmp_path)) == COUNT


@pytest.mark.parametrize(
    ("goal", "template"),
    [
        ("Go to ebay.com", "visit"),
        ("Go to ebay.com, search for 'razer'", "search"),
        ("Go to ebay.com, search for 'razer', and select the first entry", "open-first-entry"),
    ],
)
def test_the_three_shapes_of_web_shopping(goal: str, template: str) -> None:
    assert web_template(goal) == template


def test_judge_split_and_simulation_stand_in_the_suites_name() -> None:
    real = get_suite("aitw-web", SuiteOptions(judge_model="org/vlm", devices="avd:2"))
    assert real.name == "aitw-web[test,judge=org/vlm,words=1]"
    simulated = get_suite(real.name, SuiteOptions(judge_model="org/vlm", devices="sim:2"))
    assert simulated.name == "aitw-web[test,judge=org/vlm,words=1,simulated]"
    assert real.facts()["judge"]["prompt_sha256"] == simulated.facts()["judge"]["prompt_sha256"]
    assert get_suite("aitw-web", SuiteOptions(judge_model="other")).name != real.name


def test_a_suite_without_a_judge_says_which_options_it_needs() -> None:
    from sopbench.suites import DataSource

    with pytest.raises(UsageError, match="--judge-model NAME --judge-base-url"):
        get_suite("aitw-general").load(DataSource())
    with pytest.raises(UsageError, match="does not take --instances"):
        get_suite("aitw-general", SuiteOptions(instances=2))
    with pytest.raises(UsageError, match="characters that can be printed"):
        get_suite("aitw-general", SuiteOptions(judge_model="a\nb"))
