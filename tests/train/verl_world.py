"""A world small enough for verl on two cores: recordings of four kinds of action on one-colour screens, and a model that guesses among them.

The model is a random tiny Qwen2.5-VL that was shown, for a few seconds, what replies look like. It says one of the four replies without knowing
which is right, so that rollouts of one goal differ: the filter keeps groups, drops others, and there is something to learn.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from PIL import Image

from sopbench.adapters import get_adapter
from sopbench.geometry import Size
from sopbench.trajectory import Step, Trajectory, load_trajectories, to_jsonl_object
from uis1_train.verl_cpu.environment import environment

SIZE = Size(112, 224)
OUT_OF_REACH: dict[str, Any] = {"action": "open", "text": "clock"}
"""An action that the model never says: a group that asks for it first has nothing to tell its rollouts apart by."""
ACTIONS: tuple[dict[str, Any], ...] = (
    {"action": "wait", "time": 1},
    {"action": "system_button", "button": "Back"},
    {"action": "click", "coordinate": [56, 112]},
    {"action": "type", "text": "hi"},
)


def make_recordings(folder: Path, goals: int = 8, steps: int = 2) -> Path:
    """`recordings.jsonl` with its screens beside it: even goals ask for two of the four actions, odd ones for one that is out of reach."""
    from sopbench.screen import Screen

    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for goal in range(goals):
        found, names = [], []
        for step in range(steps):
            name = f"{goal}-{step}.png"
            Image.new("RGB", (SIZE.width, SIZE.height), (30 * goal % 256, 90 * step % 256, 128)).save(folder / name)
            action = OUT_OF_REACH if goal % 2 else ACTIONS[(goal // 2 + step) % len(ACTIONS)]
            found.append(Step(action, Screen.from_file(folder / name)))
            names.append(name)
        trajectory = Trajectory(f"goal-{goal}", f"do {goal}", tuple(found))
        lines.append(json.dumps(to_jsonl_object(trajectory, names)))
    (folder / "recordings.jsonl").write_text("\n".join(lines) + "\n")
    return folder / "recordings.jsonl"


@dataclass(frozen=True)
class Run:
    """One run of verl in a process of its own. `metrics` is what it logged, by step; `said` all that it printed."""

    code: int
    said: str
    metrics: dict[int, dict[str, float]]
    seconds: float


NOT_STARTED = "The current node timed out during startup"
"""What Ray says when its helpers took more than the 15 s that it waits for each; nothing of ours has run by then."""


def run_verl(folder: Path, name: str, *overrides: str, attempts: int = 3) -> Run:
    """One run, tried again where a busy machine did not let Ray start."""
    for _ in range(attempts):
        run = run_verl_once(folder, name, *overrides)
        if NOT_STARTED not in run.said:
            break
    return run


def run_verl_once(folder: Path, name: str, *overrides: str, timeout: float = 900) -> Run:
    """`python -m uis1_train.verl_ext tiny_cpu ...` in `folder` (which has `data/` and `model/`), with a Ray of its own that is gone afterwards."""
    started = time.monotonic()
    log = folder / f"{name}.jsonl"
    ray_folder = Path(
        tempfile.mkdtemp(prefix="uis1-")
    )  # short: Ray's sockets lie in it, and their paths may have 107 characters
    command = [sys.executable, "-m", "uis1_train.verl_ext", "tiny_cpu", *settings_of(folder), *overrides]
    variables = environment() | {"RAY_TMPDIR": str(ray_folder), "VERL_FILE_LOGGER_PATH": str(log)}
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=os.environ | variables | {"PYTHONPATH": str(Path(__file__).parents[2])},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=timeout)
    finally:
        end_all_of(process, ray_folder)
        shutil.rmtree(ray_folder, ignore_errors=True)
    lines = log.read_text().splitlines() if log.exists() else []
    metrics = {int(line["step"]): line["data"] for line in map(json.loads, lines)}
    return Run(process.returncode, said, metrics, time.monotonic() - started)


def settings_of(folder: Path) -> list[str]:
    recordings = folder / "data" / "recordings.jsonl"
    return [
        f"data.train_files={recordings}",
        f"actor_rollout_ref.model.path={folder / 'model'}",
        f"trainer.default_local_dir={folder / 'checkpoints'}",
        "uis1.adapter=tiny",
        "uis1.images=1",
        "uis1.eta=0.1",
        "uis1.validation.sop.suite=sop",
        f"uis1.validation.sop.data={recordings}",
        "data.max_prompt_length=256",
        "data.max_response_length=32",
    ]


def end_all_of(process: subprocess.Popen[str], ray_folder: Path) -> None:
    """Whatever the run left: its own process, and those of its Ray, which name its folder on their command lines or in their environment."""
    for one in [process, *belonging_to(ray_folder)]:
        with suppress(psutil.NoSuchProcess, ProcessLookupError):
            one.kill()
    process.wait()


def belonging_to(ray_folder: Path) -> list[psutil.Process]:
    found = []
    for one in psutil.process_iter():
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied, psutil.ZombieProcess):
            if one.pid != os.getpid() and one.environ().get("RAY_TMPDIR") == str(ray_folder):
                found.append(one)
    return found


def make_guessing_model(folder: Path, recordings: Path, *, updates: int = 100) -> Path:
    """A tiny Qwen2.5-VL that answers with one of the four actions, in the words of adapter `tiny`."""
    import torch
    from transformers import AutoProcessor, Qwen2_5_VLForConditionalGeneration

    from tests.train.models import make_tiny_vl

    make_tiny_vl(folder, image_tokens=8)
    model = Qwen2_5_VLForConditionalGeneration.from_pretrained(folder, dtype=torch.float32)
    processor = AutoProcessor.from_pretrained(folder)
    torch.manual_seed(0)
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    rows = [
        (trajectory.goal, step.screen.decode(), action)
        for trajectory in load_trajectories(recordings, limit=3)
        for step in trajectory.steps[:1]
        for action in ACTIONS
    ]
    batch, labels = _batch(processor, rows)
    for _ in range(updates):
        loss = model(**batch, labels=labels).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.save_pretrained(folder)
    return folder


def _batch(processor: Any, rows: list[tuple[str, Any, dict[str, Any]]]) -> tuple[Any, Any]:
    """Prompt and reply of every row, right-padded; the reply alone has labels."""
    from sopbench.actions import from_released

    adapter = get_adapter("tiny")
    texts, prompts = [], []
    for goal, _, action in rows:
        told = [{"role": "user", "content": [{"type": "text", "text": f" {goal}\n"}, {"type": "image"}]}]
        prompt = processor.apply_chat_template(told, tokenize=False, add_generation_prompt=True)
        prompts.append(prompt)
        texts.append(prompt + adapter.format(from_released(action, SIZE), SIZE) + "<|im_end|>")
    images = [picture for _, picture, _ in rows]
    processor.tokenizer.padding_side = "right"
    batch = processor(text=texts, images=images, padding=True, return_tensors="pt")
    asked = processor(text=prompts, images=images, padding=True, return_tensors="pt")["attention_mask"].sum(-1)
    labels = batch["input_ids"].clone()
    labels[batch["attention_mask"] == 0] = -100
    for row, length in enumerate(asked.tolist()):
        labels[row, :length] = -100
    return batch, labels
