"""The bridge of sopbench, in AndroidWorld's environment, attached to one simulated phone."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Final, Self

from emulator.adb import end, find_adb
from emulator.sim import SimDevice
from sopbench.errors import UsageError

ROOT: Final = Path(__file__).resolve().parents[2]
ANDROID: Final = ROOT / ".venv-android" / "bin" / "python"
BRIDGE: Final = ROOT / "sopbench" / "online" / "androidworld" / "bridge.py"
SEED: Final = 30
"""Upstream's default (run.py, `task_random_seed`)."""
LONGEST_SLEEP: Final = 0.2
"""Seconds; android_world waits for apps to settle, of which there are none here."""
ORDER_SECONDS: Final = 120.0


class OrderFailed(Exception):
    """What the bridge says went wrong, or that it did not answer in time."""


@dataclass(frozen=True)
class Upstream:
    """Where google-research/android_world is (the folder that has the package), and a Python that has its requirements."""

    checkout: Path
    python: Path

    @classmethod
    def at(cls, folder: Path, python: Path | None = None) -> Self:
        """A checkout, with its environment in `.venv` unless `python` is named; or what `sopbench androidworld install` made. Raises `UsageError`."""
        packages = next(folder.glob("lib/python3*/site-packages"), folder)
        found = python or (folder / "bin" / "python" if packages != folder else folder / ".venv" / "bin" / "python")
        if not (packages / "android_world" / "registry.py").is_file():
            raise UsageError(
                f"{folder}: no android_world is there; name a checkout, or what `sopbench androidworld install` made"
            )
        if not found.is_file():
            raise UsageError(f"{found}: no Python is there; name one that has android_world's requirements")
        if not ANDROID.is_file():
            raise UsageError(f"the phone's gRPC needs {ANDROID}: make it with python3.11 scripts/setup_android.py")
        return cls(packages, found.absolute())


class Driver:
    """Orders for a bridge, one after the other; whoever gives them keeps the deadline.

    Each has a temporary folder of its own: android_world makes files of fixed names there, which two at once would take from one another.
    """

    def __init__(self, upstream: Upstream, log: IO[bytes] | int = subprocess.DEVNULL) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="sopbench-androidworld-")
        self._process = subprocess.Popen(
            [str(upstream.python), str(Path(__file__).with_name("inside.py")), str(BRIDGE), str(upstream.checkout)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            env={**os.environ, "OMP_NUM_THREADS": "1", "TZ": "UTC", "TMPDIR": self._folder.name},
        )
        self._answers: queue.Queue[bytes | None] = queue.Queue()
        self._number = 0
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        end(self._process, 5.0)
        self._folder.cleanup()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(line)
        self._answers.put(None)

    def __call__(self, name: str, within: float = ORDER_SECONDS, **order: Any) -> dict[str, Any]:
        """Give an order and wait for its answer. Raises `OrderFailed`."""
        self._number += 1
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"id": self._number, "do": name, **order}).encode() + b"\n")
            self._process.stdin.flush()
            while True:
                line = self._answers.get(timeout=within)
                if line is None:
                    raise OrderFailed(f"{name}: the bridge has ended")
                answer: dict[str, Any] = json.loads(line)
                if answer["id"] == self._number:
                    break
        except OSError as error:
            raise OrderFailed(f"{name}: the bridge has ended ({error})") from error
        except queue.Empty:
            raise OrderFailed(f"{name}: no answer within {within:g} s") from None
        if "error" in answer:
            raise OrderFailed(f"{name}: {answer['error']}: {answer['detail']}")
        found: dict[str, Any] = answer["ok"]
        return found

    def tasks(self, seed: int = SEED) -> list[dict[str, Any]]:
        """All 116 tasks, one instance each: `template`, `seed`, `goal`, ..."""
        found: list[dict[str, Any]] = self("tasks", family="android_world", task_seed=seed, instances=1)["tasks"]
        return found

    def start(self, task: dict[str, Any]) -> None:
        self("start", family="android_world", template=task["template"], seed=task["seed"], goal=None)

    def answer(self, text: str) -> None:
        """Say something to whoever gave the task."""
        self("answer", text=text)

    def score(self) -> float:
        return float(self("score")["reward"])


@contextmanager
def attached(upstream: Upstream, log: IO[bytes] | int = subprocess.DEVNULL) -> Iterator[tuple[SimDevice, Driver]]:
    """A phone of one's own, and a bridge that is attached to it."""
    with SimDevice("aw", "androidworld", grpc=True, python=ANDROID) as phone, Driver(upstream, log) as driver:
        address = phone.address
        driver(
            "attach",
            console_port=address.console_port,
            grpc_port=address.grpc_port,
            adb=str(find_adb()),
            adb_server_port=address.adb_server_port,
            simulated=True,
            longest_sleep=LONGEST_SLEEP,
        )
        yield phone, driver
