"""The plan of a run on verl: everything that follows from its configuration, and everything that is wrong with it."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sopbench.adapters import get_adapter
from sopbench.adapters.base import Adapter
from sopbench.errors import DataError, SopbenchError, UsageError
from sopbench.files import read_json
from sopbench.trajectory import Trajectory
from uis1_train.plan.batches import STEP_MATCH, Batches, count_batches
from uis1_train.plan.findings import Finding, about_batches, about_memory, about_tokens
from uis1_train.plan.keys import check_overrides, differences, flatten, unknown_keys
from uis1_train.plan.memory import GB, Memory, Use, estimate
from uis1_train.plan.model_shape import Shape, max_positions, shape_of
from uis1_train.plan.settings import Setting, settings_table
from uis1_train.plan.tokens import Tokens, count_tokens
from uis1_train.validation.settings import POCKET, ValidationSettings

DEFAULT_GPU_GB = 80.0
ROLLOUT = "actor_rollout_ref.rollout"
NOT_SHOWN = ("uis1.", "data.method.", "critic.", "distillation.")
"""Parts that are not verl's, or that nothing of this trainer reads."""
MAX_PROCESSOR_BYTES = 1024 * 1024
NEEDS_VERL = (
    "the trainer's settings start from verl's own, and verl is not installed here. `python scripts/setup_train.py` makes an environment with it "
    "(.venv-train; no GPU is needed for that); then: .venv-train/bin/uis1-train"
)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run would do. `config` is the resolved configuration, for the trainer; `problems` are what no machine could run."""

    name: str
    config: Any
    flat: Mapping[str, Any]
    overrides: tuple[str, ...]
    settings: tuple[Setting, ...]
    changed: Mapping[str, tuple[Any, Any]]
    batches: Batches
    match: float
    tokens: Tokens
    shape: Shape | None
    memory: Memory | None
    validation: ValidationSettings
    findings: tuple[Finding, ...]

    @property
    def impossible(self) -> list[Finding]:
        return [f for f in self.findings if f.weight == "impossible"]

    @property
    def missing(self) -> list[Finding]:
        return [f for f in self.findings if f.weight == "missing"]

    def as_dict(self) -> dict[str, Any]:
        """For --json."""
        return {
            "config": self.name,
            "overrides": list(self.overrides),
            "settings": [
                {
                    "key": s.known.key,
                    "label": s.known.label,
                    "group": s.known.group,
                    "value": s.value,
                    "paper": s.known.paper,
                    "released": s.known.released,
                    "verdict": s.verdict,
                }
                for s in self.settings
            ],
            "changed": {key: {"verl": theirs, "ours": ours} for key, (theirs, ours) in self.changed.items()},
            "batches": self.batches.as_dict() | {"step_match": self.match},
            "tokens": self.tokens.as_dict(),
            "parameters": None if self.shape is None else self.shape.parameters,
            "memory": None if self.memory is None else self.memory.as_dict(),
            "validation": self.validation.model_dump(mode="json"),
            "findings": [f.as_dict() for f in self.findings],
            "possible": not self.impossible,
        }


def make_plan(
    config: str, overrides: Sequence[str] = (), *, gpu_gb: float = DEFAULT_GPU_GB, match: float = STEP_MATCH
) -> Plan:
    """Resolve `config` (a name, or a YAML file) with `overrides`, and work out what it means. Starts nothing, needs no GPU, asks no network.

    Raises `UsageError` for names and values that are wrong; what is right and cannot work stands in `findings`.
    """
    if find_spec("verl") is None:
        raise UsageError(NEEDS_VERL)
    from omegaconf import OmegaConf

    from uis1_train.verl_ext.compose import compose_config
    from uis1_train.verl_ext.settings import read_settings, validation_settings

    check_overrides(overrides, flatten(OmegaConf.to_container(compose_config(config), resolve=True)))
    composed = compose_config(config, overrides)
    if "actor_rollout_ref" not in composed:
        raise UsageError(
            f"{config} is no configuration of reinforcement learning (for supervised fine-tuning: uis1-train sft)"
        )
    resolved = OmegaConf.to_container(composed, resolve=True)
    assert isinstance(resolved, dict)
    resolved.pop("hydra", None)
    stock, ours = _defaults()
    if Path(config).suffix in (".yaml", ".yml"):
        _refuse_unknown(config, resolved, [*flatten(stock), *flatten(ours)])
    flat = flatten(resolved)
    method = read_settings(composed)
    validation = validation_settings(composed, method)
    adapter = worded(method.adapter, method.prompts)
    data, trouble = training_data(composed.data.train_files, method)
    model = Path(str(flat["actor_rollout_ref.model.path"]))
    shape = shape_of(model)
    dynamic = bool(flat["actor_rollout_ref.actor.use_dynamic_bsz"])
    batches = count_batches(
        goals=int(flat["data.train_batch_size"]),
        rollouts=int(flat[f"{ROLLOUT}.n"]),
        lengths=None if data is None else [len(t) for t in data],
        patches=method.patches,
        match=match,
        gpus=int(flat["trainer.n_gpus_per_node"]) * int(flat["trainer.nnodes"]),
        sequence_parallel=int(flat["actor_rollout_ref.actor.ulysses_sequence_parallel_size"] or 1),
        micro_batch=1 if dynamic else int(flat["actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu"] or 1),
        asking=1 if dynamic else _asking(flat),
        wanted_mini_batches=method.mini_batches,
        max_generated=method.max_generated,
        epochs=int(flat["trainer.total_epochs"]),
        total_steps=flat["trainer.total_training_steps"],
        offline=method.mode == "offline",
    )
    vision = shape.vision if shape else None
    tokens = count_tokens(
        adapter,
        data,
        images=method.images,
        max_prompt=int(flat["data.max_prompt_length"]),
        max_response=int(flat["data.max_response_length"]),
        max_model_len=int(flat[f"{ROLLOUT}.max_model_len"] or 0)
        or int(flat["data.max_prompt_length"]) + int(flat["data.max_response_length"]),
        limits=processor_limits(model),
        side=vision.patch * vision.merge if vision else 28,
    )
    memory = None
    if shape is not None and str(flat["trainer.device"]) != "cpu":
        memory = estimate(shape, Use.of(flat, tokens.sample, tokens.image_tokens), gpu_gb * GB)
    findings = [
        *trouble,
        *missing_model(model, "actor_rollout_ref.model.path"),
        *missing_screens(data),
        *_validation_data(validation),
        *about_tokens(tokens, max_positions(model), flat),
        *about_batches(batches, flat, shape.heads if shape else None),
        *about_memory(memory, shape, tokens, flat),
        *_verls_own(composed),
    ]
    order = {"impossible": 0, "missing": 1, "note": 2}
    return Plan(
        name=config,
        config=composed,
        flat=flat,
        overrides=tuple(overrides),
        settings=tuple(settings_table(flat)),
        changed={k: v for k, v in differences(resolved, stock).items() if not k.startswith(NOT_SHOWN)},
        batches=batches,
        match=match,
        tokens=tokens,
        shape=shape,
        memory=memory,
        validation=validation,
        findings=tuple(sorted(findings, key=lambda f: order[f.weight])),
    )


def _asking(flat: Mapping[str, Any]) -> int:
    """Rows that a GPU takes at a time for log-probs, of actor and reference together."""
    actor = int(flat[f"{ROLLOUT}.log_prob_micro_batch_size_per_gpu"] or 1)
    reference = int(flat["actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu"] or 1)
    return math.lcm(actor, reference) if flat["actor_rollout_ref.actor.use_kl_loss"] else actor


@functools.cache
def _defaults() -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """verl's own `ppo_trainer`, and our base over it, as plain tables (which nobody changes)."""
    from hydra import compose, initialize_config_module
    from hydra.core.global_hydra import GlobalHydra
    from omegaconf import OmegaConf

    from uis1_train.verl_ext.compose import compose_config

    GlobalHydra.instance().clear()
    with initialize_config_module("verl.trainer.config", version_base=None):
        stock = OmegaConf.to_container(compose("ppo_trainer"), resolve=True)
    ours = OmegaConf.to_container(compose_config("uis1_7b"), resolve=True)
    assert isinstance(stock, dict)
    assert isinstance(ours, dict)
    return {str(k): v for k, v in stock.items()}, {str(k): v for k, v in ours.items()}


