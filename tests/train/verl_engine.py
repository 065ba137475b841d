"""verl's training worker in one process, without Ray: what a batch with padding rows does to the actor. Prints one JSON object.

python -m tests.train.verl_engine MODEL, in the environment of `uis1_train.verl_cpu.environment` (verl reads it when it is imported)
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any


def worker_of(folder: str) -> tuple[Any, Any]:
    """(verl's TrainingWorker for the actor of tiny_cpu, its model configuration)."""
    import verl  # noqa: F401  # imports the plugin
    from verl.utils.config import omega_conf_to_dataclass
    from verl.workers.config import TrainingWorkerConfig
    from verl.workers.engine_workers import TrainingWorker
    from verl.workers.utils.losses import ppo_loss

    from uis1_train.verl_ext.compose import compose_config

    config = compose_config(
        "tiny_cpu",
        [
            f"actor_rollout_ref.model.path={folder}",
            "actor_rollout_ref.actor.use_kl_loss=false",
            "actor_rollout_ref.actor.optim.total_training_steps=10",
        ],
    ).actor_rollout_ref
    model, actor = omega_conf_to_dataclass(config.model), omega_conf_to_dataclass(config.actor)
    actor.model_config = model
    made = TrainingWorkerConfig(
        model_type="language_model",
        model_config=model,
        engine_config=actor.engine,
        optimizer_config=actor.optim,
        checkpoint_config=actor.checkpoint,
    )
    made.engine_config.use_dynamic_bsz = False
    made.engine_config.micro_batch_size_per_gpu = made.engine_config.infer_micro_batch_size_per_gpu = 1
    worker = TrainingWorker(config=made)
    worker.reset()
    worker.set_loss_fn(partial(ppo_loss, config=actor))
    return worker, model


def rows_of(model: Any, count: int) -> list[dict[str, Any]]:
    """Rows with one picture each, featurised by verl's own agent loop worker."""
    import torch
    from PIL import Image
    from verl.experimental.agent_loop.agent_loop import AgentLoopWorker

    loop = AgentLoopWorker.__new__(AgentLoopWorker)
    loop.processor, loop.tokenizer, loop.mm_processor_kwargs = model.processor, model.tokenizer, {}
    rows = []
    for number in range(count):
        picture = Image.new("RGB", (112, 224), (60 * number, 90, 128))
        text = f"<|im_start|>user\n<|vision_start|><|image_pad|><|vision_end|> do {number}<|im_end|>\n<|im_start|>assistant\n"
        prompt = model.processor(text=[text], images=[picture], return_tensors="pt")["input_ids"][0]
        response = torch.arange(300, 304 + number)
        ids = torch.cat([prompt, response])
        output = type("Output", (), {"multi_modal_data": {"images": [picture]}, "mm_processor_kwargs": None})()
        features = loop._compute_multi_modal_inputs(output, ids)
        positions = loop._compute_position_ids(ids[None], torch.ones_like(ids)[None], features).squeeze(0)
        rows.append(
            {
                "prompts": prompt,
                "responses": response,
                "input_ids": ids,
                "position_ids": positions,
                "response_mask": torch.ones_like(response),
                "loss_mask": torch.ones_like(response),
                "multi_modal_inputs": features,
                "advantages": torch.full(response.shape, 1.0 - number),
            }
        )
    return rows


def with_padding(rows: list[dict[str, Any]], padding: int, eos: int) -> list[dict[str, Any]]:
    """`rows` and verl's own synthetic ones behind them."""
    import torch
    from verl.trainer.ppo.padding_utils import construct_minimal_padding_template

    template, _ = construct_minimal_padding_template(rows[0], {}, eos)
    template = {name: template[name] for name in rows[0]} | {"advantages": torch.zeros(1)}
    return [*rows, *[dict(template) for _ in range(padding)]]


def learned(folder: str, padding: int) -> dict[str, float]:
    """One optimiser step of a fresh worker on three rows and `padding` more."""
    from verl.utils import tensordict_utils as tu
    from verl.utils.tensordict_utils import list_of_dict_to_tensordict
    from verl.workers.utils.padding import response_from_nested

    worker, model = worker_of(folder)
    batch = list_of_dict_to_tensordict(with_padding(rows_of(model, 3), padding, model.tokenizer.eos_token_id))

    def call(function: Any, **settings: Any) -> Any:
        copy = batch.clone()
        tu.assign_non_tensor(copy, temperature=1.0, **settings)
        return function(copy)

    scored = call(worker.infer_batch, calculate_entropy=True, compute_loss=False)
    batch["old_log_probs"] = response_from_nested(scored["log_probs"], batch["response_mask"])
    done = call(
        worker.train_mini_batch,
        calculate_entropy=False,
        global_batch_size=len(batch),
        mini_batch_size=len(batch),
        epochs=1,
        seed=0,
        dataloader_kwargs={"shuffle": True},
    )
    norm = tu.get(done, "metrics")["grad_norm"]
    probs = batch["old_log_probs"].unbind()[:3]
    return {
        "grad_norm": float(norm[0] if isinstance(norm, list) else norm),
        "log_prob": float(sum(p.sum() for p in probs)),
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as meet:
        ranks = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}
        os.environ.update(ranks | {"DIST_INIT_METHOD": f"file://{Path(meet) / 'ranks'}"})
        print(json.dumps({padding: learned(sys.argv[1], padding) for padding in (0, 2)}))


if __name__ == "__main__":
    main()
