"""The server's environment, the tiny model and the servers: each made once, and only when a test asks for it."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sopbench.adapters import get_adapter
from sopbench.adapters.base import Text, Turn
from sopbench.screen import Screen

from .colours import png
from .serve import VllmServer

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CACHE = ROOT / ".cache" / "e2e"


@pytest.fixture(scope="session")
def vllm_python() -> Path:
    """The Python of `.venv-vllm`, made here if it is missing or from other pins."""
    status = subprocess.run([sys.executable, str(HERE / "setup_vllm.py")]).returncode
    if status != 0:
        pytest.fail("tests/e2e/setup_vllm.py could not make .venv-vllm; what to do stands above", pytrace=False)
    return ROOT / ".venv-vllm" / "bin" / "python"


@pytest.fixture(scope="session")
def tiny_model(vllm_python: Path) -> Path:
    """The folder of the tiny model, trained here unless one made by the same code from the same pins is in the cache."""
    words = json.dumps(words_of_the_harness())
    digest = hashlib.sha256(words.encode())
    for name in ("colours.py", "tiny_vlm.py", "requirements-vllm.txt"):
        digest.update((HERE / name).read_bytes())
    folder = CACHE / f"tiny-vlm-{digest.hexdigest()[:12]}"
    if not (folder / "ready.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "words.json").write_text(words)
        command = [str(vllm_python), "-m", "tests.e2e.tiny_vlm", str(folder), str(folder / "words.json")]
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        if subprocess.run(command, cwd=ROOT, env=environment).returncode != 0:
            pytest.fail(
                "tests/e2e/tiny_vlm.py could not train the tiny model; what it said stands above", pytrace=False
            )
    return folder


def words_of_the_harness() -> dict[str, list[str]]:
    """The texts around the screens in the requests of adapter `uis1`, for `tiny_vlm.Words`."""
    screen = Screen.from_bytes(png("plain", 0), "a screen")
    turns = [Turn(screen, "a reply"), Turn(screen)]
    found: dict[str, list[str]] = {"system": [], "turn": []}
    for goal in ("Open the settings", "Follow the colours (3)", "Set an alarm for 7:30 and call it Gym"):
        for message in get_adapter("uis1").render(goal, turns, images=2):
            text = "".join(part.text for part in message.parts if isinstance(part, Text))
            kind = "system" if message.role == "system" else "turn"
            if message.role != "assistant" and text not in found[kind]:
                found[kind].append(text)
    return found


@pytest.fixture(scope="session")
def server(vllm_python: Path, tiny_model: Path) -> Iterator[VllmServer]:
    """A server as one is told to start it: two images in a request, room for long prompts."""
    with VllmServer(vllm_python, tiny_model, CACHE / "server.log") as running:
        yield running


@pytest.fixture(scope="session")
def narrow_server(vllm_python: Path, tiny_model: Path) -> Iterator[VllmServer]:
    """A server started wrong: one image in a request, and a context that a harness's prompt does not fit."""
    with VllmServer(vllm_python, tiny_model, CACHE / "narrow_server.log", images=1, context=512) as running:
        yield running
