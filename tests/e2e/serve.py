"""A real `vllm serve` on loopback for as long as a test needs it.

    with VllmServer(python, model_folder, log) as server:
        ... server.base_url ...

The server gets a free port, a log file, and a process group of its own; leaving the block ends that group and waits until it is gone.
Which flags a CPU needs, and what the server answers when asked too much, is in README.md beside this file.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

MODEL_NAME: Final = "tiny-vlm"
START_SECONDS: Final = 480.0
"""A start takes 25 s on two idle cores; the rest is for a machine that has other work."""
STOP_SECONDS: Final = 20.0


class ServerError(Exception):
    """The server did not come up; the message ends with the last lines of its log."""


class VllmServer:
    """`images`: most images in one request (None: the server's own default). `context`: most tokens of a request and its reply. `flags`: further
    words of the command line."""

    def __init__(
        self,
        python: Path,
        model: Path,
        log: Path,
        *,
        images: int | None = 2,
        context: int = 16384,
        flags: Sequence[str] = (),
    ) -> None:
        self.python, self.model, self.log = python, model, log
        self.images, self.context, self.flags = images, context, tuple(flags)
        self.started_after = 0.0
        self.port = 0
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def base_url(self) -> str:
        """What an OpenAI client takes as its base URL."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def pid(self) -> int:
        if self._process is None:
            raise ServerError("the server is not running")
        return self._process.pid

    def command(self) -> list[str]:
        words = [str(self.python), "-m", "vllm.entrypoints.cli.main", "serve", str(self.model)]
        words += ["--host", "127.0.0.1", "--port", str(self.port), "--served-model-name", MODEL_NAME]
        words += ["--dtype", "float32", "--enforce-eager", "--max-model-len", str(self.context)]
        words += ["--max-num-seqs", "8", "--max-num-batched-tokens", str(min(self.context, 4096)), "--seed", "0"]
        if self.images is not None:
            words += ["--limit-mm-per-prompt", json.dumps({"image": self.images, "video": 0})]
        return [*words, *self.flags]

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self, deadline: float = START_SECONDS) -> None:
        """Start it and wait until it answers. Raises `ServerError` when it ends by itself or is not there after `deadline` seconds."""
        began = time.monotonic()
        self.port = free_port()
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("wb") as out:
            self._process = subprocess.Popen(
                self.command(),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=_environment(),
                start_new_session=True,
            )
        try:
            while not self.healthy():
                if self._process.poll() is not None:
                    raise ServerError(f"vllm serve ended with status {self._process.returncode}{self._tail()}")
                if time.monotonic() - began > deadline:
                    raise ServerError(f"vllm serve does not answer after {deadline:.0f} s{self._tail()}")
                time.sleep(0.5)
        except BaseException:  # Ctrl-C while waiting included: a server without its keeper would run on for ever
            self.stop()
            raise
        self.started_after = time.monotonic() - began

    def healthy(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=2) as answer:
                return bool(answer.status == 200)
        except (OSError, urllib.error.URLError):
            return False

    def stop(self) -> None:
        """End the whole group: first kindly, then not. Does nothing when it is not running."""
        process, self._process = self._process, None
        if process is None:
            return
        for signum in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(process.pid, signum)
            except ProcessLookupError:
                break
            if _gone(process, STOP_SECONDS):
                break
        process.wait()

    def _tail(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines()[-15:]
        return f"; the end of {self.log}:\n  " + "\n  ".join(lines)


def free_port() -> int:
    """A port that nobody listens on now. The server binds it some seconds later; losing that race shows as a failed start."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _gone(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Whether every process of the group has ended. The leader is reaped here; its workers end with it, but not at once."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        process.poll()
        try:
            os.killpg(process.pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


def _environment() -> dict[str, str]:
    """Offline, silent, one gigabyte of key-value cache, bytecode kept; and nothing of the caller's Python or credentials."""
    ours = {
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "VLLM_NO_USAGE_STATS": "1",
        "DO_NOT_TRACK": "1",
        "VLLM_CPU_KVCACHE_SPACE": "1",
    }
    kept = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "TMPDIR", "LANG", "LC_ALL", "LD_LIBRARY_PATH")}
    return kept | ours
