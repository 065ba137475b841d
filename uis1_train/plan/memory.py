"""How much of a GPU each phase takes. An estimate from counting tensors, good to a fifth; the formulas stand with their parts.

P: parameters. N: GPUs that share them (FSDP splits parameters, gradients and optimizer evenly). verl 0.9.1 keeps the actor in float32
(`fsdp_config.model_dtype`) and computes in bfloat16, so that a parameter costs 4 bytes, its gradient 4, and AdamW's two moments 8, all divided by N. The parts
that are gathered to be computed with are bfloat16: a block at a time (two, with the next one on its way), and embedding and head for the whole step.

Activations with gradient checkpointing: the input of every block is kept (tokens x hidden x 2 bytes x blocks), and one block is computed again at a time; inside of it live
about 8 tensors of the hidden width and 3 of the MLP's. Without checkpointing, all blocks' insides live at once. The logits are the largest tensor:
tokens x vocabulary, once in bfloat16, once in float32 for the log-softmax, and once as a gradient: 8 bytes an entry. (verl computes them for prompt and response.)

Rollouts: vLLM takes `gpu_memory_utilization` of the whole GPU: weights in bfloat16 over the tensor-parallel group, the working space of a prefill, and all the rest is KV
cache, of which a token takes 2 x blocks x kv heads x head width x 2 bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from uis1_train.plan.model_shape import Shape

GB = 1e9
CUDA_CONTEXT = 1.5 * GB
"""CUDA's own context, NCCL's buffers and the allocator's slack."""
GROWING = ("activations", "vision activations", "logits")
HIDDEN_TENSORS, MLP_TENSORS, LOGIT_BYTES = 8, 3, 8


@dataclass(frozen=True, slots=True)
class Part:
    """One thing that takes memory, in bytes of one GPU."""

    name: str
    bytes: float
    why: str


@dataclass(frozen=True, slots=True)
class Phase:
    """What is on a GPU at the same time."""

    name: str
    parts: tuple[Part, ...]

    @property
    def bytes(self) -> float:
        return sum(part.bytes for part in self.parts)

    @property
    def grows_with_tokens(self) -> float:
        """The bytes that a shorter sample would not take."""
        return sum(part.bytes for part in self.parts if part.name in GROWING)


@dataclass(frozen=True, slots=True)
class Memory:
    """`capacity`: bytes of a GPU. `kv_tokens`: what fits the KV cache of one server. `host`: bytes of a node's main memory that offloading takes."""

    capacity: float
    phases: tuple[Phase, ...]
    kv_tokens: int
    kv_bytes_a_token: int
    host: float

    @property
    def peak(self) -> Phase:
        return max(self.phases, key=lambda phase: phase.bytes)

    def as_dict(self) -> dict[str, Any]:
        return {
            "capacity": self.capacity,
            "phases": [
                {"name": p.name, "bytes": p.bytes, "parts": [asdict(part) for part in p.parts]} for p in self.phases
            ],
            "kv_tokens": self.kv_tokens,
            "kv_bytes_a_token": self.kv_bytes_a_token,
            "host": self.host,
        }


@dataclass(frozen=True, slots=True)
class Use:
    """What the estimate needs of a configuration. `tokens`: prompt and response of the longest sample; `image_tokens`: those of its screens."""

    gpus: int
    gpus_a_node: int
    micro_batch: int
    tokens: int
    image_tokens: int
    tensor_parallel: int
    utilisation: float
    batched_tokens: int
    sequences: int
    checkpointing: bool
    param_offload: bool
    optimizer_offload: bool
    ref: bool
    ref_offload: bool
    rollouts_leave: bool
    sequence_parallel: int = 1
    weight_bytes: int = 4

    @classmethod
    def of(cls, flat: Mapping[str, Any], tokens: int, image_tokens: int) -> Use:
        actor, rollout = "actor_rollout_ref.actor", "actor_rollout_ref.rollout"
        per_node = int(flat["trainer.n_gpus_per_node"])
        micro = flat[f"{actor}.ppo_micro_batch_size_per_gpu"]
        return cls(
            gpus=per_node * int(flat["trainer.nnodes"]),
            gpus_a_node=per_node,
            micro_batch=int(micro or 1),
            tokens=tokens,
            image_tokens=image_tokens,
            tensor_parallel=int(flat[f"{rollout}.tensor_model_parallel_size"]),
            utilisation=float(flat[f"{rollout}.gpu_memory_utilization"]),
            batched_tokens=int(flat[f"{rollout}.max_num_batched_tokens"] or 0),
            sequences=int(flat[f"{rollout}.max_num_seqs"] or 0),
            checkpointing=bool(flat["actor_rollout_ref.model.enable_gradient_checkpointing"]),
            param_offload=bool(flat[f"{actor}.fsdp_config.param_offload"]),
            optimizer_offload=bool(flat[f"{actor}.fsdp_config.optimizer_offload"]),
            ref=bool(flat[f"{actor}.use_kl_loss"]),
            ref_offload=bool(flat["actor_rollout_ref.ref.fsdp_config.param_offload"]),
            rollouts_leave=bool(flat[f"{rollout}.free_cache_engine"]),
            sequence_parallel=int(flat[f"{actor}.ulysses_sequence_parallel_size"] or 1),
            weight_bytes=2 if str(flat.get(f"{actor}.fsdp_config.model_dtype")) in ("bf16", "bfloat16") else 4,
        )


