"""A transformers model as this trainer uses it: loaded from a folder, taken apart into embeddings, vision tower, text stack and head.

Weights are float32 always; with `dtype: bfloat16` the arithmetic is done in bfloat16 (autocast), since AdamW's small steps would vanish in bfloat16 weights.
Known families: Qwen2-VL and Qwen2.5-VL (one placeholder token for every merged patch, three-dimensional positions), and text-only decoders with full attention.
"""

from __future__ import annotations

import copy
import shutil
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from sopbench.errors import UsageError
from sopbench.files import read_json, why

VISION_FAMILIES = ("qwen2_vl", "qwen2_5_vl")
PLACEHOLDERS = ("image_token_id", "video_token_id", "vision_start_token_id", "vision_end_token_id", "vision_token_id")
MAX_CONFIG_BYTES = 16 * 1024 * 1024
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}


@dataclass(slots=True, eq=False)
class LocalModel:
    """`module` with what belongs to it. `eos` ends a reply; `suppressed` are tokens that stand for pictures, which a reply must never hold."""

    folder: Path
    module: Any
    tokenizer: Any
    image_processor: Any
    template: Any
    """Whatever has `apply_chat_template`: the processor, or of a text-only model the tokenizer."""
    device: torch.device
    dtype: torch.dtype
    eos: tuple[int, ...]
    pad: int
    suppressed: tuple[int, ...]
    image_token: int | None
    merge: int
    """Patches on a side of what one image token stands for; 1 where there are no images."""

    @property
    def sees(self) -> bool:
        """Whether it takes images."""
        return self.image_token is not None

    @property
    def text(self) -> Any:
        """The stack that takes embeddings and gives hidden states."""
        return self.module.model.language_model if self.sees else self.module.model

    @property
    def context(self) -> int:
        """Tokens that prompt and reply may have together."""
        return int(self.text.config.max_position_embeddings)

    def arithmetic(self) -> AbstractContextManager[Any]:
        if self.dtype == torch.float32:
            return nullcontext()
        return torch.autocast(self.device.type, dtype=self.dtype)

    def pictures(self, patches: torch.Tensor, grids: torch.Tensor) -> torch.Tensor:
        """Embeddings of the image tokens of all pictures, one after another: [tokens, hidden]. grids: [pictures, 3]."""
        out = self.module.model.get_image_features(patches.to(self.device), grids.to(self.device))
        return torch.cat(tuple(out.pooler_output), 0)

    def embeddings(self, ids: torch.Tensor, pictures: torch.Tensor | None) -> torch.Tensor:
        """[rows, length, hidden]; `pictures` go to the placeholders in reading order."""
        embedded: torch.Tensor = self.text.embed_tokens(ids)
        if pictures is None:
            return embedded
        assert self.image_token is not None
        places = ids.eq(self.image_token).unsqueeze(-1).expand_as(embedded)
        return embedded.masked_scatter(places, pictures.to(embedded.dtype))

    def hidden(
        self, embedded: torch.Tensor, positions: torch.Tensor, mask: torch.Tensor | None, cache: Any = None
    ) -> torch.Tensor:
        out = self.text(
            inputs_embeds=embedded,
            position_ids=positions,
            attention_mask=mask,
            past_key_values=cache,
            use_cache=cache is not None,
        )
        hidden: torch.Tensor = out.last_hidden_state
        return hidden

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        """float32, over the whole vocabulary: what supervised fine-tuning teaches."""
        logits: torch.Tensor = self.module.lm_head(hidden).float()
        return logits

    def choices(self, hidden: torch.Tensor) -> torch.Tensor:
        """`logits` with minus infinity at suppressed tokens: what replies are drawn from, and therefore what a policy gradient is taken of."""
        logits = self.logits(hidden)
        if not self.suppressed:
            return logits
        barred = torch.zeros(logits.shape[-1], dtype=torch.bool, device=logits.device)
        barred[list(self.suppressed)] = True
        return logits.masked_fill(barred, float("-inf"))

    def frozen_copy(self) -> LocalModel:
        """The same weights, never to be trained: the reference of the KL term."""
        other = copy.copy(self)
        other.module = copy.deepcopy(self.module).eval().requires_grad_(False)
        return other

    def save(self, folder: Path) -> None:
        """A folder that transformers and `vllm serve` load: weights, tokenizer, chat template, processor."""
        self.module.save_pretrained(folder)
        self.template.save_pretrained(folder)
        for file in self.folder.glob(
            "*preprocessor_config.json"
        ):  # transformers 5 writes one processor_config.json; earlier releases look for these
            if not (folder / file.name).exists():
                shutil.copyfile(file, folder / file.name)


