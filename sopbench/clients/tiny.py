"""`builtin:tiny`: the small model that comes with the package, answering in this process. Needs the extra `tiny` (torch, transformers).

`builtin:tiny` plays the packaged weights, `builtin:tiny:model=FOLDER` those of another folder of the same kind (Qwen2-VL, Qwen2.5-VL). The record names the
digest of the weights. Requests in flight are answered as one batch; the decoder is the trainer's own (`uis1_train.policies.local`), so a checkpoint is evaluated
by the code that played its training.
"""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

from sopbench.clients.base import Ask, Policy, PoolStatus, Reply, Sampling
from sopbench.errors import UsageError
from sopbench.files import file_sha256

if TYPE_CHECKING:
    from uis1_train.policies.local import LocalPolicy

NAME: Final = "builtin:tiny"
MAX_REPLY_TOKENS: Final = 256
"""Tokens that a reply may have, whatever is asked for: twice what the longest action in this model's language takes. A model that rambles is cut there."""
NEEDS: Final = ("torch", "torchvision", "transformers")
WEIGHTS: Final = ("*.safetensors", "*.json", "*.jinja", "*.txt")


class Options(Protocol):
    """What is read of a run's configuration: see `sopbench.clients.PolicyOptions`."""

    @property
    def model(self) -> str: ...
    @property
    def sampling(self) -> Sampling: ...
    @property
    def seed(self) -> int | None: ...
    @property
    def concurrency(self) -> int: ...


def is_tiny(model: str) -> bool:
    """Whether `model` names this policy."""
    return model == NAME or model.startswith(f"{NAME}:")


def packaged_folder() -> Path:
    """The folder of the weights that ship with the package."""
    return Path(str(resources.files("sopbench").joinpath("models", "tiny")))


def folder_of(model: str) -> Path:
    """The folder that `builtin:tiny[:model=FOLDER]` names. Raises `UsageError`."""
    option, _, value = model.removeprefix(NAME).removeprefix(":").partition("=")
    if not option:
        return packaged_folder()
    if option != "model" or not value:
        raise UsageError(f"{model[:80]!r}: {NAME} takes model=FOLDER only, for example {NAME}:model=checkpoints/best")
    return Path(value).expanduser()


def require_extra(what: str) -> None:
    """Raise `UsageError` where the libraries behind the model are not installed."""
    missing = [name for name in NEEDS if importlib.util.find_spec(name) is None]
    if missing:
        raise UsageError(
            f"{what} needs {', '.join(missing)}, which this Python does not have: pip install 'sopbench[tiny]' (for a machine without a GPU, "
            "PyTorch's CPU build of torch and torchvision is enough)"
        )


def load(folder: Path, *, what: str, max_batch: int, max_images: int | None = None, device: str = "cpu") -> LocalPolicy:
    """The model in `folder`, ready to answer greedily. Raises `UsageError` where it cannot be loaded, or not here."""
    require_extra(what)
    if not (folder / "config.json").is_file():
        raise UsageError(f"{what}: there is no model in {folder} (no config.json)")
    from uis1_train.embedded.decoding import Decoder
    from uis1_train.embedded.featurize import Featurizer
    from uis1_train.embedded.model import load_model
    from uis1_train.policies.local import LocalPolicy

    with _without_progress_bars():
        model = load_model(folder, device=device)
    room = max(1, model.context - MAX_REPLY_TOKENS)
    decoder = Decoder(model, Featurizer(model, max_prompt=room, max_images=max_images))
    return LocalPolicy(decoder, temperature=0.0, max_tokens=MAX_REPLY_TOKENS, max_batch=max_batch, name="tiny")


@contextmanager
def _without_progress_bars() -> Iterator[None]:
    """transformers draws one while it loads; this program has a progress line of its own."""
    from transformers.utils import logging

    shown = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            logging.enable_progress_bar()


def weights_sha256(folder: Path) -> str:
    """Of everything in the folder that decides what the model answers."""
    files = sorted({path for pattern in WEIGHTS for path in folder.glob(pattern)})
    digest = hashlib.sha256()
    for path in files:
        digest.update(f"{path.name} {file_sha256(path)}\n".encode())
    return digest.hexdigest()


class Tiny(Policy):
    """A `LocalPolicy` behind sopbench's interface, sampled as the run says."""

    name: ClassVar[str] = NAME

    def __init__(self, local: LocalPolicy, model: str, sha256: str, sampling: Sampling, seed: int) -> None:
        self.local, self.model, self.sha256, self.sampling, self.seed = local, model, sha256, sampling, seed
        self.temperature = checked_temperature(sampling)
        self.max_tokens = min(sampling.max_tokens or MAX_REPLY_TOKENS, MAX_REPLY_TOKENS)
        self._asked = 0

    async def ask(self, ask: Ask) -> Reply:
        from uis1_train.embedded.decoding import Draw

        self._asked += 1
        try:
            decoded = await self.local.answer(
                ask, Draw(self.temperature, self.max_tokens, (self.seed, ask.seed, *ask.key))
            )
        finally:
            self._asked -= 1
        return Reply(
            text=decoded.text,
            model=self.model,
            endpoint="builtin",
            finish_reason=decoded.finish_reason,
            prompt_tokens=len(decoded.prompt.ids),
            completion_tokens=len(decoded.ids),
            latency=decoded.seconds,
        )

    def describe(self) -> dict[str, Any]:
        sampling = asdict(self.sampling) | {"extra_body": {}}
        return {
            "model": self.model,
            "sampling": sampling,
            "policy": {"kind": "tiny", "weights_sha256": self.sha256, "seed": self.seed},
        }

    def status(self) -> PoolStatus:
        return PoolStatus(in_flight=self._asked, limit=self.local.max_batch)

    async def close(self) -> None:
        await self.local.close()


def make_tiny(options: Options) -> Tiny:
    """The policy for `builtin:tiny[:model=FOLDER]`. Raises `UsageError`."""
    folder = folder_of(options.model)
    checked_temperature(options.sampling)
    local = load(folder, what=NAME, max_batch=options.concurrency)
    return Tiny(local, options.model, weights_sha256(folder), options.sampling, options.seed or 0)


def checked_temperature(sampling: Sampling) -> float:
    """The temperature to draw at, 0 for the likeliest token. Raises `UsageError` for sampling that this decoder does not do."""
    if sampling.extra_body:
        raise UsageError(f"{NAME} answers in this process: there is no request for --extra-body to go into")
    if sampling.top_p not in (None, 1.0):
        raise UsageError(f"{NAME} draws from the whole distribution: leave --top-p away, or serve the model with vLLM")
    if sampling.top_k == 1:
        return 0.0
    if sampling.top_k is not None:
        raise UsageError(f"{NAME} draws from the whole distribution, or with --top-k 1 takes the likeliest token")
    temperature = sampling.temperature or 0.0
    if temperature < 0:
        raise UsageError(f"the temperature must be at least 0, not {temperature:g}")
    return temperature
