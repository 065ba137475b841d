"""Checkpoints: a transformers folder with what a resumed training needs beside it.

`<stage>/global_step_12/` holds weights, tokenizer and processor (it can be served, validated and merged as it is), `optimizer.pt` and `trainer.json`. It is
written beside its place and moved there whole; `latest_checkpointed_iteration.txt` names the last one, as verl does.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import secrets
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from sopbench.errors import DataError, UsageError
from sopbench.files import read_json, write_json
from uis1_train.embedded.learner import Learner
from uis1_train.embedded.model import LocalModel
from uis1_train.merge.found import TRACKER, latest_step

STATE = "trainer.json"
OPTIMISER = "optimizer.pt"
VERSION = 1
MAX_STATE_BYTES = 16 * 1024 * 1024


@dataclass(slots=True)
class Progress:
    """Where a stage stands: `step` optimiser batches are done, `cursor` items of the data were taken, `totals` is what was counted so far.

    `settings` is a digest of what must not change between a run and its continuation.
    """

    stage: str
    step: int = 0
    cursor: int = 0
    settings: str = ""
    totals: dict[str, float] = field(default_factory=dict)


def save(folder: Path, model: LocalModel, learner: Learner, progress: Progress, *, keep: int) -> Path:
    """Write `folder/global_step_N` and forget all but the last `keep`. Raises `DataError` where the disk does not take it."""
    final = folder / f"global_step_{progress.step}"
    making = folder / f".{final.name}.{secrets.token_hex(4)}.tmp"
    try:
        making.mkdir(parents=True)
        model.save(making)
        torch.save({"learner": learner.state(), "chance": _chance()}, making / OPTIMISER)
        write_json(making / STATE, {"v": VERSION, **asdict(progress)})
        if final.exists():
            shutil.rmtree(final)
        making.rename(final)
        tracker = folder / f".{TRACKER}.tmp"
        tracker.write_text(f"{progress.step}\n", encoding="ascii")
        tracker.replace(folder / TRACKER)
    except OSError as error:
        raise DataError(
            f"cannot write the checkpoint {final} ({error.strerror or error}): is the disk full?"
        ) from error
    finally:
        shutil.rmtree(making, ignore_errors=True)
    _forget(folder, keep, progress.step)
    return final


def latest(folder: Path) -> Path | None:
    """The checkpoint that a stage is resumed from; None where there is none yet."""
    step = latest_step(folder) if folder.is_dir() else None
    if step is None:
        return None
    found = folder / f"global_step_{step}"
    if not (found / STATE).is_file():
        raise DataError(
            f"{folder / TRACKER} names step {step}, and there is no whole checkpoint {found}: copy it back, or begin in another output folder"
        )
    return found


def read_progress(checkpoint: Path) -> Progress:
    """Raises `DataError` for a state that is none."""
    value = read_json(checkpoint / STATE, MAX_STATE_BYTES)
    try:
        if value.pop("v") != VERSION:
            raise DataError(f"{checkpoint / STATE} was written by another version")
        return Progress(**value)
    except (TypeError, KeyError, AttributeError) as error:
        raise DataError(f"{checkpoint / STATE} is no state of a training: begin in another output folder") from error


def restore(checkpoint: Path, learner: Learner, progress: Progress) -> None:
    """Optimiser and chance as they were. `learner` holds the checkpoint's weights already; `progress.settings` must be what it was written under."""
    recorded = read_progress(checkpoint)
    if recorded.settings != progress.settings:
        raise UsageError(
            f"{checkpoint} was trained with other settings (model, data, method, optimiser or seed): a resumed run would be neither. Give back the old ones, or another output folder"
        )
    try:
        state = torch.load(checkpoint / OPTIMISER, map_location="cpu", weights_only=True)
        learner.restore(state["learner"])
        _take_up(state["chance"])
    except (OSError, RuntimeError, KeyError, ValueError, EOFError) as error:
        raise DataError(
            f"{checkpoint / OPTIMISER} cannot be read ({error}): remove {checkpoint} and its entry in {TRACKER} to go on from an earlier one"
        ) from error


def digest(*settings: Any) -> str:
    """Of settings, as JSON: what must stay the same when a training goes on."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode()).hexdigest()


def _forget(folder: Path, keep: int, step: int) -> None:
    """Only steps before this one: later ones belong to a run that went back, and will be written again."""
    steps = sorted(
        int(p.name.rpartition("_")[2]) for p in folder.glob("global_step_*") if p.name.rpartition("_")[2].isdecimal()
    )
    for old in [s for s in steps if s <= step][:-keep]:
        shutil.rmtree(folder / f"global_step_{old}", ignore_errors=True)
    for left in folder.glob(".global_step_*.tmp"):
        if not os.path.samefile(left, folder):
            shutil.rmtree(left, ignore_errors=True)


def _chance() -> dict[str, Any]:
    """Every generator of this process. Training draws from none of them (its chance comes from seeds and counters); models with dropout do."""
    version, state, gauss = random.getstate()
    name, keys, position, has_gauss, cached = np.random.get_state(legacy=True)  # type: ignore[misc, unused-ignore]
    return {
        "python": [version, list(state), gauss],
        "numpy": [
            str(name),
            torch.from_numpy(np.asarray(keys).astype(np.int64)),
            int(position),
            int(has_gauss),
            float(cached),
        ],
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }


def _take_up(chance: dict[str, Any]) -> None:
    version, state, gauss = chance["python"]
    random.setstate((version, tuple(state), gauss))
    name, keys, position, has_gauss, cached = chance["numpy"]
    np.random.set_state((name, keys.numpy().astype(np.uint32), position, has_gauss, cached))
    torch.set_rng_state(chance["torch"])
    if chance["cuda"] and len(chance["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all(chance["cuda"])
