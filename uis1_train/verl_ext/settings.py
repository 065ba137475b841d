"""The `uis1:` node of a configuration: the method's settings, checked before anything is started."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from sopbench.errors import UsageError
from sopbench.runs.shapes import first_fault
from uis1_train.core.returns import Cut
from uis1_train.core.rewards import RewardName

if TYPE_CHECKING:
    from sopbench.adapters.base import Adapter
    from sopbench.clients.pool import EndpointPool
    from uis1_train.patching.base import PatchStrategy
    from uis1_train.session import RolloutConfig
    from uis1_train.validation.settings import ValidationSettings

Mode = Literal["semi_online", "offline"]
PatchName = Literal["thought_free", "thought_recorded", "off_policy", "on_policy"]


class OffPolicySettings(BaseModel):
    """The auxiliary model of `patch: off_policy`, behind an OpenAI-compatible endpoint."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    base_url: str | None = None
    model: str | None = None
    concurrency: int = Field(default=32, ge=1)
    timeout: float = Field(default=60.0, gt=0)
    max_tokens: int = Field(default=256, ge=1)


class MethodSettings(BaseModel):
    """What is played and learned. The meaning of every field stands in configs/uis1_7b.yaml and configs/base.yaml."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    mode: Mode = "semi_online"
    adapter: str = "uis1"
    prompts: Literal["auto", "official", "builtin", "package", "pulled"] = "auto"
    prompt_sha256: str | None = None
    profile: str = "uis1-boxes"
    images: int = Field(default=2, ge=0)
    epsilon: float = Field(default=1, ge=0)
    patch: PatchName = "thought_free"
    off_policy: OffPolicySettings = OffPolicySettings()
    reward: RewardName = "paper"
    gamma: float = Field(default=0.5, ge=0, le=1)
    segment: Cut = "paper"
    episode_weight: float = Field(default=1.0, ge=0)
    step_weight: float = Field(default=1.0, ge=0)
    normalise: Literal["mean_norm", "mean_std_norm"] = "mean_std_norm"
    episode_over: Literal["rollouts", "rows"] = "rollouts"
    eta: float | None = Field(default=0.3, ge=0)
    max_generated: float = Field(default=10, ge=1)
    mini_batches: int = Field(default=4, ge=1)
    screens: Path | None = None
    screen_pattern: str = "{name}"
    seed: int = 1
    check_image_size: bool = True
    validation: Mapping[str, Any] = Field(default_factory=dict)

    @field_validator("epsilon")
    @classmethod
    def _whole_or_inf(cls, value: float) -> float:
        if math.isnan(value) or (value != math.inf and value != int(value)):
            raise ValueError("must be 0, 1, 2, ... or inf")
        return value

    @cached_property
    def the_adapter(self) -> Adapter:
        """The adapter with the texts that `prompts` chooses.

        Raises `UsageError` where these are not the texts of `prompt_sha256` (what the machine that started the run has), and for a family that speaks by
        tool calls, which verl's rollout servers, asked in tokens, do not know.
        """
        from sopbench.adapters import get_adapter
        from sopbench.prompts.choosing import choose

        adapter = get_adapter(self.adapter, choose(self.adapter, self.prompts).texts)
        found = adapter.prompt_source().sha256
        if self.prompt_sha256 not in (None, found):
            raise UsageError(
                f"this machine asks {self.adapter} in other words ({found[:12]}) than the one that started the run ({str(self.prompt_sha256)[:12]}): "
                "pull the official prompts on every machine, or choose uis1.prompts=builtin"
            )
        if adapter.request_fields():
            raise UsageError(
                f"uis1.adapter={self.adapter} speaks by tool calls: train with an adapter that writes its actions as text"
            )
        return adapter

    @property
    def patches(self) -> float:
        """epsilon as the session wants it; an offline step is never patched."""
        return self.epsilon if self.mode == "semi_online" else 0


def read_settings(config: Any) -> MethodSettings:
    """The checked `uis1:` node of a whole configuration. Raises `UsageError` that names the setting, also for what verl offers and this trainer does not."""
    from omegaconf import OmegaConf

    node = OmegaConf.select(config, "uis1")
    if node is None:
        raise UsageError("the configuration has no `uis1:` part: build it on one of ours (defaults: [uis1_7b, _self_])")
    try:
        settings = MethodSettings.model_validate(OmegaConf.to_container(node, resolve=True))
    except ValidationError as error:
        raise UsageError(f"uis1: {first_fault(error)}") from error
    _refuse_what_is_not_ours(config)
    if (
        settings.patch == "off_policy"
        and settings.patches
        and not (settings.off_policy.base_url and settings.off_policy.model)
    ):
        raise UsageError(
            "uis1.patch=off_policy asks an auxiliary model: set uis1.off_policy.base_url and uis1.off_policy.model"
        )
    if settings.step_weight == 0 and settings.episode_weight == 0:
        raise UsageError(
            "uis1.step_weight and uis1.episode_weight are both 0: there would be no advantage to learn from"
        )
    return settings


def _refuse_what_is_not_ours(config: Any) -> None:
    """Options of verl's that would be ignored by our advantages, so that nobody believes that they did something."""
    from omegaconf import OmegaConf

    refused = {
        "trainer.use_v1": (True, "verl's old trainer knows nothing of one sample a step"),
        "trainer.v1.trainer_mode": ("sync", "the group filter needs one version of the weights a batch"),
        "algorithm.use_kl_in_reward": (False, "the reward is the paper's; use actor_rollout_ref.actor.use_kl_loss"),
        "actor_rollout_ref.actor.loss_agg_mode": ("token-mean", "padding rows weigh nothing only there"),
        "algorithm.rollout_correction.rollout_is": (None, "advantages are written without importance weights"),
        "algorithm.rollout_correction.rollout_rs": (None, "advantages are written without rejection"),
        "critic.enable": (None, "there is no critic"),
    }
    for name, (wanted, why) in refused.items():
        value = OmegaConf.select(config, name)
        if value != wanted:
            raise UsageError(f"{name}={value} cannot be used here ({why}): leave it at {wanted}")


