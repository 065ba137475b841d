"""Reinforcement learning of the tiny model on embedded screens: the paper's signal from `uis1_train.core`, sopbench's own protocol, and nothing else.

Three methods: `offline` samples single steps with the expert's history; `semi0` and `semi1` play whole recordings semi-online, with no patch or one. No dense loss, no
expert token. A budget counts sampled steps (replies), so that methods are compared at equal experience; the vision tower stays as it is.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from sopbench.adapters import get_adapter
from sopbench.adapters.base import ParsedReply, Turn
from sopbench.protocols.reply import judge_reply
from sopbench.protocols.semi_online import SemiOnlineEpisode
from sopbench.scoring import get_profile
from sopbench.trajectory import Trajectory
from uis1_train.core.advantages import combined, step_advantages
from uis1_train.core.filtering import group_stats
from uis1_train.core.returns import step_returns
from uis1_train.core.rewards import reward
from uis1_train.embedded.losses import entropy, policy_terms
from uis1_train.tiny import fast
from uis1_train.tiny.folder import load_folder, write_folder
from uis1_train.tiny.lessons import Tongue
from uis1_train.tiny.playing import LARGE, Player, Reply, ask_of, sop

METHODS: Final = ("offline", "semi0", "semi1")


@dataclass(frozen=True)
class RlSettings:
    """steps: replies sampled in all. goals: groups a batch (offline: six times as many single steps). mini: different replies a mini-batch.

    The learning signal's settings are the paper's, but for three. `rate` suits a small model with few updates. `eta` only drops groups that agree: with the paper's 0.3
    and gamma 0.5, what rollouts do after the third step could never keep their group. And the KL term (1e-4 there) is left out.
    """

    method: str = "semi1"
    seed: int = 0
    steps: int = 30_000
    goals: int = 16
    rollouts: int = 8
    gamma: float = 0.5
    eta: float = 0.02
    rate: float = 3e-4
    mini: int = 48
    clip_low: float = 0.2
    clip_high: float = 0.28
    dual_clip: float = 10.0
    temperature: float = 1.0
    checks: int = 8
    profile: str = "strict"


@dataclass(slots=True)
class Sample:
    """One sampled reply and what it was worth."""

    reply: Reply
    goal: int
    rollout: int
    step: int
    match: bool
    reward: float
    advantage: float = 0.0
    count: int = 1
    """How many samples this one stands for (see `merged`); `advantage` is their sum."""


@dataclass(slots=True)
class Group:
    """What a batch of groups brought, before filtering."""

    samples: list[Sample]
    success: float
    patches: float


def play_semi_online(
    player: Player, tasks: Sequence[Trajectory], settings: RlSettings, generator: torch.Generator
) -> Group:
    """Each task `rollouts` times, all at once."""
    adapter, profile = get_adapter("tiny"), get_profile(settings.profile)
    patches = int(settings.method.removeprefix("semi"))
    episodes = [
        (SemiOnlineEpisode(task, adapter, profile, patches=patches), goal, rollout)
        for goal, task in enumerate(tasks)
        for rollout in range(settings.rollouts)
    ]
    samples = []
    while asks := [(e, g, r, p) for e, g, r in episodes if (p := e.pending()) is not None]:
        replies = player.answer(
            [ask_of(p.messages) for *_, p in asks], 128, temperature=settings.temperature, generator=generator
        )
        for (episode, goal, rollout, pending), said in zip(asks, replies, strict=True):
            result = episode.advance(said.text)
            verdict = result.verdict
            worth = reward("paper", isinstance(result.parsed, ParsedReply), verdict.type_match, verdict.match)
            samples.append(Sample(said, goal, rollout, pending.step_index, verdict.match, worth.total))
            if episode.patch_due is not None:
                episode.patch(episode.patch_due.thought_free())
    clean = [e.success for e, _, _ in episodes]
    return Group(samples, float(np.mean(clean)), float(np.mean([len(e.patched) for e, _, _ in episodes])))


def play_offline(
    player: Player, tasks: Sequence[tuple[Trajectory, int]], settings: RlSettings, generator: torch.Generator
) -> Group:
    """Single steps with the expert's history, `rollouts` replies each."""
    adapter, profile = get_adapter("tiny"), get_profile(settings.profile)
    asks = []
    for task, index in tasks:
        past = [Turn(s.screen, adapter.format(s.action(LARGE), LARGE, s.thought)) for s in task.steps[:index]]
        asks.append(ask_of(adapter.render(task.goal, [*past, Turn(task.steps[index].screen)], 1)))
    repeated = [ask for ask in asks for _ in range(settings.rollouts)]
    replies = player.answer(repeated, 128, temperature=settings.temperature, generator=generator)
    samples = []
    for number, said in enumerate(replies):
        goal, rollout = divmod(number, settings.rollouts)
        task, index = tasks[goal]
        parsed, verdict = judge_reply(adapter, profile, said.text, task.steps[index], LARGE)
        worth = reward("paper", isinstance(parsed, ParsedReply), verdict.type_match, verdict.match)
        samples.append(Sample(said, goal, rollout, 0, verdict.match, worth.total))
    return Group(samples, float(np.mean([s.match for s in samples])), 0.0)