def _refuse_unknown(config: str, resolved: Mapping[str, Any], known: Sequence[str]) -> None:
    if not (unknown := unknown_keys(resolved, known)):
        return
    told = "; ".join(f"{key}{meant}" for key, meant in list(unknown.items())[:5])
    raise UsageError(f"{config} sets what nobody reads: {told}")


def worded(name: str, prompts: Any) -> Adapter:
    """The adapter with the words that the run would have, without pulling any."""
    from sopbench.prompts.choosing import choose

    return get_adapter(name, choose(name, prompts, pulling=False).texts)


def training_data(files: Any, method: Any) -> tuple[list[Trajectory] | None, list[Finding]]:
    """The training data, if it is here. A file that is broken or too small is impossible, one that is absent is missing."""
    from uis1_train.verl_ext.dataset import SUBSET, Recordings, specs_of

    found: list[Trajectory] = []
    try:
        recordings = Recordings(specs_of(files), method)
        for spec in recordings.specs:
            match = SUBSET.fullmatch(spec)
            path = Path(match["path"] if match else spec)
            if not path.is_file():
                return None, [
                    Finding(
                        "missing",
                        f"training data {path} is not on this machine",
                        "data.train_files=FILE, or bring it here (sopbench data pull)",
                    )
                ]
            if method.screens is not None and not method.screens.is_dir():
                return None, [
                    Finding(
                        "missing",
                        f"the folder of screens {method.screens} is not on this machine",
                        "uis1.screens=FOLDER",
                    )
                ]
            found += recordings.of(spec)
    except SopbenchError as error:
        return None, [
            Finding(
                "impossible",
                str(error),
                "data.train_files=FILE (or FILE@N); `sopbench data check FILE` lists what is wrong with it",
            )
        ]
    return found, []


