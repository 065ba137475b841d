"""The same arithmetic as transformers' Qwen2.5-VL, for screens of one size: in batches, and with what the dense losses look at.

Reads the parameters of the transformers model, so there is one set of weights; a test compares the two. Several times as fast on a CPU: screens are embedded together
and may be embedded once and kept, the patch embedding sees each frame once, padding stands at the end where causal attention needs no mask.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from uis1_train.tiny.folder import MEAN, MERGE, PATCH, STD
from uis1_train.tiny.multiplying import linear
from uis1_train.tiny.recording import SMALL

ROWS, COLUMNS = SMALL[1] // (PATCH * MERGE), SMALL[0] // (PATCH * MERGE)
CELLS: Final = ROWS * COLUMNS


def patches(images: NDArray[np.uint8]) -> Tensor:
    """[n, 364, 168, 3] to [n, 312, 588]: patches in the order of the image processor, four that are merged together; channels, rows, columns. One frame of the two."""
    x = torch.from_numpy(images).permute(0, 3, 1, 2).float().div_(255.0).sub_(MEAN).div_(STD)
    n = x.shape[0]
    x = x.reshape(n, 3, ROWS, MERGE, PATCH, COLUMNS, MERGE, PATCH)
    return x.permute(0, 2, 5, 3, 6, 1, 4, 7).reshape(n, CELLS * MERGE * MERGE, 3 * PATCH * PATCH)


def _norm(x: Tensor, layer: Any) -> Tensor:
    return F.rms_norm(x, (x.shape[-1],), layer.weight, layer.variance_epsilon)


def _turn(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary position: pairs are (i, i + half)."""
    half = x.shape[-1] // 2
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), -1) * sin


