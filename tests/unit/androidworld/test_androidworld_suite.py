"""The suite without AndroidWorld: what it refuses, and what its runs say of themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from sopbench.errors import UsageError
from sopbench.online.androidworld.install import PLACE, look
from sopbench.online.androidworld.tasks import Listed, digest, instance_seed
from sopbench.suites import DataSource, SuiteOptions, get_suite


def test_numbers_of_simulated_phones_have_another_name() -> None:
    real = get_suite("androidworld", SuiteOptions(devices="avd:2"))
    simulated = get_suite("androidworld", SuiteOptions(devices="sim:2"))
    assert real.name == "androidworld"
    assert "simulated" not in real.facts()["androidworld"]
    assert simulated.name == "androidworld-sim"
    assert simulated.facts()["androidworld"]["simulated"] is True
    again = get_suite("androidworld-sim", SuiteOptions(devices="sim:2"))
    assert again.facts() == simulated.facts()
    with pytest.raises(UsageError, match="simulated phones"):
        get_suite("androidworld-sim", SuiteOptions(devices="avd:2"))


def test_facts_say_what_changes_the_numbers() -> None:
    facts = get_suite("androidworld").facts()["androidworld"]
    assert (facts["family"], facts["task_seed"], facts["instances"], facts["actuation"]) == (
        "android_world",
        30,
        1,
        "upstream",
    )
    assert facts["commit"].startswith("d9c569f")
    other = get_suite("androidworld", SuiteOptions(actuation="mobile-agent", task_seed=1, instances=3))
    assert other.facts()["androidworld"] != facts


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (SuiteOptions(family="windows"), "--family is one of android_world, android"),
        (SuiteOptions(actuation="telekinesis"), "--actuation is one of upstream, mobile-agent"),
        (SuiteOptions(judge_model="x"), "does not take --judge-model"),
    ],
)
def test_options_that_do_not_exist(options: SuiteOptions, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        get_suite("androidworld", options)


def test_where_it_is_not_installed_the_suite_says_how(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PLACE, str(tmp_path / "none"))
    with pytest.raises(UsageError, match="sopbench androidworld install"):
        get_suite("androidworld").load(DataSource())


def test_half_an_installation_is_none(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    assert "not to its end" in str(look(tmp_path))
    (tmp_path / "stamp.json").write_text('{"inputs": "of other pins"}')
    assert "other pins" in str(look(tmp_path))


def test_it_is_not_played_without_devices() -> None:
    suite = get_suite("androidworld")
    with pytest.raises(UsageError, match="--devices avd:N"):
        suite.open(1)
    suite.close()


def test_seeds_of_instances_are_upstreams() -> None:
    """Values that google-research/android_world's own create_suite gave at d9c569f."""
    assert instance_seed(30, "AudioRecorderRecordAudio", 0) == 2842804519
    assert instance_seed(30, "MarkorCreateFolder", 1) == 2214371470


def test_the_hash_of_a_list_changes_with_a_goal() -> None:
    one = Listed("A", 0, 1, "do it", 10, 1.0, ())
    assert digest([one]) != digest([Listed("A", 0, 1, "do that", 10, 1.0, ())])
    assert digest([one]) == digest([Listed("A", 0, 1, "do it", 10, 1.0, ())])
