"""Making AndroidWorld's environment: the pinned packages, the package of the pinned commit, and the lists of its tasks.

It is made in a folder beside its place and moved there whole, so what stands there is complete; packages that an earlier call got before it was cut short are not asked for again.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Final

from sopbench.cachedir import CACHE, cache_folder
from sopbench.errors import SopbenchError, UsageError
from sopbench.files import read_json, write_json
from sopbench.online.androidworld.pins import COMMIT, FAMILIES, INSTANCES, SHORT, TASK_SEED, TREE

PLACE: Final = "SOPBENCH_ANDROIDWORLD_ENV"
"""Names the folder of an environment that lies elsewhere."""
COMMAND: Final = "sopbench androidworld install"
ROOM_GB: Final = 1.5
MAX_STAMP: Final = 1 << 20
PROTOS: Final = "android_world/task_evals/information_retrieval/proto"

Watch = Callable[[str, int, int], None]
"""Told a stage, what is done of it, and of how many (0: not known)."""


class InstallFailed(SopbenchError):
    """The environment could not be made; nothing stands in its place."""


@dataclass(frozen=True, slots=True)
class Installed:
    """An environment that is complete and of this version's pins."""

    folder: Path
    facts: dict[str, Any]

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def lists(self) -> Path:
        """Where lists of tasks are kept."""
        return self.folder / "lists"


def home() -> Path:
    """Where everything of AndroidWorld is kept in this user's cache."""
    return cache_folder() / "androidworld"


def place(into: Path | None = None) -> Path:
    """Where the environment is, or would be."""
    import os

    if into is not None:
        return into.expanduser().absolute()
    named = os.environ.get(PLACE, "").strip()
    return Path(named).expanduser().absolute() if named else home() / f"env-{SHORT}"


def requirements() -> str:
    return resources.files("sopbench.online.androidworld").joinpath("requirements.txt").read_text("utf-8")


def inputs() -> str:
    """A digest of all that decides what the environment is."""
    version = f"{platform.system()} {platform.machine()} {sys.version_info.major}.{sys.version_info.minor}"
    return hashlib.sha256("\0".join((requirements(), COMMIT, version)).encode()).hexdigest()


def look(into: Path | None = None) -> Installed | str:
    """The environment, or why there is none."""
    folder = place(into)
    if not folder.is_dir():
        return f"there is none at {folder}"
    try:
        stamp = read_json(folder / "stamp.json", MAX_STAMP)
    except SopbenchError:
        return f"{folder} was not made by `{COMMAND}`, or not to its end"
    if not isinstance(stamp, dict) or stamp.get("inputs") != inputs():
        return f"{folder} is of other pins or another Python"
    if not (folder / "bin" / "python").exists():
        return f"the Python of {folder} is gone"
    return Installed(folder, stamp)


def installed() -> Installed:
    """The environment. Raises `UsageError` that says how to make it."""
    found = look()
    if isinstance(found, str):
        raise UsageError(
            f"AndroidWorld is not installed ({found}). Make its environment with: {COMMAND} "
            "(or from a clone that you have: --from CLONE)"
        )
    return found


def install(source: Path | None, into: Path | None, watch: Watch, *, again: bool = False) -> Installed:
    """Make the environment unless it is there. Raises `UsageError`, `DataError` or `InstallFailed`."""
    folder = place(into)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _alone(folder.with_name(f".{folder.name}.lock")):
            found = look(folder)
            if isinstance(found, Installed) and not again:
                return found
            return _make(folder, source, watch)
    except OSError as error:
        raise InstallFailed(
            f"{folder}: {error.strerror or error}; {CACHE} names another folder, or use --into DIR"
        ) from error