def weigh(samples: list[Sample], settings: RlSettings) -> tuple[list[Sample], int]:
    """The samples of the groups that are worth learning from, with their advantages, and how many groups those are."""
    goals = np.array([s.goal for s in samples])
    rollouts = np.array([f"{s.goal}/{s.rollout}" for s in samples])
    steps = np.array([s.step for s in samples])
    rewards = np.array([s.reward for s in samples])
    matches = np.array([s.match for s in samples])
    offline = settings.method == "offline"
    returns = rewards if offline else step_returns(rewards, matches, rollouts, steps, gamma=settings.gamma, cut="paper")
    first = steps == 0
    stats = group_stats(returns[first], goals[first], eta=settings.eta)
    kept = {group.goal for group in stats if group.kept}
    if offline:
        advantages = step_advantages(returns, goals, steps, norm="mean_std_norm")
    else:
        advantages = combined(returns, rewards, goals, rollouts, steps, norm="mean_std_norm")
    for sample, advantage in zip(samples, advantages, strict=True):
        sample.advantage = float(advantage)
    return [s for s in samples if s.goal in kept], len(kept)


def merged(samples: Sequence[Sample]) -> list[Sample]:
    """The same reply to the same prompt, given several times, as one sample with the sum of the advantages: the same gradient for less work. Positive and
    negative advantages are kept apart, since they are clipped on different sides. Samples without an advantage go."""
    found: dict[tuple[Any, ...], Sample] = {}
    for one in samples:
        if abs(one.advantage) <= 1e-6:
            continue
        key = (one.reply.screen, tuple(one.reply.prompt), tuple(one.reply.ids), one.advantage > 0)
        if key in found:
            found[key].advantage += one.advantage
            found[key].count += one.count
        else:
            found[key] = replace(one)
    return list(found.values())


class Trainer:
    """One run. `screens`: the embedded screens of the training goals."""

    def __init__(self, model: Any, tongue: Tongue, screens: NDArray[np.float16], settings: RlSettings) -> None:
        self.model, self.tongue, self.screens, self.settings = model, tongue, screens, settings
        for weight in model.model.visual.parameters():
            weight.requires_grad_(False)
        self.weights = [w for w in model.parameters() if w.requires_grad]
        self.optimiser = torch.optim.AdamW(self.weights, settings.rate, betas=(0.9, 0.98), weight_decay=0.0, fused=True)

    def improve(self, samples: list[Sample], rng: random.Random) -> dict[str, float]:
        """One pass over the samples in mini-batches; token-mean over all tokens of a mini-batch."""
        settings = self.settings
        samples = merged(samples)
        rng.shuffle(samples)
        told: dict[str, list[float]] = {"entropy": [], "loss": [], "clipped": [], "norm": []}
        for begin in range(0, len(samples), settings.mini):
            part = samples[begin : begin + settings.mini]
            if len(part) < settings.mini // 3 and begin:
                break
            tokens = sum(len(s.reply.ids) * s.count for s in part)
            part.sort(key=lambda s: len(s.reply.prompt) + len(s.reply.ids))
            totals = dict.fromkeys(told, 0.0)
            for at in range(0, len(part), 32):
                for name, value in self._pull(part[at : at + 32], tokens).items():
                    totals[name] += value
            totals["norm"] = float(torch.nn.utils.clip_grad_norm_(self.weights, 1.0))
            self.optimiser.step()
            self.optimiser.zero_grad(set_to_none=True)
            for name, value in totals.items():
                told[name].append(value)
        return {name: float(np.mean(values)) for name, values in told.items() if values} | {
            "updates": float(len(told["norm"]))
        }

    def _pull(self, part: Sequence[Sample], tokens: int) -> dict[str, float]:
        tongue, settings = self.tongue, self.settings
        rows = [[*s.reply.prompt, *s.reply.ids] for s in part]
        given = fast.batch(rows, tongue.image, tongue.pad)
        screens = torch.from_numpy(self.screens[[s.reply.screen for s in part]].astype(np.float32))
        longest = max(len(s.reply.ids) for s in part)
        needed = torch.tensor(
            [[len(s.reply.prompt) - 1 + min(k, len(s.reply.ids) - 1) for k in range(longest)] for s in part]
        )
        real = torch.tensor([[k < len(s.reply.ids) for k in range(longest)] for s in part])
        hidden = fast.think(self.model, given, screens, tongue.image, needed).hidden
        logits = fast.logits(self.model, hidden[real])
        banned = torch.tensor([tongue.image, tongue.vision, tongue.vision_end, tongue.begin, tongue.pad])
        spread = F.log_softmax(logits.index_fill(1, banned, -torch.inf) / settings.temperature, -1)
        log_probs = spread.gather(1, given.ids.gather(1, needed + 1)[real][:, None])[:, 0]
        old = torch.tensor([p for s in part for p in s.reply.log_probs])
        advantages = torch.tensor([s.advantage for s in part for _ in s.reply.ids])
        counts = torch.tensor([float(s.count) for s in part for _ in s.reply.ids])
        terms = policy_terms(
            log_probs,
            old,
            advantages,
            clip_low=settings.clip_low,
            clip_high=settings.clip_high,
            dual_clip=settings.dual_clip,
        )
        loss = terms.loss.sum() / tokens
        loss.backward()
        return {
            "entropy": (entropy(spread.detach()) * counts).sum().item() / tokens,
            "loss": loss.item(),
            "clipped": (terms.clipped.float() * counts).sum().item() / tokens,
            "norm": 0.0,
        }


