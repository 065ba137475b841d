"""One rollout as verl plays it: `session.play_rollout` against verl's rollout servers, and one `AgentLoopOutput` a step.

There is no second protocol here: what is asked, how replies are judged, patched and paid is the session's. This module turns messages into tokens
for verl's servers, and samples into the rows that verl stores.
"""

from __future__ import annotations

import asyncio
import functools
import json
import logging
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from verl.experimental.agent_loop.agent_loop import AgentLoopBase, AgentLoopMetrics, AgentLoopOutput

from sopbench.adapters.base import Adapter, Image, Message, Text
from sopbench.clients.base import Ask, AskFailed
from sopbench.errors import SopbenchError, UsageError
from sopbench.screen import Screen
from uis1_train.policies.base import Generated, RolloutId, TokenPolicy, screens_of
from uis1_train.session import Rollout, RolloutConfig, StepSample, play_offline_step, play_rollout
from uis1_train.verl_ext.dataset import Recordings, specs_of
from uis1_train.verl_ext.settings import MethodSettings, rollout_config

log = logging.getLogger("uis1_train.rollouts")

KEPT_PICTURES = 4
NEVER = -100.0
"""Added to the logits of tokens that stand for pictures: a reply that holds one cannot be trained on (positions and features would not fit)."""


@dataclass(frozen=True)
class Play:
    """What every rollout of a process shares."""

    settings: MethodSettings
    config: RolloutConfig
    recordings: Recordings


@functools.lru_cache(maxsize=4)
def shared(settings: str, files: tuple[str, ...]) -> Play:
    """One a process and configuration; `settings` is the `uis1:` node as JSON."""
    method = MethodSettings.model_validate_json(settings)
    return Play(method, rollout_config(method), Recordings(files, method))


def settings_json(node: Any) -> str:
    """The `uis1:` node of a configuration as JSON (`inf` included)."""
    from omegaconf import OmegaConf

    return json.dumps(OmegaConf.to_container(node, resolve=True))


class ServerPolicy(TokenPolicy):
    """The current weights behind verl's rollout servers, for one rollout: its requests go to one server, which knows their common beginning."""

    def __init__(
        self, agent: AgentLoopBase, sampling: Mapping[str, Any], *, request: str, check_image_size: bool
    ) -> None:
        self._agent = agent
        self._sampling = dict(sampling) | {"logit_bias": dict.fromkeys(picture_tokens(agent), NEVER)}
        self._request = request
        self._check = check_image_size
        self._pictures: OrderedDict[str, Any] = OrderedDict()
        self.seconds = 0.0

    async def generate(self, ask: Ask, *, rollout: RolloutId) -> Generated:
        agent, limits = self._agent, self._agent.rollout_config
        screens = screens_of(ask) if agent.processor is not None else ()
        pictures = await asyncio.to_thread(self._decoded, screens)
        ids = await asyncio.to_thread(self._tokens, ask.messages, pictures)
        if len(ids) > limits.prompt_length:
            raise AskFailed(
                "context_overflow",
                f"a prompt of {len(ids)} tokens, the limit is {limits.prompt_length} (data.max_prompt_length)",
            )
        if self._check:
            check_image_tokens(ask.adapter, screens, ids.count(image_token(agent)))
        started = time.monotonic()
        output = await agent.server_manager.generate(
            request_id=self._request,
            prompt_ids=list(ids),
            sampling_params=dict(self._sampling),
            image_data=list(pictures) or None,
            mm_processor_kwargs=agent._get_mm_processor_kwargs(),
        )
        seconds = time.monotonic() - started
        self.seconds += seconds
        response = tuple(output.token_ids[: limits.response_length])
        if not response:
            raise AskFailed("server", f"a rollout server gave no tokens ({output.stop_reason})")
        return Generated(
            text=agent.tokenizer.decode(list(response), skip_special_tokens=True),
            prompt_ids=ids,
            response_ids=response,
            log_probs=tuple(output.log_probs[: len(response)]) if output.log_probs else None,
            images=screens,
            finish_reason="stop" if response[-1] in end_tokens(agent) else "length",
            extra={"server": dict(output.extra_fields), "pictures": pictures},
            latency=seconds,
        )

    def _decoded(self, screens: Sequence[Screen]) -> list[Any]:
        """The pixels; the last few screens are kept, since the next request shows most of them again."""
        found = []
        for screen in screens:
            key = screen.fingerprint
            picture = self._pictures.pop(key, None)
            self._pictures[key] = screen.decode() if picture is None else picture
            found.append(self._pictures[key])
            while len(self._pictures) > KEPT_PICTURES:
                self._pictures.popitem(last=False)
        return found

    def _tokens(self, messages: Sequence[Message], pictures: Sequence[Any]) -> tuple[int, ...]:
        told = [told_message(message, sees=self._agent.processor is not None) for message in messages]
        return tuple(self._agent.continuous_token_builder.build_initial_tokens(told, images=list(pictures)))


