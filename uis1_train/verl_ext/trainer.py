"""verl's synchronous trainer, with our groups, our advantages, and sopbench as the judge."""

from __future__ import annotations

import logging
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import ray
import torch
import transfer_queue as tq
from tensordict import TensorDict
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync
from verl.utils.metric import reduce_metrics
from verl.utils.py_functional import rename_dict
from verl.workers.utils.padding import response_to_nested

from uis1_train.core.rows import Floats
from uis1_train.validation.best import KeepBest
from uis1_train.validation.hooks import Validation, validate_addresses, validate_checkpoint
from uis1_train.verl_ext.replay_buffer import POLL_SECONDS, FilteringReplayBuffer, facts_of
from uis1_train.verl_ext.settings import read_settings, validation_settings
from uis1_train.verl_ext.signal import Rows, advantages, scalars
from uis1_train.verl_ext.splitting import split

log = logging.getLogger("uis1_train.trainer")

SPEAK_OPENAI = ("vllm", "sglang")
"""Rollout backends whose servers answer chat completions."""


class SemiOnlineTrainer(PPOTrainerSync):
    """What differs from verl's: `_build_replay_buffer`, `_compute_advantage`, the number of mini-batches, and `_validate`."""

    def __init__(self, config: Any) -> None:
        self.settings = read_settings(config)
        self.validation = validation_settings(config, self.settings)
        self.best = KeepBest(self.validation.out.parent, self.validation.keep_best)
        self._mini_batches = 1
        super().__init__(config)

    def _build_replay_buffer(self) -> FilteringReplayBuffer:
        sampler, batch = self.config.trainer.v1.sampler, self.config.data.train_batch_size
        return FilteringReplayBuffer(
            trainer_mode=self.trainer_mode,
            trainer_config=self.config.trainer.v1.get(self.trainer_mode, {}),
            max_off_policy_threshold=sampler.max_off_policy_threshold,
            max_off_policy_strategy=sampler.max_off_policy_strategy,
            sampler_kwargs=sampler.sampler_kwargs,
            poll_interval=POLL_SECONDS,
            refill_fn=self._add_prompts_to_generate,
            # the buffer's own refill logic runs for this name only; what it means is ours
            filter_groups_metric="step_return",
            train_batch_size=batch,
            gen_batch_size=1,
            max_inflight_gen_batches=self.config.algorithm.filter_groups.max_inflight_gen_batches,
            sync_refill_failed_groups=True,
            eta=self.settings.eta,
            most=math.ceil(self.settings.max_generated * batch),
        )

    # ------------------------------------------------------------------ the learning signal

    def _compute_advantage(self, batch: Any, metrics: dict[str, Any]) -> Any:
        """Write `advantages`, `returns` and `rm_scores` of every row. The last replaces verl's, which gave each step of a rollout the last step's reward."""
        where = {"keys": batch.keys, "partition_id": batch.partition_id}
        data = tq.kv_batch_get(**where, select_fields=["response_mask", "extra_fields"])
        rows = Rows.of(facts_of(data), [bool(tag.get("is_padding", False)) for tag in batch.tags])
        mask = data["response_mask"]
        advantage = advantages(rows, self.settings)
        metrics.update(scalars(rows, advantage))
        fields = {
            "advantages": over_tokens(advantage, mask),
            "returns": over_tokens(rows.numbers("step_return"), mask),
            "rm_scores": at_the_end(rows.numbers("reward"), mask),
        }
        return tq.kv_batch_put(**where, fields=TensorDict(fields, batch_size=len(batch)))

    # ------------------------------------------------------------------ mini-batches

    def _balance_batch(self, batch: Any, metrics: dict[str, Any], **kwargs: Any) -> Any:
        self._rows = len(batch)
        return super()._balance_batch(batch, metrics, **kwargs)

    def _get_required_batch_multiple(self, dp_size: int) -> int:
        """Rows are padded to a multiple of this. verl pads to whole mini-batches of goals times rollouts, and so could make one that is nearly all padding."""
        actor, parts = self.config.actor_rollout_ref.actor, self.config.actor_rollout_ref
        learning = asking = 1
        if not actor.use_dynamic_bsz:
            learning = actor.ppo_micro_batch_size_per_gpu
            asking = math.lcm(
                parts.rollout.log_prob_micro_batch_size_per_gpu,
                parts.ref.log_prob_micro_batch_size_per_gpu if self.use_reference_policy else 1,
            )
        self._mini_batches, multiple = split(self._rows, dp_size, self.settings.mini_batches, learning, asking)
        return multiple

    def _update_actor(self, batch: Any, metrics: dict[str, Any]) -> Any:
        """As verl's, for a number of mini-batches in the place of their size."""
        actor, rollout = self.config.actor_rollout_ref.actor, self.config.actor_rollout_ref.rollout
        size = len(batch) // self._mini_batches
        batch.extra_info.update(
            calculate_entropy=bool(actor.calculate_entropy or actor.entropy_coeff != 0.0),
            distillation_use_topk=False,
            distillation_only=False,
            global_batch_size=size,
            mini_batch_size=size,
            epochs=actor.ppo_epochs,
            seed=actor.data_loader_seed + self.global_steps,
            dataloader_kwargs={"shuffle": actor.shuffle},
            temperature=rollout.temperature,
        )
        output = rename_dict(self.actor_rollout_wg.update_actor(batch)["metrics"], "actor/")
        output["perf/mfu/actor"] = output.pop("actor/mfu")
        metrics.update(reduce_metrics(output))
        metrics["uis1/mini_batches"] = float(self._mini_batches)
        return batch

    # ------------------------------------------------------------------ validation

    def _validate(self) -> dict[str, float]:
        """sopbench's runs on the current weights, as `val/*`. Whatever fails there is reported and never ends training."""
        step = self.global_steps
        try:
            done = self._evaluated(step)
        except Exception:  # the boundary: an actor that died or a full disk must not cost the training its state
            log.exception("validation at step %d failed", step)
            return {"val/failed": 1.0}
        checkpoint = Path(self.config.trainer.default_local_dir) / f"global_step_{step}"
        if checkpoint.is_dir():
            done.scalars["val/kept_as_best"] = float(self.best.offer(step, checkpoint, done.scalars))
        return done.scalars

    def _evaluated(self, step: int) -> Validation:
        if self.config.actor_rollout_ref.rollout.name in SPEAK_OPENAI:
            return validate_addresses(self.llm_server_manager.get_addresses(), self.validation, step)
        folder = self.validation.out / "weights"  # of the latest validation only
        shutil.rmtree(folder, ignore_errors=True)
        ray.get(self.llm_server_manager.server_handles[0].export.remote(str(folder.absolute())))
        return validate_checkpoint(folder, self.validation, step)


def over_tokens(values: Floats, mask: torch.Tensor) -> torch.Tensor:
    """`values[row]` on every response token that counts, as the jagged tensor that verl stores; `mask` is its jagged response mask."""
    padded = mask.to_padded_tensor(0).float()
    column = torch.from_numpy(np.asarray(values, dtype=np.float32)).unsqueeze(-1)
    return response_to_nested(padded * column, mask)


def at_the_end(values: Floats, mask: torch.Tensor) -> torch.Tensor:
    """`values[row]` on the last response token, 0 elsewhere."""
    padded = torch.zeros_like(mask.to_padded_tensor(0), dtype=torch.float32)
    last = mask.offsets().diff() - 1
    padded[torch.arange(len(last)), last] = torch.from_numpy(np.asarray(values, dtype=np.float32))
    return response_to_nested(padded, mask)
