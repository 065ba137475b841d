"""Expert steps as verl's SFT trainer takes them, and a short run of that trainer on a CPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from omegaconf import OmegaConf

from sopbench.adapters import get_adapter
from sopbench.errors import UsageError
from tests.train.verl_world import SIZE, make_recordings
from uis1_train.verl_cpu.environment import environment


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_recordings(tmp_path_factory.mktemp("recordings"), goals=4, steps=2)


@pytest.fixture(scope="module")
def words(tiny_vl: Path) -> tuple[Any, Any]:
    from verl.utils import hf_processor, hf_tokenizer

    return hf_tokenizer(str(tiny_vl)), hf_processor(str(tiny_vl))


def dataset(recordings: Path, words: tuple[Any, Any], *, processor: bool = True, **data: Any) -> Any:
    from uis1_train.verl_ext.sft import ExpertDataset

    method = {"adapter": "uis1", "prompts": "builtin", "images": 2}
    config = {"method": method, "sample": "step", "thoughts": True, "max_length": 4096} | data
    return ExpertDataset(str(recordings), words[0], OmegaConf.create(config), words[1] if processor else None)


def taught(sample: dict[str, Any], words: tuple[Any, Any]) -> str:
    ids = sample["input_ids"][sample["loss_mask"].bool()]
    return str(words[0].decode(ids))


def test_each_step_is_taught_its_reply_and_nothing_else(recordings: Path, words: tuple[Any, Any]) -> None:
    from sopbench.trajectory import load_trajectories

    found = dataset(recordings, words)
    assert len(found) == 8
    adapter = get_adapter("uis1")
    steps = [step for trajectory in load_trajectories(recordings) for step in trajectory.steps]
    for number, step in enumerate(steps):
        assert taught(found[number], words) == adapter.format(step.action(SIZE), SIZE) + "<|im_end|>"


def test_a_window_teaches_several_steps_at_once(recordings: Path, words: tuple[Any, Any]) -> None:
    apart, together = dataset(recordings, words), dataset(recordings, words, sample="window")
    assert len(together) == 4
    assert taught(together[0], words) == taught(apart[0], words) + taught(apart[1], words)
    assert together[0]["input_ids"].tolist() == apart[1]["input_ids"].tolist()


def test_features_and_positions_are_those_of_the_rollout_path(recordings: Path, words: tuple[Any, Any]) -> None:
    """The same tokens get the positions that verl's agent loop worker gives them, so that SFT and RL train one model."""
    from types import SimpleNamespace

    from verl.experimental.agent_loop.agent_loop import AgentLoopWorker

    from sopbench.trajectory import load_trajectories

    sample = dataset(recordings, words)[1]
    worker = AgentLoopWorker.__new__(AgentLoopWorker)
    worker.tokenizer, worker.processor, worker.mm_processor_kwargs = *words, {}
    pictures = [step.screen.decode() for step in load_trajectories(recordings)[0].steps]
    ids = sample["input_ids"]
    output = SimpleNamespace(multi_modal_data={"images": pictures}, mm_processor_kwargs=None)
    features = worker._compute_multi_modal_inputs(output, ids)
    positions = worker._compute_position_ids(ids[None], torch.ones_like(ids)[None], features)
    assert torch.equal(sample["position_ids"], positions[0])
    assert torch.equal(sample["multi_modal_inputs"]["pixel_values"], features["pixel_values"])
    assert torch.equal(sample["multi_modal_inputs"]["image_grid_thw"], features["image_grid_thw"])


def test_text_alone_has_plain_positions(recordings: Path, words: tuple[Any, Any]) -> None:
    sample = dataset(recordings, words, processor=False)[0]
    assert sample["position_ids"].tolist() == list(range(len(sample["input_ids"])))
    assert "multi_modal_inputs" not in sample


def test_what_is_too_long_is_named(recordings: Path, words: tuple[Any, Any]) -> None:
    with pytest.raises(UsageError, match=r"goal-0, step 0: .*data\.max_length"):
        dataset(recordings, words, max_length=50)[0]


@pytest.mark.slow
def test_verls_sft_trainer_learns_from_it(recordings: Path, tiny_vl: Path, tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    overrides = [
        f"data.train_files={recordings}",
        f"model.path={tiny_vl}",
        f"trainer.default_local_dir={tmp_path / 'checkpoints'}",
        "uis1.adapter=tiny",
        "uis1.images=1",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "uis1_train.verl_ext.sft", "sft_tiny_cpu", *overrides],
        cwd=tmp_path,
        env=os.environ
        | environment()
        | {"VERL_FILE_LOGGER_PATH": str(log), "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-5000:]
    losses = [json.loads(line)["data"]["train/loss"] for line in log.read_text().splitlines()]
    assert len(losses) == 6
    assert losses[-1] < 0.8 * losses[0]
    assert (tmp_path / "checkpoints" / "global_step_6" / "fsdp_config.json").exists()
