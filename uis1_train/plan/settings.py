"""The paper's settings, one by one: what the run has, what the paper says, what the authors' script does, and the override that changes it.

Paper: arXiv 2509.11543, section 4 and its table of hyper-parameters. Script: UI-S1/scripts/train_example.sh and the configuration that it names,
of X-PLUG/MobileAgent 11cea575.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Known:
    """`paper` and `released` are None where that source does not tell."""

    group: str
    label: str
    key: str
    paper: Any
    released: Any
    values: str = ""


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of the table. `verdict`: `paper`, `released`, `both`, `own`, or `untold` where neither source says anything."""

    known: Known
    value: Any
    verdict: str


ACTOR, ROLLOUT, MODEL = "actor_rollout_ref.actor", "actor_rollout_ref.rollout", "actor_rollout_ref.model"

TABLE = (
    Known("method", "patch threshold (epsilon)", "uis1.epsilon", 1, 2, "0, 1, 2, ... or inf"),
    Known(
        "method",
        "patch",
        "uis1.patch",
        "thought_free",
        "thought_recorded",
        "thought_free, thought_recorded, off_policy, on_policy",
    ),
    Known("method", "reward", "uis1.reward", "paper", "released", "paper, released"),
    Known("method", "discount (gamma)", "uis1.gamma", 0.5, 0.5, "0 to 1"),
    Known("method", "where a return ends", "uis1.segment", "paper", "released", "paper, released, whole"),
    Known("method", "episode weight (w_e)", "uis1.episode_weight", 1.0, 1.0),
    Known("method", "step weight (w_s)", "uis1.step_weight", 1.0, 1.0),
    Known("method", "normalisation", "uis1.normalise", None, "mean_std_norm", "mean_std_norm, mean_norm"),
    Known("method", "episode advantage over", "uis1.episode_over", "rollouts", "rows", "rollouts, rows"),
    Known("method", "group filter (eta)", "uis1.eta", 0.3, 0.3, "a number, or null"),
    Known("method", "screens in a prompt", "uis1.images", 2, 2),
    Known("method", "mode", "uis1.mode", "semi_online", "semi_online", "semi_online, offline"),
    Known("batches", "goals in a batch", "data.train_batch_size", 32, 8),
    Known("batches", "rollouts a goal", f"{ROLLOUT}.n", 8, 8),
    Known("batches", "mini-batches a batch", "uis1.mini_batches", None, 4),
    Known("batches", "samples a GPU at once", f"{ACTOR}.ppo_micro_batch_size_per_gpu", None, 1),
    Known("batches", "epochs", "trainer.total_epochs", 5, 3),
    Known("tokens", "prompt", "data.max_prompt_length", 12288, 12288),
    Known("tokens", "response", "data.max_response_length", 512, 512),
    Known("tokens", "context of the servers", f"{ROLLOUT}.max_model_len", 32678, 32678),
    Known("tokens", "temperature", f"{ROLLOUT}.temperature", None, 1.0),
    Known("learning", "learning rate", f"{ACTOR}.optim.lr", 1e-6, 1e-6),
    Known("learning", "KL loss", f"{ACTOR}.use_kl_loss", True, True),
    Known("learning", "KL coefficient", f"{ACTOR}.kl_loss_coef", 1e-4, 1e-4),
    Known("learning", "KL estimator", f"{ACTOR}.kl_loss_type", None, "low_var_kl"),
    Known("learning", "clip, low", f"{ACTOR}.clip_ratio_low", 0.2, 0.2),
    Known("learning", "clip, high", f"{ACTOR}.clip_ratio_high", 0.28, 0.2),
    Known("learning", "dual clip (c)", f"{ACTOR}.clip_ratio_c", 10.0, 3.0),
    Known("learning", "entropy bonus", f"{ACTOR}.entropy_coeff", None, 0.0),
    Known("machine", "gradient checkpointing", f"{MODEL}.enable_gradient_checkpointing", True, True),
    Known("machine", "offload parameters", f"{ACTOR}.fsdp_config.param_offload", True, True),
    Known("machine", "offload optimizer", f"{ACTOR}.fsdp_config.optimizer_offload", True, True),
    Known("machine", "share of a GPU for rollouts", f"{ROLLOUT}.gpu_memory_utilization", 0.6, 0.6),
    Known("machine", "rollouts leave the GPU", f"{ROLLOUT}.free_cache_engine", None, False),
    Known("machine", "tensor parallel", f"{ROLLOUT}.tensor_model_parallel_size", None, 1),
    Known("machine", "GPUs a node", "trainer.n_gpus_per_node", None, 8),
    Known("machine", "nodes", "trainer.nnodes", None, None),
    Known("schedule", "save every", "trainer.save_freq", None, 5),
    Known("schedule", "validate every", "trainer.test_freq", None, 10),
)


def settings_table(flat: Mapping[str, Any]) -> list[Setting]:
    """The table with the values of a configuration (flattened)."""
    return [Setting(known, flat.get(known.key), _verdict(flat.get(known.key), known)) for known in TABLE]


def _verdict(value: Any, known: Known) -> str:
    if known.paper is None and known.released is None:
        return "untold"
    as_paper, as_released = _same(value, known.paper), _same(value, known.released)
    if as_paper and as_released:
        return "both"
    return "paper" if as_paper else "released" if as_released else "own"


def _same(value: Any, other: Any) -> bool:
    if other is None or value is None:
        return False
    if isinstance(value, bool) or isinstance(other, bool | str):
        return bool(value == other)
    try:
        return float(value) == float(other)
    except (TypeError, ValueError):
        return False
