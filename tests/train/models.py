"""Random tiny models with everything that a real folder has: weights, tokenizer, chat template, processor.

They know nothing, but they are whole: `AutoProcessor`, `AutoModelForImageTextToText`, verl and vLLM load them. Nothing comes from a hub. The
tokenizer is a byte-level BPE that has seen the `uis1` texts, so that a prompt of two turns is some 400 tokens and not 4,000.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

SPECIALS = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|vision_pad|>",
    "<|image_pad|>",
    "<|video_pad|>",
)
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n"
    "{% if message.content is string %}{{ message.content }}{% else %}{% for part in message.content %}"
    "{% if part.type == 'image' %}<|vision_start|><|image_pad|><|vision_end|>{% elif part.type == 'text' %}{{ part.text }}{% endif %}"
    "{% endfor %}{% endif %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
PATCH, MERGE = 14, 2
MAX_IMAGE_TOKENS = 32


def make_tiny_text(folder: Path, *, seed: int = 0, hidden: int = 64, layers: int = 2) -> Path:
    """A random Qwen2 for text only."""
    import torch
    from transformers import Qwen2Config, Qwen2ForCausalLM

    tokenizer = tiny_tokenizer()
    config = Qwen2Config(**_text_config(tokenizer, hidden, layers), tie_word_embeddings=True)
    torch.manual_seed(seed)
    _save(Qwen2ForCausalLM(config), tokenizer, folder)
    return folder


def make_tiny_vl(
    folder: Path, *, seed: int = 0, hidden: int = 64, layers: int = 2, image_tokens: int = MAX_IMAGE_TOKENS
) -> Path:
    """A random Qwen2.5-VL; its processor shrinks every image to at most `image_tokens` tokens of 28x28 pixels."""
    import torch
    from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration

    tokenizer = tiny_tokenizer()
    number = tokenizer.convert_tokens_to_ids
    heads = hidden // 32
    text = _text_config(tokenizer, hidden, layers) | {
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [4, 6, 6]},
    }
    vision = {
        "depth": 2,
        "hidden_size": 32 * heads,
        "intermediate_size": 64,
        "num_heads": heads,
        "out_hidden_size": hidden,
        "patch_size": PATCH,
        "spatial_merge_size": MERGE,
        "temporal_patch_size": 2,
        "window_size": 112,
        "fullatt_block_indexes": [1],
    }
    config = Qwen2_5_VLConfig(
        text_config=text,
        vision_config=vision,
        tie_word_embeddings=False,
        image_token_id=number("<|image_pad|>"),
        video_token_id=number("<|video_pad|>"),
        vision_start_token_id=number("<|vision_start|>"),
        vision_end_token_id=number("<|vision_end|>"),
    )
    torch.manual_seed(seed)
    _save(Qwen2_5_VLForConditionalGeneration(config), tokenizer, folder)
    _write_processor(folder, image_tokens)
    return folder


@functools.cache
def _core() -> str:
    """The trained tokenizer as JSON: it takes a second, and is the same for every folder."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers

    core = Tokenizer(models.BPE())
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=900, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    core.train_from_iterator(_texts(), trainer)
    core.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in SPECIALS])
    return core.to_str()


def tiny_tokenizer() -> Any:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(_core()),
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=[token for token in SPECIALS if token not in ("<|im_end|>", "<|endoftext|>")],
        chat_template=TEMPLATE,
        model_max_length=32768,
        clean_up_tokenization_spaces=False,
    )


def _texts() -> Sequence[str]:
    """What the tokenizer learns its words from: the family's own texts, and the actions of the packaged recordings."""
    from sopbench.adapters import get_adapter
    from sopbench.adapters.base import Text, Turn
    from sopbench.suites.pocket import pocket_data
    from sopbench.trajectory import load_trajectories, screens_in

    adapter = get_adapter("uis1")
    texts = []
    for trajectory in load_trajectories(
        pocket_data() / "trajectories.jsonl", screens_in(pocket_data() / "screens"), limit=12
    ):
        screen = trajectory.steps[0].screen
        for message in adapter.render(trajectory.goal, [Turn(screen)], 0):
            texts += [part.text for part in message.parts if isinstance(part, Text)]
        texts += [adapter.format(step.action(), step.screen.size, step.thought) for step in trajectory.steps]
    return texts


def _text_config(tokenizer: Any, hidden: int, layers: int) -> dict[str, Any]:
    return {
        "vocab_size": len(tokenizer),
        "hidden_size": hidden,
        "intermediate_size": 2 * hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": hidden // 32,
        "num_key_value_heads": hidden // 32,
        "max_position_embeddings": 8192,
        "bos_token_id": tokenizer.pad_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }


def _save(model: Any, tokenizer: Any, folder: Path) -> None:
    from transformers import GenerationConfig

    model.generation_config = GenerationConfig(
        eos_token_id=[tokenizer.eos_token_id], pad_token_id=tokenizer.pad_token_id, do_sample=False
    )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _write_processor(folder: Path, image_tokens: int) -> None:
    side = PATCH * MERGE
    shared = {
        "do_convert_rgb": True,
        "do_normalize": True,
        "do_rescale": True,
        "do_resize": True,
        "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.5, 0.5, 0.5],
        "rescale_factor": 1 / 255,
        "resample": 3,
        "patch_size": PATCH,
        "merge_size": MERGE,
        "temporal_patch_size": 2,
        "processor_class": "Qwen2_5_VLProcessor",
        "size": {"shortest_edge": 4 * side * side, "longest_edge": image_tokens * side * side},
    }
    image = shared | {"image_processor_type": "Qwen2VLImageProcessor"}
    video = shared | {"video_processor_type": "Qwen2VLVideoProcessor"}
    (folder / "preprocessor_config.json").write_text(json.dumps(image, indent=1) + "\n")
    (folder / "video_preprocessor_config.json").write_text(json.dumps(video, indent=1) + "\n")
    config = json.loads((folder / "tokenizer_config.json").read_text())
    config["processor_class"] = "Qwen2_5_VLProcessor"
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=1) + "\n")