def rollout_config(settings: MethodSettings) -> RolloutConfig:
    """What `uis1_train.session` plays with."""
    from sopbench.scoring import get_profile
    from uis1_train.session import RolloutConfig

    return RolloutConfig(
        profile=get_profile(settings.profile),
        adapter=settings.the_adapter,
        images=settings.images,
        patches=settings.patches,
        patch=patch_strategy(settings),
        reward=settings.reward,
        cut=settings.segment,
        gamma=settings.gamma,
    )


def patch_strategy(settings: MethodSettings) -> PatchStrategy:
    """The strategy called `settings.patch`; an auxiliary model's key comes from the environment, as for `sopbench run`."""
    from uis1_train.patching.thought_free import ThoughtFree

    if settings.patch == "on_policy":
        from uis1_train.patching.on_policy import OnPolicyThought

        return OnPolicyThought()
    if settings.patch == "off_policy":
        from uis1_train.patching.off_policy import OffPolicyThought

        return OffPolicyThought(auxiliary(settings.off_policy))
    return ThoughtFree("recorded" if settings.patch == "thought_recorded" else "none")


def auxiliary(settings: OffPolicySettings) -> EndpointPool:
    """The endpoint of the model that writes thoughts. One a process: each bounds its own requests."""
    from sopbench.clients.base import Sampling
    from sopbench.clients.keys import api_key_from_environment
    from sopbench.clients.pool import EndpointPool

    assert settings.base_url is not None
    assert settings.model is not None
    return EndpointPool(
        [settings.base_url],
        settings.model,
        Sampling(max_tokens=settings.max_tokens),
        api_key=api_key_from_environment(),
        concurrency=settings.concurrency,
        attempt_timeout=settings.timeout,
        deadline=2 * settings.timeout,
    )


def validation_settings(config: Any, settings: MethodSettings) -> ValidationSettings:
    """`uis1.validation` with what the run already says: adapter, prompts, images, and a folder beside the checkpoints."""
    from uis1_train.validation.settings import ValidationSettings

    options = {
        "adapter": settings.adapter,
        "prompts": settings.prompts,
        "history_images": settings.images,
        "max_tokens": int(config.data.max_response_length),
        "out": str(Path(config.trainer.default_local_dir) / "validation"),
    } | dict(settings.validation)
    return ValidationSettings.read(options)