def estimate(shape: Shape, use: Use, capacity: float) -> Memory:
    """Memory of one GPU in each phase. `capacity` in bytes."""
    kv_token = 2 * shape.layers * max(1, shape.kv_heads // use.tensor_parallel) * shape.head_dim * 2
    serving, kv = _rollout_parts(shape, use, capacity)
    resident = _resident(shape, use)
    rollout = Phase("rollouts", (*serving, kv, *resident))
    learning = list(_learning_parts(shape, use))
    if not use.rollouts_leave:
        learning.append(Part("rollout server stays", use.utilisation * capacity, "free_cache_engine is off"))
    shard = shape.parameters / use.gpus
    host = 0.0
    if use.param_offload:
        host += use.weight_bytes * shard
    if use.optimizer_offload:
        host += 2 * use.weight_bytes * shard
    if use.ref and use.ref_offload:
        host += use.weight_bytes * shard
    return Memory(
        capacity,
        (rollout, Phase("learning", tuple(learning))),
        max(0, int(kv.bytes // kv_token)),
        kv_token,
        host * use.gpus_a_node,
    )


def _rollout_parts(shape: Shape, use: Use, capacity: float) -> tuple[tuple[Part, ...], Part]:
    weights = 2 * shape.parameters / use.tensor_parallel
    working = (
        use.batched_tokens * (4 * shape.hidden + 2 * shape.intermediate / use.tensor_parallel) * 2
        + use.sequences * shape.vocabulary * 4
    )
    budget = use.utilisation * capacity
    parts = (
        Part("weights, bfloat16", weights, f"2 P / {use.tensor_parallel} (tensor parallel)"),
        Part("prefill", working, f"{use.batched_tokens:,} tokens at once, {use.sequences} sequences' logits"),
    )
    return parts, Part("KV cache", max(0.0, budget - weights - working), f"the rest of {use.utilisation:g} of the GPU")


def _resident(shape: Shape, use: Use) -> tuple[Part, ...]:
    """What of the trainer stays while rollouts are played."""
    shard, stays = shape.parameters / use.gpus, [Part("CUDA and NCCL", CUDA_CONTEXT, "context, buffers, slack")]
    if not use.param_offload:
        stays.append(Part("actor, split", use.weight_bytes * shard, "param_offload is off"))
    if not use.optimizer_offload:
        stays.append(Part("optimizer, split", 2 * use.weight_bytes * shard, "optimizer_offload is off"))
    if use.ref and not use.ref_offload:
        stays.append(Part("reference, split", use.weight_bytes * shard, "ref.fsdp_config.param_offload is off"))
    return tuple(stays)


def _learning_parts(shape: Shape, use: Use) -> tuple[Part, ...]:
    shard, tokens = shape.parameters / use.gpus, use.micro_batch * use.tokens / use.sequence_parallel
    width = use.weight_bytes
    inside = tokens * (HIDDEN_TENSORS * shape.hidden + MLP_TENSORS * shape.intermediate) * 2
    kept = tokens * shape.hidden * 2 * shape.layers if use.checkpointing else 0.0
    parts = [
        Part("parameters, split", width * shard, f"{width} P / {use.gpus}"),
        Part("gradients, split", width * shard, f"{width} P / {use.gpus}"),
        Part("AdamW, split", 2 * width * shard, f"{2 * width} P / {use.gpus}"),
        Part("gathered, bfloat16", 2 * (2 * shape.block + shape.edges), "two blocks, embedding and head"),
        Part(
            "activations",
            kept + inside * (1 if use.checkpointing else shape.layers),
            f"{tokens:,.0f} tokens; "
            + ("block inputs, one block recomputed" if use.checkpointing else "all blocks: checkpointing is off"),
        ),
        Part(
            "logits",
            tokens * shape.vocabulary * LOGIT_BYTES,
            f"{tokens:,.0f} x {shape.vocabulary:,} x {LOGIT_BYTES} bytes",
        ),
        Part("CUDA and NCCL", CUDA_CONTEXT, "context, buffers, slack"),
    ]
    if (v := shape.vision) is not None:
        patches = use.micro_batch * use.image_tokens * v.merge * v.merge
        inputs = patches * v.hidden * 2 * v.depth if use.checkpointing else 0.0
        body = (
            patches
            * (HIDDEN_TENSORS * v.hidden + MLP_TENSORS * v.intermediate)
            * 2
            * (1 if use.checkpointing else v.depth)
        )
        parts.insert(5, Part("vision activations", inputs + body, f"{patches:,} patches"))
    if use.ref and not use.ref_offload:
        parts.append(Part("reference, split", width * shard, "ref.fsdp_config.param_offload is off"))
    return tuple(parts)
