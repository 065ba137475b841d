"""Expert steps for verl's own SFT trainer: asked exactly as in play, answered in the adapter's words, the loss on replies only.

Started once for each GPU: `torchrun --nproc-per-node 8 -m uis1_train.verl_ext.sft sft_7b [OVERRIDE ...]`.
"""

from __future__ import annotations

import logging
import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import Dataset

from sopbench.clients.base import AskFailed
from sopbench.errors import SopbenchError, UsageError
from uis1_train.embedded.featurize import Featurizer
from uis1_train.embedded.learner import Row
from uis1_train.embedded.model import LocalModel
from uis1_train.embedded.samples import Lesson, lessons, row_of
from uis1_train.verl_ext.dataset import Recordings, specs_of
from uis1_train.verl_ext.settings import MethodSettings

log = logging.getLogger("uis1_train.sft")

ANY_LENGTH = 10**9
"""What is too long is told here, with the reply counted in."""


class ExpertDataset(Dataset):
    """One sample a step, or with `data.sample: window` one for as many steps as a prompt shows screens of. Fields as verl's SFT trainer takes them."""

    def __init__(
        self, parquet_files: Any, tokenizer: Any, config: Any, processor: Any = None, max_samples: int = -1
    ) -> None:
        from omegaconf import OmegaConf

        settings = MethodSettings.model_validate(OmegaConf.to_container(config.method, resolve=True))
        self.adapter, self.images = settings.the_adapter, settings.images
        recordings = Recordings(specs_of(parquet_files), settings)
        trajectories = [trajectory for spec in recordings.specs for trajectory in recordings.of(spec)]
        found = lessons(
            trajectories, self.adapter, kind=config.sample, images=self.images, thoughts=bool(config.thoughts)
        )
        if found.inexpressible:
            log.warning(
                "%d steps are left out: adapter %s has no words for them", found.inexpressible, self.adapter.name
            )
        self.lessons: Sequence[Lesson] = found.lessons if max_samples < 0 else found.lessons[:max_samples]
        self.words = Featurizer(words_of(tokenizer, processor), max_prompt=ANY_LENGTH)
        self.max_length = int(config.max_length)

    def __len__(self) -> int:
        return len(self.lessons)

    def __getitem__(self, item: int) -> dict[str, Any]:
        lesson = self.lessons[item]
        try:
            row = row_of(lesson, self.adapter, self.words, self.images)
        except AskFailed as error:
            raise UsageError(f"{lesson.trajectory.id}, step {lesson.last}: {error}") from error
        if len(row.whole.ids) > self.max_length:
            raise UsageError(
                f"{lesson.trajectory.id}, step {lesson.last}: {len(row.whole.ids)} tokens are more than data.max_length={self.max_length}"
            )
        return fields_of(row, self.words)


def fields_of(row: Row, words: Featurizer) -> dict[str, Any]:
    """A sample without padding. Of a model that sees, `position_ids` has four rows: verl puts the plain count before frame, row and column."""
    length = len(row.whole.ids)
    mask = torch.zeros(length, dtype=torch.long)
    mask[list(row.taught)] = 1
    positions = words.positions(row.whole)
    if positions.dim() == 2:
        positions = torch.cat([torch.arange(length).unsqueeze(0), positions])
    fields: dict[str, Any] = {
        "input_ids": torch.tensor(row.whole.ids),
        "position_ids": positions,
        "loss_mask": mask,
    }
    if words.model.sees:
        pictures = row.whole.pictures
        fields["multi_modal_inputs"] = {
            "pixel_values": torch.cat([words.patches(picture) for picture in pictures]),
            "image_grid_thw": torch.tensor([picture.grid for picture in pictures]),
        } if pictures else {}  # fmt: skip
    return fields


def words_of(tokenizer: Any, processor: Any) -> LocalModel:
    """What turns messages into tokens, as the featurizer takes it: a model without its weights."""
    image = None if processor is None else processor.tokenizer.convert_tokens_to_ids(processor.image_token)
    return LocalModel(
        folder=Path(),
        module=None,
        tokenizer=tokenizer,
        image_processor=None if processor is None else processor.image_processor,
        template=processor or tokenizer,
        device=torch.device("cpu"),
        dtype=torch.float32,
        eos=(tokenizer.eos_token_id,),
        pad=tokenizer.pad_token_id,
        suppressed=(),
        image_token=image,
        merge=1 if processor is None else processor.image_processor.merge_size,
    )


def run(config: Any) -> None:
    """Train with verl's SFT trainer in this process group (torchrun's, or a single process)."""
    from verl.trainer.sft_trainer import run_sft

    if "RANK" not in os.environ:
        os.environ.update(alone())
    run_sft(config)


def alone() -> dict[str, str]:
    """What torchrun tells its processes, for one that was started without it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ranks = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1"}
    return ranks | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}


def main(arguments: list[str]) -> int:
    from uis1_train.verl_ext.compose import compose_config

    try:
        if not arguments:
            raise UsageError("which configuration? torchrun ... -m uis1_train.verl_ext.sft CONFIG [OVERRIDE ...]")
        run(compose_config(arguments[0], arguments[1:]))
    except SopbenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
