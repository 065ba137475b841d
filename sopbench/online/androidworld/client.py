"""The bridge seen from here: a child process that is asked one thing at a time, each by a deadline, and killed with all its children where it misses one."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from sopbench.errors import shown
from sopbench.online.base import EnvironmentFailed

PROGRAM: Final = Path(__file__).with_name("bridge.py")
LONGEST_ANSWER: Final = 64 * 1024 * 1024
"""Bytes of one line; a screen in base64 has a few millions."""
WATCH_EVERY: Final = 5.0
LOG_TAIL: Final = 4000
PASSED_ON: Final = (
    "PATH", "HOME", "LANG", "LC_ALL", "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
)  # fmt: skip
"""Of our environment; keys for a model's endpoint, for one, are no business of AndroidWorld's."""


Watch = Callable[[], None]


class BridgeFailed(EnvironmentFailed):
    """The bridge, or AndroidWorld behind it: `timeout`, `died`, `bad_reply`, or the word that the bridge had for it.

    `alive`: the bridge answered, and can be asked again.
    """

    def __init__(self, kind: str, detail: str, alive: bool = False) -> None:
        super().__init__(kind, detail)
        self.alive = alive


class Bridge:
    """One bridge. `python` belongs to AndroidWorld's environment. It is started by the first question, and again by the first one after a `kill`."""

    def __init__(self, python: Path, program: Path = PROGRAM) -> None:
        self._command = [str(python), "-u", str(program)]
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: Path | None = None
        self._waiting = bytearray()
        self._number = 0
        self._lock = threading.Lock()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    def ask(self, order: str, within: float, *, watch: Watch | None = None, **more: Any) -> dict[str, Any]:
        """What the bridge answers to `order`. Raises `BridgeFailed`; it is dead then, unless the error says that it is alive.

        watch: called every few seconds of waiting; what it raises ends the waiting and the bridge, as where the device is gone that it waits for.
        """
        with self._lock:
            process = self._process or self._start()
            self._number += 1
            line = json.dumps({"id": self._number, "do": order, **more}).encode() + b"\n"
            deadline = time.monotonic() + within
            try:
                self._send(process, line, deadline)
                answer = self._answer(process, order, within, deadline, watch)
            except BridgeFailed:
                self._kill()
                raise
            except BaseException:  # Ctrl-C between a question and its answer: the next answer would be to this one
                self._kill()
                raise
        if "error" in answer:
            raise BridgeFailed(_word(answer["error"]), f"{order}: {str(answer.get('detail', ''))[:2000]}", alive=True)
        told = answer.get("ok")
        if not isinstance(told, dict):
            self.kill()
            raise BridgeFailed("bad_reply", f"{order}: the bridge's answer is {shown(answer)}")
        return told

    def close(self, within: float = 5.0) -> None:
        """End it in good order, or by force past `within`. Never raises."""
        process = self._process
        if process is not None and process.poll() is None:
            with contextlib.suppress(OSError):
                assert process.stdin is not None
                process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(within)
        self.kill()

    def kill(self) -> None:
        with self._lock:
            self._kill()

    # ---- the process
    def _start(self) -> subprocess.Popen[bytes]:
        folder = Path(tempfile.mkdtemp(prefix="sopbench-androidworld-"))
        environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
        environment |= {"TMPDIR": str(folder), "PYTHONHASHSEED": "0", "PYTHONNOUSERSITE": "1", "TZ": "UTC"}
        try:
            with (folder / "log").open("wb") as log:
                process = subprocess.Popen(
                    self._command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    env=environment,
                    start_new_session=True,
                )
        except OSError as error:
            shutil.rmtree(folder, ignore_errors=True)
            raise BridgeFailed(
                "not_installed", f"{self._command[0]}: {error.strerror}; run: sopbench androidworld install"
            ) from error
        assert process.stdin is not None
        assert process.stdout is not None
        os.set_blocking(process.stdin.fileno(), False)
        self._process, self._folder, self._waiting = process, folder, bytearray()
        return process

    def _kill(self) -> None:
        process, folder = self._process, self._folder
        self._process = self._folder = None
        if process is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)

    def log(self) -> str:
        """The end of what the bridge and its libraries said."""
        if self._folder is None:
            return ""
        with contextlib.suppress(OSError), (self._folder / "log").open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - LOG_TAIL))
            return file.read().decode("utf-8", "replace").strip()
        return ""

    # ---- lines
    def _send(self, process: subprocess.Popen[bytes], line: bytes, deadline: float) -> None:
        assert process.stdin is not None
        left = memoryview(line)
        while left:
            allowed = deadline - time.monotonic()
            if allowed <= 0 or not select.select([], [process.stdin], [], allowed)[1]:
                raise BridgeFailed("timeout", "the bridge takes no orders")
            try:
                left = left[os.write(process.stdin.fileno(), left) :]
            except BlockingIOError:
                continue
            except OSError as error:
                raise self._ended(process) from error

    def _answer(
        self, process: subprocess.Popen[bytes], order: str, within: float, deadline: float, watch: Watch | None
    ) -> dict[str, Any]:
        assert process.stdout is not None
        while (end := self._waiting.find(b"\n")) < 0:
            if len(self._waiting) > LONGEST_ANSWER:
                raise BridgeFailed("bad_reply", f"{order}: the answer has more than {LONGEST_ANSWER} bytes")
            left = deadline - time.monotonic()
            if left <= 0:
                raise BridgeFailed("timeout", f"{order}: no answer within {within:.0f} s. {self._last_words()}")
            if not select.select([process.stdout], [], [], min(left, WATCH_EVERY) if watch else left)[0]:
                if watch is not None:
                    watch()
                continue
            some = os.read(process.stdout.fileno(), 1 << 20)
            if not some:
                raise self._ended(process)
            self._waiting += some
        line = bytes(self._waiting[:end])
        del self._waiting[: end + 1]
        try:
            answer = json.loads(line)
        except (ValueError, RecursionError):
            raise BridgeFailed("bad_reply", f"{order}: the bridge says {shown(line[:200])}") from None
        if not isinstance(answer, dict) or answer.get("id") != self._number:
            raise BridgeFailed("bad_reply", f"{order}: the bridge answers something else: {shown(answer)}")
        return answer

    def _ended(self, process: subprocess.Popen[bytes]) -> BridgeFailed:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(2)
        return BridgeFailed("died", f"the bridge ended with status {process.poll()}. {self._last_words()}")

    def _last_words(self) -> str:
        lines = self.log().splitlines()
        return f"Its last words: {shown(' | '.join(lines[-3:]))}" if lines else ""


def _word(value: object) -> str:
    """A kind as it may stand in a journal."""
    text = str(value)[:40]
    return text if text and all(letter.isalnum() or letter in "_-" for letter in text) else "environment_error"
