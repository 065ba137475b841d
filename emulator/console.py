"""The console of an Android emulator: one command, one answer. It may ask for the token that the emulator keeps in its user's home."""

from __future__ import annotations

import re
import socket
import time
from pathlib import Path
from typing import IO, Final

TOKEN: Final = ".emulator_console_auth_token"
"""In the home folder of the emulator's user; an empty file switches the question off (developer.android.com/studio/run/emulator-console)."""
MAX_LINES: Final = 10_000
SNAPSHOT_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}")


class ConsoleRefused(OSError):
    """The console answered KO; its words follow."""


def ask(line: str, port: int, within: float, *, host: str = "127.0.0.1", token: Path | None = None) -> list[str]:
    """Say `line`, and return the lines of the answer. Raises `ConsoleRefused`, or another `OSError` where nobody answers in time.

    A `ping` goes first: greetings differ between versions, and its answer says where they end.
    """
    if "\n" in line or "\r" in line:
        raise ConsoleRefused("a command with a line break")
    deadline = time.monotonic() + within
    with socket.create_connection((host, port), within) as wire, wire.makefile("rb") as answers:
        greeting = _until_ok(wire, answers, deadline)
        if any("authentication required" in said.lower() for said in greeting):
            wire.sendall(f"auth {_token(token)}\n".encode())
            _until_ok(wire, answers, deadline)
        wire.sendall(b"ping\n")
        while not any("alive" in said for said in _until_ok(wire, answers, deadline)):
            pass  # the rest of the greeting
        wire.sendall(line.encode() + b"\n")
        return _until_ok(wire, answers, deadline)


def _token(path: Path | None) -> str:
    path = path or Path.home() / TOKEN
    try:
        words = path.read_text().split()
    except OSError as error:
        raise ConsoleRefused(f"the console wants its token, and {path} cannot be read: {error.strerror}") from error
    return words[0] if words else ""


def _until_ok(wire: socket.socket, answers: IO[bytes], deadline: float) -> list[str]:
    lines: list[str] = []
    while len(lines) < MAX_LINES:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the console did not answer in time")
        wire.settimeout(left)
        text = answers.readline(65536).decode("utf-8", "replace")
        if not text:
            raise OSError("the console closed the connection")
        text = text.rstrip("\r\n")
        if text == "OK" or text.startswith("OK:"):
            return lines
        if text.startswith("KO"):
            raise ConsoleRefused(text[:300])
        lines.append(text)
    raise OSError("the console does not end its answer")
