"""The CPU's side of verl: the environment, the platform, and the rollout server without Ray around it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
import torch

from uis1_train.verl_cpu.environment import PLUGIN, environment


def test_other_plugins_stay() -> None:
    assert environment({})["VERL_USE_EXTERNAL_MODULES"] == PLUGIN
    assert environment({"VERL_USE_EXTERNAL_MODULES": "mine"})["VERL_USE_EXTERNAL_MODULES"] == f"mine,{PLUGIN}"
    assert environment({"VERL_USE_EXTERNAL_MODULES": PLUGIN})["VERL_USE_EXTERNAL_MODULES"] == PLUGIN


def test_the_backend_is_registered_and_verl_stays_as_it_is_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VERL_PLATFORM", raising=False)
    import verl.utils.fsdp_utils as fsdp_utils
    from verl.workers.rollout import base
    from verl.workers.rollout.replica import RolloutReplicaRegistry, get_rollout_replica_class

    before = fsdp_utils.CPUOffloadPolicy
    from uis1_train.verl_cpu.plugin import register

    register()
    assert base._ROLLOUT_REGISTRY[("hf_cpu", "async")].endswith("TransformersRollout")
    assert get_rollout_replica_class("hf_cpu").__name__ == "TransformersReplica"
    assert RolloutReplicaRegistry is not None
    assert fsdp_utils.CPUOffloadPolicy is before


def test_the_platform_has_all_that_verl_asks_of_one() -> None:
    from uis1_train.verl_cpu.platform import PlatformCPU

    platform = PlatformCPU()  # an abstract method that is missing would be told here
    assert platform.device_name == "cpu"
    assert platform.communication_backend_name() == "gloo"
    assert platform.device_module.memory_allocated() == 0


@pytest.fixture(scope="module")
def server(tiny_vl: Path) -> Any:
    from uis1_train.verl_cpu.rollout import TransformersServer

    return TransformersServer.__ray_metadata__.modified_class(str(tiny_vl), 8)


PROMPT = [11, 12, 13, 14]


def generate(server: Any, **sampling: Any) -> Any:
    torch.manual_seed(0)
    return asyncio.run(server.generate("r", PROMPT, {"temperature": 1.0, "logprobs": True} | sampling))


def test_log_probs_are_those_of_the_tokens_that_were_drawn(server: Any) -> None:
    found = generate(server)
    assert 1 <= len(found.token_ids) <= 8
    ids = torch.tensor([PROMPT + found.token_ids])
    with torch.no_grad():
        logits = server.model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits[0, len(PROMPT) - 1 : -1]
    expected = torch.log_softmax(logits.float(), -1).gather(1, ids[0, len(PROMPT) :, None])[:, 0]
    assert found.log_probs == pytest.approx(expected.tolist(), abs=1e-4)


def test_biased_tokens_are_never_drawn(server: Any) -> None:
    free = generate(server)
    first = free.token_ids[0]
    biased = generate(server, logit_bias={first: -100.0})
    assert first not in biased.token_ids


def test_greedy_is_greedy(server: Any) -> None:
    assert generate(server, temperature=0).token_ids == generate(server, temperature=0).token_ids
    assert generate(server, temperature=0, logprobs=False).log_probs is None


def test_weights_are_taken_over_saved_and_told_by_version(server: Any, tmp_path: Path) -> None:
    from transformers import Qwen2_5_VLForConditionalGeneration

    state = {name: value + 1.0 for name, value in server.model.state_dict().items()}
    assert asyncio.run(server.load_weights(state, 7)) == len(state)
    assert generate(server).extra_fields == {"global_steps": 7}
    asyncio.run(server.export(str(tmp_path)))
    saved = Qwen2_5_VLForConditionalGeneration.from_pretrained(tmp_path, dtype=torch.float32).state_dict()
    assert all(torch.equal(saved[name], value) for name, value in state.items())
    assert (tmp_path / "tokenizer_config.json").exists()


def test_weights_without_a_place_are_refused(server: Any) -> None:
    with pytest.raises(ValueError, match=r"has not: nowhere\.weight"):
        asyncio.run(server.load_weights({"nowhere.weight": torch.zeros(1)}, 1))
