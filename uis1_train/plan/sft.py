"""The plan of supervised fine-tuning on verl: settings, samples, tokens, memory, files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sopbench.errors import UsageError
from uis1_train.plan.findings import Finding
from uis1_train.plan.keys import check_overrides, flatten
from uis1_train.plan.memory import GB, Memory, Phase, Use, estimate
from uis1_train.plan.model_shape import Shape, shape_of
from uis1_train.plan.plan import (
    DEFAULT_GPU_GB,
    NEEDS_VERL,
    missing_model,
    missing_screens,
    processor_limits,
    training_data,
    worded,
)
from uis1_train.plan.show import finding_lines, value
from uis1_train.plan.tokens import Tokens, count_tokens

SHOWN = (
    "model.path",
    "data.train_files",
    "uis1.screens",
    "uis1.adapter",
    "uis1.images",
    "data.sample",
    "data.thoughts",
    "data.train_batch_size",
    "data.max_length",
    "optim.lr",
    "optim.lr_scheduler_type",
    "optim.lr_warmup_steps_ratio",
    "optim.clip_grad",
    "optim.weight_decay",
    "trainer.total_epochs",
    "trainer.total_training_steps",
    "trainer.n_gpus_per_node",
    "trainer.nnodes",
    "trainer.save_freq",
    "trainer.default_local_dir",
)


@dataclass(frozen=True, slots=True)
class SftPlan:
    """`samples` and `steps` are None where the data is not here."""

    name: str
    flat: Mapping[str, Any]
    samples: int | None
    steps: int | None
    tokens: Tokens
    shape: Shape | None
    memory: Memory | None
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
            "settings": {key: self.flat.get(key) for key in SHOWN},
            "samples": self.samples,
            "steps": self.steps,
            "tokens": self.tokens.as_dict(),
            "memory": None if self.memory is None else self.memory.as_dict(),
            "findings": [f.as_dict() for f in self.findings],
            "possible": not self.impossible,
        }


def make_sft_plan(config: str, overrides: Sequence[str] = (), *, gpu_gb: float = DEFAULT_GPU_GB) -> SftPlan:
    """As `make_plan`, for a configuration of verl's SFT trainer. Raises `UsageError`."""
    if find_spec("verl") is None:
        raise UsageError(NEEDS_VERL)
    from omegaconf import OmegaConf

    from uis1_train.verl_ext.compose import compose_config
    from uis1_train.verl_ext.settings import MethodSettings

    known = flatten(OmegaConf.to_container(compose_config(config), resolve=True))
    if "engine.strategy" not in known:
        raise UsageError(
            f"{config} is no configuration of SFT: use sft_7b, or a file that builds on it (for RL: uis1-train run)"
        )
    check_overrides(overrides, known)
    composed = compose_config(config, overrides)
    flat = flatten(OmegaConf.to_container(composed, resolve=True))
    method = MethodSettings.model_validate(OmegaConf.to_container(composed.uis1, resolve=True))
    data, trouble = training_data(composed.data.train_files, method)
    model = Path(str(flat["model.path"]))
    shape, longest = shape_of(model), int(flat["data.max_length"])
    vision = shape.vision if shape else None
    tokens = count_tokens(
        worded(method.adapter, method.prompts),
        data,
        images=method.images,
        max_prompt=longest,
        max_response=0,
        max_model_len=longest,
        limits=processor_limits(model),
        side=vision.patch * vision.merge if vision else 28,
    )
    gpus = int(flat["trainer.n_gpus_per_node"]) * int(flat["trainer.nnodes"])
    batch, epochs = int(flat["data.train_batch_size"]), int(flat["trainer.total_epochs"])
    width = 1 if flat["data.sample"] == "step" else max(1, method.images)
    samples = None if data is None else sum(-(-len(t) // width) for t in data)
    steps = flat["trainer.total_training_steps"] or (None if samples is None else samples // batch * epochs)
    memory = (
        _memory(shape, flat, tokens, gpus, gpu_gb) if shape is not None and flat["trainer.device"] != "cpu" else None
    )
    findings = [
        *trouble,
        *missing_model(model, "model.path"),
        *missing_screens(data),
        *_about(flat, tokens, memory, samples, gpus),
    ]
    return SftPlan(config, flat, samples, steps, tokens, shape, memory, tuple(findings))


def _memory(shape: Shape, flat: Mapping[str, Any], tokens: Tokens, gpus: int, gpu_gb: float) -> Memory:
    """The learning phase of an RL run without rollouts and reference."""
    at_once = (
        int(flat["data.max_token_len_per_gpu"])
        if flat["data.use_dynamic_bsz"]
        else tokens.sample * int(flat["data.micro_batch_size_per_gpu"])
    )
    use = Use(
        gpus=gpus,
        gpus_a_node=int(flat["trainer.n_gpus_per_node"]),
        micro_batch=1,
        tokens=at_once,
        image_tokens=tokens.image_tokens * max(1, at_once // max(1, tokens.sample)),
        tensor_parallel=1,
        utilisation=0.0,
        batched_tokens=0,
        sequences=0,
        checkpointing=bool(flat["model.enable_gradient_checkpointing"]),
        param_offload=bool(flat["engine.param_offload"]),
        optimizer_offload=bool(flat["engine.optimizer_offload"]),
        ref=False,
        ref_offload=False,
        rollouts_leave=True,
        sequence_parallel=int(flat.get("engine.ulysses_sequence_parallel_size") or 1),
    )
    whole = estimate(shape, use, gpu_gb * GB)
    learning: tuple[Phase, ...] = tuple(p for p in whole.phases if p.name == "learning")
    return replace(whole, phases=learning, kv_tokens=0)


def _about(
    flat: Mapping[str, Any], tokens: Tokens, memory: Memory | None, samples: int | None, gpus: int
) -> Iterator[Finding]:
    batch = int(flat["data.train_batch_size"])
    if batch % gpus:
        yield Finding(
            "impossible",
            f"a batch of {batch} samples does not divide by {gpus} GPUs",
            f"data.train_batch_size={-(-batch // gpus) * gpus}",
        )
    if samples is not None and samples < batch:
        yield Finding(
            "impossible",
            f"the data has {samples} samples, fewer than a batch of {batch}",
            f"data.train_batch_size={max(1, samples // gpus) * gpus}",
        )
    if tokens.overlong:
        yield Finding(
            "note",
            f"{tokens.overlong} of the {tokens.looked_at} longest recordings may not fit data.max_length={tokens.max_prompt:,} (the longest prompt has about {tokens.longest:,} tokens), "
            "and the trainer ends where one does not",
            "data.max_length=... and data.max_token_len_per_gpu=... higher",
        )
    if flat["data.use_dynamic_bsz"] and int(flat["data.max_token_len_per_gpu"]) < tokens.max_prompt:
        yield Finding(
            "impossible",
            "a sample may be longer than what a GPU takes at once",
            f"data.max_token_len_per_gpu={tokens.max_prompt}",
        )
    for phase in memory.phases if memory else ():
        assert memory is not None
        if phase.bytes > memory.capacity:
            yield Finding(
                "impossible",
                f"{phase.name} needs about {phase.bytes / GB:.0f} GB of a GPU, which has {memory.capacity / GB:.0f}",
                "data.max_token_len_per_gpu=... lower, engine.ulysses_sequence_parallel_size=2, or more GPUs",
            )


def sft_lines(plan: SftPlan) -> Iterator[str]:
    """The plan for a terminal."""
    yield f"plan of {plan.name} (supervised fine-tuning)"
    yield ""
    yield "settings (change any with KEY=VALUE; the paper does not tell those of this stage)"
    for key in SHOWN:
        yield f"    {key:36} {value(plan.flat.get(key))}"
    yield ""
    samples = "known when the data is here" if plan.samples is None else f"{plan.samples:,}"
    yield f"samples: {samples}; steps in all: {'known then' if plan.steps is None else f'{plan.steps:,}'}"
    t = plan.tokens
    for cost in t.screens:
        told = " (assumed: no screens here to measure)" if t.assumed else ""
        yield f"a screen of {cost.size} is resized to {cost.resized}: {cost.tokens:,} tokens{told}; {t.images} of them leave {t.max_prompt - t.image_tokens:,} of {t.max_prompt:,} for words"
    if plan.memory is not None and plan.shape is not None:
        yield ""
        yield f"memory of a GPU of {plan.memory.capacity / GB:.0f} GB (--gpu-memory), estimated for {plan.shape.parameters:,} parameters"
        for phase in plan.memory.phases:
            yield f"  {phase.name}: {phase.bytes / GB:.1f} GB"
            for part in phase.parts:
                yield f"    {part.name:24} {part.bytes / GB:6.1f}  {part.why}"
    yield ""
    for finding in plan.findings:
        yield from finding_lines(finding)
    yield (
        "this plan is impossible"
        if plan.impossible
        else "this plan is sound" + (", but not all that it needs is here" if plan.missing else "")
    )
