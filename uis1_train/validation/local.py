"""A model's folder as a policy of this process."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from sopbench.errors import UsageError

if TYPE_CHECKING:
    from uis1_train.policies.local import LocalPolicy


def local_policy(
    folder: Path, *, temperature: float, max_tokens: int, concurrency: int, seed: int = 0, name: str | None = None
) -> LocalPolicy:
    """Load `folder` and answer with it. Raises `UsageError` where there is no torch, or no whole model."""
    if find_spec("torch") is None:
        raise UsageError(
            f"playing {folder} in this process needs torch: `python scripts/setup_train.py` makes an environment with it (.venv-train); or have it served"
        )
    from uis1_train.embedded.decoding import Decoder
    from uis1_train.embedded.featurize import Featurizer
    from uis1_train.embedded.model import load_model
    from uis1_train.policies.local import LocalPolicy

    model = load_model(folder)
    decoder = Decoder(model, Featurizer(model, max_prompt=max(1, model.context - max_tokens)))
    return LocalPolicy(
        decoder, temperature=temperature, max_tokens=max_tokens, max_batch=concurrency, seed=seed, name=name
    )
