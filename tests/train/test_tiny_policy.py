"""`builtin:tiny`: a model in this process plays like any other policy, and its record says which weights answered."""

from __future__ import annotations

import asyncio
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import sopbench
from sopbench.api import resume
from sopbench.clients.base import Sampling
from sopbench.clients.tiny import MAX_REPLY_TOKENS, checked_temperature, folder_of, require_extra, weights_sha256
from sopbench.errors import FingerprintMismatch, UsageError

SHORT = Sampling(temperature=0.0, max_tokens=12)


def play(folder: Path, out: Path, **options: object) -> sopbench.Run:
    asked = {"suite": "pocket", "limit": 4, "sampling": SHORT, "after_mismatch": "continue"} | options
    return sopbench.run(model=f"builtin:tiny:model={folder}", out=out, **asked)


def replies(run: sopbench.Run) -> list[tuple[object, ...]]:
    frame = run.steps.sort_values(["episode", "step"])
    return list(frame[["episode", "step", "reply", "prompt_sha256", "reason"]].itertuples(index=False, name=None))


def test_it_speaks_its_own_adapter_unless_told_otherwise(tiny_vl: Path, tmp_path: Path) -> None:
    run = play(tiny_vl, tmp_path / "run", limit=1)
    assert run.info.facts["adapter"]["name"] == "tiny"
    other = play(tiny_vl, tmp_path / "other", limit=1, adapter="uis1")
    assert other.info.facts["adapter"]["name"] == "uis1"


def test_what_it_answers_does_not_depend_on_how_many_are_asked_at_once(tiny_vl: Path, tmp_path: Path) -> None:
    alone = play(tiny_vl, tmp_path / "alone", concurrency=1)
    together = play(tiny_vl, tmp_path / "together", concurrency=16)
    assert replies(alone) == replies(together)
    assert len(replies(alone)) > 20


def test_chance_is_by_seed(tiny_vl: Path, tmp_path: Path) -> None:
    warm = Sampling(temperature=1.0, max_tokens=12)
    first, same, other = (
        replies(play(tiny_vl, tmp_path / f"run-{i}", sampling=warm, seed=seed, concurrency=4, limit=2))
        for i, seed in enumerate((1, 1, 2))
    )
    assert first == same
    assert first != other


def test_the_record_names_the_weights_and_counts_tokens(tiny_vl: Path, tmp_path: Path) -> None:
    run = play(tiny_vl, tmp_path / "run", limit=1)
    assert run.info.facts["policy"]["weights_sha256"] == weights_sha256(tiny_vl)
    steps = run.steps
    assert (steps["completion_tokens"] <= 12).all()
    assert (steps["prompt_tokens"] > 0).all()


def test_a_run_is_not_gone_on_with_by_other_weights(tiny_vl: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(tiny_vl, folder)
    run = play(folder, tmp_path / "run", limit=1)
    resume(run.path)  # the same weights: nothing to do
    config = json.loads((folder / "generation_config.json").read_text())
    (folder / "generation_config.json").write_text(json.dumps(config | {"temperature": 0.5}))
    with pytest.raises(FingerprintMismatch, match="weights_sha256"):
        resume(run.path)


def test_a_reply_is_never_longer_than_an_action_needs(tiny_vl: Path, tmp_path: Path) -> None:
    run = play(tiny_vl, tmp_path / "run", limit=1, sampling=Sampling(temperature=0.0), after_mismatch="stop")
    assert run.steps["completion_tokens"].max() <= MAX_REPLY_TOKENS


@pytest.mark.parametrize(
    ("sampling", "says"),
    [
        (Sampling(top_p=0.9), "whole distribution"),
        (Sampling(top_k=5), "whole distribution"),
        (Sampling(temperature=-1.0), "at least 0"),
        (Sampling(extra_body={"x": 1}), "--extra-body"),
    ],
)
def test_sampling_that_it_does_not_do_is_refused(sampling: Sampling, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        checked_temperature(sampling)


def test_sampling_that_it_does() -> None:
    assert checked_temperature(Sampling()) == 0.0
    assert checked_temperature(Sampling(temperature=0.7)) == 0.7
    assert checked_temperature(Sampling(temperature=0.7, top_k=1)) == 0.0


def test_folders_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no config\.json"):
        play(tmp_path, tmp_path / "run")
    with pytest.raises(UsageError, match="takes model=FOLDER only"):
        folder_of("builtin:tiny:p=0.2")


def test_without_the_libraries_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torchvision", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "torchvision" else object())
    with pytest.raises(
        UsageError, match=r"torchvision, which this Python does not have: pip install 'sopbench\[tiny\]'"
    ):
        require_extra("builtin:tiny")


def test_an_unreadable_prompt_is_no_reply_and_never_a_mistake_of_the_model(tiny_vl: Path, tmp_path: Path) -> None:
    """A text that spells the placeholder of a picture cannot be told to this model."""
    from sopbench.adapters import get_adapter
    from sopbench.adapters.base import Image, Message, Text
    from sopbench.clients.base import Ask, AskFailed
    from sopbench.clients.tiny import load
    from sopbench.geometry import Size
    from sopbench.screen import Screen
    from sopbench.suites.pocket import pocket_data

    screen = Screen.from_file(next((pocket_data() / "screens").glob("*.png")))
    local = load(tiny_vl, what="this test", max_batch=2)
    message = Message("user", (Text("look: <|image_pad|>"), Image(screen)))
    ask = Ask(("a", 0, 0), (message,), Size(1, 1), get_adapter("tiny"))

    async def answer() -> object:
        from uis1_train.embedded.decoding import Draw

        return await local.answer(ask, Draw(0.0, 4))

    with pytest.raises(AskFailed, match="placeholder"):
        asyncio.run(answer())


def test_the_extra_tiny_is_all_it_needs(tiny_vl: Path, tmp_path: Path) -> None:
    """Neither verl nor Ray nor what else only the trainer uses: `pip install 'sopbench[tiny]'` is enough."""
    blocked = ["verl", "ray", "tensordict", "transfer_queue", "hydra", "omegaconf", "datasets", "peft", "accelerate"]
    code = f"""
import sys
sys.modules.update(dict.fromkeys({blocked!r}))
import sopbench
run = sopbench.run(suite="pocket", limit=1, model={f"builtin:tiny:model={tiny_vl}"!r}, out={str(tmp_path / "run")!r})
assert run.summary["not_scored_steps"] == 0
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