def missing_model(model: Path, setting: str) -> Iterator[Finding]:
    from uis1_train.merge.found import is_whole_model

    if not model.is_dir():
        yield Finding(
            "missing",
            f"the model {model} is not on this machine (or it is a hub's name: nothing is downloaded here)",
            f"{setting}=FOLDER",
        )
    elif not is_whole_model(model):
        yield Finding(
            "missing",
            f"{model} is no whole model: its config.json or some of its weights are not there",
            "finish the download, or merge the checkpoint (uis1-train merge)",
        )


def missing_screens(data: Sequence[Trajectory] | None) -> Iterator[Finding]:
    screens = [step.screen for t in data or () for step in t.steps if step.screen.path is not None]
    missing = [s for s in screens if s.path is not None and not s.path.is_file()]
    if missing:
        yield Finding(
            "missing",
            f"{len(missing):,} of {len(screens):,} screens of the training data are not here; the first would be {missing[0].path}",
            "uis1.screens=FOLDER, and uis1.screen_pattern where they are named differently (`sopbench data check` proposes one)",
        )


def _validation_data(validation: ValidationSettings) -> Iterator[Finding]:
    from sopbench.suites import get_suite

    for name, check in validation.checks().items():
        try:
            suite = get_suite(check.suite)
        except UsageError as error:
            yield Finding("impossible", f"validation ({name}): {error}", f"uis1.validation.{name}.suite=pocket")
            continue
        wanted = {"sop": "semi_online"}.get(name, name)
        if suite.protocol != wanted:
            yield Finding(
                "impossible",
                f"validation ({name}): suite {suite.name} is played {suite.protocol.replace('_', '-')}",
                f"uis1.validation.{name}.suite=...",
            )
        elif suite.needs_data and check.data is None:
            yield Finding(
                "impossible",
                f"validation ({name}): suite {suite.name} needs a data file",
                f"+uis1.validation.{name}.data=FILE",
            )
        elif check.data is not None and check.data != POCKET and not Path(check.data).is_file():
            yield Finding(
                "missing", f"validation data {check.data} is not on this machine", f"uis1.validation.{name}.data=FILE"
            )


def _verls_own(config: Any) -> Iterator[Finding]:
    """What verl would refuse when it starts."""
    import contextlib
    import io
    import warnings

    from verl.trainer.ppo.utils import need_critic, need_reference_policy
    from verl.utils.config import validate_config

    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that there is no critic is meant
            validate_config(config, need_reference_policy(config), need_critic(config))
    except (AssertionError, ValueError, TypeError, KeyError) as error:
        yield Finding(
            "impossible",
            f"verl refuses the configuration: {error}",
            "see verl's documentation of the settings that it names",
        )


def processor_limits(model: Path) -> tuple[int, int] | None:
    """Smallest and largest picture in pixels, as the model's own processor has it; None where that is not told."""
    for name in ("preprocessor_config.json", "processor_config.json"):
        if not (model / name).is_file():
            continue
        try:
            value = read_json(model / name, MAX_PROCESSOR_BYTES)
            value = value.get("image_processor") or value
            size = value.get("size") or {}
            low, high = (
                size.get("shortest_edge", value.get("min_pixels")),
                size.get("longest_edge", value.get("max_pixels")),
            )
            if low and high:
                return int(low), int(high)
        except (DataError, AttributeError, TypeError, ValueError):
            continue
    return None
