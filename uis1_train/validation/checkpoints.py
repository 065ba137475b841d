"""Somebody who answers for a checkpoint on disk: this process, or a server started for it."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from sopbench.adapters import get_adapter
from sopbench.clients.base import Policy
from sopbench.errors import DataError
from sopbench.files import read_json, write_json
from sopbench.runs.config import RunConfig
from sopbench.waiting import wait_for
from uis1_train.merge.found import Checkpoint, find_checkpoint
from uis1_train.validation.settings import ValidationSettings

IDENTITY = "checkpoint.json"
MAX_IDENTITY_BYTES = 65_536


@contextmanager
def answering(
    path: Path, settings: ValidationSettings, step: int
) -> Iterator[tuple[Callable[[RunConfig], RunConfig], Policy | None, Path]]:
    """(what to change in a run's configuration, who answers in this process or None, the folder of the runs).

    The folder is the one in which an earlier evaluation of the very same files was begun, else a new one.
    """
    checkpoint = find_checkpoint(path)
    folder = folder_for(checkpoint, settings.out, step)
    merged = folder / ".merged"
    try:
        model = _as_transformers(checkpoint, merged, settings)
        name = settings.model or f"{path.parent.name}-{path.name}"
        with (_served if settings.how == "serve" else _local)(model, name, settings, folder) as (change, policy):
            yield change, policy, folder
    finally:
        shutil.rmtree(merged, ignore_errors=True)


def identity_of(checkpoint: Checkpoint) -> str:
    """A digest of names, sizes and times of the weight files: what is the same checkpoint, without reading gigabytes."""
    digest = hashlib.sha256(str(checkpoint.weights.resolve()).encode("utf-8", "surrogateescape"))
    for file in sorted(
        p for p in checkpoint.weights.rglob("*") if p.suffix in (".pt", ".safetensors", ".bin", ".distcp")
    ):
        facts = file.stat()
        digest.update(
            f"\0{file.relative_to(checkpoint.weights)}\0{facts.st_size}\0{facts.st_mtime_ns}".encode(
                "utf-8", "surrogateescape"
            )
        )
    return digest.hexdigest()


def known_folder(checkpoint: Checkpoint, out: Path, step: int) -> Path | None:
    """The folder below `out` in which these very files were evaluated, or begun to be; None where they never were."""
    from uis1_train.validation.hooks import step_name

    identity = identity_of(checkpoint)
    for folder in sorted(out.glob(f"{step_name(step)}*")):
        if (mark := folder / IDENTITY).is_file():
            try:
                same = read_json(mark, MAX_IDENTITY_BYTES).get("identity") == identity
            except (DataError, AttributeError):
                continue
            if same:
                return folder
    return None


def folder_for(checkpoint: Checkpoint, out: Path, step: int) -> Path:
    """The folder of this checkpoint's runs below `out`, made and marked with its identity where it is new."""
    from uis1_train.validation.hooks import new_folder

    if (known := known_folder(checkpoint, out, step)) is not None:
        return known
    folder, identity = new_folder(out, step), identity_of(checkpoint)
    folder.mkdir(parents=True)
    write_json(folder / IDENTITY, {"v": 1, "step": step, "path": str(checkpoint.path.absolute()), "identity": identity})
    return folder


def _as_transformers(checkpoint: Checkpoint, merged: Path, settings: ValidationSettings) -> Path:
    """The folder of a whole model: the checkpoint's own, or a merge of it."""
    from uis1_train.merge.found import is_whole_model
    from uis1_train.merge.merging import Precision, merge

    if checkpoint.kind == "transformers":
        return checkpoint.weights
    if is_whole_model(checkpoint.base):  # `hf_model` was among what the trainer saves
        return checkpoint.base
    precision: Precision = (
        "float32" if settings.how == "local" and checkpoint.kind == "fsdp" and not _accelerated() else "bfloat16"
    )
    return merge(checkpoint.path, merged, precision=precision).out


def _accelerated() -> bool:
    import torch

    return bool(torch.cuda.is_available())


@contextmanager
def _served(
    model: Path, name: str, settings: ValidationSettings, folder: Path
) -> Iterator[tuple[Callable[[RunConfig], RunConfig], None]]:
    from uis1_train.validation.serving import served

    images = settings.history_images
    if images is None:
        images = get_adapter(settings.adapter).default_images
    log = folder / "server.log"
    with served(model, name, settings.serve_command, images=images, log=log, timeout=settings.serve_timeout) as url:
        yield (lambda config: replace(config, model=name, base_urls=(url,))), None


@contextmanager
def _local(
    model: Path, name: str, settings: ValidationSettings, folder: Path
) -> Iterator[tuple[Callable[[RunConfig], RunConfig], Policy]]:
    from uis1_train.validation.local import local_policy

    policy = local_policy(
        model,
        temperature=settings.temperature or 0.0,
        max_tokens=settings.max_tokens or 512,
        concurrency=settings.concurrency,
        name=name,
    )
    from uis1_train.policies.local import InProcess

    try:
        yield (lambda config: config), InProcess(policy)
    finally:
        wait_for(policy.close())
