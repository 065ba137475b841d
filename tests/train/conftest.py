"""What the tests of training share. They need torch: run them with the training environment (`.venv-train/bin/pytest tests/train`)."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

if importlib.util.find_spec("torch") is None:
    pytest.exit("tests/train needs torch: run it with .venv-train/bin/pytest (scripts/setup_train.py makes it)", 4)


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    """Tiny matrices gain nothing from threads, and where cores are shared threads that wait for each other cost a lot."""
    import torch

    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def tiny_text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a random text-only Qwen2 of 0.1M parameters."""
    from tests.train.models import make_tiny_text

    return make_tiny_text(tmp_path_factory.mktemp("models") / "tiny-text")


@pytest.fixture(scope="session")
def tiny_vl(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a random Qwen2.5-VL of 0.3M parameters."""
    from tests.train.models import make_tiny_vl

    return make_tiny_vl(tmp_path_factory.mktemp("models") / "tiny-vl")
