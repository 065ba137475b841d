"""Is what was merged the model that was trained? Every check says what it looked at; none of them trusts the merger."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from uis1_train.merge.loading import fill
from uis1_train.merge.merging import COMPANIONS, Merged

SAMPLE_GOAL = "Open the settings and turn Wi-Fi off"
SAMPLE_SIZE = (504, 1092)
"""Pixels of the drawn screen that a vision model is asked about: a phone's shape, and few enough tokens for a CPU."""


@dataclass(frozen=True, slots=True)
class Check:
    """One question and its answer. `fix` says what to do about a problem."""

    name: str
    status: Literal["ok", "note", "problem"]
    detail: str
    fix: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def check_merged(merged: Merged, *, base: Path | None = None, logits: bool = True) -> Iterator[Check]:
    """Ask one after the other: companion files, loading, processor limits, weights against the shards, logits against the shards."""
    yield _companions(merged, base)
    loaded: dict[str, Any] = {}
    for question in (_loads, _prompts):
        check = question(merged, loaded)
        yield check
        if check.status == "problem":
            return
    yield _same_limits(merged, base, loaded)
    if not logits:
        yield Check("logits", "note", "not compared, as asked")
        return
    yield from _same_model(merged, loaded)


def _companions(merged: Merged, base: Path | None) -> Check:
    sources = [p for p in (merged.checkpoint.base, base) if p is not None]
    wanted = [name for name in COMPANIONS if any((s / name).is_file() for s in sources)]
    lacking = [name for name in wanted if not (merged.out / name).is_file()]
    if lacking:
        return Check(
            "files", "problem", f"{merged.out} lacks {', '.join(lacking)}", "copy them from the base model's folder"
        )
    told = f"; added to what the merger wrote: {', '.join(merged.copied)}" if merged.copied else ""
    if base is None and merged.checkpoint.kind != "transformers" and not (merged.out / "tokenizer.json").is_file():
        return Check(
            "files",
            "problem",
            f"{merged.out} has no tokenizer",
            "merge again with --base, the folder that training started from",
        )
    return Check("files", "ok", f"everything that a prompt is made with is there{told}")


def _loads(merged: Merged, loaded: dict[str, Any]) -> Check:
    import torch
    from transformers import AutoConfig

    from uis1_train.merge.loading import model_class

    try:
        config = AutoConfig.from_pretrained(merged.out)
        precision = getattr(torch, merged.precision)
        model, info = model_class(config).from_pretrained(merged.out, dtype=precision, output_loading_info=True)
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        return Check(
            "loads", "problem", f"transformers does not load it: {error}", "keep the checkpoint, and merge again"
        )
    wrong = {
        key: sorted(map(str, info.get(key) or ())) for key in ("missing_keys", "unexpected_keys", "mismatched_keys")
    }
    if any(wrong.values()):
        told = "; ".join(f"{key}: {', '.join(names[:3])}" for key, names in wrong.items() if names)
        return Check(
            "loads",
            "problem",
            f"transformers loads it only in part ({told})",
            "the config is not that of these weights",
        )
    loaded["model"] = model.eval()
    count = sum(p.numel() for p in model.parameters())
    return Check("loads", "ok", f"{type(model).__name__}, {count:,} parameters, {merged.precision}")


def _prompts(merged: Merged, loaded: dict[str, Any]) -> Check:
    """Tokenizer, chat template and processor make a prompt of a message and a screen; the tensors are kept for the comparison."""
    from PIL import Image, ImageDraw
    from transformers import AutoProcessor, AutoTokenizer

    vision = hasattr(loaded["model"].config, "vision_config")
    fix = "give --base, the folder of the model that training started from"
    try:
        if vision:
            screen = Image.new("RGB", SAMPLE_SIZE, "white")
            ImageDraw.Draw(screen).rectangle((100, 400, 400, 500), fill="black")
            maker = AutoProcessor.from_pretrained(merged.out)
            content: Any = [{"type": "image"}, {"type": "text", "text": SAMPLE_GOAL}]
        else:
            screen, maker, content = None, AutoTokenizer.from_pretrained(merged.out), SAMPLE_GOAL
        text = maker.apply_chat_template(
            [{"role": "user", "content": content}], tokenize=False, add_generation_prompt=True
        )
        inputs = (
            maker(text=[text], images=[screen], return_tensors="pt") if vision else maker([text], return_tensors="pt")
        )
    except (OSError, ValueError, TypeError, AttributeError, KeyError) as error:
        return Check("prompt", "problem", f"no prompt can be made with its files: {type(error).__name__}: {error}", fix)
    loaded["inputs"], loaded["maker"] = inputs, maker
    what = f"a screen of {SAMPLE_SIZE[0]}x{SAMPLE_SIZE[1]} and a goal" if vision else "a goal"
    return Check("prompt", "ok", f"{what} become {inputs['input_ids'].shape[1]} tokens")


