"""The model that ships with the package under two servers: `vllm serve` and `sopbench serve tiny`. The same requests get the same greedy replies.

`E2E_TINY_MODEL` names another folder of the same kind, such as a checkpoint that is about to be shipped.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import sopbench
from emulator.pocket.export import export
from emulator.pocket.tasks import load_split
from sopbench.clients.base import Sampling
from sopbench.clients.tiny import packaged_folder

from .serve import MODEL_NAME, VllmServer

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).resolve().parents[2]
TASKS = 16
LEAST_SAME = 0.97
"""Share of replies that must be the same. Both compute in float32, each sums in an order of its own: where two tokens are almost equally likely, either may win."""


@pytest.fixture(scope="module")
def weights() -> Path:
    folder = Path(os.environ.get("E2E_TINY_MODEL") or packaged_folder())
    if not (folder / "config.json").exists():
        pytest.fail(f"there is no model in {folder}", pytrace=False)
    return folder


@pytest.fixture(scope="module")
def under_vllm(vllm_python: Path, weights: Path) -> Iterator[VllmServer]:
    log = ROOT / ".cache" / "e2e" / "packaged_model.log"
    with VllmServer(vllm_python, weights, log, images=2, context=8192) as running:
        yield running


@pytest.fixture(scope="module")
def under_sopbench(weights: Path) -> Iterator[str]:
    """The base URL of `sopbench serve tiny`, in the trainer's environment."""
    if subprocess.run([sys.executable, ROOT / "scripts" / "setup_train.py"]).returncode != 0:
        pytest.fail("scripts/setup_train.py could not make .venv-train; what to do stands above", pytrace=False)
    command = [ROOT / ".venv-train" / "bin" / "sopbench", "serve", "tiny", "--model", weights, "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().partition(" at ")[2].partition(";")[0]
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("large") / "test"
    export(load_split("test", display="large")[:TASKS], "test", folder)
    return folder


def play(recordings: Path, out: Path, base_url: str, model: str) -> sopbench.Run:
    """Every step by itself, with the expert's history: the requests do not depend on the replies."""
    run = sopbench.run(
        suite="androidcontrol-high",
        data=recordings / "trajectories.jsonl",
        images=recordings / "screens",
        profile="strict",
        adapter="tiny",
        model=model,
        base_urls=(base_url,),
        sampling=Sampling(temperature=0.0, max_tokens=96),
        concurrency=8,
        attempt_timeout=600.0,
        deadline=1800.0,
        out=out,
    )
    assert run.summary["not_scored_steps"] == 0
    return run


def test_both_servers_give_the_same_greedy_replies(
    under_vllm: VllmServer, under_sopbench: str, recordings: Path, tmp_path: Path
) -> None:
    vllm = play(recordings, tmp_path / "vllm", under_vllm.base_url, MODEL_NAME)
    ours = play(recordings, tmp_path / "ours", under_sopbench, "tiny")
    frames = [run.steps.set_index(["episode", "step"]).sort_index() for run in (vllm, ours)]
    assert (frames[0]["prompt_sha256"] == frames[1]["prompt_sha256"]).all()
    assert (frames[0]["prompt_tokens"] == frames[1]["prompt_tokens"]).all()
    same = frames[0]["reply"] == frames[1]["reply"]
    assert len(same) > 80
    others = [f"{frames[0]['reply'][key]!r} | {frames[1]['reply'][key]!r}" for key in same.index[~same]]
    print(f"{same.mean():.1%} of {len(same)} replies are the same")
    assert same.mean() >= LEAST_SAME, others[:5]


def test_the_doctor_finds_the_model_fit_under_vllm(under_vllm: VllmServer) -> None:
    command = [Path(sys.executable).with_name("sopbench"), "doctor", "--base-url", under_vllm.base_url]
    done = subprocess.run(
        [*command, "--adapter", "tiny", "--screen", "504x1092", "--json"], capture_output=True, text=True, timeout=240
    )
    found = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert done.returncode == 0, found
