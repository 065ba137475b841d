"""`VERL_USE_EXTERNAL_MODULES=uis1_train.verl_cpu.plugin` with `VERL_PLATFORM=cpu`: verl imports this at the end of its own import, in every process.

Without `VERL_PLATFORM=cpu` only the rollout backend `hf_cpu` is registered, and verl stays as it is.
"""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

BACKEND = "hf_cpu"


def register() -> None:
    """Everything that the environment asks for."""
    register_rollout()
    if os.environ.get("VERL_PLATFORM") == "cpu":
        import uis1_train.verl_cpu.platform  # noqa: F401  # registers itself

        # verl has its FSDP engine for named accelerators only; the code of "cuda" asks the platform for all that differs
        os.environ.setdefault("VERL_ENGINE_DEVICE", "cuda")
        gloo_process_group()
        no_pinned_memory()


def register_rollout() -> None:
    """The rollout backend `actor_rollout_ref.rollout.name=hf_cpu`."""
    from verl.workers.rollout import base
    from verl.workers.rollout.replica import RolloutReplicaRegistry

    def replica() -> Any:
        from uis1_train.verl_cpu.rollout import TransformersReplica

        return TransformersReplica

    base._ROLLOUT_REGISTRY[(BACKEND, "async")] = "uis1_train.verl_cpu.rollout.TransformersRollout"
    RolloutReplicaRegistry.register(BACKEND, replica)


def gloo_process_group() -> None:
    """verl asks for `cpu:gloo,<device>:<backend>`, which with a CPU as the device names the CPU twice; torch refuses that."""
    import verl.utils.distributed as distributed

    def initialize(timeout_second: int | None = None, backend: str | None = None) -> tuple[int, int, int]:
        import torch.distributed as dist

        rank, ranks = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
        if not dist.is_initialized():
            dist.init_process_group(
                backend="gloo",
                rank=rank,
                world_size=ranks,
                timeout=timedelta(seconds=timeout_second) if timeout_second else None,
                init_method=os.environ.get("DIST_INIT_METHOD"),
            )
        return int(os.environ.get("LOCAL_RANK", "0")), rank, ranks

    distributed.initialize_global_process_group_ray = initialize
    distributed.initialize_global_process_group = initialize  # the SFT trainer's, under torchrun


def no_pinned_memory() -> None:
    """verl offloads the reference model into pinned memory, which needs an accelerator."""
    import verl.utils.fsdp_utils as fsdp_utils

    policy = fsdp_utils.CPUOffloadPolicy
    fsdp_utils.CPUOffloadPolicy = lambda pin_memory=False: policy(pin_memory=False)


register()