def _same_limits(merged: Merged, base: Path | None, loaded: dict[str, Any]) -> Check:
    """A processor that resizes otherwise than in training sees other pixels, and taps elsewhere."""
    from transformers import AutoProcessor

    name, source = "image size", base or merged.checkpoint.base
    mine = _limits(loaded["maker"])
    if mine is None:
        return Check(name, "ok", "a model for text alone")
    try:
        theirs = _limits(AutoProcessor.from_pretrained(source))
    except (OSError, ValueError) as error:
        return Check(name, "note", f"{source} has no processor to compare with ({error})")
    if mine != theirs:
        return Check(
            name,
            "problem",
            f"images are held to {mine} pixels, in the base model to {theirs}",
            "copy the base's preprocessor_config.json",
        )
    return Check(name, "ok", f"images are held to {mine[0]:,} to {mine[1]:,} pixels, as in {source}")


def _limits(maker: Any) -> tuple[int, int] | None:
    processor = getattr(maker, "image_processor", None)
    size = getattr(processor, "size", None)
    if size is None:
        return None
    return int(size["shortest_edge"]), int(size["longest_edge"])


def _same_model(merged: Merged, loaded: dict[str, Any]) -> Iterator[Check]:
    """The logits of the merged model, and of the shards put into the same architecture: rounded to the same precision they are equal bit by bit."""
    import torch

    from uis1_train.merge.shards import whole_state

    model, inputs = loaded["model"], loaded["inputs"]
    with torch.no_grad():
        first = model(**inputs).logits.float()
    if not bool(torch.isfinite(first).all()):
        yield Check("logits", "problem", "some are not finite", "training diverged, or the checkpoint is damaged")
        return
    if (state := _reference(merged, whole_state)) is None:
        yield Check("logits", "note", f"finite; there is nothing to compare a {merged.checkpoint.kind} checkpoint with")
        return
    differing = [
        name
        for name, value in model.state_dict().items()
        if name in state and not torch.equal(value, state[name].to(value.dtype))
    ]
    fill(model, state, str(merged.checkpoint.weights))
    with torch.no_grad():
        second = model(**inputs).logits.float()
    apart = float((first - second).abs().max())
    if differing or apart > 0:
        names = f"; weights that differ: {', '.join(differing[:3])} ({len(differing)} in all)" if differing else ""
        yield Check(
            "logits",
            "problem",
            f"up to {apart:.3g} apart from those of the checkpoint's own weights{names}",
            "do not serve it: merge again, and report this",
        )
        return
    yield Check(
        "logits",
        "ok",
        f"equal to those of the {merged.checkpoint.kind} checkpoint's own weights, {first.shape[1]} positions, bit by bit",
    )


def _reference(merged: Merged, whole_state: Callable[[Any], dict[str, Any]]) -> dict[str, Any] | None:
    """The checkpoint's own weights, read without the merger; None for megatron, whose shards have other names and shapes."""
    if merged.checkpoint.kind == "fsdp":
        return whole_state(merged.checkpoint.shards())
    if merged.checkpoint.kind == "megatron":
        return None
    from transformers import AutoConfig

    from uis1_train.merge.loading import model_class

    config = AutoConfig.from_pretrained(merged.checkpoint.weights)
    return dict(model_class(config).from_pretrained(merged.checkpoint.weights, dtype="auto").state_dict())