def _make(folder: Path, source: Path | None, watch: Watch) -> Installed:
    _check_machine(folder)
    if folder.exists() and not (folder / "stamp.json").exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} has something else in it: give another folder with --into DIR")
    began = time.monotonic()
    making = folder.with_name(f".{folder.name}.making")
    packages = _packages(making, watch)
    watch("source", 0, 0)
    shutil.rmtree(packages / "android_world", ignore_errors=True)
    _source(source, packages, watch)
    _run(
        making,
        "generating",
        ["-m", "grpc_tools.protoc", "--proto_path=.", "--python_out=.", *_protos(packages)],
        packages,
    )
    facts = _lists(making, watch)
    _run(making, "compiling", ["-m", "compileall", "-q", "android_world"], packages)
    stamp = {
        "inputs": inputs(),
        "commit": COMMIT,
        "tree": TREE,
        "seconds": round(time.monotonic() - began),
        "source": str(source) if source else "publisher",
        **facts,
    }
    write_json(making / "stamp.json", stamp)
    old = folder.with_name(f".{folder.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    making.rename(folder)
    shutil.rmtree(old, ignore_errors=True)
    return Installed(folder, stamp)


def _check_machine(folder: Path) -> None:
    if sys.version_info[:2] not in ((3, 11), (3, 12)):
        raise UsageError(f"AndroidWorld's pins are for Python 3.11 or 3.12, this is {platform.python_version()}")
    free = shutil.disk_usage(folder.parent).free / 1e9
    if free < ROOM_GB:
        raise UsageError(
            f"{folder.parent} has {free:.1f} GB free, {ROOM_GB} GB are needed; {CACHE} names another folder"
        )
    if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode != 0:
        raise UsageError(f"{sys.executable} has no pip, which makes the environment: install it (python -m ensurepip)")


def _packages(making: Path, watch: Watch) -> Path:
    """A virtual environment with the pinned packages; one that an earlier call got that far stays. Its site-packages."""
    packages = making / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"
    mark = making / "packages.json"
    if mark.is_file() and read_json(mark, MAX_STAMP) == inputs():
        return packages
    shutil.rmtree(making, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", making], check=True)
    pins = making / "requirements.txt"
    pins.write_text(requirements(), "utf-8")
    total = sum(1 for line in requirements().splitlines() if "==" in line and not line.startswith("#"))
    # pip writes "Collecting NAME" (or "Processing FILE") once for each: the only progress that it tells a program
    process = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "pip",
            "--python",
            str(making / "bin" / "python"),
            "install",
            "--no-deps",
            "-r",
            str(pins),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=_environment(),
    )
    said: list[str] = []
    done = 0
    watch("packages", 0, total)
    try:
        assert process.stdout is not None
        for line in process.stdout:
            said = [*said[-20:], line.rstrip()]
            if line.startswith(("Collecting ", "Processing ")):
                done += 1
                watch("packages", done, total)
    finally:
        if process.poll() is None:
            process.terminate()
        process.wait()
    if process.returncode != 0:
        raise InstallFailed("pip could not get AndroidWorld's packages:\n  " + "\n  ".join(said[-6:]))
    write_json(mark, inputs())
    return packages


def _source(source: Path | None, packages: Path, watch: Watch) -> None:
    from sopbench.online.androidworld.source import from_clone, from_publisher

    if source is not None:
        from_clone(source.expanduser(), packages)
        return
    count = 0

    def arrived(some: int) -> None:
        nonlocal count
        count += some
        watch("download", count, 0)

    from_publisher(home(), packages, arrived)


def _protos(packages: Path) -> list[str]:
    return sorted(str(p.relative_to(packages)) for p in (packages / PROTOS).glob("*.proto"))


def _lists(making: Path, watch: Watch) -> dict[str, Any]:
    """The default list of every family, which also shows that the environment imports; counts compared with the pinned ones."""
    from sopbench.online.androidworld.client import Bridge
    from sopbench.online.androidworld.tasks import ask_list, keep_list

    bridge = Bridge(making / "bin" / "python")
    try:
        facts = {"versions": bridge.ask("hello", 60)["versions"]}
        for done, (family, count) in enumerate(FAMILIES.items()):
            watch("tasks", done, len(FAMILIES))
            tasks = ask_list(bridge, family, TASK_SEED, INSTANCES)
            if len(tasks) != count:
                raise InstallFailed(f"family {family} has {len(tasks)} tasks, {count} were expected at {SHORT}")
            keep_list(making / "lists", family, TASK_SEED, INSTANCES, tasks)
    finally:
        bridge.close()
    return facts


def _run(making: Path, what: str, arguments: list[str], where: Path) -> None:
    done = subprocess.run(
        [making / "bin" / "python", *arguments],
        cwd=where,
        capture_output=True,
        text=True,
        errors="replace",
        env=_environment(),
    )
    if done.returncode != 0:
        raise InstallFailed(f"{what} failed:\n  " + "\n  ".join((done.stderr or done.stdout).strip().splitlines()[-6:]))


def _environment() -> dict[str, str]:
    """This process's environment without what would point another Python at our packages."""
    import os

    drop = ("PYTHONPATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if name not in drop}


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Two calls at once make one environment."""
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def remembered(folder: Path) -> dict[str, Any]:
    """Hashes of the files that AndroidWorld's set-up needs, as they were when they were first there."""
    try:
        kept = json.loads((folder / "SHA256SUMS.json").read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return kept if isinstance(kept, dict) else {}
