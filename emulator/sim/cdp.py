"""Chromium through its DevTools protocol, over a pipe: no port is opened, and the browser ends with us.

Messages are JSON, each ended by a zero byte, on the browser's descriptors 3 (to it) and 4 (from it), as `--remote-debugging-pipe` has it.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import queue
import shutil
import subprocess
import tempfile
import threading
from typing import Any, Final

from emulator.adb import end
from sopbench.errors import SopbenchError

FLAGS: Final = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--hide-scrollbars", "--mute-audio", "--disable-dev-shm-usage", "--disable-extensions", "--remote-debugging-pipe",
)  # fmt: skip
PROGRAMS: Final = ("chromium", "chromium-browser", "google-chrome")
PATIENCE: Final = 30.0


class BrowserFailed(SopbenchError):
    """Chromium is not there, ended, or refused what it was asked."""


class Browser:
    """One headless Chromium with a profile of its own, thrown away at the end."""

    def __init__(self, program: str | None = None) -> None:
        found = program or next((path for name in PROGRAMS if (path := shutil.which(name))), None)
        if found is None:
            raise BrowserFailed("no Chromium on this machine: install it (Debian: `apt-get install chromium`)")
        self._profile = tempfile.mkdtemp(prefix="sopbench-chromium-")
        to_child, self._write = os.pipe()
        self._read, from_child = os.pipe()
        launcher = 'exec 3<&"$1" 4>&"$2"; shift 2; exec "$@"'
        self._process = subprocess.Popen(
            [
                "bash",
                "-c",
                launcher,
                "launch",
                str(to_child),
                str(from_child),
                found,
                *FLAGS,
                f"--user-data-dir={self._profile}",
                "about:blank",
            ],
            pass_fds=(to_child, from_child),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(to_child)
        os.close(from_child)
        self._numbers = itertools.count(1)
        self._waiting: dict[int, queue.SimpleQueue[dict[str, Any]]] = {}
        self._lock = threading.Lock()
        self.events: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        threading.Thread(target=self._listen, name="chromium", daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def _listen(self) -> None:
        data = b""
        while more := self._more():
            data += more
            while b"\0" in data:
                text, _, data = data.partition(b"\0")
                message = json.loads(text)
                box = self._waiting.pop(message.get("id", 0), None)
                if box is not None:
                    box.put(message)
                elif "method" in message and message["method"] == "Page.loadEventFired":
                    self.events.put(message)
        for box in list(self._waiting.values()):
            box.put({"error": {"message": "the browser ended"}})

    def _more(self) -> bytes:
        try:
            return os.read(self._read, 1 << 18)
        except OSError:
            return b""

    def call(self, method: str, session: str | None = None, /, **params: Any) -> dict[str, Any]:
        """One command and its result. Raises `BrowserFailed`."""
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        box: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._waiting[number] = box
        try:
            with self._lock:
                data = json.dumps(message).encode() + b"\0"
                while data:
                    data = data[os.write(self._write, data) :]
            reply = box.get(timeout=PATIENCE)
        except OSError as error:
            raise BrowserFailed(f"the browser is gone: {error}") from error
        except queue.Empty:
            raise BrowserFailed(f"{method}: no answer within {PATIENCE:g} s") from None
        finally:
            self._waiting.pop(number, None)
        if "error" in reply:
            raise BrowserFailed(f"{method}: {str(reply['error'].get('message'))[:200]}")
        result: dict[str, Any] = reply["result"]
        return result

    def close(self) -> None:
        """End it and throw its profile away."""
        end(self._process, 3.0)
        for descriptor in (self._write, self._read):
            with contextlib.suppress(OSError):
                os.close(descriptor)
        shutil.rmtree(self._profile, ignore_errors=True)
