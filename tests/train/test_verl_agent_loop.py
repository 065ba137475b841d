"""The agent loop against a scripted rollout server: verl's tokenisation and the session's rules, rows as they are stored."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from sopbench.actions import from_released
from sopbench.adapters import get_adapter
from sopbench.clients.base import AskFailed
from sopbench.errors import UsageError
from tests.train.verl_world import ACTIONS, SIZE, make_recordings
from uis1_train.verl_ext.compose import compose_config

RIGHT, WRONG = "right", "wrong"
FEWER_PIXELS = ("+data.mm_processor_kwargs.min_pixels=3136", "+data.mm_processor_kwargs.max_pixels=6272")


class Server:
    """Says the expert's action or another one, as its script tells; remembers what it was asked."""

    def __init__(self, tokenizer: Any, script: Sequence[str], goal: int) -> None:
        self.asked: list[dict[str, Any]] = []
        adapter = get_adapter("tiny")
        self.replies = []
        for step, word in enumerate(script):
            action = ACTIONS[(goal // 2 + step + (word == WRONG)) % len(ACTIONS)]
            text = adapter.format(from_released(action, SIZE), SIZE)
            self.replies.append([*tokenizer(text)["input_ids"], tokenizer.eos_token_id])

    async def generate(self, **asked: Any) -> Any:
        self.asked.append(asked)
        ids = self.replies[len(self.asked) - 1]
        return SimpleNamespace(
            token_ids=ids,
            log_probs=[-0.5] * len(ids),
            stop_reason="completed",
            extra_fields={"global_steps": 3, "min_global_steps": 3, "max_global_steps": 3},
        )


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_recordings(tmp_path_factory.mktemp("recordings"), steps=3)


@pytest.fixture
def world(tiny_vl: Path, recordings: Path) -> Any:
    from verl.utils import hf_processor, hf_tokenizer

    def make(script: Sequence[str], *overrides: str, goal: int = 0) -> tuple[Any, Server]:
        from verl.experimental.agent_loop.agent_loop import DictConfigWrap

        from uis1_train.verl_ext.agent_loop import SemiOnlineAgentLoop
        from uis1_train.verl_ext.dataset import RecordingsDataset

        config = compose_config(
            "tiny_cpu", [f"data.train_files={recordings}", "uis1.adapter=tiny", "uis1.images=2", *overrides]
        )
        tokenizer = hf_tokenizer(str(tiny_vl))
        server = Server(tokenizer, script, goal)
        loop = SemiOnlineAgentLoop(
            trainer_config=DictConfigWrap(config),
            server_manager=server,
            tokenizer=tokenizer,
            processor=hf_processor(str(tiny_vl)),
            dataset_cls=RecordingsDataset,
            data_config=DictConfigWrap(config.data),
            hf_model_type="qwen2_5_vl",
        )
        return loop, server

    return make


def play(loop: Any, goal: int = 0, step: int = -1) -> list[Any]:
    recording = {"file": 0, "position": goal, "trajectory": f"goal-{goal}", "step": step}
    found: list[Any] = asyncio.run(
        loop.run({"temperature": 1.0, "logprobs": True}, uid="u", session_id=2, recording=recording)
    )
    return found


@pytest.fixture(autouse=True)
def _event_loop() -> Any:
    """verl's base class asks for the current loop when it is made, outside of `run`."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    yield
    loop.close()


def test_each_step_is_a_row_of_tokens_as_they_were_generated(world: Any) -> None:
    loop, server = world([RIGHT, RIGHT, RIGHT])
    rows = play(loop)
    assert [row.response_ids for row in rows] == server.replies
    assert [row.prompt_ids for row in rows] == [asked["prompt_ids"] for asked in server.asked]
    assert [row.response_mask for row in rows] == [[1] * len(ids) for ids in server.replies]
    assert rows[0].response_logprobs == [-0.5] * len(server.replies[0])
    assert [row.extra_fields["step"] for row in rows] == [0, 1, 2]
    assert {(row.extra_fields["goal"], row.extra_fields["rollout"]) for row in rows} == {("u", 2)}
    assert rows[0].extra_fields["max_global_steps"] == 3


def test_rewards_and_returns_are_those_of_the_paper(world: Any) -> None:
    loop, _ = world([RIGHT, WRONG, RIGHT], "uis1.epsilon=1")
    facts = [row.extra_fields for row in play(loop)]
    # a wrong kind of action that can be read earns its format alone
    assert [fact["reward"] for fact in facts] == pytest.approx([1.0, 0.1, 1.0])
    assert [fact["step_return"] for fact in facts] == pytest.approx([1.05, 0.1, 1.0])
    assert [fact["patched"] for fact in facts] == [False, True, False]
    assert [fact["patched_before"] for fact in facts] == [0, 0, 1]
    assert facts[0]["patches"] == 1
    assert facts[0]["progress"] == pytest.approx(1 / 3)
    assert not facts[0]["success"]


def test_without_patches_a_rollout_ends_at_its_first_mismatch(world: Any) -> None:
    loop, server = world([RIGHT, WRONG], "uis1.epsilon=0")
    assert len(play(loop)) == 2
    assert len(server.asked) == 2


def test_the_prompt_carries_as_many_pictures_as_it_says(world: Any) -> None:
    loop, server = world([RIGHT, RIGHT, RIGHT])
    rows = play(loop)
    assert [len(asked["image_data"]) for asked in server.asked] == [1, 2, 2]
    assert [len(row.multi_modal_data["images"]) for row in rows] == [1, 2, 2]
    image = loop.processor.image_processor
    for row in rows:
        features = image(images=row.multi_modal_data["images"], return_tensors="pt")
        tokens = int(features["image_grid_thw"].prod(-1).sum()) // image.merge_size**2
        assert row.prompt_ids.count(loop.processor.config.image_token_id) == tokens


def test_verl_makes_positions_of_every_row(world: Any) -> None:
    """verl's own worker works out features and positions from what the loop hands over."""
    from verl.experimental.agent_loop.agent_loop import AgentLoopWorker

    loop, _ = world([RIGHT, RIGHT, RIGHT])
    worker = AgentLoopWorker.__new__(AgentLoopWorker)
    worker.processor, worker.tokenizer, worker.mm_processor_kwargs = loop.processor, loop.tokenizer, {}
    for row in play(loop):
        ids = torch.tensor(row.prompt_ids + row.response_ids)
        features = worker._compute_multi_modal_inputs(row, ids)
        positions = worker._compute_position_ids(ids[None], torch.ones_like(ids)[None], features)
        assert positions.shape == (1, 4, len(ids))


def test_tokens_that_stand_for_pictures_cannot_be_said(world: Any) -> None:
    """A reply that holds one has no place among positions: stock verl fails on it, see the next test."""
    loop, server = world([WRONG], "uis1.epsilon=0")
    play(loop)
    config = loop.processor.config
    biased = server.asked[0]["sampling_params"]["logit_bias"]
    assert {config.image_token_id, config.video_token_id, config.vision_start_token_id} <= set(biased)
    assert set(biased.values()) == {-100.0}


def test_stock_verl_fails_on_a_reply_that_holds_a_picture_token(world: Any) -> None:
    from verl.experimental.agent_loop.agent_loop import AgentLoopWorker

    loop, _ = world([WRONG], "uis1.epsilon=0")
    (row,) = play(loop)
    worker = AgentLoopWorker.__new__(AgentLoopWorker)
    worker.processor, worker.tokenizer, worker.mm_processor_kwargs = loop.processor, loop.tokenizer, {}
    config = loop.processor.config
    ids = torch.tensor([*row.prompt_ids, config.vision_start_token_id, config.image_token_id, *row.response_ids])
    features = worker._compute_multi_modal_inputs(row, ids)
    with pytest.raises((StopIteration, IndexError, RuntimeError, ValueError)):
        worker._compute_position_ids(ids[None], torch.ones_like(ids)[None], features)


def test_a_prompt_that_is_too_long_is_no_rollout(world: Any, caplog: pytest.LogCaptureFixture) -> None:
    loop, server = world([RIGHT], "data.max_prompt_length=10")
    with pytest.raises(AskFailed, match=r"data\.max_prompt_length"):
        play(loop)
    assert not server.asked
    assert "rollout 2 of goal-0 failed" in caplog.text


def test_a_processor_that_resizes_otherwise_is_refused(world: Any) -> None:
    loop, _ = world([RIGHT], "uis1.adapter=uis1", "uis1.check_image_size=true", *FEWER_PIXELS)
    with pytest.raises(UsageError, match="coordinates would be misread"):
        play(loop)


def test_offline_plays_one_step_with_the_experts_history(world: Any) -> None:
    loop, server = world([RIGHT], "uis1.mode=offline", goal=2)
    (row,) = play(loop, goal=0, step=1)
    assert row.extra_fields["step"] == 1
    assert row.extra_fields["reward"] == 1.0
    assert row.extra_fields["step_return"] == 1.0
    told = loop.tokenizer.decode(server.asked[0]["prompt_ids"])
    assert "wait" in told


def test_verl_finds_the_loop_by_its_name() -> None:
    from verl.experimental.agent_loop import agent_loop

    from uis1_train.verl_ext.patches_to_verl import name_agent_loop

    name_agent_loop()
    assert agent_loop._agent_loop_registry["uis1"]["_target_"].endswith("SemiOnlineAgentLoop")
