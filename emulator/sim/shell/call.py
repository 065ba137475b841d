"""What a command of the phone's shell is given, and how it gives back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

if TYPE_CHECKING:
    from emulator.sim.android import Android

MAX_OUTPUT: Final = 64 * 1024 * 1024
"""Bytes that one command line may print."""


class OutputGone(Exception):
    """Whoever read the output went away, or there was too much of it: the command ends."""


class Sink(Protocol):
    """Where bytes go; raises `OutputGone` once nobody wants them."""

    def write(self, data: bytes) -> None: ...


@dataclass(slots=True)
class Gathered:
    """A sink that keeps everything, up to `MAX_OUTPUT`."""

    parts: list[bytes] = field(default_factory=list)
    total: int = 0

    def write(self, data: bytes) -> None:
        self.total += len(data)
        if self.total > MAX_OUTPUT:
            raise OutputGone
        self.parts.append(data)

    def value(self) -> bytes:
        return b"".join(self.parts)


@dataclass(slots=True)
class Bounded:
    """Passes on to another sink, up to `MAX_OUTPUT`."""

    sink: Sink
    total: int = 0

    def write(self, data: bytes) -> None:
        self.total += len(data)
        if self.total > MAX_OUTPUT:
            raise OutputGone
        self.sink.write(data)


class Failed(Exception):
    """A command ends with an error: `message` goes to standard error, after the command's name."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.code = code


@dataclass(slots=True)
class Call:
    """One run of one command. `args` are what follows its name; `path` makes paths absolute. `last` is False where the output
    goes on into a pipe (a command that would stream for ever ends there)."""

    android: Android
    name: str
    args: list[str]
    out: Sink
    err: Sink
    cwd: str
    read_stdin: Callable[[], bytes]
    last: bool = True
    run: Callable[[list[str]], int] = lambda words: 127
    """Runs another command with the same input and outputs: for `su`, `xargs`, `timeout` and their like."""

    def print(self, text: str = "") -> None:
        self.out.write(encoded(text + "\n"))

    def warn(self, message: str) -> None:
        self.err.write(encoded(f"{self.name}: {message}\n"))

    def path(self, name: str) -> str:
        return name if name.startswith("/") else f"{self.cwd.rstrip('/')}/{name}"

    def stdin_text(self) -> str:
        return decoded(self.read_stdin())

    def split(self, flags: str, valued: str = "") -> tuple[set[str], dict[str, str], list[str]]:
        """Options and operands in the manner of getopt: `flags` are single letters without a value, `valued` those with one.

        Raises `Failed` for an option that is in neither. Long options (`--name`) are told as flags.
        """
        on: set[str] = set()
        values: dict[str, str] = {}
        operands: list[str] = []
        words = list(self.args)
        while words:
            word = words.pop(0)
            if word == "--":
                operands += words
                break
            if word.startswith("--"):
                on.add(word[2:])
            elif word.startswith("-") and len(word) > 1:
                for place, letter in enumerate(word[1:], 1):
                    if letter in valued:
                        rest = word[place + 1 :]
                        if not rest and not words:
                            raise Failed(f"option requires an argument -- {letter}")
                        values[letter] = rest or words.pop(0)
                        break
                    if letter not in flags:
                        raise Failed(f"Unknown option '{letter}' (not simulated, or no such option)")
                    on.add(letter)
            else:
                operands.append(word)
        return on, values, operands


Command: TypeAlias = Callable[[Call], int | None]
"""Runs, and gives its exit code (None is 0). Raises `Failed`, `FileError` or `OutputGone`."""
Commands: TypeAlias = Mapping[str, Command]


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
