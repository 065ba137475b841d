"""One YAML file for the whole recipe: the model, the data, the method, SFT, RL, validation."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import yaml  # type: ignore[import-untyped, unused-ignore]
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from sopbench.errors import UsageError
from sopbench.files import open_regular, why
from sopbench.runs.shapes import first_fault
from uis1_train.validation.settings import ValidationSettings
from uis1_train.verl_ext.settings import MethodSettings

MAX_CONFIG_BYTES = 1024 * 1024


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class DataSettings(_Strict):
    """Expert recordings: those of a suite of sopbench, or with `suite: sop` of a file. `limit`: only the first so many trajectories."""

    suite: str = "sop"
    file: Path | None = None
    images: Path | None = None
    pattern: str = "{name}"
    limit: int | None = Field(default=None, ge=1)


class LearnerSettings(_Strict):
    """The optimiser and the loss.

    schedule: `constant`, or `cosine` down to nothing at the last step; both rise for `warmup` updates. micro_tokens: tokens, padding included, that go through
    the model at once; it changes speed and memory, not the result. mini_batch: rows an optimiser step (None: the whole batch). clip_low, clip_high, dual_clip,
    kl_coefficient: the paper's 0.2, 0.28, 10 and 1e-4 (arXiv 2509.11543, appendix). recompute_old: work old log-probs out with the learner's own arithmetic
    (bfloat16) instead of taking those of the generation.
    """

    lr: float = Field(default=1e-6, gt=0)
    betas: tuple[float, float] = (0.9, 0.999)
    weight_decay: float = Field(default=0.01, ge=0)
    grad_clip: float = Field(default=1.0, gt=0)
    schedule: Literal["constant", "cosine"] = "constant"
    warmup: int = Field(default=0, ge=0)
    micro_tokens: int = Field(default=8192, ge=1)
    mini_batch: int | None = Field(default=None, ge=1)
    epochs: int = Field(default=1, ge=1)
    clip_low: float = Field(default=0.2, gt=0, lt=1)
    clip_high: float = Field(default=0.28, gt=0)
    dual_clip: float = Field(default=10.0, gt=1)
    kl_coefficient: float = Field(default=1e-4, ge=0)
    entropy_coefficient: float = Field(default=0.0, ge=0)
    recompute_old: bool = False
    freeze_vision: bool = False
    gradient_checkpointing: bool = False


class StageSettings(_Strict):
    """What SFT and RL have in common. `keep`: how many checkpoints stay (the best one is kept beside them). 0 for `save_every` or `test_every`: only at the end.

    init: the model that the stage starts from; None is the recipe's `model` for SFT, and for RL what SFT left in the same `output` (or `model` where there was none).
    """

    steps: int = Field(ge=1)
    init: Path | None = None
    save_every: int = Field(default=0, ge=0)
    test_every: int = Field(default=0, ge=0)
    test_first: bool = False
    keep: int = Field(default=2, ge=1)


class SftSettings(StageSettings):
    """Supervised fine-tuning on the experts' steps. `batch`: samples a step.

    sample: `step` makes a sample of every step, asked exactly as in play, with the loss on its reply; `window` makes one of as many steps as a request shows
    screens of, with the loss on each of their replies. thoughts: replies with the recording's thought, where it has one.
    """

    steps: int = Field(default=200, ge=1)
    batch: int = Field(default=8, ge=1)
    sample: Literal["step", "window"] = "step"
    thoughts: bool = True
    learner: LearnerSettings = LearnerSettings(lr=1e-5, schedule="cosine")


class RlSettings(StageSettings):
    """Reinforcement learning. goals: groups a batch that are learned from; rollouts: of each. `method.mode: offline` makes it the offline baseline.

    temperature: of training rollouts; validation is greedy. concurrency: rollouts in flight (None: a whole batch). when_short: what happens where
    `method.max_generated` times `goals` were played and too few groups were worth keeping: `stop` with an error, or `learn` from those few.
    """

    steps: int = Field(default=100, ge=1)
    goals: int = Field(default=8, ge=1)
    rollouts: int = Field(default=8, ge=1)
    temperature: float = Field(default=1.0, gt=0)
    concurrency: int | None = Field(default=None, ge=1)
    when_short: Literal["stop", "learn"] = "stop"
    learner: LearnerSettings = LearnerSettings()


class Recipe(_Strict):
    """Everything. Relative paths start at the working folder.

    model: a transformers folder. output: `sft/` and `rl/` are made in it. threads: of torch on a CPU (None: its own choice). max_batch: replies that are generated at once.
    max_prompt, max_reply: in tokens; max_images: screens that a prompt may carry (None: what the method asks for).
    """

    model: Path
    output: Path
    data: DataSettings
    method: MethodSettings = MethodSettings()
    sft: SftSettings = SftSettings()
    rl: RlSettings = RlSettings()
    validation: ValidationSettings | None = None
    device: str = "auto"
    dtype: Literal["float32", "bfloat16"] = "float32"
    threads: int | None = Field(default=None, ge=1)
    seed: int = 1
    max_prompt: int = Field(default=12_288, ge=1)
    max_reply: int = Field(default=512, ge=1)
    max_images: int | None = Field(default=None, ge=0)
    max_batch: int = Field(default=64, ge=1)
    tensorboard: bool = True

    @model_validator(mode="before")
    @classmethod
    def _validation_as_the_method(cls, value: Any) -> Any:
        """Validation asks as training does, unless it says otherwise."""
        if not isinstance(value, dict) or not isinstance(value.get("validation"), dict):
            return value
        method = value.get("method") or {}
        method = method.model_dump() if isinstance(method, MethodSettings) else method
        same = {
            "adapter": method.get("adapter"),
            "prompts": method.get("prompts"),
            "history_images": method.get("images"),
        }
        same = {name: found for name, found in same.items() if found is not None}
        if "max_reply" in value:
            same["max_tokens"] = value["max_reply"]
        return value | {"validation": same | value["validation"]}


def read_recipe(path: Path, overrides: tuple[str, ...] = ()) -> Recipe:
    """The recipe in a YAML file; `overrides` are `rl.steps=50`, their values in YAML. Raises `UsageError` that names the setting."""
    try:
        with open_regular(path) as handle:
            text = handle.read(MAX_CONFIG_BYTES + 1)
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read the recipe {path} ({why(error)})") from error
    if len(text) > MAX_CONFIG_BYTES:
        raise UsageError(f"{path} is larger than {MAX_CONFIG_BYTES} bytes: that is no recipe")
    try:
        options = yaml.safe_load(text)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path} is not YAML: {' '.join(str(error).split())[:300]}") from error
    if not isinstance(options, dict):
        raise UsageError(f"{path} holds no settings: see configs/embedded_tiny.yaml for what a recipe looks like")
    for override in overrides:
        _put(options, override)
    return make_recipe(options, str(path))


def make_recipe(options: Mapping[str, Any], name: str = "recipe") -> Recipe:
    """Checked settings. Raises `UsageError` that names the first wrong one."""
    try:
        return Recipe.model_validate(dict(options))
    except ValidationError as error:
        raise UsageError(f"{name}: {first_fault(error)}") from error


def _put(options: dict[str, Any], override: str) -> None:
    name, sign, text = override.partition("=")
    if not sign or not name:
        raise UsageError(f"{override!r} is no setting: write NAME=VALUE, for example rl.steps=50")
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UsageError(f"{override!r}: the value is not YAML ({' '.join(str(error).split())[:200]})") from error
    *path, last = name.split(".")
    node = options
    for part in path:
        inner = node.setdefault(part, {})
        if not isinstance(inner, dict):
            raise UsageError(f"{override!r}: {part} is a value and has no settings in it")
        node = inner
    node[last] = value
