"""One optimiser over one model: a step of policy gradient, or of supervised teaching, over rows of any length.

A row is a whole sequence and the places in it whose tokens count; padding and rows without such places weigh nothing. The loss is the mean over all tokens
that count in the mini-batch (verl's `token-mean`), however it is cut into micro-batches.
"""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch

from sopbench.errors import SopbenchError
from uis1_train.embedded.config import LearnerSettings
from uis1_train.embedded.featurize import Featurizer, Prompt
from uis1_train.embedded.losses import entropy, low_var_kl, policy_terms
from uis1_train.embedded.model import LocalModel

Schedule = Literal["constant", "cosine"]


class NothingToLearn(SopbenchError):
    """A batch without a single token that counts."""


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """`whole`: prompt and reply, as they were fed and generated. `taught`: indices into its ids, rising, of the tokens that count."""

    whole: Prompt
    taught: tuple[int, ...]

    @classmethod
    def reply(cls, prompt: Prompt, reply: Sequence[int]) -> Row:
        start = len(prompt.ids)
        return cls(Prompt((*prompt.ids, *reply), prompt.pictures), tuple(range(start, start + len(reply))))


@dataclass(frozen=True, slots=True, eq=False)
class PolicyRow:
    """A step to learn from: `old` are the log-probs of its taught tokens when they were drawn, `advantage` weighs each of them alike."""

    row: Row
    old: tuple[float, ...]
    advantage: float


@dataclass(frozen=True, slots=True)
class Scored:
    """Flat over the taught tokens of some rows, row by row."""

    log_probs: torch.Tensor
    entropy: torch.Tensor


