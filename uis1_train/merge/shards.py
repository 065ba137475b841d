"""FSDP shards read by ourselves, without verl: the second opinion that a merge is checked against.

A shard file is `torch.save` of a state dict: a `DTensor` where a parameter is split (its local piece and on which dimension), a plain tensor where every rank
has the whole. Pieces are joined in the order of ranks; with a (ddp, fsdp) mesh the first replica's ranks are enough.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sopbench.errors import DataError


def whole_state(shards: Sequence[Path]) -> dict[str, Any]:
    """Parameter name -> whole tensor, in the precision of the shards. Needs memory for all of them.

    The files are pickles made by the training run: read only those of your own. Raises `DataError` where pieces do not fit together.
    """
    import torch
    from torch.distributed.tensor import DTensor

    logging.getLogger("torch.distributed.device_mesh").setLevel(
        logging.ERROR
    )  # that there is no process group is meant

    pieces: dict[str, list[Any]] = {}
    dims: dict[str, int | None] = {}
    needed = len(shards)
    for rank, path in enumerate(shards):
        if rank >= needed:
            break
        state = torch.load(path, map_location="cpu", weights_only=False)
        for name, value in state.items():
            if not isinstance(value, DTensor):
                if rank == 0:
                    pieces[name], dims[name] = [value], None
                continue
            shape = tuple(value.device_mesh.mesh.shape)
            needed = min(needed, shape[-1])
            placement = value.placements[-1]
            dim = placement.dim if placement.is_shard() else None
            if dims.setdefault(name, dim) != dim:
                raise DataError(f"{path.name}: {name} is split differently than in the shard before it")
            if dim is not None or rank == 0:
                pieces.setdefault(name, []).append(value.to_local())
    return {
        name: torch.cat(parts, dim=dims[name] or 0) if dims[name] is not None else parts[0]
        for name, parts in pieces.items()
    }
