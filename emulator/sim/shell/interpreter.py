"""Runs the trees of `syntax` against the phone's own commands."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from emulator.sim.files import FileError
from emulator.sim.shell import syntax
from emulator.sim.shell.call import Bounded, Call, Commands, Failed, Gathered, OutputGone, Sink, encoded
from emulator.sim.shell.syntax import For, If, List, Literally, Redirect, Simple, Word

if TYPE_CHECKING:
    from emulator.sim.android import Android

MAX_SECONDS: Final = 30.0
"""After which a command line runs no further command."""
MAX_RUNS: Final = 10_000
MAX_WORDS: Final = 100_000
NOT_FOUND: Final = 127
SYNTAX: Final = 2


class _Nowhere:
    def write(self, data: bytes) -> None:
        return


class _TooLong(Exception):
    """The command line took its share."""


class _Exit(Exception):
    """`exit` was run."""


@dataclass(slots=True)
class _State:
    """What one command line carries along. Every line starts anew, as every `adb shell` does."""

    deadline: float
    cwd: str = "/"
    code: int = 0
    runs: int = 0
    variables: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Streams:
    stdin: Callable[[], bytes]
    out: Sink
    err: Sink
    last: bool


class Shell:
    """The shell of one phone. `run` may be called from several threads at once."""

    def __init__(self, android: Android, commands: Commands) -> None:
        self._android = android
        self._commands = commands

    def output(self, line: str, stdin: bytes = b"") -> tuple[int, bytes, bytes]:
        """Run a line and gather what it prints: (exit code, standard output, standard error)."""
        out, err = Gathered(), Gathered()
        code = self.run(line, lambda: stdin, out, err)
        return code, out.value(), err.value()

    def run(self, line: str, stdin: Callable[[], bytes], out: Sink, err: Sink) -> int:
        """Run a command line and return its exit code. What it prints goes to the sinks; `OutputGone` of theirs ends it quietly."""
        state = _State(time.monotonic() + MAX_SECONDS)
        state.variables.update(
            HOME="/", PATH="/system/bin:/vendor/bin", EXTERNAL_STORAGE="/sdcard", ANDROID_DATA="/data", USER="root"
        )
        try:
            try:
                tree = syntax.parse(line)
            except syntax.ShellSyntaxError as error:
                err.write(encoded(f"sh: {error}\n"))
                return SYNTAX
            with contextlib.suppress(_Exit):
                self._list(tree, state, _Streams(stdin, Bounded(out), Bounded(err), last=True))
        except OutputGone:
            return 141
        except _TooLong:
            err.write(b"sh: the command line ran too long and was ended\n")
            return 124
        return state.code

    # ---- the tree
    def _list(self, tree: List, state: _State, streams: _Streams) -> None:
        for joined, pipeline in tree.items:
            if (joined == "&&" and state.code != 0) or (joined == "||" and state.code == 0):
                continue
            stdin = streams.stdin
            for command in pipeline[:-1]:
                pipe = Gathered()
                self._command(command, state, _Streams(stdin, pipe, streams.err, last=False))
                stdin = _constant(pipe.value())
            self._command(pipeline[-1], state, _Streams(stdin, streams.out, streams.err, streams.last))

    def _command(self, command: syntax.Command, state: _State, streams: _Streams) -> None:
        state.runs += 1
        if state.runs > MAX_RUNS or time.monotonic() > state.deadline:
            raise _TooLong
        try:
            words = self._expand(command.words, state) if isinstance(command, Simple) else []
            streams, pending = self._redirected(command.redirects, state, streams)
        except (Failed, FileError) as error:
            streams.err.write(encoded(f"sh: {_why(error)}\n"))
            state.code = 1
            return
        match command:
            case Simple():
                self._simple(command, words, state, streams)
            case If():
                self._if(command, state, streams)
            case For():
                for word in self._expand(command.words, state):
                    state.variables[command.name] = word
                    self._list(command.body, state, streams)
        for path, sink, append in pending:
            try:
                self._android.files.write(path, sink.value(), append=append)
            except FileError as error:
                streams.err.write(encoded(f"sh: {_why(error)}\n"))
                state.code = 1

    def _if(self, command: If, state: _State, streams: _Streams) -> None:
        for condition, body in command.branches:
            self._list(condition, state, streams)
            if state.code == 0:
                self._list(body, state, streams)
                return
        state.code = 0
        if command.otherwise is not None:
            self._list(command.otherwise, state, streams)

    def _simple(self, command: Simple, words: list[str], state: _State, streams: _Streams) -> None:
        for name, value in command.assignments:
            state.variables[name] = self._joined(value, state)
        state.code = self._call(words, state, streams) if words else 0

    def _call(self, words: list[str], state: _State, streams: _Streams) -> int:
        """Run one command by its name; shell built-ins that change the line's own state are here."""
        name, args = words[0], words[1:]
        if name == "cd":
            return self._cd(args, state, streams)
        if name == "export":
            for word in args:
                key, equals, value = word.partition("=")
                if equals:
                    state.variables[key] = value
            return 0
        if name == "exec" and args:
            return self._call(args, state, streams)
        if name == "exit":
            state.code = int(args[0]) & 255 if args and args[0].isdigit() else state.code
            raise _Exit
        base = name.rsplit("/", 1)[-1] if name.startswith(("/system/bin/", "/system/xbin/", "/vendor/bin/")) else name
        command = self._commands.get(base)
        if command is None:
            streams.err.write(encoded(f"sh: {name[:200]}: inaccessible or not found\n"))
            return NOT_FOUND
        call = Call(
            self._android, base, args, streams.out, streams.err, state.cwd, streams.stdin, streams.last,
            run=lambda inner: self._again(inner, state, streams),
        )  # fmt: skip
        try:
            return command(call) or 0
        except Failed as error:
            call.warn(error.message)
            return error.code
        except FileError as error:
            call.warn(_why(error))
            return 1

    def _again(self, words: list[str], state: _State, streams: _Streams) -> int:
        state.runs += 1
        if state.runs > MAX_RUNS or time.monotonic() > state.deadline:
            raise _TooLong
        return self._call(words, state, streams) if words else 0

    def _cd(self, args: list[str], state: _State, streams: _Streams) -> int:
        target = args[0] if args else "/"
        path = target if target.startswith("/") else f"{state.cwd.rstrip('/')}/{target}"
        if not self._android.files.is_dir(path):
            streams.err.write(encoded(f"sh: cd: {target}: No such file or directory\n"))
            return 1
        state.cwd = self._android.files.real(path)
        return 0

    # ---- redirections
    def _redirected(
        self, redirects: Iterable[Redirect], state: _State, streams: _Streams
    ) -> tuple[_Streams, list[tuple[str, Gathered, bool]]]:
        """The streams as the redirections make them, and the files to be written once the command has run."""
        stdin, out, err = streams.stdin, streams.out, streams.err
        pending: list[tuple[str, Gathered, bool]] = []
        for redirect in redirects:
            sink: Sink
            if redirect.target is None:
                sink = err if redirect.to == 2 else out
            else:
                target = self._joined(redirect.target, state)
                path = target if target.startswith("/") else f"{state.cwd.rstrip('/')}/{target}"
                if redirect.mode == "<":
                    stdin = _constant(b"" if path == "/dev/null" else self._android.files.read(path))
                    continue
                sink = self._opened(path, redirect.mode == ">>", pending)
            if redirect.fd in (1, 12):
                out = sink
            if redirect.fd in (2, 12):
                err = sink
        return _Streams(stdin, out, err, streams.last), pending

    def _opened(self, path: str, append: bool, pending: list[tuple[str, Gathered, bool]]) -> Sink:
        if path == "/dev/null":
            return _Nowhere()
        self._android.files.write(path, b"", append=append)  # made, or emptied, before the command runs, as sh does
        sink = Gathered()
        pending.append((path, sink, append))
        return sink

    # ---- words
    def _value(self, name: str, state: _State) -> str:
        return str(state.code) if name == "?" else "0" if name == "#" else state.variables.get(name, "")

    def _joined(self, word: Word, state: _State) -> str:
        """The text of a word that is neither split nor a pattern."""
        return "".join(
            part.text if isinstance(part, Literally) else self._value(part.name, state) for part in word.parts
        )

    def _expand(self, words: Iterable[Word], state: _State) -> list[str]:
        """Words with variables put in, split where unquoted, and patterns replaced by the paths that match."""
        found: list[str] = []
        for word in words:
            for text, pattern in self._fields(word, state):
                paths = self._paths(pattern, state.cwd) if pattern is not None else []
                found += paths or [text]
            if len(found) > MAX_WORDS:
                raise Failed("too many words")
        return found

    def _fields(self, word: Word, state: _State) -> list[tuple[str, str | None]]:
        """The fields of a word, each with its pattern where it has unquoted wildcards."""
        fields: list[list[tuple[str, bool]]] = []
        current: list[tuple[str, bool]] = []
        quoted_something = False
        for part in word.parts:
            if isinstance(part, Literally):
                current.append((part.text, part.quoted))
                quoted_something |= part.quoted
            elif part.quoted:
                current.append((self._value(part.name, state), True))
                quoted_something = True
            else:
                pieces = self._value(part.name, state).split()
                for place, piece in enumerate(pieces):
                    if place and current:
                        fields.append(current)
                        current = []
                    current.append((piece, False))
        if current or quoted_something:
            fields.append(current)
        return [_field(parts) for parts in fields]

    def _paths(self, pattern: str, cwd: str) -> list[str]:
        if pattern.startswith("/"):
            return self._android.files.glob(pattern)
        base = cwd.rstrip("/") + "/"
        escaped = "".join(f"[{letter}]" if letter in "*?[" else letter for letter in base)
        return [path.removeprefix(base) for path in self._android.files.glob(escaped + pattern)]


def _field(parts: list[tuple[str, bool]]) -> tuple[str, str | None]:
    text = "".join(text for text, _ in parts)
    wild = any(letter in "*?[" for text, quoted in parts if not quoted for letter in text)
    if not wild:
        return text, None
    return text, "".join(_escaped(piece) if quoted else piece for piece, quoted in parts)


def _escaped(text: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in text)


def _constant(data: bytes) -> Callable[[], bytes]:
    return lambda: data


def _why(error: Failed | FileError) -> str:
    if isinstance(error, Failed):
        return error.message
    return f"{error.filename}: {os.strerror(error.errno or 0)}"