class Learner:
    """Trains `model` in place. `reference`: the frozen model of the KL term, where there is one. `steps`: batches that were learned from.

    total_steps: after how many of them a cosine schedule has come to its end. temperature: at which the replies were drawn.
    """

    def __init__(
        self,
        model: LocalModel,
        featurizer: Featurizer,
        settings: LearnerSettings,
        *,
        reference: LocalModel | None = None,
        total_steps: int | None = None,
        temperature: float = 1.0,
        seed: int = 0,
    ) -> None:
        self.model, self.featurizer, self.settings, self.reference = model, featurizer, settings, reference
        self.total_steps, self.temperature, self.seed = total_steps, temperature, seed
        self.steps = 0
        if settings.freeze_vision and model.sees:
            model.module.model.visual.requires_grad_(False)
        if settings.gradient_checkpointing:
            model.module.gradient_checkpointing_enable({"use_reentrant": False})
            model.module.train()  # transformers checkpoints only in this mode
        self.parameters = [p for p in model.module.parameters() if p.requires_grad]
        self.optimiser = torch.optim.AdamW(
            self.parameters, settings.lr, betas=settings.betas, weight_decay=settings.weight_decay, fused=True
        )

    # -- supervised ------------------------------------------------------------------------------------------------

    def teach(self, rows: Sequence[Row]) -> dict[str, float]:
        """One step towards the taught tokens of `rows`. Raises `NothingToLearn`."""
        tokens = _counted(rows)
        total = 0.0
        for micro in self._micro(rows, list(range(len(rows)))):
            scored = self._scored(self.model, [rows[i] for i in micro], choices=False)
            loss = -scored.log_probs.sum() / tokens
            loss.backward()  # type: ignore[no-untyped-call, unused-ignore]
            total += loss.item()
        stepped = self._step("sft")
        self.steps += 1
        return {"sft/loss": total, "sft/tokens": float(tokens), **stepped}

    @torch.no_grad()
    def loss_of(self, rows: Sequence[Row]) -> float:
        """The loss of `teach` on rows that are not taught."""
        tokens = _counted(rows)
        total = 0.0
        for micro in self._micro(rows, list(range(len(rows)))):
            total -= self._scored(self.model, [rows[i] for i in micro], choices=False).log_probs.sum().item()
        return total / tokens

    # -- policy gradient -------------------------------------------------------------------------------------------

    def improve(self, batch: Sequence[PolicyRow]) -> dict[str, float]:
        """All optimiser steps on one batch of rollouts: `settings.epochs` times over it, in mini-batches of `settings.mini_batch` rows (None: all at once).

        Returns the mean of each measure over the steps. Raises `NothingToLearn`.
        """
        _counted([item.row for item in batch])
        settings = self.settings
        old = self._old(batch)
        reference = self._reference(batch)
        seen: dict[str, list[float]] = defaultdict(list)
        for epoch in range(settings.epochs):
            for mini in self._mini(len(batch), epoch):
                if any(batch[i].row.taught for i in mini):
                    for name, value in self._policy_step(batch, mini, old, reference).items():
                        seen[name].append(value)
        self.steps += 1
        return {name: sum(values) / len(values) for name, values in seen.items()}

    def _policy_step(
        self,
        batch: Sequence[PolicyRow],
        mini: Sequence[int],
        old: Sequence[torch.Tensor],
        reference: Sequence[torch.Tensor] | None,
    ) -> dict[str, float]:
        settings = self.settings
        rows = [batch[i].row for i in mini]
        tokens = _counted(rows)
        sums: dict[str, float] = defaultdict(float)
        learned = [i for i in mini if self._pulls(batch[i])]
        seen = max(1, sum(len(batch[i].row.taught) for i in learned))
        for micro in self._micro([batch[i].row for i in learned], learned):
            scored = self._scored(self.model, [batch[i].row for i in micro], choices=True)
            advantages = torch.cat([torch.full((len(batch[i].row.taught),), batch[i].advantage) for i in micro])
            advantages = advantages.to(self.model.device)
            terms = policy_terms(
                scored.log_probs,
                torch.cat([old[i] for i in micro]),
                advantages,
                clip_low=settings.clip_low,
                clip_high=settings.clip_high,
                dual_clip=settings.dual_clip,
            )
            loss = terms.loss.sum() / tokens
            sums["actor/pg_loss"] += loss.item()
            if reference is not None:
                kl = low_var_kl(scored.log_probs, torch.cat([reference[i] for i in micro])).sum() / tokens
                sums["actor/kl_loss"] += kl.item()
                loss = loss + settings.kl_coefficient * kl
            if settings.entropy_coefficient:
                loss = loss - settings.entropy_coefficient * scored.entropy.sum() / tokens
            sums["actor/loss"] += loss.item()
            sums["actor/entropy"] += scored.entropy.detach().sum().item() / seen
            sums["actor/ppo_kl"] += terms.kl.detach().sum().item() / seen
            sums["actor/clip_fraction"] += terms.clipped.sum().item() / seen
            sums["actor/dual_clip_fraction"] += terms.clipped_low.sum().item() / seen
            loss.backward()  # type: ignore[no-untyped-call, unused-ignore]
        return {**sums, **self._step("actor")}

    def _pulls(self, item: PolicyRow) -> bool:
        """Whether a row has a gradient: without advantage, and without a KL or entropy term, it counts among the tokens but need not be looked at."""
        settings = self.settings
        held = self.reference is not None and settings.kl_coefficient > 0
        return item.advantage != 0 or held or settings.entropy_coefficient > 0

    def _old(self, batch: Sequence[PolicyRow]) -> list[torch.Tensor]:
        """Log-probs under the policy that drew the tokens: as they were drawn, or worked out again where the arithmetic of both differs."""
        if self.settings.recompute_old:
            return self.log_probs(self.model, [item.row for item in batch])
        return [torch.tensor(item.old, device=self.model.device) for item in batch]

    def _reference(self, batch: Sequence[PolicyRow]) -> list[torch.Tensor] | None:
        if self.reference is None or not self.settings.kl_coefficient:
            return None
        return self.log_probs(self.reference, [item.row for item in batch])

    @torch.no_grad()
    def log_probs(self, model: LocalModel, rows: Sequence[Row]) -> list[torch.Tensor]:
        """Of every row's taught tokens, in the distribution that replies are drawn from."""
        found: list[torch.Tensor] = [torch.empty(0, device=model.device)] * len(rows)
        for micro in self._micro(rows, list(range(len(rows)))):
            scored = self._scored(model, [rows[i] for i in micro], choices=True)
            for index, part in zip(micro, scored.log_probs.split([len(rows[i].taught) for i in micro]), strict=True):
                found[index] = part
        return found

    # -- shared ----------------------------------------------------------------------------------------------------

    def _scored(self, model: LocalModel, rows: Sequence[Row], *, choices: bool) -> Scored:
        """One pass over `rows`, padded on the right: what stands behind a token does not reach it, so no mask is needed."""
        width = max(len(row.whole.ids) for row in rows)
        ids = torch.full((len(rows), width), model.pad)
        positions = torch.zeros((3, len(rows), width) if model.sees else (len(rows), width), dtype=torch.long)
        for index, row in enumerate(rows):
            length = len(row.whole.ids)
            ids[index, :length] = torch.tensor(row.whole.ids)
            positions[..., index, :length] = self.featurizer.positions(row.whole)
        ids = ids.to(model.device)
        at = torch.tensor([(i, t) for i, row in enumerate(rows) for t in row.taught], device=model.device).reshape(
            -1, 2
        )
        with model.arithmetic():
            embedded = model.embeddings(ids, self._pictures(model, rows))
            hidden = model.hidden(embedded, positions.to(model.device), None)
            before = hidden[at[:, 0], at[:, 1] - 1]
            if choices:
                spread = torch.log_softmax(model.choices(before) / self.temperature, -1)
            else:
                spread = torch.log_softmax(model.logits(before), -1)
        keep = torch.is_grad_enabled() and self.settings.entropy_coefficient != 0
        disorder = entropy(spread if keep else spread.detach())
        return Scored(spread.gather(1, ids[at[:, 0], at[:, 1]].unsqueeze(1)).squeeze(1), disorder)

    def _pictures(self, model: LocalModel, rows: Sequence[Row]) -> torch.Tensor | None:
        """Embeddings in the order of the placeholders; a screen that several rows show goes through the vision tower once."""
        shown = [picture for row in rows for picture in row.whole.pictures]
        if not shown:
            return None
        different = {picture.key: picture for picture in shown}
        patches = torch.cat([self.featurizer.patches(picture) for picture in different.values()])
        grids = torch.tensor([picture.grid for picture in different.values()])
        with torch.set_grad_enabled(torch.is_grad_enabled() and not self.settings.freeze_vision):
            parts = model.pictures(patches, grids).split([picture.tokens for picture in different.values()])
        by_key = dict(zip(different, parts, strict=True))
        return torch.cat([by_key[picture.key] for picture in shown])

    def _mini(self, count: int, epoch: int) -> Iterator[list[int]]:
        """All rows once, in an order that depends on the seed, the step and the epoch alone."""
        order = list(range(count))
        size = self.settings.mini_batch or count
        if size < count:
            random.Random(f"{self.seed} {self.steps} {epoch}").shuffle(order)
        for start in range(0, count, size):
            yield order[start : start + size]

    def _micro(self, rows: Sequence[Row], names: Sequence[int]) -> Iterator[list[int]]:
        """`names` of the rows that count for something, the like in length together, in batches that fit `settings.micro_tokens` with their padding."""
        by_length = sorted((len(row.whole.ids), name) for row, name in zip(rows, names, strict=True) if row.taught)
        batch: list[int] = []
        for length, name in by_length:
            if batch and length * (len(batch) + 1) > self.settings.micro_tokens:
                yield batch
                batch = []
            batch.append(name)
        if batch:
            yield batch

    def _step(self, prefix: str) -> dict[str, float]:
        """Clip, step, forget the gradients. Gradients that are no numbers are not stepped on: `skipped` says so."""
        norm = torch.nn.utils.clip_grad_norm_(self.parameters, self.settings.grad_clip).item()
        rate = self.rate(self.steps)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        good = math.isfinite(norm)
        if good:
            self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        return {f"{prefix}/grad_norm": norm, f"{prefix}/lr": rate, f"{prefix}/skipped": float(not good)}

    def rate(self, step: int) -> float:
        """The learning rate of the step with this number, from 0: up in a line for `warmup` steps, then constant, or by a half cosine down to nothing."""
        settings = self.settings
        if step < settings.warmup:
            return settings.lr * (step + 1) / settings.warmup
        if settings.schedule == "constant" or self.total_steps is None:
            return settings.lr
        done = (step - settings.warmup) / max(1, self.total_steps - settings.warmup)
        return settings.lr * 0.5 * (1 + math.cos(math.pi * min(1.0, done)))

    def state(self) -> dict[str, Any]:
        return {"optimiser": self.optimiser.state_dict(), "steps": self.steps}

    def restore(self, state: dict[str, Any]) -> None:
        self.optimiser.load_state_dict(state["optimiser"])
        self.steps = int(state["steps"])


def _counted(rows: Sequence[Row]) -> int:
    tokens = sum(len(row.taught) for row in rows)
    if not tokens:
        raise NothingToLearn(
            f"a batch of {len(rows)} rows has no token to learn from: every group was filtered out, or every reply is empty. Lower eta, or begin from a model that is right now and then"
        )
    return tokens
