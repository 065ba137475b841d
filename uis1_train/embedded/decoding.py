"""Replies, many at once: one pass over the prompts, then token by token with the keys and values kept.

A sampling loop of our own, since the learner needs what `generate` does not give: the exact ids, each token's log-probability in the very distribution
that it was drawn from, and chance that belongs to the row and not to the batch. Equal prompts (the rollouts of a goal at their first step) are read once,
finished rows leave the batch, and a picture's embedding is kept until the weights change.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers.cache_utils import Cache, DynamicLayer

from uis1_train.embedded.featurize import Featurizer, Picture, Prompt
from uis1_train.embedded.losses import entropy
from uis1_train.embedded.model import LocalModel

READ_AT_ONCE = 16_384
"""Prompt tokens that are read in one pass: bounds the memory of a pass, and keeps the padding of short prompts small."""


@dataclass(frozen=True, slots=True)
class Draw:
    """How one reply is drawn. `key` starts its chance; temperature 0 takes the likeliest token."""

    temperature: float
    max_tokens: int
    key: tuple[object, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Decoded:
    """One reply. `ids` hold the token that ended it (none where it was cut, `finish_reason` "length"); `text` is without special tokens.

    `log_probs`: of each token in the distribution at the temperature, without the suppressed tokens; for a greedy reply at temperature 1. `entropy`: the mean of
    those distributions' entropies, in nats.
    """

    prompt: Prompt
    ids: tuple[int, ...]
    log_probs: tuple[float, ...]
    text: str
    finish_reason: str
    entropy: float = 0.0
    seconds: float = 0.0


class Decoder:
    """`model`, answering prompts of `featurizer`. Call `weights_changed` after every update."""

    def __init__(self, model: LocalModel, featurizer: Featurizer) -> None:
        self.model, self.featurizer = model, featurizer
        self._pictures: dict[str, torch.Tensor] = {}

    def weights_changed(self) -> None:
        self._pictures.clear()

    @torch.inference_mode()
    def decode(self, prompts: Sequence[Prompt], draws: Sequence[Draw]) -> list[Decoded]:
        """One reply to each prompt, in order."""
        if not prompts:
            return []
        with self.model.arithmetic():
            batch = _Batch(self, prompts, draws)
            for _ in range(max(draw.max_tokens for draw in draws)):
                if not batch.step():
                    break
        return [batch.finished(row) for row in range(len(prompts))]

    def embedded(self, pictures: Sequence[Picture]) -> torch.Tensor | None:
        """The embeddings of `pictures` one after another, each worked out once for the present weights."""
        if not pictures:
            return None
        new = {p.key: p for p in pictures if p.key not in self._pictures}
        for picture in new.values():
            self._pictures[picture.key] = self.model.pictures(
                self.featurizer.patches(picture), torch.tensor([picture.grid])
            )
        return torch.cat([self._pictures[p.key] for p in pictures])


class _Layer(DynamicLayer):
    """Keys and values of one layer in a room that was made once for prompt and reply: nothing is copied when a token is added."""

    def __init__(self, keys: torch.Tensor, values: torch.Tensor, length: int) -> None:
        super().__init__()
        self.room = (keys, values)
        self.length = length
        self.is_initialized = True

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        start, self.length = self.length, self.length + key_states.shape[-2]
        keys, values = self.room
        keys[:, :, start : self.length] = key_states
        values[:, :, start : self.length] = value_states
        return keys[:, :, : self.length], values[:, :, : self.length]

    def get_seq_length(self) -> int:
        return self.length

    def keep(self, rows: torch.Tensor) -> None:
        keys, values = self.room
        self.room = (keys[rows], values[rows])


class _Batch:
    """Rows that are being answered. `alive` maps the rows of the tensors to those of the result."""

    def __init__(self, decoder: Decoder, prompts: Sequence[Prompt], draws: Sequence[Draw]) -> None:
        self.decoder, self.model = decoder, decoder.model
        self.prompts, self.draws = prompts, draws
        device = self.model.device
        room = max(draw.max_tokens for draw in draws)
        self.width = max(len(prompt.ids) for prompt in prompts)
        self.layers: list[_Layer] = []
        self.cache: Any = None
        self.mask = torch.zeros(len(prompts), self.width + room, dtype=torch.long, device=device)
        self.mask[:, self.width :] = 1
        self.next_position = torch.zeros(len(prompts), dtype=torch.long, device=device)
        self.hidden = self._read(room)
        self.alive = list(range(len(prompts)))
        self.ids: list[list[int]] = [[] for _ in prompts]
        self.log_probs: list[list[float]] = [[] for _ in prompts]
        self.entropy = [0.0] * len(prompts)
        self.over = [False] * len(prompts)
        self.taken = 0
        self.temperature = torch.tensor([d.temperature for d in draws], dtype=torch.float32, device=device)
        chance = np.stack([uniforms(draw.key, room) if draw.temperature > 0 else np.zeros(room) for draw in draws])
        self.chance = torch.from_numpy(chance).to(device)
        self.eos = set(self.model.eos)

    def _read(self, room: int) -> torch.Tensor:
        """Read every different prompt once, the like in length together, and spread what was kept over the rows. The last hidden state of each row: [rows, hidden]."""
        rows_of: dict[Any, list[int]] = {}
        for row, prompt in enumerate(self.prompts):
            rows_of.setdefault(prompt.key, []).append(row)
        groups = sorted(rows_of.values(), key=lambda rows: len(self.prompts[rows[0]].ids))
        last: list[torch.Tensor] = []
        order: list[int] = []
        while groups:
            chunk = [groups.pop()]
            longest = len(self.prompts[chunk[0][0]].ids)
            while groups and longest * (len(chunk) + 1) <= READ_AT_ONCE:
                chunk.append(groups.pop())
            last.append(self._read_chunk(chunk, room))
            order += [row for rows in chunk for row in rows]
        back = torch.empty(len(order), dtype=torch.long)
        back[torch.tensor(order)] = torch.arange(len(order))
        return torch.cat(last)[back.to(self.model.device)]

    def _read_chunk(self, chunk: Sequence[Sequence[int]], room: int) -> torch.Tensor:
        model, device = self.model, self.model.device
        prompts = [self.prompts[rows[0]] for rows in chunk]
        width = max(len(prompt.ids) for prompt in prompts)
        ids = torch.full((len(chunk), width), model.pad)
        mask = torch.zeros_like(ids)
        shape = (3, len(chunk), width) if model.sees else (len(chunk), width)
        positions = torch.zeros(shape, dtype=torch.long)
        for index, prompt in enumerate(prompts):
            start = width - len(prompt.ids)
            ids[index, start:] = torch.tensor(prompt.ids)
            mask[index, start:] = 1
            found = self.decoder.featurizer.positions(prompt)
            positions[..., index, start:] = found
            for row in chunk[index]:
                self.mask[row, self.width - len(prompt.ids) : self.width] = 1
                self.next_position[row] = int(found.max()) + 1
        pictures = self.decoder.embedded([p for prompt in prompts for p in prompt.pictures])
        from transformers import DynamicCache

        read: Any = DynamicCache(config=model.text.config)
        whole = None if bool(mask.all()) else mask.to(device)
        embedded = model.embeddings(ids.to(device), pictures)
        hidden = model.hidden(embedded, positions.to(device), whole, read)[:, -1]
        spread = torch.tensor([i for i, rows in enumerate(chunk) for _ in rows], device=device)
        target = torch.tensor([row for rows in chunk for row in rows], device=device)
        layers = self._rooms(read, room)
        for layer, made in zip(layers, read.layers, strict=True):
            keys, values = layer.room
            keys[target, :, self.width - width : self.width] = made.keys[spread]
            values[target, :, self.width - width : self.width] = made.values[spread]
        return hidden[spread]

    def _rooms(self, read: Any, room: int) -> list[_Layer]:
        if not self.layers:
            for made in read.layers:
                shape = (len(self.prompts), made.keys.shape[1], self.width + room, made.keys.shape[3])
                self.layers.append(_Layer(made.keys.new_zeros(shape), made.values.new_zeros(shape), self.width))
            self.cache = Cache(layers=list(self.layers))
        return self.layers

    def step(self) -> bool:
        """Draw the next token of every row that is not over; feed it unless none is left. False where all are over."""
        tokens, log_probs, disorder = self._drawn(self.model.choices(self.hidden))
        going = []
        drawn = zip(self.alive, tokens.tolist(), log_probs, disorder, strict=True)
        for index, (row, token, log_prob, nats) in enumerate(drawn):
            if self.over[row]:
                continue
            self.ids[row].append(token)
            self.log_probs[row].append(log_prob)
            self.entropy[row] += nats
            self.over[row] = token in self.eos or len(self.ids[row]) >= self.draws[row].max_tokens
            if not self.over[row]:
                going.append(index)
        self.taken += 1
        if not going:
            return False
        if len(going) <= 0.75 * len(self.alive):
            self._keep(going)
            tokens = tokens[going]
        self._feed(tokens)
        return True

    def _drawn(self, logits: torch.Tensor) -> tuple[torch.Tensor, list[float], list[float]]:
        """(tokens, their log-probs, the entropies of what they were drawn from). By the inverse of the cumulative distribution: one number of chance a token. Suppressed tokens have no width in it, so they are never hit."""
        scale = torch.where(self.temperature > 0, self.temperature, 1.0)
        log_probs = torch.log_softmax(logits / scale.unsqueeze(1), -1)
        steps = log_probs.double().exp().cumsum(-1)
        wanted = self.chance[:, self.taken].unsqueeze(1) * steps[:, -1:]
        drawn = torch.searchsorted(steps, wanted, right=True).squeeze(1)
        tokens = torch.where(self.temperature > 0, drawn, logits.argmax(-1))
        said = log_probs.gather(1, tokens.unsqueeze(1)).squeeze(1)
        return tokens, said.tolist(), entropy(log_probs).tolist()

    def _keep(self, going: list[int]) -> None:
        rows = torch.tensor(going, device=self.model.device)
        self.alive = [self.alive[index] for index in going]
        self.mask, self.chance = self.mask[rows], self.chance[rows]
        self.next_position, self.temperature = self.next_position[rows], self.temperature[rows]
        for layer in self.layers:
            layer.keep(rows)

    def _feed(self, tokens: torch.Tensor) -> None:
        positions = (self.next_position + self.taken - 1).unsqueeze(1)
        if self.model.sees:
            positions = positions.expand(3, -1, -1)
        embedded = self.model.embeddings(tokens.unsqueeze(1), None)
        mask = self.mask[:, : self.width + self.taken]
        self.hidden = self.model.hidden(embedded, positions, mask, self.cache)[:, -1]

    def finished(self, row: int) -> Decoded:
        ids = self.ids[row]
        ended = bool(ids) and ids[-1] in self.eos
        return Decoded(
            prompt=self.prompts[row],
            ids=tuple(ids),
            log_probs=tuple(self.log_probs[row]),
            text=self.decoder.featurizer.decode(ids[:-1] if ended else ids),
            finish_reason="stop" if ended else "length",
            entropy=self.entropy[row] / max(1, len(ids)),
        )


def uniforms(key: Sequence[object], count: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """`count` numbers in [0, 1) that depend on `key` alone, of 32 bits: so coarse that none is lost to 1 by rounding."""
    digest = hashlib.sha256("\0".join(map(str, key)).encode("utf-8", "surrogatepass")).digest()
    chance = np.random.Generator(np.random.Philox(int.from_bytes(digest[:16], "big")))
    return chance.integers(0, 2**32, count) / 2.0**32
