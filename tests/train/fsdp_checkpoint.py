"""A small checkpoint as verl's trainer leaves it: sharded by FSDP2 over two processes, written by verl's own checkpoint manager.

python -m tests.train.fsdp_checkpoint MODEL OUT WORLD_SIZE
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

SEED = 7


def make_fsdp_checkpoint(model: Path, out: Path, *, world_size: int = 2) -> Path:
    """`out/global_step_4/actor`, with weights that are not `model`'s. Returns `out/global_step_4`."""
    folder = out / "global_step_4"
    folder.mkdir(parents=True)
    rendezvous = out / "rendezvous"
    ranks = [
        subprocess.Popen(
            [sys.executable, "-m", __name__, str(model), str(folder / "actor"), str(rendezvous)],
            env=os.environ | {"RANK": str(rank), "WORLD_SIZE": str(world_size), "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(world_size)
    ]
    words = [rank.communicate(timeout=1200)[0] for rank in ranks]
    assert not any(rank.returncode for rank in ranks), "\n".join(words)
    (out / "latest_checkpointed_iteration.txt").write_text("4")
    return folder


def main() -> None:
    import torch
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from transformers import AutoConfig, AutoProcessor, AutoTokenizer
    from verl.utils.checkpoint.fsdp_checkpoint_manager import FSDPCheckpointManager

    from uis1_train.merge.loading import model_class

    model_folder, out, rendezvous = sys.argv[1:]
    rank, world_size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.distributed.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=world_size)
    config = AutoConfig.from_pretrained(model_folder)
    vision = hasattr(config, "vision_config")
    model = model_class(config).from_pretrained(model_folder, dtype=torch.float32)
    torch.manual_seed(SEED)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.02)
    mesh = init_device_mesh("cpu", (world_size,), mesh_dim_names=("fsdp",))
    for module in model.modules():
        if "DecoderLayer" in type(module).__name__:
            fully_shard(module, mesh=mesh)
    fully_shard(model, mesh=mesh)
    words = (AutoProcessor if vision else AutoTokenizer).from_pretrained(model_folder)
    contents = {"save_contents": ["model"], "load_contents": ["model"]}
    from omegaconf import OmegaConf

    manager = FSDPCheckpointManager(model=model, processing_class=words, checkpoint_config=OmegaConf.create(contents))
    manager.save_checkpoint(out, global_step=4)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main()