def run(
    start: Path,
    tasks: Sequence[Trajectory],
    screens: NDArray[np.float16],
    checks: Sequence[Trajectory],
    check_screens: NDArray[np.float16],
    settings: RlSettings,
    out: Path,
) -> None:
    """Train from the folder `start` into `out`; done already where `out/final` exists. `out/curve.jsonl` has a line a batch, `out/checks.jsonl` one a check."""
    if (out / "done.json").exists():
        return
    torch.set_num_threads(1)
    out.mkdir(parents=True, exist_ok=True)
    for name in ("curve.jsonl", "checks.jsonl"):
        (out / name).unlink(missing_ok=True)
    torch.manual_seed(settings.seed)
    model, tok = load_folder(start)
    tongue = Tongue(tok)
    trainer = Trainer(model, tongue, screens, settings)
    player = Player(model, tongue, screens)
    judge = Player(model, tongue, check_screens)
    rng = random.Random(settings.seed)
    generator = torch.Generator().manual_seed(settings.seed)
    single = [(task, index) for task in tasks for index in range(len(task))]
    order: list[Any] = []
    sampled, updates, began, due = 0, 0, time.monotonic(), 0.0
    kept_samples: list[Sample] = []
    numbers = 0
    while True:
        if sampled >= due * settings.steps / settings.checks:
            played = sop(judge, checks, settings.profile).summary()
            _write(
                out / "checks.jsonl",
                {"steps": sampled, "updates": updates, "minutes": (time.monotonic() - began) / 60} | played,
            )
            due += 1
        if sampled >= settings.steps:
            break
        many = settings.goals * (6 if settings.method == "offline" else 1)
        pool: Sequence[Any] = single if settings.method == "offline" else tasks
        while len(order) < many:
            fresh = list(pool)
            rng.shuffle(fresh)
            order += fresh
        chosen, order = order[:many], order[many:]
        with torch.no_grad():
            play = play_offline if settings.method == "offline" else play_semi_online
            group = play(player, chosen, settings, generator)  # type: ignore[operator]  # both take what their pool holds
        sampled += len(group.samples)
        useful, kept = weigh(group.samples, settings)
        numbers += len(chosen)
        kept_samples += useful
        facts: dict[str, Any] = {}
        if len(merged(kept_samples)) >= settings.mini:
            facts = trainer.improve(kept_samples, rng)
            updates += int(facts.pop("updates"))
            kept_samples = []
        _write(
            out / "curve.jsonl",
            {
                "steps": sampled,
                "updates": updates,
                "minutes": round((time.monotonic() - began) / 60, 3),
                "reward": float(np.mean([s.reward for s in group.samples])),
                "match": float(np.mean([s.match for s in group.samples])),
                "success": group.success,
                "patches": group.patches,
                "kept": kept / len(chosen),
            }
            | facts,
        )
    write_folder(out / "final", model, tok)
    (out / "done.json").write_text(
        json.dumps(
            asdict(settings) | {"sampled": sampled, "updates": updates, "minutes": (time.monotonic() - began) / 60}
        )
    )


def _write(file: Path, facts: dict[str, Any]) -> None:
    with file.open("a") as lines:
        lines.write(json.dumps(facts) + "\n")
