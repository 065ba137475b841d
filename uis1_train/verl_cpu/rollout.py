"""The rollout backend `hf_cpu`: one Ray actor a replica that answers with transformers' `generate`. For smoke tests: one request at a time, in fp32."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import ray
import torch
from verl.workers.rollout.base import BaseRollout
from verl.workers.rollout.replica import RolloutReplica, TokenOutput


def server_name(replica: int) -> str:
    return f"uis1_hf_cpu_{replica}"


@ray.remote(num_cpus=0)
class TransformersServer:
    """What verl expects of a rollout server, as far as a process on a CPU has it: there is no cache to free and no memory to hand over."""

    def __init__(self, folder: str, response_length: int) -> None:
        from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText
        from verl.utils import hf_processor, hf_tokenizer

        torch.set_num_threads(1)
        sees = hasattr(AutoConfig.from_pretrained(folder), "vision_config")
        model_class = AutoModelForImageTextToText if sees else AutoModelForCausalLM
        self.model = model_class.from_pretrained(folder, dtype=torch.float32, attn_implementation="sdpa").eval()
        self.processor = hf_processor(folder) if sees else None
        self.tokenizer = hf_tokenizer(folder)
        self.response_length = response_length
        self.version: int | None = None
        self._lock = asyncio.Lock()

    async def generate(
        self,
        request_id: str,
        prompt_ids: Sequence[int],
        sampling_params: Mapping[str, Any],
        image_data: Sequence[Any] | None = None,
        video_data: Sequence[Any] | None = None,
        mm_processor_kwargs: Mapping[str, Any] | None = None,
    ) -> TokenOutput:
        async with self._lock:
            ids, log_probs = await asyncio.to_thread(
                self._generated, list(prompt_ids), dict(sampling_params), image_data or (), mm_processor_kwargs or {}
            )
            version = self.version
        return TokenOutput(
            token_ids=ids,
            log_probs=log_probs,
            stop_reason="completed",
            num_preempted=0,
            extra_fields={"global_steps": version},
        )

    def _generated(
        self, prompt: list[int], sampling: dict[str, Any], images: Sequence[Any], processing: Mapping[str, Any]
    ) -> tuple[list[int], list[float] | None]:
        ids = torch.tensor([prompt])
        options: dict[str, Any] = {"max_new_tokens": int(sampling.get("max_tokens") or self.response_length)}
        if images and self.processor is not None:
            features = self.processor.image_processor(images=list(images), return_tensors="pt", **processing)
            options |= {
                "pixel_values": features["pixel_values"],
                "image_grid_thw": features["image_grid_thw"],
                "mm_token_type_ids": (ids == self.model.config.image_token_id).long(),
            }
        temperature = float(sampling.get("temperature", 1.0))
        if temperature > 0:
            top_p = float(sampling.get("top_p", 1.0))
            options |= {"do_sample": True, "temperature": temperature, "top_k": 0, "top_p": top_p}
        else:
            options |= {"do_sample": False, "temperature": None, "top_k": None, "top_p": None}
        if bias := sampling.get("logit_bias"):
            options["sequence_bias"] = [[[int(token)], float(value)] for token, value in bias.items()]
        with torch.no_grad():
            out = self.model.generate(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                return_dict_in_generate=True,
                output_logits=True,
                **options,
            )
        found: list[int] = out.sequences[0, ids.shape[1] :].tolist()
        if not sampling.get("logprobs"):
            return found, None
        scale = temperature if temperature > 0 else 1.0
        rows = (torch.log_softmax(logits[0].float() / scale, -1) for logits in out.logits)
        return found, [row[token].item() for row, token in zip(rows, found, strict=True)]

    async def load_weights(self, state: Mapping[str, torch.Tensor], version: int | None) -> int:
        """Take the actor's weights over; `state` has the names of the actor's modules. Says how many; raises where one has no place here."""
        async with self._lock:
            await asyncio.to_thread(self._load, state)
            self.version = version
        return len(state)

    def _load(self, state: Mapping[str, torch.Tensor]) -> None:
        from verl.utils.model import convert_weight_keys

        own = self.model.state_dict()
        names = convert_weight_keys({name: name for name in own}, self.model)
        if unknown := [name for name in state if name not in names]:
            raise ValueError(f"weights that this model has not: {', '.join(sorted(unknown)[:5])}")
        with torch.no_grad():
            for name, value in state.items():
                own[names[name]].copy_(value)

    async def export(self, folder: str) -> str:
        """Save the current weights as a transformers folder, so that sopbench can evaluate them."""
        async with self._lock:
            await asyncio.to_thread(self._export, Path(folder))
        return folder

    def _export(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)
        if self.processor is not None:
            self.processor.save_pretrained(folder)

    async def wake_up(self, *_: Any, **__: Any) -> None:
        return

    sleep = abort_all_requests = resume_generation = wake_up
    clear_kv_cache = release_kv_cache = resume_kv_cache = wake_up
    start_profile = stop_profile = wake_up


class TransformersReplica(RolloutReplica):
    async def launch_servers(self) -> None:
        from verl.utils.fs import copy_to_local

        server = TransformersServer.options(  # type: ignore[attr-defined]  # Ray adds it
            name=server_name(self.replica_rank), max_concurrency=64
        ).remote(copy_to_local(self.model_config.path), self.config.response_length)
        await server.wake_up.remote()
        self.servers = [server]
        self._server_handle = server
        self._server_address = f"ray://{server_name(self.replica_rank)}"


class TransformersRollout(BaseRollout):
    """The part in the actor's process: it hands the weights to the replica's server."""

    def __init__(self, config: Any, model_config: Any, device_mesh: Any, *_: Any, **__: Any) -> None:
        super().__init__(config, model_config, device_mesh)
        ranks = self.config.tensor_model_parallel_size * self.config.data_parallel_size
        rank = int(os.environ["RANK"])
        self.replica, self.leads = rank // ranks, rank % ranks == 0

    async def resume(self, tags: Any) -> None:
        return

    async def release(self) -> None:
        return

    async def update_weights(
        self, weights: Iterable[tuple[str, torch.Tensor]], global_steps: int | None = None, **_: Any
    ) -> None:
        state = {
            name: value.detach().to("cpu") for name, value in weights
        }  # every rank iterates: gathering is collective
        if self.leads:
            await ray.get_actor(server_name(self.replica)).load_weights.remote(state, global_steps)