def _vision_angles(width: int) -> tuple[Tensor, Tensor]:
    row = torch.arange(ROWS * MERGE).view(ROWS, MERGE, 1, 1).permute(0, 2, 1, 3).expand(ROWS, COLUMNS, MERGE, MERGE)
    column = torch.arange(COLUMNS * MERGE).view(COLUMNS, MERGE, 1, 1).permute(2, 0, 3, 1)
    column = column.expand(ROWS, COLUMNS, MERGE, MERGE)
    place = torch.stack((row.reshape(-1), column.reshape(-1)), -1).float()
    frequency = 1.0 / (10000.0 ** (torch.arange(0, width // 2, 2).float() / (width // 2)))
    angle = (place[:, :, None] * frequency).flatten(1)
    angle = torch.cat((angle, angle), -1)
    return angle.cos(), angle.sin()


def see(model: Any, images: NDArray[np.uint8]) -> Tensor:
    """Embed screens: [n, 78, hidden]."""
    visual = model.model.visual
    weight = visual.patch_embed.proj.weight
    weight = weight.sum(2).flatten(1)  # both frames of a still image are the same
    x = linear(patches(images), weight)
    heads = visual.blocks[0].attn.num_heads
    n, count, hidden = x.shape
    cos, sin = _vision_angles(hidden // heads)
    for block in visual.blocks:
        q, k, v = _through(block.attn.qkv, _norm(x, block.norm1)).view(n, count, 3, heads, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(_turn(q, cos, sin), _turn(k, cos, sin), v)
        x = x + _through(block.attn.proj, mixed.transpose(1, 2).reshape(n, count, hidden))
        x = x + _mlp(_norm(x, block.norm2), block.mlp)
    merger = visual.merger
    first, _, second = merger.mlp
    return _through(second, F.gelu(_through(first, _norm(x, merger.ln_q).view(n, CELLS, -1))))


def _through(layer: Any, x: Tensor) -> Tensor:
    return linear(x, layer.weight, layer.bias)


def _mlp(x: Tensor, layer: Any) -> Tensor:
    return _through(layer.down_proj, F.silu(_through(layer.gate_proj, x)) * _through(layer.up_proj, x))


@dataclass
class Batch:
    """ids: [n, longest], padded at the end. places: [3, n, longest], rotary positions in time, height and width. begins: where each row's screen begins."""

    ids: Tensor
    places: Tensor
    begins: Tensor
    lengths: Tensor


def batch(rows: Sequence[Sequence[int]], image: int, pad: int) -> Batch:
    """Rows of tokens, each with one screen (78 times the token `image`)."""
    longest = max(len(row) for row in rows)
    ids = np.full((len(rows), longest), pad, np.int64)
    places = np.empty((3, len(rows), longest), np.int64)
    begins = np.empty(len(rows), np.int64)
    line = np.arange(longest)
    for i, row in enumerate(rows):
        ids[i, : len(row)] = row
        begin = row.index(image)
        begins[i] = begin
        after = line - CELLS + ROWS  # the text behind the screen goes on behind its tallest side
        places[:, i] = np.where(line < begin, line, after)
        places[0, i, begin : begin + CELLS] = begin
        places[1, i, begin : begin + CELLS] = begin + np.arange(CELLS) // COLUMNS
        places[2, i, begin : begin + CELLS] = begin + np.arange(CELLS) % COLUMNS
    lengths = np.array([len(row) for row in rows])
    return Batch(torch.from_numpy(ids), torch.from_numpy(places), torch.from_numpy(begins), torch.from_numpy(lengths))


def angles(text: Any, places: Tensor) -> tuple[Tensor, Tensor]:
    """Cosines and sines for positions [3, n, m]: [n, 1, m, width]."""
    width = text.config.hidden_size // text.config.num_attention_heads
    rope = text.config.rope_parameters
    frequency = 1.0 / (rope["rope_theta"] ** (torch.arange(0, width, 2).float() / width))
    angle = places.float()[..., None] * frequency
    chunks = angle.split(rope["mrope_section"], -1)
    angle = torch.cat([chunk[i % 3] for i, chunk in enumerate(chunks)], -1)
    angle = torch.cat((angle, angle), -1)[:, None]
    return angle.cos(), angle.sin()


@dataclass
class Thinking:
    """hidden: [n, m, hidden] behind the last norm. queries, keys: by layer, [n, heads, m, width], turned; values likewise where they were asked for."""

    hidden: Tensor
    queries: list[Tensor]
    keys: list[Tensor]
    values: list[Tensor]
    states: list[Tensor]
    """Behind each layer."""


def embed(model: Any, given: Batch, screens: Tensor, image: int) -> Tensor:
    """Token embeddings, with `screens` [n, 78, hidden] in their places."""
    x = model.model.language_model.embed_tokens(given.ids)
    return x.masked_scatter((given.ids == image)[..., None], screens)


def think(model: Any, given: Batch, screens: Tensor, image: int, needed: Tensor | None = None) -> Thinking:
    """`needed`: positions [n, k] at which the hidden state is wanted; by default everywhere. The last layer is worked out for those alone."""
    text = model.model.language_model
    x = embed(model, given, screens, image)
    cos, sin = angles(text, given.places)
    out = Thinking(x, [], [], [], [])
    for layer in text.layers:
        q, k, v = _qkv(layer, x, cos, sin)
        if needed is not None and layer is text.layers[-1]:
            at = needed[..., None]
            x = x.gather(1, at.expand(-1, -1, x.shape[2]))
            asked = q.gather(2, at[:, None].expand(-1, q.shape[1], -1, q.shape[3]))
            seen = torch.arange(k.shape[2]) <= needed[..., None]
            mixed = F.scaled_dot_product_attention(asked, k, v, attn_mask=seen[:, None])
        else:
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = _rest(layer, x, mixed)
        out.queries.append(q)
        out.keys.append(k)
        out.values.append(v)
        out.states.append(x)
    out.hidden = _norm(x, text.norm)
    return out


def _qkv(layer: Any, x: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    attention = layer.self_attn
    n, m, _ = x.shape
    y = _norm(x, layer.input_layernorm)
    q, k, v = (
        _through(projection, y).view(n, m, -1, attention.head_dim).transpose(1, 2)
        for projection in (attention.q_proj, attention.k_proj, attention.v_proj)
    )
    return _turn(q, cos, sin), _turn(k, cos, sin), v


def _rest(layer: Any, x: Tensor, mixed: Tensor) -> Tensor:
    n, _, m, _ = mixed.shape
    x = x + _through(layer.self_attn.o_proj, mixed.transpose(1, 2).reshape(n, m, -1))
    return x + _mlp(_norm(x, layer.post_attention_layernorm), layer.mlp)


def logits(model: Any, hidden: Tensor) -> Tensor:
    """Of the next token, by the table of embeddings."""
    return linear(hidden, model.lm_head.weight)


@dataclass
class Said:
    """What was generated: token ids with the end mark where it came, and each token's log-probability."""

    ids: list[list[int]]
    log_probs: list[list[float]]


@torch.no_grad()
def generate(
    model: Any,
    rows: Sequence[Sequence[int]],
    screens: Tensor,
    *,
    image: int,
    pad: int,
    end: int,
    longest: int = 48,
    temperature: float = 0.0,
    generator: torch.Generator | None = None,
    banned: Sequence[int] = (),
    copies: Sequence[int] | None = None,
) -> Said:
    """Continue each row to the token `end` or for `longest` tokens; greedy where `temperature` is 0. `copies`: which rows to continue, in which order (a row may be
    continued several times and is read once); by default each of them once."""
    text = model.model.language_model
    given = batch(rows, image, pad)
    m = given.ids.shape[1]
    seen = think(model, given, screens, image)
    which = torch.arange(len(rows)) if copies is None else torch.tensor(list(copies))
    n = len(which)
    heads, width = seen.keys[0].shape[1], seen.keys[0].shape[3]
    keys = [torch.cat((k[which], k.new_zeros(n, heads, longest, width)), 2) for k in seen.keys]
    values = [torch.cat((v[which], v.new_zeros(n, heads, longest, width)), 2) for v in seen.values]
    lengths = given.lengths[which]
    allowed = torch.arange(m + longest)[None] < lengths[:, None]
    last = seen.hidden[which, lengths - 1]
    said: list[list[int]] = [[] for _ in range(n)]
    sure: list[list[float]] = [[] for _ in range(n)]
    alive = torch.arange(n)
    for step in range(longest):
        scores = logits(model, last)
        if banned:
            scores[:, list(banned)] = -torch.inf
        log_probs = scores.log_softmax(-1)
        if temperature == 0:
            chosen = scores.argmax(-1)
        else:
            chosen = torch.multinomial((scores / temperature).softmax(-1), 1, generator=generator)[:, 0]
        picked = log_probs.gather(1, chosen[:, None])[:, 0]
        for row, token, sureness in zip(alive.tolist(), chosen.tolist(), picked.tolist(), strict=True):
            said[row].append(token)
            sure[row].append(sureness)
        going = chosen != end
        if step == longest - 1 or not going.any():
            break
        if not going.all():
            alive, chosen, allowed = alive[going], chosen[going], allowed[going]
            keys = [k[going] for k in keys]
            values = [v[going] for v in values]
        at = m + step
        allowed[:, at] = True
        place = (lengths[alive] + step - CELLS + ROWS)[None, :, None].expand(3, -1, 1)
        cos, sin = angles(text, place)
        x = text.embed_tokens(chosen)[:, None]
        for number, layer in enumerate(text.layers):
            q, k, v = _qkv(layer, x, cos, sin)
            keys[number][:, :, at : at + 1] = k
            values[number][:, :, at : at + 1] = v
            mixed = F.scaled_dot_product_attention(
                q,
                keys[number][:, :, : at + 1],
                values[number][:, :, : at + 1],
                attn_mask=allowed[:, None, None, : at + 1],
            )
            x = _rest(layer, x, mixed)
        last = _norm(x, text.norm)[:, 0]
    return Said(said, sure)
