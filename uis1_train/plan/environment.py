"""Is this machine fit for training? One question after the other, each with what to do."""

from __future__ import annotations

import os
import platform
import resource
import shutil
import sys
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sopbench.adapters.base import Adapter
from sopbench.errors import SopbenchError
from uis1_train.merge.checks import Check

SETUP = "python scripts/setup_train.py makes an environment with the pinned versions (.venv-train)"
RANGES = {
    "torch": ">=2.6",
    "transformers": ">=5.5.3,<5.11",
    "tensordict": ">=0.8,<=0.10.0",
    "TransferQueue": ">=0.1.10",
    "ray": ">=2.41",
    "verl": "==0.9.1",
    "numpy": ">=2",
}
"""What verl 0.9.1 declares (its `setup.py`), and for torch and Ray the oldest that it is known to run with."""
ONLY_VERL = ("tensordict", "TransferQueue", "ray", "verl")
MIN_FREE_GB, ENOUGH_FREE_GB = 2.0, 200.0
FILES = 8_192


def environment_checks(out: Path, *, embedded: bool) -> Iterator[Check]:
    """Python, packages, device, limits, disk."""
    yield _python()
    yield from _packages(embedded=embedded)
    if find_spec("torch") is not None:
        yield from _device(embedded=embedded)
    if not embedded:
        yield from _ray()
    yield _disk(out)


def model_checks(folder: Path, adapter: Adapter) -> Iterator[Check]:
    """The model that training starts from."""
    from uis1_train.merge.found import is_whole_model
    from uis1_train.plan.model_shape import shape_of

    if not is_whole_model(folder):
        yield Check(
            "model",
            "problem",
            f"{folder} is no whole transformers model",
            "finish the download, or merge a checkpoint (uis1-train merge)",
        )
        return
    try:
        shape = shape_of(folder)
    except SopbenchError as error:
        yield Check(
            "model",
            "problem",
            str(error),
            "only decoders with grouped-query attention are known, with or without a vision tower",
        )
        return
    assert shape is not None
    yield Check(
        "model",
        "ok",
        f"{shape.parameters:,} parameters" + (", with vision" if shape.vision else ", text only"),
    )
    yield from _words(folder, adapter, vision=shape.vision is not None)


def _python() -> Check:
    told = f"{platform.python_version()} at {sys.executable}"
    if sys.version_info[:2] not in ((3, 11), (3, 12)):
        return Check("python", "problem", f"{told}: verl 0.9.1 and its pins are for 3.11 and 3.12", SETUP)
    return Check("python", "ok", told)


def _packages(*, embedded: bool) -> Iterator[Check]:
    for name, wanted in RANGES.items():
        if embedded and name in ONLY_VERL:
            continue
        version = _version(name)
        if version is None:
            yield Check(name, "problem", "not installed", SETUP)
        elif not satisfies(version, wanted):
            yield Check(name, "problem", f"{version}, and verl 0.9.1 wants {wanted}", SETUP)
        else:
            yield Check(name, "ok", version)


def satisfies(version: str, wanted: str) -> bool:
    """Whether a version fits a range such as `>=5.5.3,<5.11`. Local and pre-release parts do not count."""
    own = _numbers(version)
    for part in wanted.split(","):
        sign = part.rstrip("0123456789.")
        other = _numbers(part[len(sign) :])
        width = max(len(own), len(other))
        a, b = own + (0,) * (width - len(own)), other + (0,) * (width - len(other))
        if not {"==": a == b, ">=": a >= b, "<=": a <= b, "<": a < b, ">": a > b}[sign]:
            return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    numbers = []
    for part in version.partition("+")[0].split("."):
        digits = "".join(c for c in part[: len(part) - len(part.lstrip("0123456789"))] if c.isdigit())
        if not digits:
            break
        numbers.append(int(digits))
        if digits != part:
            break
    return tuple(numbers)


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _device(*, embedded: bool) -> Iterator[Check]:
    import torch

    if not torch.cuda.is_available():
        told = f"no GPU that torch {torch.__version__} can use; {os.cpu_count()} CPU cores"
        fix = "enough for dry runs, tests and tiny models (float32: bfloat16 is slow on most CPUs)"
        if shutil.which("nvidia-smi"):
            fix = "there is nvidia-smi here: the driver may be older than this torch's CUDA, or CUDA_VISIBLE_DEVICES may be empty"
        yield Check("device", "note", told, fix)
        return
    for index in range(torch.cuda.device_count()):
        facts = torch.cuda.get_device_properties(index)
        yield Check(f"gpu {index}", "ok", f"{facts.name}, {facts.total_memory / 1e9:.0f} GB")
    if not torch.cuda.is_bf16_supported():
        yield Check(
            "bfloat16",
            "problem",
            "this GPU does not compute in bfloat16",
            "use a GPU from Ampere on; float16 diverges in RL",
        )
    if not embedded:
        for name, why in (("vllm", "rollouts are played by vLLM"), ("flash_attn", "remove_padding needs its kernels")):
            version = _version(name.replace("_", "-")) or _version(name)
            if version is None:
                yield Check(
                    name,
                    "problem" if name == "vllm" else "note",
                    f"not installed: {why}",
                    f"pip install {name.replace('_', '-')}, in the version that verl 0.9.1 pins",
                )
            else:
                yield Check(name, "ok", version)


