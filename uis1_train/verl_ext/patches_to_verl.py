"""The one place where stock verl 0.9.1 is changed rather than subclassed. Each change says why; tests/train/test_verl_patches.py fails when one is no longer needed.

What could be done by subclassing or configuration is not here: the reward of each step (verl gives every output of a rollout the last one's
reward_score; the trainer rebuilds rm_scores from `extra_fields`), tokens that stand for pictures (a logit bias in the agent loop's requests), and
failed groups (`sync_refill_failed_groups` and the replay buffer).
"""

from __future__ import annotations

from typing import Any

AGENT_LOOP = "uis1"


def apply_patches() -> None:
    """Every change, once a process; a second call changes nothing."""
    image_free_micro_batches()


def name_agent_loop() -> None:
    """Enter our agent loop in verl's registry, as a file named by `agent_loop_config_path` would: an installed package has no path to configure."""
    from verl.experimental.agent_loop.agent_loop import _agent_loop_registry

    _agent_loop_registry[AGENT_LOOP] = {"_target_": "uis1_train.verl_ext.agent_loop.SemiOnlineAgentLoop"}


def image_free_micro_batches() -> None:
    """A micro-batch without a picture must not crash a model that sees.

    verl's Qwen2-VL forward sends a blank picture through the vision tower there, so that every rank runs it, and takes `.mean()` of what comes back. Since
    transformers 5 that is no tensor but an output object (verl unpacks it in the branch with pictures, not in this one). verl's own padding rows have
    no pictures, so that with `ppo_micro_batch_size_per_gpu=1` every padded batch meets it.
    """
    from verl.models.transformers import qwen2_vl

    stock = qwen2_vl._get_input_embeds
    if getattr(stock, "of_uis1_train", False):
        return

    def embeds(
        model: Any,
        input_ids: Any,
        attention_mask: Any = None,
        pixel_values: Any = None,
        pixel_values_videos: Any = None,
        image_grid_thw: Any = None,
        video_grid_thw: Any = None,
    ) -> tuple[Any, Any]:
        if pixel_values is not None or pixel_values_videos is not None:
            return stock(
                model, input_ids, attention_mask, pixel_values, pixel_values_videos, image_grid_thw, video_grid_thw
            )
        found = model.get_input_embeddings()(input_ids)
        found = found + 0.0 * blank_picture(model, found).mean()
        return found, None if attention_mask is None else attention_mask.to(found.device)

    embeds.of_uis1_train = True  # type: ignore[attr-defined]
    qwen2_vl._get_input_embeds = embeds


def blank_picture(model: Any, like: Any) -> Any:
    """The features of the smallest picture that every Qwen2-VL takes (4x4 patches), in the type of `like`."""
    import torch
    from verl.models.transformers.qwen2_vl import unpack_visual_output

    vision = model.config.vision_config
    values = vision.in_channels * vision.temporal_patch_size * vision.patch_size**2
    patches = torch.zeros((16, values), dtype=model.visual.dtype, device=like.device)
    grid = torch.tensor([[1, 4, 4]], dtype=torch.long, device=like.device)
    features, _ = unpack_visual_output(model.visual(patches, grid_thw=grid))
    return features.to(like.dtype)
