"""Merging: verl's model merger does it, in a process of its own; processor files that it leaves out are copied from the base model."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from sopbench.errors import DataError, SopbenchError, UsageError
from sopbench.files import read_json, write_json
from uis1_train.merge.found import MAX_JSON, Checkpoint, find_checkpoint, is_whole_model, missing_shards

Precision = Literal["bfloat16", "float32"]

COMPANIONS = (
    "chat_template.jinja",
    "chat_template.json",
    "preprocessor_config.json",
    "processor_config.json",
    "video_preprocessor_config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "tokenizer.model",
)
"""What stands beside the weights of a model that can be served: everything that transformers and vLLM read to make a prompt of messages and screens."""


class MergeFailed(SopbenchError):
    """A checkpoint that could not be merged, or whose merge is not the same model."""


@dataclass(frozen=True, slots=True)
class Merged:
    """`copied` are the companion files that came from elsewhere than the merger, or were derived."""

    checkpoint: Checkpoint
    out: Path
    precision: Precision
    copied: tuple[str, ...]


def merge(path: Path, out: Path, *, base: Path | None = None, precision: Precision = "bfloat16") -> Merged:
    """Write the model in `path` as a transformers folder `out`, which must be new or empty.

    base: the folder of the model that training started from, for companion files that the checkpoint lacks. precision: verl's merger always writes bfloat16;
    float32 is written from the shards by ourselves (for tests and CPUs, where bfloat16 is slow).
    """
    checkpoint = find_checkpoint(path)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"--out {out} is there already and not empty: choose a new folder")
    if base is not None and not base.is_dir():
        raise UsageError(f"--base {base} is no folder: give the folder of the model that training started from")
    if out.resolve().is_relative_to(checkpoint.weights.resolve()):
        raise UsageError(f"--out {out} lies inside of the checkpoint: choose a folder beside it")
    making = out.with_name(f".{out.name}.merging")
    shutil.rmtree(making, ignore_errors=True)
    making.parent.mkdir(parents=True, exist_ok=True)
    try:
        if checkpoint.kind == "transformers":
            _copy_model(checkpoint, making, precision)
        elif checkpoint.kind == "fsdp" and precision == "float32":
            _require_all_shards(checkpoint)
            _save_shards(checkpoint, making)
        else:
            _verl_merge(checkpoint, making, precision)
        if not is_whole_model(making):
            raise MergeFailed(f"the merger ended well, and {making} has no whole model in it")
        copied = _companions(making, [checkpoint.base, *([base] if base else [])]) + _older_processor_files(making)
        if out.exists():
            out.rmdir()
        making.replace(out)
    finally:
        shutil.rmtree(making, ignore_errors=True)
    return Merged(checkpoint, out, precision, copied)


def _verl_merge(checkpoint: Checkpoint, out: Path, precision: Precision) -> None:
    if precision != "bfloat16":
        raise UsageError("verl merges megatron checkpoints to bfloat16 only: leave --precision away")
    if find_spec("verl") is None:
        raise UsageError(
            "merging needs verl, which is not installed here: scripts/setup_train.py makes an environment with it"
        )
    if not (checkpoint.base / "config.json").is_file():
        raise DataError(
            f"{checkpoint.base} has no config.json: the checkpoint was not finished, or only its shards were copied"
        )
    if checkpoint.kind == "fsdp":
        _require_all_shards(checkpoint)
    command = [sys.executable, "-m", "verl.model_merger", "merge", "--backend", checkpoint.kind]
    command += ["--local_dir", str(checkpoint.weights), "--target_dir", str(out)]
    environment = {"TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"} | os.environ
    done = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    if done.returncode:
        last = "\n".join(done.stdout.strip().splitlines()[-8:])
        raise MergeFailed(
            f"verl's merger failed (status {done.returncode}) on {checkpoint.weights}. Its last words:\n{last}"
        )


def _require_all_shards(checkpoint: Checkpoint) -> None:
    if missing := missing_shards(checkpoint):
        raise DataError(
            f"{checkpoint.weights} lacks {len(missing)} of its shards, the first is {missing[0]}: copy those of every node into one folder"
        )


def _save_shards(checkpoint: Checkpoint, out: Path) -> None:
    import torch
    from transformers import AutoConfig

    from uis1_train.merge.loading import fill, model_class
    from uis1_train.merge.shards import whole_state

    config = AutoConfig.from_pretrained(checkpoint.base)
    model = model_class(config).from_config(config, dtype=torch.float32)
    fill(model, whole_state(checkpoint.shards()), str(checkpoint.weights))
    model.save_pretrained(out)


def _copy_model(checkpoint: Checkpoint, out: Path, precision: Precision) -> None:
    """A transformers folder has nothing to merge: it is copied, so that `out` is whole by itself, and cast where its precision is another."""
    import torch
    from transformers import AutoConfig

    from uis1_train.merge.loading import model_class

    config = AutoConfig.from_pretrained(checkpoint.weights)
    model = model_class(config).from_pretrained(checkpoint.weights, dtype=getattr(torch, precision))
    model.save_pretrained(out)


def _companions(out: Path, bases: list[Path]) -> tuple[str, ...]:
    """Copy what `out` lacks from the first base that has it (the base model's own comes last); the names of what was copied."""
    copied = []
    for name in COMPANIONS:
        source = next((b / name for b in bases if (b / name).is_file()), None)
        if source is not None and not (out / name).exists():
            shutil.copy2(source, out / name)
            copied.append(name)
    return tuple(copied)


def _older_processor_files(out: Path) -> tuple[str, ...]:
    """transformers 5 keeps the image processor's settings within processor_config.json; servers that run on transformers 4 look for files of their own."""
    joint = out / "processor_config.json"
    if not joint.is_file():
        return ()
    settings, made = read_json(joint, MAX_JSON), []
    for part, name in (
        ("image_processor", "preprocessor_config.json"),
        ("video_processor", "video_preprocessor_config.json"),
    ):
        own = settings.get(part) if isinstance(settings, dict) else None
        if isinstance(own, dict) and not (out / name).exists():
            write_json(out / name, own | {"processor_class": settings.get("processor_class")})
            made.append(name)
    return tuple(made)
