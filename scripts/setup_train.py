"""Make `.venv-train`, the environment of the trainer `uis1_train`: torch, verl, Ray, transformers, and sopbench from this folder.

    python3.11 scripts/setup_train.py            make it, or see that it is there
    python3.11 scripts/setup_train.py --check    exit 0 if it is there and current, 1 if not; change nothing

Needs Python's own library only. The packages are pinned in `requirements-train.txt`, for machines without a GPU (tests and the tiny
study); on GPUs install `sopbench[train]` beside a build of torch and vLLM for your CUDA (docs/training.md). `heavy_env.py` does the work.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parent))

from heavy_env import (  # a sibling: the folder of a script is on the path
    ROOT,
    HeavyEnv,
    SetupError,
    command_line,
    only_one,
    pip,
)


def main(argv: Sequence[str] | None = None) -> int:
    options = command_line(ENV, (__doc__ or "").splitlines()[0], argv)
    if options.check:
        return 0 if ENV.current(options.venv) and linked(options.venv) else 1
    try:
        ENV.make(options.venv)
        link(options.venv)
    except SetupError as error:
        print(f"{ENV.tool}: {error}", file=sys.stderr)
        return 1
    return 0


def linked(venv: Path) -> bool:
    """Whether sopbench is installed there, from this folder, as pyproject.toml describes it now."""
    try:
        return (venv / "pyproject.installed").read_text() == link_facts()
    except OSError:
        return False


def link(venv: Path) -> None:
    """Install sopbench from this folder, editable. Its dependencies are among the pins; of the environment itself nothing is made anew."""
    with only_one(venv):
        if not linked(venv):
            ENV.say("installing sopbench and uis1_train from this folder")
            pip(venv, "--no-deps", "--editable", str(ROOT))
            (venv / "pyproject.installed").write_text(link_facts())


def link_facts() -> str:
    """What the installation says: pyproject.toml and the packages that are found."""
    packages = sorted(path.name for path in ROOT.glob("*/__init__.py") if path.parent.name != "tests")
    return "\n".join([str(ROOT), *(path for path in packages), (ROOT / "pyproject.toml").read_text()])


ENV: Final = HeavyEnv(
    tool="setup_train",
    venv=".venv-train",
    requirements=ROOT / "scripts" / "requirements-train.txt",
    torch="2.13.0",
    what="the pinned packages of the trainer (about 140)",
    own=(),
    imports=(
        "import torch, torchvision, ray, tensordict, transfer_queue, verl\n"
        "from transformers import Qwen2_5_VLForConditionalGeneration, Qwen2_5_VLProcessor\n"
    ),
)


if __name__ == "__main__":
    sys.exit(main())