def told_message(message: Message, *, sees: bool) -> dict[str, Any]:
    """A message as chat templates take it; a model that does not see is told the texts alone."""
    if not sees:
        return {"role": message.role, "content": "".join(p.text for p in message.parts if isinstance(p, Text))}
    parts = [{"type": "image"} if isinstance(p, Image) else {"type": "text", "text": p.text} for p in message.parts]
    return {"role": message.role, "content": parts}


def picture_tokens(agent: AgentLoopBase) -> tuple[int, ...]:
    """Tokens that only a processor may write."""
    if agent.processor is None:
        return ()
    names = ("image_token_id", "video_token_id", "vision_start_token_id", "vision_end_token_id")
    config = getattr(agent.processor, "config", None)
    found = {getattr(config, name, None) for name in names} | {image_token(agent)}
    return tuple(sorted(token for token in found if isinstance(token, int)))


def image_token(agent: AgentLoopBase) -> int | None:
    from verl.utils.tokenizer import get_processor_token_id

    return get_processor_token_id(agent.processor, "image")


def end_tokens(agent: AgentLoopBase) -> set[int]:
    tokenizer = agent.tokenizer
    return {token for token in (tokenizer.eos_token_id, tokenizer.pad_token_id) if token is not None}


def check_image_tokens(adapter: Adapter, screens: Sequence[Screen], tokens: int) -> None:
    """Whether the processor resized as the adapter counts coordinates. Raises `UsageError`: every click would be off, and the reward with it."""
    side = adapter.image_token_side
    if side is None or not screens:
        return
    sizes = [adapter.sent_size(screen.original.size) for screen in screens]
    expected = sum((size.width // side) * (size.height // side) for size in sizes)
    if tokens != expected:
        raise UsageError(
            f"the processor makes {tokens} image tokens of screens for which adapter {adapter.name} expects {expected} ({side} px a side): its coordinates would "
            "be misread. Set min_pixels and max_pixels in data.mm_processor_kwargs as the adapter has them "
            f"{adapter.pixel_limits}, or uis1.check_image_size=false for a model whose coordinates do not matter"
        )


class SemiOnlineAgentLoop(AgentLoopBase):
    """verl makes one a rollout and calls `run`."""

    async def run(self, sampling_params: dict[str, Any], **row: Any) -> list[AgentLoopOutput]:
        play = shared(settings_json(self.config.uis1), specs_of(self.config.data.train_files))
        goal, rollout = str(row["uid"]), int(row["session_id"])
        recording = row["recording"]
        policy = ServerPolicy(
            self, sampling_params, request=f"{goal}-{rollout}", check_image_size=play.settings.check_image_size
        )
        try:
            trajectory = play.recordings.find(recording["file"], recording["position"], recording["trajectory"])
            if play.settings.mode == "offline":
                played = await play_offline_step(
                    trajectory, recording["step"], policy, play.config, goal=goal, rollout=rollout
                )
            else:
                played = await play_rollout(trajectory, policy, play.config, goal=goal, rollout=rollout)
        except SopbenchError as error:  # verl tells the trainer only that the group failed: the cause stands here
            log.error("rollout %d of %s failed: %s", rollout, recording["trajectory"], error)
            raise
        return [self._output(sample, played) for sample in played.samples]

    def _output(self, sample: StepSample, played: Rollout) -> AgentLoopOutput:
        generated = sample.generated
        assert generated.prompt_ids is not None
        assert generated.response_ids is not None
        pictures = generated.extra["pictures"]
        return AgentLoopOutput(
            prompt_ids=list(generated.prompt_ids),
            response_ids=list(generated.response_ids),
            response_mask=[1] * len(generated.response_ids),
            response_logprobs=list(generated.log_probs) if generated.log_probs is not None else None,
            multi_modal_data={"images": pictures} if pictures else {},
            mm_processor_kwargs=self._get_mm_processor_kwargs(),
            reward_score=sample.reward.total,
            num_turns=sample.step + 1,
            metrics=AgentLoopMetrics(generate_sequences=generated.latency),
            extra_fields=dict(generated.extra["server"]) | row_facts(sample, played),
        )


def row_facts(sample: StepSample, played: Rollout) -> dict[str, Any]:
    """What a row tells the trainer beside its tokens: plain numbers and texts."""
    return {
        "goal": sample.goal,
        "rollout": sample.rollout,
        "step": sample.step,
        "trajectory": played.trajectory,
        "match": bool(sample.match),
        "reward": sample.reward.total,
        "format": sample.reward.format,
        "type": sample.reward.type,
        "accuracy": sample.reward.accuracy,
        "step_return": sample.step_return,
        "patched": bool(sample.patched),
        "patched_before": len(sample.patched_before),
        "truncated": sample.generated.finish_reason == "length",
        "patches": played.patches,
        "fell_back": sum(played.fell_back.values()),
        "steps": len(played.samples),
        "progress": played.progress / played.of,
        "success": bool(played.success),
        # verl copies the last step's over all others (see patches_to_verl.py), so nothing that differs between steps may stand in it
        "reward_extra_info": {},
    }
