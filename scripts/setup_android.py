"""Make `.venv-android`: android-env 1.3.0 with its gRPC, and sopbench from this folder, so that a simulated phone can serve gRPC there.

    python3.11 scripts/setup_android.py            make it, or see that it is there (about 20 seconds, 150 MB)
    python3.11 scripts/setup_android.py --check    exit 0 if it is there and current, 1 if not; change nothing

Needs Python's own library only. The pins are in `requirements-android.txt`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parent))

from heavy_env import ROOT, SetupError, clean_environment, only_one, pip, site_packages  # a sibling

REQUIREMENTS: Final = ROOT / "scripts" / "requirements-android.txt"
IMPORTS: Final = (
    "import grpc; from android_env import loader; from PIL import Image; import emulator.sim.screens.pocket"
)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--venv", type=Path, default=ROOT / ".venv-android", help="where (default: .venv-android in the repository)"
    )
    parser.add_argument("--check", action="store_true", help="only say whether it is there and current (exit 0 or 1)")
    options = parser.parse_args(argv)
    venv = options.venv.absolute()
    if options.check:
        return 0 if current(venv) else 1
    try:
        with only_one(venv):
            if not current(venv):
                make(venv)
    except SetupError as error:
        print(f"setup_android: {error}", file=sys.stderr)
        return 1
    return 0


def inputs() -> str:
    """A digest of all that decides what the environment is."""
    digest = hashlib.sha256()
    for path in (REQUIREMENTS, Path(__file__)):
        digest.update(path.read_bytes())
    digest.update(f"{ROOT} {platform.machine()} {sys.version_info.major}.{sys.version_info.minor}".encode())
    return digest.hexdigest()


def current(venv: Path) -> bool:
    try:
        stamp = json.loads((venv / "stamp.json").read_text())
    except (OSError, ValueError):
        return False
    return bool(stamp.get("inputs") == inputs()) and (venv / "bin" / "python").exists()


def make(venv: Path) -> None:
    if sys.version_info[:2] not in ((3, 11), (3, 12)):
        raise SetupError(
            f"the pins are for Python 3.11 or 3.12, this is {platform.python_version()}: run it with python3.11"
        )
    began = time.monotonic()
    print(f"setup_android: making {venv.name}", flush=True)
    if venv.exists():
        shutil.rmtree(venv)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    pip(venv, "--no-deps", "--requirement", str(REQUIREMENTS))
    (site_packages(venv) / "sopbench_from_here.pth").write_text(f"{ROOT}\n")
    python = venv / "bin" / "python"
    checked = subprocess.run([python, "-c", IMPORTS], capture_output=True, text=True, env=clean_environment())
    if checked.returncode != 0:
        raise SetupError("the new environment does not import:\n  " + checked.stderr.strip()[-2000:])
    seconds = time.monotonic() - began
    (venv / "stamp.json").write_text(json.dumps({"inputs": inputs(), "seconds": round(seconds)}) + "\n")
    print(f"setup_android: {venv.name} is ready after {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    sys.exit(main())
