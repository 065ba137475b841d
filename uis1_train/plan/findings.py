"""What is wrong with a plan: what can never work, what is not here yet, what is worth knowing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from uis1_train.plan.batches import Batches
from uis1_train.plan.memory import GB, Memory
from uis1_train.plan.model_shape import Shape
from uis1_train.plan.tokens import Tokens

Weight = Literal["impossible", "missing", "note"]


@dataclass(frozen=True, slots=True)
class Finding:
    """impossible: no machine could run it. missing: a file that is not on this machine. note: it runs. `fix` says what to do, mostly as an override."""

    weight: Weight
    what: str
    fix: str

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def about_tokens(tokens: Tokens, positions: int | None, flat: Mapping[str, Any]) -> Iterator[Finding]:
    """Lengths that contradict each other."""
    whole, rollout = tokens.max_prompt + tokens.max_response, "actor_rollout_ref.rollout"
    if whole > tokens.max_model_len:
        yield Finding(
            "impossible",
            f"prompt ({tokens.max_prompt:,}) and response ({tokens.max_response:,}) are longer than the servers' context ({tokens.max_model_len:,})",
            f"{rollout}.max_model_len={whole}",
        )
    if positions is not None and tokens.max_model_len > positions:
        yield Finding(
            "impossible",
            f"the servers' context ({tokens.max_model_len:,}) is longer than the model allows ({positions:,})",
            f"{rollout}.max_model_len={positions}",
        )
    batched = int(flat[f"{rollout}.max_num_batched_tokens"] or 0)
    if (
        flat[f"{rollout}.name"] == "vllm"
        and not flat[f"{rollout}.enable_chunked_prefill"]
        and batched < tokens.max_model_len
    ):
        yield Finding(
            "impossible",
            f"vLLM without chunked prefill wants to take a whole context at once: {batched:,} batched tokens are fewer than {tokens.max_model_len:,}",
            f"{rollout}.max_num_batched_tokens={tokens.max_model_len}, or {rollout}.enable_chunked_prefill=true",
        )
    if tokens.image_tokens >= tokens.max_prompt:
        yield Finding(
            "impossible",
            f"{tokens.images} screens take {tokens.image_tokens:,} tokens, and a prompt may have {tokens.max_prompt:,}",
            "data.max_prompt_length=... higher, or uis1.images=1",
        )
    elif tokens.overlong:
        yield Finding(
            "note",
            f"{tokens.overlong} of the {tokens.looked_at} longest recordings end in prompts of more than {tokens.max_prompt:,} tokens (the longest about {tokens.longest:,}): "
            "their last steps cannot be played",
            "data.max_prompt_length=... higher",
        )


def about_batches(batches: Batches, flat: Mapping[str, Any], heads: int | None) -> Iterator[Finding]:
    """Counts that do not divide each other, and batches that say nothing."""
    rollout = "actor_rollout_ref.rollout"
    tensor = int(flat[f"{rollout}.tensor_model_parallel_size"])
    per_node = int(flat["trainer.n_gpus_per_node"])
    if batches.gpus % tensor or (tensor <= per_node and per_node % tensor):
        yield Finding(
            "impossible",
            f"{batches.gpus} GPUs do not divide into servers of {tensor} (tensor parallel)",
            f"{rollout}.tensor_model_parallel_size=1",
        )
    if heads is not None and heads % tensor:
        yield Finding(
            "impossible",
            f"{heads} attention heads do not divide by {tensor} (tensor parallel)",
            f"{rollout}.tensor_model_parallel_size=1",
        )
    if (batches.goals * batches.rollouts) % batches.gpus and not flat["actor_rollout_ref.actor.use_dynamic_bsz"]:
        good = next(
            g
            for g in range(batches.goals, batches.goals + batches.gpus + 1)
            if g * batches.rollouts % batches.gpus == 0
        )
        yield Finding(
            "impossible",
            f"{batches.goals} goals x {batches.rollouts} rollouts do not divide by {batches.gpus} GPUs, which verl wants",
            f"data.train_batch_size={good}",
        )
    if batches.trajectories is not None and batches.steps_an_epoch == 0:
        yield Finding(
            "impossible",
            f"the data has {batches.trajectories} trajectories, fewer than a batch of {batches.goals} goals: an epoch has no step",
            f"data.train_batch_size={max(1, batches.trajectories)} or more data",
        )
    if batches.rollouts == 1:
        yield Finding(
            "note" if flat.get("uis1.eta") is None else "impossible",
            "one rollout a goal has nothing to be compared with: every advantage is what the episode level leaves of it",
            f"{rollout}.n=8",
        )
    save, test = int(flat["trainer.save_freq"]), int(flat["trainer.test_freq"])
    if test > 0 and (save <= 0 or test % save):
        yield Finding(
            "note",
            f"validation comes every {test} steps and checkpoints every {save}: the best by SOP can be kept only where both meet",
            f"trainer.save_freq={test}",
        )


def about_memory(
    memory: Memory | None, shape: Shape | None, tokens: Tokens, flat: Mapping[str, Any]
) -> Iterator[Finding]:
    """Phases that do not fit a GPU."""
    if memory is None or shape is None:
        if str(flat["trainer.device"]) != "cpu":
            yield Finding(
                "note",
                "the model's config.json is not here and its folder's name tells no size: memory is not estimated",
                "actor_rollout_ref.model.path=FOLDER",
            )
        return
    for phase in memory.phases:
        if phase.bytes > memory.capacity:
            # without data the sample is assumed to be as long as allowed: that alone makes nothing impossible
            fits_shorter = not tokens.looked_at and phase.bytes - phase.grows_with_tokens < 0.9 * memory.capacity
            most = ", ".join(f"{p.name} {p.bytes / GB:.0f}" for p in sorted(phase.parts, key=lambda p: -p.bytes)[:3])
            yield Finding(
                "note" if fits_shorter else "impossible",
                f"{phase.name} needs about {phase.bytes / GB:.0f} GB of a GPU, which has {memory.capacity / GB:.0f}"
                + (f", for a sample of {tokens.sample:,} tokens (shorter ones may fit)" if fits_shorter else "")
                + f"; most of it: {most}",
                _remedy(phase.name, flat),
            )
        elif phase.bytes > 0.92 * memory.capacity:
            yield Finding(
                "note",
                f"{phase.name} fills {phase.bytes / memory.capacity:.0%} of a GPU, and the estimate is good to a fifth",
                _remedy(phase.name, flat),
            )
    room = tokens.max_prompt + tokens.max_response
    if memory.kv_tokens < room:
        yield Finding(
            "impossible",
            f"the KV cache of a server has room for {memory.kv_tokens:,} tokens, less than one sample ({room:,})",
            "actor_rollout_ref.rollout.tensor_model_parallel_size=2, or a higher actor_rollout_ref.rollout.gpu_memory_utilization",
        )


def _remedy(phase: str, flat: Mapping[str, Any]) -> str:
    actor, rollout, model = "actor_rollout_ref.actor", "actor_rollout_ref.rollout", "actor_rollout_ref.model"
    options = []
    if phase == "learning":
        if not flat[f"{model}.enable_gradient_checkpointing"]:
            options.append(f"{model}.enable_gradient_checkpointing=true")
        if not flat[f"{rollout}.free_cache_engine"]:
            options.append(f"{rollout}.free_cache_engine=true")
        if int(flat[f"{actor}.ppo_micro_batch_size_per_gpu"] or 1) > 1:
            options.append(f"{actor}.ppo_micro_batch_size_per_gpu=1")
        options += [f"{actor}.ulysses_sequence_parallel_size=2", "more GPUs (trainer.nnodes)"]
    else:
        options += [
            f"{o}=true"
            for o in (f"{actor}.fsdp_config.param_offload", f"{actor}.fsdp_config.optimizer_offload")
            if not flat[o]
        ]
        options += [f"a lower {rollout}.gpu_memory_utilization", f"{rollout}.tensor_model_parallel_size=2"]
    return ", or ".join(options)
