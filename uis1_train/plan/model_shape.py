"""The sizes of a model that memory follows from, read from its config.json, or known for the Qwen2.5-VL family by name."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sopbench.errors import DataError
from sopbench.files import read_json

MAX_CONFIG_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Vision:
    """The tower: `depth` blocks of width `hidden`; `merge` x `merge` patches of `patch` pixels become one token of width `out`."""

    depth: int
    hidden: int
    intermediate: int
    out: int
    patch: int = 14
    merge: int = 2
    temporal: int = 2
    gated: bool = True


@dataclass(frozen=True, slots=True)
class Shape:
    """A decoder with grouped-query attention and a gated MLP, with or without a vision tower. `source` says where the numbers come from."""

    source: str
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int
    vocabulary: int
    tied: bool
    vision: Vision | None = None

    @property
    def block(self) -> int:
        """Parameters of one decoder layer (Qwen2: biases on q, k and v)."""
        q, kv = self.heads * self.head_dim, self.kv_heads * self.head_dim
        attention = self.hidden * (q + 2 * kv) + q + 2 * kv + q * self.hidden
        return attention + 3 * self.hidden * self.intermediate + 2 * self.hidden

    @property
    def edges(self) -> int:
        """Parameters of embedding, head and last norm."""
        return self.vocabulary * self.hidden * (1 if self.tied else 2) + self.hidden

    @property
    def vision_parameters(self) -> int:
        v = self.vision
        if v is None:
            return 0
        mlp = (3 if v.gated else 2) * v.hidden * v.intermediate + (2 if v.gated else 1) * v.intermediate + v.hidden
        block = 4 * v.hidden * v.hidden + 4 * v.hidden + mlp + 2 * v.hidden
        wide = v.hidden * v.merge * v.merge
        merger = v.hidden + wide * wide + wide + wide * v.out + v.out
        return 3 * v.temporal * v.patch * v.patch * v.hidden + v.depth * block + merger

    @property
    def parameters(self) -> int:
        return self.layers * self.block + self.edges + self.vision_parameters


def _qwen25vl(
    size: str, hidden: int, layers: int, heads: int, kv: int, wide: int, vocab: int, tied: bool, tower: int
) -> Shape:
    vision = Vision(32, 1280, tower, hidden)
    return Shape(
        f"the published config of Qwen2.5-VL-{size}", hidden, layers, heads, kv, 128, wide, vocab, tied, vision
    )


QWEN25_VL = {
    "3B": _qwen25vl("3B", 2048, 36, 16, 2, 11008, 151936, True, 3420),
    "7B": _qwen25vl("7B", 3584, 28, 28, 4, 18944, 152064, False, 3420),
    "32B": _qwen25vl("32B", 5120, 64, 40, 8, 27648, 152064, False, 3456),
    "72B": _qwen25vl("72B", 8192, 80, 64, 8, 29568, 152064, False, 3456),
}
"""Sources: `config.json` of Qwen/Qwen2.5-VL-{3B,7B,32B,72B}-Instruct."""


def shape_of(path: Path) -> Shape | None:
    """From `path/config.json`, else from the size in the folder's name; None where neither tells."""
    config = path / "config.json"
    if config.is_file():
        return _from_config(read_json(config, MAX_CONFIG_BYTES), str(config))
    match = re.search(r"(?<![0-9.])(3|7|32|72)b(?![a-z])", path.name, re.IGNORECASE)
    return QWEN25_VL.get(f"{match[1]}B") if match else None


def _from_config(config: Any, source: str) -> Shape:
    """Both the joint form of transformers 5 (`text_config`) and the flat one."""
    try:
        text = config.get("text_config") or config
        heads, hidden = int(text["num_attention_heads"]), int(text["hidden_size"])
        tied = config.get("tie_word_embeddings", text.get("tie_word_embeddings", False))
        return Shape(
            source=source,
            hidden=hidden,
            layers=int(text["num_hidden_layers"]),
            heads=heads,
            kv_heads=int(text.get("num_key_value_heads") or heads),
            head_dim=int(text.get("head_dim") or hidden // heads),
            intermediate=int(text["intermediate_size"]),
            vocabulary=int(text["vocab_size"]),
            tied=bool(tied),
            vision=_vision(config.get("vision_config"), hidden),
        )
    except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError) as error:
        raise DataError(f"{source} has not the fields of a decoder ({type(error).__name__}: {error})") from error


def _vision(value: Any, out: int) -> Vision | None:
    if not value:
        return None
    return Vision(
        depth=int(value["depth"]),
        hidden=int(value["hidden_size"]),
        intermediate=int(value["intermediate_size"]),
        out=int(value.get("out_hidden_size") or out),
        patch=int(value.get("patch_size", 14)),
        merge=int(value.get("spatial_merge_size", 2)),
        temporal=int(value.get("temporal_patch_size", 2)),
    )


def max_positions(path: Path) -> int | None:
    """Tokens that the model's own config allows in all; None where there is no config."""
    config = path / "config.json"
    if not config.is_file():
        return None
    try:
        value = json.loads(config.read_text())
        text = value.get("text_config") or value
        return int(text["max_position_embeddings"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
