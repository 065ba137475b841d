"""Each change to stock verl, and each thing that is done because of what stock verl does: a test fails when upstream no longer needs it.

When one fails after an upgrade: take the change out of `patches_to_verl.py` (or the work-around out of the module that is named), and the test with it.
"""

from __future__ import annotations

import asyncio
import inspect
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from verl.experimental.agent_loop.agent_loop import AgentLoopMetrics, AgentLoopOutput
from verl.models.transformers import qwen2_vl
from verl.trainer.ppo.v1 import agent_loop_tq, replay_buffer

from uis1_train.verl_ext import patches_to_verl


@pytest.fixture
def sees(tiny_vl: Path) -> Any:
    """What verl's forward calls `model`: the inner model, with its vision tower."""
    from transformers import Qwen2_5_VLForConditionalGeneration

    return Qwen2_5_VLForConditionalGeneration.from_pretrained(tiny_vl, dtype=torch.float32).model


@pytest.fixture
def stock(monkeypatch: pytest.MonkeyPatch) -> Any:
    """verl's own function, whatever was patched before in this process; and as it was again afterwards."""
    found = qwen2_vl._get_input_embeds
    original = inspect.getclosurevars(found).nonlocals.get("stock", found)
    monkeypatch.setattr(qwen2_vl, "_get_input_embeds", original)
    return original


IDS = torch.tensor([[5, 6, 7]])


def test_stock_verl_crashes_on_a_micro_batch_without_pictures(stock: Any, sees: Any) -> None:
    with pytest.raises(AttributeError, match="mean"):
        stock(sees, IDS)


def test_patched_it_embeds_the_text_and_keeps_the_vision_tower_in_the_graph(stock: Any, sees: Any) -> None:
    patches_to_verl.apply_patches()
    mask = torch.ones_like(IDS)
    embedded, given = qwen2_vl._get_input_embeds(sees, IDS, mask)
    assert torch.equal(embedded, sees.get_input_embeddings()(IDS))
    assert torch.equal(given, mask)
    embedded.sum().backward()
    assert all(p.grad is not None for p in sees.visual.merger.parameters())
    assert sum(float(p.grad.abs().sum()) for p in sees.visual.parameters() if p.grad is not None) == 0


def test_patching_twice_changes_nothing(stock: Any) -> None:
    patches_to_verl.apply_patches()
    once = qwen2_vl._get_input_embeds
    patches_to_verl.apply_patches()
    assert qwen2_vl._get_input_embeds is once is not stock


def test_with_pictures_it_is_verls_own(stock: Any, sees: Any) -> None:
    called = []
    qwen2_vl._get_input_embeds = lambda *args: called.append(args) or (None, None)
    patches_to_verl.apply_patches()
    pixels = torch.zeros(16, 1)
    qwen2_vl._get_input_embeds(sees, IDS, None, pixels)
    assert called[0][3] is pixels


class Worker(agent_loop_tq.AgentLoopWorkerTQ.__ray_metadata__.modified_class):  # type: ignore[misc]
    """verl's worker without its servers."""

    def __init__(self) -> None:
        self.reward_loop_worker_handles = None
        self.processor = None

    async def _compute_teacher_logprobs(self, *_: Any, **__: Any) -> None:
        return


def test_stock_verl_gives_every_step_the_last_steps_reward(monkeypatch: pytest.MonkeyPatch) -> None:
    """Why `SemiOnlineTrainer._compute_advantage` writes rm_scores anew, and why `reward_extra_info` says nothing."""
    stored: list[Any] = []

    async def put(*, fields: Any, **_: Any) -> None:
        stored.append(fields)

    monkeypatch.setattr(agent_loop_tq.tq, "async_kv_batch_put", put)
    steps = [
        AgentLoopOutput(
            prompt_ids=[1, 2],
            response_ids=[3, 4],
            response_mask=[1, 1],
            reward_score=reward,
            metrics=AgentLoopMetrics(),
            extra_fields={"reward": reward, "reward_extra_info": {}, "min_global_steps": 0, "max_global_steps": 0},
        )
        for reward in (0.25, 1.0)
    ]
    asyncio.run(Worker()._agent_loop_postprocess(steps, False, uid="g", session_id=0, global_steps=1))
    assert [row.sum().item() for row in stored[0]["rm_scores"].unbind()] == [1.0, 1.0]
    assert [getattr(f, "data", f)["reward"] for f in list(stored[0]["extra_fields"])] == [0.25, 1.0]


def test_stock_verl_filters_on_equality_over_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Why `FilteringReplayBuffer` has its own filter: verl's keeps every group whose values differ at all."""
    values = {"g_0_0": 0.5, "g_1_0": 0.5001}
    facts = [SimpleNamespace(data={"reward_extra_info": {"step_return": v}}) for v in values.values()]
    monkeypatch.setattr(replay_buffer.tq, "kv_batch_get", lambda **_: {"extra_fields": facts}, raising=False)
    buffer = replay_buffer.ReplayBuffer(
        "sync", {}, None, "drop", {}, refill_fn=lambda n: n, filter_groups_metric="step_return", train_batch_size=1
    )
    buffer.partitions["train"] = {key: {} for key in values}
    buffer.finished_keys["train"] = {"g"}
    dropped, _ = buffer._dapo_filtered_keys("train")
    assert dropped == set()


def test_stock_verl_keeps_groups_of_which_some_rollouts_failed() -> None:
    """Why `FilteringReplayBuffer` names failed groups itself."""
    buffer = replay_buffer.ReplayBuffer(
        "sync", {}, None, "drop", {}, refill_fn=lambda n: n, gen_batch_size=1, sync_refill_failed_groups=True
    )
    buffer.partitions["train"] = {"g_0_0": {}}
    buffer.failure_keys["train"] = {"g"}
    assert buffer._terminal_eviction_reasons(1, "train")[2] == set()


def test_stock_verl_pads_to_whole_mini_batches_of_goals_times_rollouts() -> None:
    """Why `SemiOnlineTrainer` splits a batch by number: 33 rows of 32 x 8 would be padded to 256."""
    from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync

    class Bare(PPOTrainerSync):
        def __init__(self) -> None:
            self.use_critic, self.global_steps = False, 1
            actor = SimpleNamespace(ppo_mini_batch_size=32)
            parts = SimpleNamespace(actor=actor, rollout=SimpleNamespace(n=8))
            self.config = SimpleNamespace(actor_rollout_ref=parts, trainer=SimpleNamespace(critic_warmup=0))

    assert Bare()._get_required_batch_multiple(1) == 256
