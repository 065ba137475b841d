"""The trainer's own parts, without Ray: what is written for each token, how the actor is told to learn, who is evaluated."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from sopbench.errors import UsageError
from tests.train.verl_world import make_recordings
from uis1_train.validation.best import KeepBest
from uis1_train.validation.hooks import Validation
from uis1_train.validation.settings import ValidationSettings
from uis1_train.verl_ext import trainer as module
from uis1_train.verl_ext.compose import compose_config
from uis1_train.verl_ext.settings import MethodSettings
from uis1_train.verl_ext.task_runner import prepare
from uis1_train.verl_ext.trainer import SemiOnlineTrainer, at_the_end, over_tokens

MASK = torch.nested.as_nested_tensor(
    [torch.tensor([1, 1, 1]), torch.tensor([1, 1]), torch.tensor([0])], layout=torch.jagged
)
"""Two rows of three and two tokens, and verl's padding row."""


def rows(tensor: torch.Tensor) -> list[list[float]]:
    return [row.tolist() for row in tensor.unbind()]


def test_an_advantage_stands_on_every_token_that_counts() -> None:
    assert rows(over_tokens(np.array([0.5, -1.0, 9.0]), MASK)) == [[0.5, 0.5, 0.5], [-1.0, -1.0], [0.0]]


def test_a_reward_stands_on_the_last_token() -> None:
    assert rows(at_the_end(np.array([0.5, 1.0, 0.0]), MASK)) == [[0.0, 0.0, 0.5], [0.0, 1.0], [0.0]]


@pytest.fixture
def bare(tmp_path: Path) -> SemiOnlineTrainer:
    """A trainer without workers."""
    found = SemiOnlineTrainer.__new__(SemiOnlineTrainer)
    found.config = compose_config("tiny_cpu", [f"trainer.default_local_dir={tmp_path}"])
    found.settings = MethodSettings()
    found.validation = ValidationSettings(out=tmp_path / "validation")
    found.best = KeepBest(tmp_path, "link")
    found.global_steps = 4
    found.use_reference_policy = True
    return found


def test_the_actor_learns_in_mini_batches_by_number(bare: SemiOnlineTrainer) -> None:
    told: dict[str, Any] = {}

    def update(batch: Any) -> dict[str, Any]:
        told.update(batch.extra_info)
        return {"metrics": {"loss": [1.0, 3.0], "mfu": [0.0]}}

    bare.actor_rollout_wg = SimpleNamespace(update_actor=update)
    bare._rows = 40
    multiple = bare._get_required_batch_multiple(1)
    assert multiple % bare._mini_batches == 0

    class Batch:
        extra_info: dict[str, Any] = {}  # noqa: RUF012

        def __len__(self) -> int:
            return 48

    metrics: dict[str, Any] = {}
    bare._update_actor(Batch(), metrics)
    assert told["mini_batch_size"] == told["global_batch_size"] == 48 // bare._mini_batches
    assert told["dataloader_kwargs"] == {"shuffle": True}
    assert metrics["actor/loss"] == 2.0
    assert metrics["uis1/mini_batches"] == bare._mini_batches


def test_servers_that_speak_openai_are_asked(bare: SemiOnlineTrainer, monkeypatch: pytest.MonkeyPatch) -> None:
    bare.config.actor_rollout_ref.rollout.name = "vllm"
    bare.llm_server_manager = SimpleNamespace(get_addresses=lambda: ["10.0.0.7:4711"])
    asked = []

    def validate(addresses: list[str], settings: ValidationSettings, step: int) -> Validation:
        asked.append((addresses, settings, step))
        return Validation(step, settings.out, {"val/sop/pg": 50.0})

    monkeypatch.setattr(module, "validate_addresses", validate)
    assert bare._validate() == {"val/sop/pg": 50.0}
    assert asked == [(["10.0.0.7:4711"], bare.validation, 4)]


def test_other_backends_save_their_weights_first(bare: SemiOnlineTrainer, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = []
    server = SimpleNamespace(export=SimpleNamespace(remote=saved.append))
    bare.llm_server_manager = SimpleNamespace(server_handles=[server])
    monkeypatch.setattr(module.ray, "get", lambda found: found)
    monkeypatch.setattr(
        module, "validate_checkpoint", lambda path, settings, step: Validation(step, path, {"val/failed": 0.0})
    )
    assert bare._validate() == {"val/failed": 0.0}
    assert saved == [str(bare.validation.out / "weights")]


def test_a_validation_that_breaks_is_reported_and_training_goes_on(
    bare: SemiOnlineTrainer, caplog: pytest.LogCaptureFixture
) -> None:
    def gone() -> list[str]:
        raise RuntimeError("the actor died")

    bare.config.actor_rollout_ref.rollout.name = "vllm"
    bare.llm_server_manager = SimpleNamespace(get_addresses=gone)
    assert bare._validate() == {"val/failed": 1.0}
    assert "the actor died" in caplog.text


def test_a_better_checkpoint_is_kept(bare: SemiOnlineTrainer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "global_step_4").mkdir()
    scores = {"val/sop/score": 50.0, "val/sop/pg": 60.0, "val/sop/tsr": 40.0}
    monkeypatch.setattr(bare, "_evaluated", lambda step: Validation(step, tmp_path, dict(scores)))
    assert bare._validate()["val/kept_as_best"] == 1
    assert bare._validate()["val/kept_as_best"] == 0
    assert bare.best.best is not None
    assert bare.best.best.step == 4


def test_a_run_is_prepared_before_ray_is_started(tmp_path: Path) -> None:
    file = make_recordings(tmp_path / "data", goals=3)
    overrides = [f"data.train_files={file}", f"trainer.default_local_dir={tmp_path / 'out'}"]
    config = compose_config("tiny_cpu", overrides)
    prepare(config)
    assert len(config.uis1.prompt_sha256) == 64
    with pytest.raises(UsageError, match=r"3 goals are fewer than data\.train_batch_size=4"):
        prepare(compose_config("tiny_cpu", [*overrides, "data.train_batch_size=4"]))
