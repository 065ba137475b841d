"""The model folder: what `AutoProcessor`, `transformers` and `vllm serve` load. Building one, loading one, saving weights into one."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from uis1_train.tiny.recording import SMALL
from uis1_train.tiny.vocabulary import END, IMAGE, PAD, VIDEO, VISION, VISION_END, tokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast, Qwen2_5_VLForConditionalGeneration

PATCH: Final = 14
MERGE: Final = 2
MEAN: Final = 0.95
STD: Final = 0.3
"""Pixels are scaled so that a white screen is nearly nothing: less than a seventh of a screen is ink."""


@dataclass(frozen=True)
class Shape:
    """The sizes of a model. Heads have 64 channels, which `vllm` on a CPU takes."""

    hidden: int = 192
    inner: int = 384
    layers: int = 4
    heads: int = 3
    vision_hidden: int = 64
    vision_inner: int = 192
    vision_layers: int = 4
    vision_heads: int = 1
    theta: float = 1e6


def new_model(tok: PreTrainedTokenizerFast, shape: Shape, seed: int) -> Qwen2_5_VLForConditionalGeneration:
    """A model with random weights, drawn so that so narrow a one begins to learn at once (see `_draw`)."""
    import torch
    from transformers import GenerationConfig, Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration

    number = tok.convert_tokens_to_ids
    width = shape.hidden // shape.heads
    text: dict[str, Any] = {
        "vocab_size": len(tok),
        "hidden_size": shape.hidden,
        "intermediate_size": shape.inner,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.heads,
        "max_position_embeddings": 32768,
        "rms_norm_eps": 1e-6,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": shape.theta,
            "mrope_section": [width // 8, width * 3 // 16, width * 3 // 16],
        },
        "bos_token_id": number(PAD),
        "eos_token_id": number(END),
        "pad_token_id": number(PAD),
    }
    vision = {
        "depth": shape.vision_layers,
        "hidden_size": shape.vision_hidden,
        "intermediate_size": shape.vision_inner,
        "num_heads": shape.vision_heads,
        "out_hidden_size": shape.hidden,
        "patch_size": PATCH,
        "spatial_merge_size": MERGE,
        "temporal_patch_size": 2,
        "window_size": 112,
        "fullatt_block_indexes": list(range(shape.vision_layers)),
    }
    config = Qwen2_5_VLConfig(
        text_config=text,
        vision_config=vision,
        tie_word_embeddings=True,
        image_token_id=number(IMAGE),
        video_token_id=number(VIDEO),
        vision_start_token_id=number(VISION),
        vision_end_token_id=number(VISION_END),
    )
    torch.manual_seed(seed)
    model = Qwen2_5_VLForConditionalGeneration(config)
    model.generation_config = GenerationConfig(
        eos_token_id=[number(END)], pad_token_id=number(PAD), bos_token_id=number(PAD), do_sample=False
    )
    _draw(model, tok)
    return model


def _draw(model: Qwen2_5_VLForConditionalGeneration, tok: PreTrainedTokenizerFast) -> None:
    """Weights at 1/sqrt(fan-in): the usual 0.02 leaves a narrow model with even attention everywhere. Queries begin as keys, so that like attends to like,
    and what attention writes begins as what it read. A word without its space begins near the word with it."""
    import torch

    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() < 2:
                continue
            std = 0.05 if "embed_tokens" in name else 1 / math.sqrt(weight[0].numel())
            if name.endswith(("o_proj.weight", "down_proj.weight", "attn.proj.weight")):
                std *= 0.5
            torch.nn.init.normal_(weight, 0, std)
        for layer in model.model.language_model.layers:
            attention = layer.self_attn
            attention.q_proj.weight.mul_(1.5)
            attention.k_proj.weight.copy_(attention.q_proj.weight)
            attention.o_proj.weight.copy_(0.5 * attention.v_proj.weight.T)


def near_each_other(model: Any, tok: PreTrainedTokenizerFast) -> None:
    """A word without the space before it begins where the word with it is, moved by one and the same step: so copying from a goal to a typed text is one rule, not
    one for each word."""
    import torch

    with torch.no_grad():
        table = model.model.language_model.embed_tokens.weight
        vocabulary = tok.get_vocab()
        pairs = [(n, vocabulary["Ġ" + word]) for word, n in vocabulary.items() if "Ġ" + word in vocabulary]
        bare, spaced = (torch.tensor(column) for column in zip(*pairs, strict=True))
        generator = torch.Generator().manual_seed(0)
        step = torch.randn(table.shape[1], generator=generator) * table[spaced].std() * 0.7
        table[bare] = (
            table[spaced] + step + 0.1 * table[spaced].std() * torch.randn(table[bare].shape, generator=generator)
        )


def write_folder(folder: Path, model: Any, tok: PreTrainedTokenizerFast, *, half: bool = True) -> None:
    """A complete folder. `half`: weights as float16, which keeps every figure of the study (it is measured on the folder's own weights)."""
    import torch

    folder.mkdir(parents=True, exist_ok=True)
    tok.save_pretrained(folder)
    shared = {
        "do_convert_rgb": True,
        "do_normalize": True,
        "do_rescale": True,
        "do_resize": True,
        "image_mean": [MEAN] * 3,
        "image_std": [STD] * 3,
        "rescale_factor": 1 / 255,
        "resample": 3,
        "patch_size": PATCH,
        "merge_size": MERGE,
        "temporal_patch_size": 2,
        "processor_class": "Qwen2_5_VLProcessor",
        "size": {"shortest_edge": 4 * (PATCH * MERGE) ** 2, "longest_edge": SMALL[0] * SMALL[1]},
    }
    image = shared | {"image_processor_type": "Qwen2VLImageProcessor"}
    video = shared | {"video_processor_type": "Qwen2VLVideoProcessor"}
    (folder / "preprocessor_config.json").write_text(json.dumps(image, indent=1) + "\n")
    (folder / "video_preprocessor_config.json").write_text(json.dumps(video, indent=1) + "\n")
    if half:
        state = {k: v.to(torch.float16) if v.is_floating_point() else v for k, v in model.state_dict().items()}
        state.pop("lm_head.weight", None)  # it is the table of embeddings
        model.save_pretrained(folder, state_dict=state)
    else:
        model.save_pretrained(folder)


def load_folder(folder: Path) -> tuple[Qwen2_5_VLForConditionalGeneration, PreTrainedTokenizerFast]:
    """The folder's model in float32, and its tokenizer."""
    import torch
    from transformers import AutoTokenizer, Qwen2_5_VLForConditionalGeneration

    model = Qwen2_5_VLForConditionalGeneration.from_pretrained(folder, dtype=torch.float32)
    return model, AutoTokenizer.from_pretrained(folder)


def vocabulary_from(texts: Iterable[str], seen: Iterable[str]) -> PreTrainedTokenizerFast:
    """The tokenizer for these texts and for the words that stand on screens."""
    from uis1_train.tiny.vocabulary import words_of

    counts = words_of(texts)
    counts.update(words_of(f" {word}" for word in seen))
    return tokenizer(word for word, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def parameters(model: Any) -> int:
    return sum(int(weight.numel()) for weight in model.parameters())
