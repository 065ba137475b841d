"""A server of its own for one checkpoint: started, waited for, asked, stopped."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from sopbench.clients.served import EndpointError, served_models
from sopbench.errors import SopbenchError, UsageError
from sopbench.waiting import wait_for

POLL_SECONDS = 0.5
STOP_SECONDS = 20.0
LOG_LINES = 12


class ServerFailed(SopbenchError):
    """A server that did not come up."""


@contextmanager
def served(model: Path, name: str, template: str, *, images: int, log: Path, timeout: float) -> Iterator[str]:
    """Run `template` for `model` and yield its base URL once it lists its models; the server and its children are stopped at the end.

    Raises `ServerFailed` with the last lines of its output (all of it is in `log`), and `UsageError` for a template that cannot be filled.
    """
    port = _free_port()
    words = _filled(template, model, name, port, images)
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        try:
            process = subprocess.Popen(
                words, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True
            )
        except OSError as error:
            raise ServerFailed(
                f"cannot start {words[0]!r} ({error.strerror}): is it installed here? See validation.serve_command"
            ) from error
        try:
            url = f"http://127.0.0.1:{port}/v1"
            _wait_until_up(process, url, timeout, log)
            yield url
        finally:
            _stop(process)


def _filled(template: str, model: Path, name: str, port: int, images: int) -> list[str]:
    fields = {"model": str(model), "name": name, "port": str(port), "limits": json.dumps({"image": images})}
    try:
        words = [word.format(**fields) for word in shlex.split(template)]
    except (KeyError, IndexError, ValueError) as error:
        raise UsageError(
            f"validation.serve_command: {error}; its fields are {{model}}, {{name}}, {{port}} and {{limits}}"
        ) from error
    if not words:
        raise UsageError("validation.serve_command is empty")
    return words


def _wait_until_up(process: subprocess.Popen[bytes], url: str, timeout: float, log: Path) -> None:
    end = time.monotonic() + timeout
    while True:
        if process.poll() is not None:
            raise ServerFailed(
                f"the server ended with status {process.returncode} before it was up:\n{_last_lines(log)}"
            )
        with suppress(EndpointError):
            if wait_for(served_models(url, patience=5.0)):
                return
        if time.monotonic() > end:
            raise ServerFailed(
                f"the server is not up after {timeout:g} s (validation.serve_timeout):\n{_last_lines(log)}"
            )
        time.sleep(POLL_SECONDS)


def _stop(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)
            break
    with suppress(ProcessLookupError):  # workers that outlived their leader
        os.killpg(process.pid, signal.SIGKILL)


def _last_lines(log: Path) -> str:
    with log.open("rb") as handle:
        handle.seek(max(0, handle.seek(0, os.SEEK_END) - 16_000))
        lines = handle.read().decode("utf-8", "replace").splitlines()
    return "\n".join(lines[-LOG_LINES:]) or "it printed nothing"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