def _ray() -> Iterator[Check]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < FILES:
        status: Any = "note"
        yield Check(
            "open files",
            status,
            f"at most {soft:,} ({hard:,} could be had); Ray opens many",
            f"ulimit -n {min(FILES, hard) if hard > 0 else FILES}",
        )
    shared = Path("/dev/shm")
    if shared.is_dir():
        free = shutil.disk_usage(shared).free / 1e9
        if free < 4:
            yield Check(
                "shared memory",
                "note",
                f"{free:.1f} GB free in {shared}: Ray's object store would go to the disk, which is slow",
                "in a container: --shm-size=64g",
            )
        else:
            yield Check("shared memory", "ok", f"{free:.0f} GB free")


def _disk(out: Path) -> Check:
    there = out
    while not there.exists():
        there = there.parent
    free = shutil.disk_usage(there).free / 1e9
    told = f"{free:,.0f} GB free below {out}"
    if not os.access(there, os.W_OK):
        return Check(
            "disk", "problem", f"{there} cannot be written to", "choose another folder: trainer.default_local_dir"
        )
    if free < MIN_FREE_GB:
        return Check("disk", "problem", told, "free some, or choose another folder: trainer.default_local_dir")
    if free < ENOUGH_FREE_GB:
        return Check(
            "disk",
            "note",
            f"{told}; a checkpoint of a 7B model with its optimizer takes 100 GB",
            "trainer.max_actor_ckpt_to_keep=2",
        )
    return Check("disk", "ok", told)


def _words(folder: Path, adapter: Adapter, *, vision: bool) -> Iterator[Check]:
    """Chat template and processor, and whether images are resized as the adapter counts."""
    from uis1_train.plan.plan import processor_limits

    if find_spec("transformers") is None:
        yield Check("chat template", "note", "not looked at: transformers is not installed here", SETUP)
        return
    from transformers import AutoProcessor, AutoTokenizer

    try:
        maker = (AutoProcessor if vision else AutoTokenizer).from_pretrained(folder)
        message: Any = [{"type": "image"}, {"type": "text", "text": "hello"}] if vision else "hello"
        text = maker.apply_chat_template(
            [{"role": "user", "content": message}], tokenize=False, add_generation_prompt=True
        )
    except (OSError, ValueError, TypeError, AttributeError, ImportError) as error:
        yield Check(
            "chat template",
            "problem",
            f"no prompt can be made: {type(error).__name__}: {' '.join(str(error).split())[:300]}",
            "copy tokenizer, chat template and processor files into the folder",
        )
        return
    yield Check("chat template", "ok", f"{len(text)} characters for a greeting")
    if not vision:
        return
    limits = processor_limits(folder)
    if limits is None or adapter.pixel_limits is None:
        yield Check(
            "image size",
            "ok",
            "the adapter's coordinates do not depend on it"
            if adapter.pixel_limits is None
            else "the processor tells no limits",
        )
    elif limits != adapter.pixel_limits:
        low, high = adapter.pixel_limits
        yield Check(
            "image size",
            "note",
            f"the processor holds images to {limits[0]:,} to {limits[1]:,} pixels, adapter {adapter.name} counts coordinates in images of {low:,} to {high:,}",
            f"same for screens between both; else set min_pixels={low} and max_pixels={high} in preprocessor_config.json",
        )
    else:
        yield Check("image size", "ok", f"{limits[0]:,} to {limits[1]:,} pixels, as adapter {adapter.name} counts")
