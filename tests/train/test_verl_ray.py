"""The whole path as it runs on a cluster, on two cores: real Ray, real verl, a tiny Qwen2.5-VL. Filter, refill, patches, reference KL, padding, validation
by sopbench, checkpoint; then a second process that resumes; then verl's merger."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import psutil
import pytest

from tests.train.verl_world import Run, make_guessing_model, make_recordings, run_verl

pytestmark = pytest.mark.slow

# two goals of five rollouts of two steps are 20 rows, padded to 24 for three mini-batches: rows without a picture are there by arithmetic, not by chance
PLAY = (
    "actor_rollout_ref.rollout.n=5",
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=2",
    "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=2",
    "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=2",
    "actor_rollout_ref.actor.optim.lr=1e-4",  # Adam's first steps at the configuration's 1e-3 make this model forget how replies look
    "uis1.epsilon=inf",
    "uis1.mini_batches=3",
    "uis1.max_generated=15",
)
FIRST = (*PLAY, "trainer.total_training_steps=2", "trainer.save_freq=2", "trainer.test_freq=2")
SECOND = (*PLAY, "trainer.total_training_steps=3", "trainer.save_freq=3", "trainer.test_freq=3")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("verl")
    make_guessing_model(folder / "model", make_recordings(folder / "data"))
    return folder


@pytest.fixture(scope="module")
def first(world: Path) -> Run:
    run = run_verl(world, "first", *FIRST)
    assert run.code == 0, run.said[-6000:]
    return run


@pytest.fixture(scope="module")
def second(world: Path, first: Run) -> Run:
    run = run_verl(world, "second", *SECOND)
    assert run.code == 0, run.said[-6000:]
    return run


def test_every_step_learns_from_a_full_batch(first: Run) -> None:
    assert sorted(first.metrics) == [1, 2]
    for metrics in first.metrics.values():
        assert metrics["uis1/goals"] == 2
        assert metrics["uis1/rollouts"] == 10
        assert metrics["uis1/rows"] == 20
        assert metrics["uis1/padding_rows"] == 4
        assert metrics["uis1/mini_batches"] == 3
        assert metrics["actor/grad_norm"] > 0


def test_groups_that_say_nothing_are_dropped_and_replaced(first: Run) -> None:
    played = sum(metrics["uis1/groups/played"] for metrics in first.metrics.values())
    dropped = sum(metrics["uis1/groups/dropped"] for metrics in first.metrics.values())
    assert dropped > 0
    assert played >= 4 + dropped
    assert "dropped: goal-" in first.said
    assert sum(metrics["uis1/groups/failed"] for metrics in first.metrics.values()) == 0


def test_rewards_are_those_of_each_step_and_patches_were_used(first: Run) -> None:
    for metrics in first.metrics.values():
        parts = {name: metrics[f"uis1/reward/{name}"] for name in ("format", "type", "accuracy")}
        paid = 0.1 * parts["format"] + 0.4 * parts["type"] + 0.5 * parts["accuracy"]
        assert metrics["uis1/reward/total"] == pytest.approx(paid)
        # verl's own mean is over the rm_scores that the trainer rebuilt: equal only if each step has its own reward
        assert metrics["critic/score/mean"] == pytest.approx(paid)
        assert metrics["uis1/rollout/patches"] == pytest.approx(2 * metrics["uis1/patch_rate"])
        # a mismatch at the last step needs no patch: nothing is played after it
        assert 0 < metrics["uis1/patch_rate"] <= 1 - metrics["uis1/match"]
        assert metrics["uis1/prompts_with_patches"] == pytest.approx(metrics["uis1/patch_rate"])


def test_advantages_are_centred_and_reach_the_loss(first: Run) -> None:
    for metrics in first.metrics.values():
        assert metrics["uis1/advantage/mean"] == pytest.approx(0, abs=1e-6)
        assert metrics["uis1/advantage/std"] > 0.1
    assert first.metrics[1]["actor/pg_loss"] != 0


def test_tokens_are_trained_on_as_they_were_generated(first: Run) -> None:
    """The rollout server's log-probs are the actor's: same weights, same tokens, same pictures at the same places."""
    for metrics in first.metrics.values():
        assert metrics["training/rollout_probs_diff_max"] < 1e-4


def test_the_reference_stays_where_the_actor_started(first: Run) -> None:
    assert first.metrics[2]["actor/kl_loss"] > 0
    assert first.metrics[1]["actor/entropy"] > 0


def test_validation_is_an_ordinary_sopbench_run(world: Path, first: Run) -> None:
    from sopbench.api import load_run

    assert first.metrics[2]["val/failed"] == 0
    assert first.metrics[2]["val/sop/scored"] == 2
    run = load_run(world / "checkpoints" / "validation" / "step-000002" / "sop")
    assert run.summary["complete"]
    assert run.summary["tsr"] == first.metrics[2]["val/sop/tsr"]


def test_the_best_checkpoint_is_kept(world: Path, first: Run) -> None:
    pointer = json.loads((world / "checkpoints" / "best.json").read_text())
    assert (pointer["step"] in (2, 3)) == (first.metrics[2]["val/kept_as_best"] == 1)


def test_a_second_process_goes_on_where_the_first_ended(first: Run, second: Run) -> None:
    assert sorted(second.metrics) == [3]
    assert second.metrics[3]["training/rollout_probs_diff_max"] < 1e-4
    # the first optimiser step is still ahead when old log-probs are taken, so that this KL is of the weights that were loaded
    assert second.metrics[3]["actor/kl_loss"] > first.metrics[1]["actor/kl_loss"] / 10


def test_a_merged_checkpoint_is_what_the_rollouts_were_played_with(world: Path, second: Run) -> None:
    import torch
    from transformers import Qwen2_5_VLForConditionalGeneration

    checkpoint, merged = world / "checkpoints" / "global_step_3" / "actor", world / "merged"
    merge = ["merge", "--backend", "fsdp", "--local_dir", str(checkpoint), "--target_dir", str(merged)]
    done = subprocess.run(
        [sys.executable, "-m", "verl.model_merger", *merge], capture_output=True, text=True, timeout=200
    )
    assert done.returncode == 0, done.stderr[-3000:]
    # verl's merger writes bfloat16, whatever the shards are
    folders = (merged, world / "checkpoints" / "validation" / "weights", world / "model")
    after, served, before = (
        Qwen2_5_VLForConditionalGeneration.from_pretrained(f, dtype=torch.bfloat16).state_dict() for f in folders
    )
    assert equal(after, served)
    assert not equal(after, before)


def equal(a: Mapping[str, object], b: Mapping[str, object]) -> bool:
    import torch

    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)  # type: ignore[arg-type]


def test_nothing_is_left_running(second: Run) -> None:
    names = ("raylet", "gcs_server", "ray::")
    mine = psutil.Process().children(recursive=True)
    assert not [p for p in mine if any(name in " ".join(p.cmdline()) for name in names)]
