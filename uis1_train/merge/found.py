"""What kind of checkpoint a folder is, told from its files. Layouts: verl 0.9.1 `utils/checkpoint/*_checkpoint_manager.py`, and ours."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sopbench.errors import DataError
from sopbench.files import read_json

Kind = Literal["transformers", "fsdp", "megatron"]

WEIGHTS = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")
TRACKER = "latest_checkpointed_iteration.txt"
MAX_JSON = 64 * 1024 * 1024
_SHARD = re.compile(r"model_world_size_(\d+)_rank_(\d+)\.pt")
_STEP = re.compile(r"(?:global_step|step|checkpoint)[_-](\d+)")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """kind: who wrote it. weights: the folder of shards or of the transformers model. base: the folder of its config, tokenizer and processor files.

    step: from the folder's name; None where it says none.
    """

    kind: Kind
    path: Path
    weights: Path
    base: Path
    step: int | None

    def shards(self) -> list[Path]:
        """The model shards of an fsdp checkpoint, by rank."""
        found = sorted(
            (int(match[2]), path)
            for path in self.weights.iterdir()
            if (match := _SHARD.fullmatch(path.name)) is not None
        )
        return [path for _, path in found]


def find_checkpoint(path: Path) -> Checkpoint:
    """The checkpoint in `path`: a `global_step_N` folder, its `actor`, a transformers folder, or a trainer's folder (then its latest).

    Raises `DataError` that says what was looked for and what is there.
    """
    if not path.is_dir():
        raise DataError(f"{path} is no folder: name a checkpoint, such as checkpoints/.../global_step_40")
    found = _here(path, path)
    for inner in () if found else ("actor", "model", "huggingface", "hf"):
        if (path / inner).is_dir() and (found := _here(path / inner, path)):
            break
    if found is None and (latest := latest_step(path)) is not None:
        folder = path / f"global_step_{latest}"
        if folder.is_dir():
            return find_checkpoint(folder)
        raise DataError(
            f"{path / TRACKER} names step {latest}, and {folder} is not there: it was removed or never copied"
        )
    if found is None:
        there = ", ".join(sorted(p.name for p in path.iterdir())[:12]) or "nothing"
        raise DataError(
            f"{path} is no checkpoint that can be merged: neither model_world_size_*_rank_*.pt with huggingface/ (fsdp), nor model/dist_ckpt or "
            f"dist_ckpt (megatron), nor config.json with model.safetensors (transformers). There is: {there}"
        )
    return found


def latest_step(folder: Path) -> int | None:
    """The step in verl's tracker file, which is written when a checkpoint is whole; None where there is no such file."""
    tracker = folder / TRACKER
    if not tracker.is_file():
        return None
    text = tracker.read_text(encoding="ascii", errors="replace").strip()[:20]
    if not text.isdecimal():
        raise DataError(f"{tracker} holds no number of a step")
    return int(text)


def step_in(name: str) -> int | None:
    """The step that a folder's name tells (`global_step_40`, `step-000120`, `checkpoint-8`); None where it tells none."""
    match = _STEP.search(name)
    return int(match[1]) if match else None


def step_of(path: Path) -> int | None:
    """The step that a folder's name, or its parent's, tells."""
    own = step_in(path.name)
    return step_in(path.parent.name) if own is None else own


def is_whole_model(folder: Path) -> bool:
    """Whether a transformers folder has its config and every weight file that it names."""
    if not (folder / "config.json").is_file():
        return False
    for name in WEIGHTS:
        path = folder / name
        if not path.is_file() or path.stat().st_size == 0:
            continue
        if not name.endswith(".json"):
            return True
        try:
            files = {str(file) for file in read_json(path, MAX_JSON)["weight_map"].values()}
        except (DataError, KeyError, TypeError, AttributeError):
            return False
        if files and all((folder / file).is_file() for file in files):
            return True
    return False


def missing_shards(checkpoint: Checkpoint) -> list[str]:
    """Names of the shards that an fsdp checkpoint should have and has not; raises `DataError` where it does not say how many."""
    config = checkpoint.weights / "fsdp_config.json"
    try:
        size = int(json.loads(config.read_text())["world_size"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{config} does not say how many ranks wrote the checkpoint ({error}); it was not finished"
        ) from error
    wanted = [f"model_world_size_{size}_rank_{rank}.pt" for rank in range(size)]
    return [name for name in wanted if not (checkpoint.weights / name).is_file()]


def _here(folder: Path, asked: Path) -> Checkpoint | None:
    step = step_of(asked)
    if any(_SHARD.fullmatch(p.name) for p in folder.iterdir()):
        return Checkpoint("fsdp", asked, folder, folder / "huggingface", step)
    if (folder / "model" / "dist_ckpt").is_dir():
        return Checkpoint("megatron", asked, folder, folder / "model" / "huggingface", step)
    if (folder / "dist_ckpt").is_dir():
        if folder.name == "model":
            return Checkpoint("megatron", asked, folder.parent, folder / "huggingface", step)
        raise DataError(
            f"{folder} has the old megatron layout (dist_ckpt beside huggingface): move it to the new one with verl's "
            "scripts/migrate_megatron_checkpoint_layout.py first"
        )
    if is_whole_model(folder):
        return Checkpoint("transformers", asked, folder, folder, step)
    return None