def load_model(folder: Path, *, device: str = "auto", dtype: str = "float32") -> LocalModel:
    """The model in `folder` and its words. Raises `UsageError` where it is not whole or of a family that is not known here."""
    from transformers import AutoConfig

    if not (folder / "config.json").is_file():
        raise UsageError(
            f"model {folder}: no config.json there. Give the folder of a transformers model (weights, tokenizer and processor); nothing is downloaded"
        )
    _require_known(folder)
    try:
        config = AutoConfig.from_pretrained(folder, local_files_only=True)
        module = _module(folder, config)
        tokenizer, processor = _words(folder, config)
    except (OSError, ValueError, ImportError) as error:
        raise UsageError(
            f"model {folder} does not load: {why(error) if isinstance(error, OSError) else error}"
        ) from error
    template = processor if processor is not None else tokenizer
    if not getattr(template, "chat_template", None):
        raise UsageError(
            f"model {folder} has no chat template: its tokenizer or processor must say how a conversation is written. "
            "Put the family's chat_template.jinja into the folder (base models often lack one: take the -Instruct model's)"
        )
    where = torch.device(("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device)
    if where.type == "cuda" and not torch.cuda.is_available():
        raise UsageError("device cuda: this torch sees no GPU; use device: cpu (or auto)")
    module = module.to(where).eval()
    sees = config.model_type in VISION_FAMILIES
    eos = _eos(module, tokenizer)
    suppressed = {getattr(config, name, None) for name in PLACEHOLDERS} if sees else set()
    return LocalModel(
        folder=folder,
        module=module,
        tokenizer=tokenizer,
        image_processor=processor.image_processor if sees else None,
        template=template,
        device=where,
        dtype=DTYPES[dtype],
        eos=eos,
        pad=tokenizer.pad_token_id if tokenizer.pad_token_id is not None else eos[0],
        suppressed=tuple(sorted(token for token in suppressed if isinstance(token, int) and token not in eos)),
        image_token=config.image_token_id if sees else None,
        merge=config.vision_config.spatial_merge_size if sees else 1,
    )


def _require_known(folder: Path) -> None:
    """Before transformers looks: its own errors about a family that it cannot make sense of say little."""
    config = read_json(folder / "config.json", MAX_CONFIG_BYTES)
    family = config.get("model_type") if isinstance(config, dict) else None
    if not isinstance(family, str):
        raise UsageError(f"model {folder}: its config.json names no model_type, so it is no transformers model")
    if family not in VISION_FAMILIES and ({"vision_config", "audio_config"} & set(config)):
        raise UsageError(
            f"model {folder} is a {family}: in one process this trainer knows {', '.join(VISION_FAMILIES)} and text-only models. Train it on the verl path"
        )


def _module(folder: Path, config: Any) -> Any:
    from transformers import AutoModelForCausalLM, AutoModelForImageTextToText

    sees = config.model_type in VISION_FAMILIES
    kind = AutoModelForImageTextToText if sees else AutoModelForCausalLM
    module = kind.from_pretrained(folder, local_files_only=True, dtype=torch.float32, attn_implementation="sdpa")
    text = module.config.get_text_config()
    windows = [name for name in getattr(text, "layer_types", None) or () if name != "full_attention"]
    if windows or getattr(text, "final_logit_softcapping", None) or not hasattr(module, "lm_head"):
        raise UsageError(
            f"model {folder} ({config.model_type}) has layers that this trainer does not know ({', '.join(sorted(set(windows))) or 'its head'}). Train it on the verl path"
        )
    return module


def _words(folder: Path, config: Any) -> tuple[Any, Any]:
    """The tokenizer, and of a model that sees the processor."""
    from transformers import AutoProcessor, AutoTokenizer

    if config.model_type not in VISION_FAMILIES:
        return AutoTokenizer.from_pretrained(folder, local_files_only=True), None
    processor = AutoProcessor.from_pretrained(folder, local_files_only=True)
    if not hasattr(processor, "image_processor"):
        raise UsageError(
            f"model {folder} takes images, but its folder has no processor: preprocessor_config.json is missing. Copy it from the original model"
        )
    return processor.tokenizer, processor


def _eos(module: Any, tokenizer: Any) -> tuple[int, ...]:
    said = module.generation_config.eos_token_id if module.generation_config is not None else None
    ids = said if isinstance(said, list) else [said]
    found = {token for token in (*ids, tokenizer.eos_token_id) if isinstance(token, int)}
    if not found:
        raise UsageError(
            "the model names no token that ends a reply (eos_token_id): every reply would run to its limit"
        )
    return tuple(sorted(found))
