"""Make an environment with torch in it from a file of pins, once. What `setup_train.py` and `tests/e2e/setup_vllm.py` have in common.

Needs Python's own library only. pip's own configuration on this machine (indexes, find-links, proxies) is obeyed. A stamp in the
environment holds a digest of all that went into it, and is written last: an environment that was cut short is made again.
"""

from __future__ import annotations

import argparse
import compileall
import fcntl
import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
DISK_GB: Final = {"cpu": 4, "any": 12}
"""Free space asked for: the CPU build of torch makes an environment of 2 to 3 GB, any other build brings a GPU's libraries along."""

TORCHVISION_ANCHOR: Final = "import torchvision.extension  # noqa: F401\n"
TORCHVISION_PATCH: Final = """
# Added by scripts/heavy_env.py: this torchvision's compiled operators do not load beside a CPU build of torch, and the import of its
# Python part then fails for want of two schemas. They are declared here, without bodies: the image transforms do not call them.
if not torchvision.extension._has_ops():
    _declared = torch.library.Library("torchvision", "DEF")
    for _name in ("nms", "qnms"):
        _declared.define(_name + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
"""


class SetupError(Exception):
    """Why the environment could not be made, and what to do, in words for the person at the terminal."""


@dataclass(frozen=True)
class HeavyEnv:
    """One such environment.

    tool: the script's name, in messages. what: what the pins are, in a message. own: files besides the pins that decide what it is.
    imports: Python text that runs in the new environment and must not fail. need: what the machine must have, checked first.
    finish: what is done to site-packages after the pins.
    """

    tool: str
    venv: str
    requirements: Path
    torch: str
    what: str
    own: tuple[Path, ...]
    imports: str
    need: Callable[[HeavyEnv], None] | None = None
    finish: Callable[[Path], None] | None = None

    def say(self, text: str) -> None:
        print(f"{self.tool}: {text}", flush=True)

    def inputs(self) -> str:
        """A digest of all that decides what the environment is: the pins, the scripts, and the Python it is made for."""
        digest = hashlib.sha256()
        for path in (self.requirements, Path(__file__), *self.own):
            digest.update(path.read_bytes())
        digest.update(f"{platform.machine()} {sys.version_info.major}.{sys.version_info.minor}".encode())
        return digest.hexdigest()

    def current(self, venv: Path) -> bool:
        try:
            stamp = json.loads((venv / "stamp.json").read_text())
        except (OSError, ValueError):
            return False
        return bool(stamp.get("inputs") == self.inputs()) and (venv / "bin" / "python").exists()

    def stamp(self, venv: Path, torch: str, seconds: int) -> None:
        facts = {"inputs": self.inputs(), "torch": torch, "seconds": seconds}
        (venv / "stamp.json").write_text(json.dumps(facts) + "\n")

    def make(self, venv: Path) -> bool:
        """Make it, unless it is there and current; whether there was anything to do."""
        with only_one(venv):
            if self.current(venv):
                return False
            self._build(venv)
            return True

    def _build(self, venv: Path) -> None:
        began = time.monotonic()
        self._check_machine(venv)
        if venv.exists():
            self.say(f"{venv.name} is from other pins or was cut short: making it again")
            shutil.rmtree(venv)
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
        torch = self._install_torch(venv)
        self.say(f"installing {self.what}")
        pip(venv, "--no-deps", "--requirement", str(self.requirements))
        patch_torchvision(site_packages(venv))
        if self.finish is not None:
            self.finish(site_packages(venv))
        self.say("compiling to bytecode")
        compileall.compile_dir(site_packages(venv), quiet=2, workers=0)
        self.say("checking that it imports")
        self._verify(venv)
        self.stamp(venv, torch, round(time.monotonic() - began))
        self.say(f"{venv.name} is ready after {time.monotonic() - began:.0f} s, {size_gb(venv):.1f} GB, torch {torch}")

    def _check_machine(self, venv: Path) -> None:
        if sys.version_info[:2] not in ((3, 11), (3, 12)):
            raise SetupError(
                f"the pinned packages are for Python 3.11 or 3.12, this is {platform.python_version()}: run it with python3.11"
            )
        if platform.system() != "Linux" or platform.machine() != "x86_64":
            raise SetupError(
                f"the pinned packages are for Linux on x86_64, this is {platform.system()} on {platform.machine()}."
                " Run it on such a machine, or in CI"
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
        if self.need is not None:
            self.need(self)

    def _install_torch(self, venv: Path) -> str:
        """The CPU build, if pip is configured with a place that offers it; else the build that the index has, with a warning."""
        cpu = f"torch=={self.torch}+cpu"
        self.say(f"installing {cpu}")
        try:
            pip(venv, "--no-deps", cpu)
            return f"{self.torch}+cpu"
        except SetupError:
            if "No matching distribution found for torch" not in log_of(venv).read_text(errors="replace"):
                raise
        free = shutil.disk_usage(venv).free / 1e9
        advice = (
            f"No index or find-links of pip's configuration offers {cpu}. Point PIP_EXTRA_INDEX_URL or PIP_FIND_LINKS at a place that"
            " does (PyTorch's own index of CPU wheels, or a folder with the wheel) for an environment of 2 to 3 GB"
        )
        if free < DISK_GB["any"]:
            raise SetupError(f"{advice}. The build that PyPI has needs {DISK_GB['any']} GB, and {free:.1f} GB are free")
        self.say(f"{advice}. Going on with the build that PyPI has: several GB to download")
        pip(venv, f"torch=={self.torch}")
        return self.torch

    def _verify(self, venv: Path) -> None:
        """The imports that its users begin with; a pin that no longer fits shows here, not in a test."""
        log = log_of(venv)
        with log.open("a") as out:
            status = subprocess.run(
                [venv / "bin" / "python", "-c", self.imports],
                stdout=out,
                stderr=subprocess.STDOUT,
                env=clean_environment(),
            ).returncode
        if status != 0:
            raise SetupError(f"the new environment does not import ({log}):\n  {tail(log)}")


def command_line(env: HeavyEnv, description: str, argv: Sequence[str] | None) -> argparse.Namespace:
    """The options that every such script has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--venv", type=Path, default=ROOT / env.venv, help=f"where to make it (default: {env.venv} in the repository)"
    )
    parser.add_argument("--check", action="store_true", help="only say whether it is there and current (exit 0 or 1)")
    options = parser.parse_args(argv)
    options.venv = options.venv.absolute()
    return options


def patch_torchvision(packages: Path) -> None:
    """What the wheel leaves undone on a machine without a GPU: see `TORCHVISION_PATCH`. Where it is done already, nothing."""
    target = packages / "torchvision" / "_meta_registrations.py"
    text = target.read_text()
    if TORCHVISION_ANCHOR not in text:
        raise SetupError(
            f"{target} is not the file that heavy_env.py knows: was torchvision's pin changed? Adapt TORCHVISION_ANCHOR"
        )
    if '_declared = torch.library.Library("torchvision", "DEF")' not in text:
        target.write_text(text.replace(TORCHVISION_ANCHOR, TORCHVISION_ANCHOR + TORCHVISION_PATCH, 1))


def pip(venv: Path, *arguments: str) -> None:
    """`pip install` into `venv` by this Python's pip, so that the environment needs none of its own."""
    into = ["--python", str(venv / "bin" / "python"), "install", "--no-compile"]
    log = log_of(venv)
    with log.open("a") as out:
        status = subprocess.run(
            [sys.executable, "-m", "pip", *into, *arguments],
            stdout=out,
            stderr=subprocess.STDOUT,
            env=clean_environment(),
        ).returncode
    if status != 0:
        raise SetupError(f"pip failed ({log}):\n  {tail(log)}")


def log_of(venv: Path) -> Path:
    return venv / "setup.log"


def tail(log: Path) -> str:
    return "\n  ".join(log.read_text(errors="replace").splitlines()[-6:])


def site_packages(venv: Path) -> Path:
    return venv / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"


def clean_environment() -> dict[str, str]:
    """This process's environment without what would point another Python at our packages."""
    drop = ("PYTHONPATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if name not in drop}


@contextmanager
def only_one(venv: Path) -> Iterator[None]:
    """Two calls at once (tests run in parallel, two terminals) make one environment: the second waits, then finds it made."""
    folder = ROOT / ".cache" / "setup"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{venv.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def size_gb(folder: Path) -> float:
    return sum(p.lstat().st_blocks * 512 for p in folder.rglob("*")) / 1e9
