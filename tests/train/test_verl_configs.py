"""Configurations compose over verl's own without a GPU, hold the paper's table, and each ablation is one override."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from sopbench.errors import UsageError
from uis1_train.verl_ext.compose import compose_config, config_names
from uis1_train.verl_ext.settings import MethodSettings, patch_strategy, read_settings, rollout_config

RL = [name for name in config_names() if not name.startswith("sft")]

PAPER = {
    "actor_rollout_ref.actor.optim.lr": 1e-6,
    "data.train_batch_size": 32,
    "actor_rollout_ref.rollout.n": 8,
    "actor_rollout_ref.actor.use_kl_loss": True,
    "actor_rollout_ref.actor.kl_loss_coef": 1e-4,
    "actor_rollout_ref.actor.kl_loss_type": "low_var_kl",
    "actor_rollout_ref.actor.clip_ratio_low": 0.2,
    "actor_rollout_ref.actor.clip_ratio_high": 0.28,
    "actor_rollout_ref.actor.clip_ratio_c": 10,
    "data.max_prompt_length": 12288,
    "data.max_response_length": 512,
    "trainer.total_epochs": 5,
    "actor_rollout_ref.actor.fsdp_config.param_offload": True,
    "actor_rollout_ref.actor.fsdp_config.optimizer_offload": True,
    "actor_rollout_ref.model.enable_gradient_checkpointing": True,
    "actor_rollout_ref.rollout.gpu_memory_utilization": 0.6,
    "actor_rollout_ref.rollout.max_model_len": 32678,
    "actor_rollout_ref.actor.loss_agg_mode": "token-mean",
    "uis1.gamma": 0.5,
    "uis1.eta": 0.3,
    "uis1.epsilon": 1,
    "uis1.patch": "thought_free",
    "uis1.reward": "paper",
    "uis1.segment": "paper",
    "uis1.episode_weight": 1.0,
    "uis1.step_weight": 1.0,
    "uis1.images": 2,
}
RELEASED = {
    "data.train_batch_size": 8,
    "trainer.total_epochs": 3,
    "uis1.epsilon": 2,
    "uis1.reward": "released",
    "uis1.segment": "released",
    "uis1.patch": "thought_recorded",
    "uis1.episode_over": "rows",
    "uis1.mini_batches": 4,
    "actor_rollout_ref.actor.clip_ratio_high": 0.2,
    "actor_rollout_ref.actor.clip_ratio_c": 3.0,
    "trainer.val_before_train": False,
}


@pytest.mark.parametrize("name", config_names())
def test_a_configuration_resolves(name: str) -> None:
    resolved = OmegaConf.to_container(compose_config(name), resolve=True)
    assert isinstance(resolved, dict)
    assert resolved["data"]["method"] == resolved["uis1"]


@pytest.mark.parametrize("name", RL)
def test_verl_takes_it(name: str) -> None:
    """verl's own checks, which read the dataclasses behind every part."""
    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.utils.config import validate_config

    config = compose_config(name)
    read_settings(config)
    with pytest.warns(UserWarning, match="Disabled critic"):
        assert not need_critic(config)
    assert need_reference_policy(config)
    validate_config(config, use_reference_policy=True, use_critic=False)


@pytest.mark.parametrize(("name", "table"), [("uis1_7b", PAPER), ("uis1_7b_released", RELEASED)])
def test_the_table_stands_in_the_configuration(name: str, table: dict[str, Any]) -> None:
    config = compose_config(name)
    assert {key: OmegaConf.select(config, key) for key in table} == table


ABLATIONS = [
    *[(f"uis1.gamma={v}", "gamma", v) for v in (0, 0.5, 0.9)],
    *[(f"uis1.step_weight={v}", "step_weight", v) for v in (0, 0.5, 1)],
    *[(f"uis1.eta={v}", "eta", v) for v in (0.1, 0.3, 0.5)],
    *[(f"uis1.epsilon={v}", "epsilon", v) for v in (0, 1, 2, math.inf)],
    *[(f"uis1.patch={v}", "patch", v) for v in ("thought_free", "on_policy", "thought_recorded")],
    *[(f"uis1.images={v}", "images", v) for v in (1, 2, 4)],
    *[(f"uis1.segment={v}", "segment", v) for v in ("paper", "whole")],
    ("uis1.mode=offline", "mode", "offline"),
    ("uis1.eta=null", "eta", None),
]


@pytest.mark.parametrize(("override", "field", "value"), ABLATIONS, ids=[a[0] for a in ABLATIONS])
def test_an_ablation_is_one_override(override: str, field: str, value: Any) -> None:
    settings = read_settings(compose_config("uis1_7b", [override]))
    assert getattr(settings, field) == value
    played = rollout_config(settings.model_copy(update={"prompts": "builtin"}))
    assert played.patches == (0 if settings.mode == "offline" else settings.epsilon)
    assert played.gamma == settings.gamma
    assert played.images == settings.images


def test_data_of_another_size_is_one_override() -> None:
    config = compose_config("uis1_7b", ["data.train_files=train.jsonl@1000"])
    assert config.data.train_files == "train.jsonl@1000"


def test_the_off_policy_patch_wants_its_endpoint() -> None:
    with pytest.raises(UsageError, match=r"uis1\.off_policy\.base_url"):
        read_settings(compose_config("uis1_7b", ["uis1.patch=off_policy"]))
    named = ["uis1.off_policy.base_url=http://127.0.0.1:9/v1", "uis1.off_policy.model=helper"]
    settings = read_settings(compose_config("uis1_7b", ["uis1.patch=off_policy", *named]))
    assert patch_strategy(settings).kind == "off_policy"


@pytest.mark.parametrize(
    ("overrides", "told"),
    [
        (["uis1.gama=1"], "gama"),
        (["uis1.gamma=2"], "gamma"),
        (["uis1.epsilon=1.5"], "epsilon"),
        (["uis1.step_weight=0", "uis1.episode_weight=0"], "no advantage"),
        (["trainer.v1.trainer_mode=colocate_async"], "one version of the weights"),
        (["actor_rollout_ref.actor.loss_agg_mode=seq-mean-token-sum"], "token-mean"),
        (["algorithm.use_kl_in_reward=true"], "use_kl_loss"),
        (["nothing"], "EQUAL"),
    ],
)
def test_what_cannot_work_is_refused_by_name(overrides: list[str], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        read_settings(compose_config("uis1_7b", overrides))


def test_a_name_that_is_none_lists_those_that_are() -> None:
    with pytest.raises(UsageError, match="uis1_7b_released"):
        compose_config("uis1_8b")


def test_a_file_of_ones_own_builds_on_ours(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("defaults: [uis1_3b, _self_]\nuis1: {gamma: 0.9}\n")
    config = compose_config(str(file), ["uis1.eta=0.5"])
    assert (config.uis1.gamma, config.uis1.eta, config.trainer.experiment_name) == (0.9, 0.5, "uis1_3b")


def test_a_family_that_calls_tools_is_refused() -> None:
    with pytest.raises(UsageError, match="tool calls"):
        _ = MethodSettings(adapter="tools", prompts="builtin").the_adapter


def test_other_words_than_those_of_the_starting_machine_are_refused() -> None:
    with pytest.raises(UsageError, match="other words"):
        _ = MethodSettings(prompts="builtin", prompt_sha256="0" * 64).the_adapter
