"""What a trainer gets from an evaluation: run folders, scalars, and never an exception."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

import sopbench
from sopbench.clients.base import Ask, AskFailed, Policy, Reply
from sopbench.clients.builtin import make_builtin
from sopbench.errors import UsageError
from uis1_train.policies.endpoint import EndpointPolicy
from uis1_train.validation.hooks import new_folder, validate_addresses, validate_policy
from uis1_train.validation.settings import ValidationSettings


def settings(tmp_path: Path, **more: Any) -> ValidationSettings:
    options: dict[str, Any] = {
        "sop": {"suite": "pocket", "limit": 6},
        "out": tmp_path / "validation",
        "prompts": "builtin",
    }
    return ValidationSettings.read(options | more)


def test_an_oracle_scores_100_and_leaves_an_ordinary_run(tmp_path: Path) -> None:
    result = validate_policy(make_builtin("builtin:oracle"), settings(tmp_path), 120)

    assert result.scalars["val/sop/pg"] == result.scalars["val/sop/tsr"] == result.scalars["val/sop/score"] == 100.0
    assert result.scalars["val/sop/scored"] == 6
    assert result.scalars["val/failed"] == 0
    run = sopbench.load_run(tmp_path / "validation" / "step-000120" / "sop")
    assert run.path == result.runs["sop"]
    assert run.summary["tsr"] == 100.0
    assert run.info.facts["model"] == "builtin:oracle"
    assert len(run.trajectories) == 6


def test_static_and_online_have_scalars_of_their_own(tmp_path: Path) -> None:
    chosen = settings(
        tmp_path,
        static={"suite": "androidcontrol-high", "data": "builtin:pocket", "profile": "strict", "limit": 4},
        online={"suite": "pocket-online", "limit": 2},
    )

    scalars = validate_policy(make_builtin("builtin:oracle"), chosen, 1).scalars

    assert scalars["val/static/sr"] == 100.0
    assert scalars["val/online/success"] == 100.0
    assert "val/online/pg" not in scalars


def test_the_record_beside_the_runs_holds_what_the_tracker_got(tmp_path: Path) -> None:
    result = validate_policy(make_builtin("builtin:null"), settings(tmp_path), 7)

    record = json.loads((result.folder / "validation.json").read_text())
    assert record["scalars"] == result.scalars
    assert record["runs"] == {"sop": "sop"}
    assert record["scalars"]["val/sop/tsr"] == 0.0


def test_a_step_that_is_trained_again_gets_new_runs(tmp_path: Path) -> None:
    first = validate_policy(make_builtin("builtin:null"), settings(tmp_path), 5)
    second = validate_policy(make_builtin("builtin:oracle"), settings(tmp_path), 5)

    assert second.folder.name == "step-000005.2"
    assert (first.scalars["val/sop/tsr"], second.scalars["val/sop/tsr"]) == (0.0, 100.0)
    assert new_folder(tmp_path / "validation", 5).name == "step-000005.3"


def test_a_trainers_policy_is_recorded_with_its_step(tmp_path: Path) -> None:
    policy = EndpointPolicy(make_builtin("builtin:oracle"))

    result = validate_policy(policy, settings(tmp_path, model="mine"), 30)

    run = sopbench.load_run(result.runs["sop"])
    assert run.info.facts["model"] == "mine@step-000030"
    assert run.info.facts["policy"] == {"kind": "trainer"}
    assert result.scalars["val/sop/tsr"] == 100.0


class Breaking(Policy):
    """Fails in the way that it is told."""

    name = "breaking"

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def ask(self, ask: Ask) -> Reply:
        raise self.error

    def describe(self) -> dict[str, Any]:
        return {"model": "breaking", "sampling": None, "policy": {"kind": "builtin"}}


def test_a_policy_that_breaks_is_reported_and_raises_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "uis1_train.validation"):
        result = validate_policy(Breaking(RuntimeError("out of memory")), settings(tmp_path), 3)

    assert result.scalars["val/failed"] == 1
    assert not any(name.startswith("val/sop/") for name in result.scalars)
    assert "out of memory" in result.failures["sop"]
    assert "validation sop at step 3 failed: RuntimeError: out of memory" in caplog.text


def test_a_run_that_is_not_whole_has_bounds_and_counts_as_failed(tmp_path: Path) -> None:
    result = validate_policy(Breaking(AskFailed("connection", "no route")), settings(tmp_path), 3)

    assert result.scalars["val/failed"] == 1
    assert "val/sop/tsr" not in result.scalars
    assert (result.scalars["val/sop/tsr_low"], result.scalars["val/sop/tsr_high"]) == (0.0, 100.0)
    assert "connection 6x" in result.failures["sop"]


def test_one_suite_that_fails_does_not_take_the_others_with_it(tmp_path: Path) -> None:
    chosen = settings(tmp_path, static={"suite": "androidcontrol-high", "data": tmp_path / "missing.jsonl"})

    result = validate_policy(make_builtin("builtin:oracle"), chosen, 3)

    assert result.scalars["val/sop/tsr"] == 100.0
    assert result.scalars["val/failed"] == 1
    assert list(result.failures) == ["static"]
    assert "missing.jsonl" in result.failures["static"]


class Slow(Breaking):
    async def ask(self, ask: Ask) -> Reply:
        import asyncio

        await asyncio.sleep(60)
        raise AssertionError


def test_a_validation_that_hangs_ends_at_its_time_limit(tmp_path: Path) -> None:
    result = validate_policy(Slow(RuntimeError()), settings(tmp_path, time_limit=0.3), 3)

    assert "not done after 0.3 s" in result.failures["sop"]
    assert result.scalars["val/seconds"] < 30


def test_servers_that_are_gone_are_a_failed_validation(tmp_path: Path) -> None:
    result = validate_addresses(["127.0.0.1:9"], settings(tmp_path), 3)

    assert result.scalars == {"val/failed": 1.0}
    assert "127.0.0.1:9" in result.failures["sop"]


def test_no_servers_at_all_are_a_failed_validation(tmp_path: Path) -> None:
    assert "no rollout servers" in validate_addresses([], settings(tmp_path), 3).failures["sop"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sopp": {}}, "sopp"),
        ({"sop": {"suite": "pocket", "limt": 3}}, "sop.limt"),
        ({"sop": None}, "nothing to evaluate"),
        ({"keep_best": "maybe"}, "keep_best"),
        ({"concurrency": 0}, "concurrency"),
    ],
)
def test_settings_that_are_wrong_name_the_field(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        ValidationSettings.read(options)
