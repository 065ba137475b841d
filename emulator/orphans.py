"""Processes that must not outlive whoever started them: told apart from strangers that got the same id, and ended when he is gone.

`Guard` is a small process of its own. It is told over its standard input which processes belong to its parent, and ends what is left
of them when that input closes: also where the parent was killed. Standard library only: it must stay small.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
MARK: Final = "SOPBENCH_FLEET"
"""Environment variable by which the processes of one service are known, also those that it had no time to write down."""
MAX_LINE: Final = 1024 * 1024
GOODBYE: Final = b"goodbye\n"


@dataclass(frozen=True, slots=True)
class Process:
    """A process and when it began (ticks or a date, only to be compared): an id alone may have gone to another one since."""

    pid: int
    began: str

    @property
    def alive(self) -> bool:
        return began(self.pid) == self.began

    def as_json(self) -> list[object]:
        return [self.pid, self.began]


_PARENT, _BEGAN = 1, 19
"""Fields of /proc/PID/stat, counted from its third (proc(5): ppid is the 4th, starttime the 22nd)."""


def _stat(pid: int) -> list[str] | None:
    """Those fields; None where there is no such process, or only its remains."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if len(fields) <= _BEGAN or fields[0] in ("Z", "X") else fields


def began(pid: int) -> str | None:
    """When the process of that id began; None where there is none, or only its remains that nobody has waited for."""
    if sys.platform.startswith("linux"):
        fields = _stat(pid)
        return fields[_BEGAN] if fields is not None else None
    done = subprocess.run(["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return done.stdout.strip() or None


def identified(pids: Iterable[int]) -> tuple[Process, ...]:
    """Those of `pids` that live, with their beginnings."""
    return tuple(Process(pid, told) for pid in pids if (told := began(pid)) is not None)


def from_json(value: object) -> tuple[Process, ...]:
    """What `Process.as_json` gave, from a file that may have been torn: what is unreadable is left out."""
    items = value if isinstance(value, list) else []
    return tuple(
        Process(item[0], item[1])
        for item in items
        if isinstance(item, list) and len(item) == 2 and type(item[0]) is int and item[0] > 1 and type(item[1]) is str
    )


def marked(mark: str) -> tuple[Process, ...]:
    """This user's processes that were started with `mark` in their environment, but for this one. Linux only: elsewhere none."""
    wanted = f"{MARK}={mark}".encode()
    found: list[int] = []
    for entry in Path("/proc").iterdir() if sys.platform.startswith("linux") else ():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if wanted in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except OSError:  # somebody else's, or gone in between
            continue
    return identified(found)


def descendants(pids: Iterable[int]) -> tuple[Process, ...]:
    """All processes that these started, and those that these started in turn, nearest first. Linux only: elsewhere none."""
    children: dict[int, list[Process]] = {}
    for entry in Path("/proc").iterdir() if sys.platform.startswith("linux") else ():
        if entry.name.isdigit() and (fields := _stat(int(entry.name))) is not None:
            children.setdefault(int(fields[_PARENT]), []).append(Process(int(entry.name), fields[_BEGAN]))
    found: list[Process] = []
    todo = list(pids)
    while todo:
        below = children.get(todo.pop(0), [])
        found += below
        todo += [process.pid for process in below]
    return tuple(found)


def kill_all(processes: Iterable[Process], within: float = 5.0) -> bool:
    """End them at once; whether all were gone before the deadline."""
    alive = tuple(process for process in processes if process.alive)
    for process in alive:
        _signal(process, signal.SIGKILL)
    deadline = time.monotonic() + within
    while any(process.alive for process in alive):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def end_all(processes: Iterable[Process], within: float = 3.0) -> tuple[Process, ...]:
    """Ask them to end, kill at the deadline what has not. Those that were still there are returned."""
    alive = tuple(process for process in processes if process.alive)
    for process in alive:
        _signal(process, signal.SIGTERM)
    deadline = time.monotonic() + within
    while time.monotonic() < deadline and any(process.alive for process in alive):
        time.sleep(0.05)
    for process in alive:
        _signal(process, signal.SIGKILL)
    return alive


def _signal(process: Process, number: int) -> None:
    if process.alive:
        try:
            os.kill(process.pid, number)
        except ProcessLookupError:
            return


class Guard:
    """Ends the processes that it was last told of when this process ends, however it ends. `mark`: also those that carry it."""

    def __init__(self, mark: str = "") -> None:
        self._mark = mark
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child is not None and self._child.poll() is None else None

    def start(self) -> None:
        if self._child is None:
            clean = {name: value for name, value in os.environ.items() if name != MARK}
            self._child = subprocess.Popen(
                [sys.executable, "-m", "emulator.orphans", self._mark],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=ROOT,
                env=clean,
                start_new_session=True,
            )

    def tell(self, processes: Iterable[Process]) -> None:
        """These and no others belong to us now."""
        child = self._child
        if child is None or child.stdin is None:
            return
        try:
            child.stdin.write(json.dumps([process.as_json() for process in processes]).encode() + b"\n")
            child.stdin.flush()
        except OSError:  # it was killed: then the next `up` or `down` looks after what is left
            return

    def stop(self, within: float = 5.0) -> None:
        """Let it go: whoever calls this has ended everything himself."""
        child, self._child = self._child, None
        if child is None:
            return
        if child.stdin is not None:
            with contextlib.suppress(OSError):  # it was killed
                child.stdin.write(GOODBYE)
                child.stdin.close()
        try:
            child.wait(within)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


def main() -> int:
    """The guard: read lines until the other end closes, then end what is left."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    mark = sys.argv[1] if len(sys.argv) > 1 else ""
    last = b""
    while line := sys.stdin.buffer.readline(MAX_LINE):
        if line.endswith(b"\n"):
            last = line
    if last == GOODBYE:
        return 0
    try:
        known = from_json(json.loads(last)) if last else ()
    except ValueError:
        known = ()
    end_all(dict.fromkeys((*known, *(marked(mark) if mark else ()))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
