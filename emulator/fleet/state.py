"""What a fleet's service leaves in its folder: where it is reached, a token for those who may, and its processes, for whoever finds it dead."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from emulator.orphans import Process, end_all, from_json, marked
from sopbench.cachedir import cache_folder
from sopbench.errors import SopbenchError

MAX_FILE: Final = 1024 * 1024


class FleetError(SopbenchError):
    """A fleet's service that is not there, is there already, or does not answer."""


def default_state() -> Path:
    return cache_folder() / "devices"


@dataclass(frozen=True, slots=True)
class Record:
    """`service.json`. `processes`: of the devices, when it was last written; `mark` is in the environment of all of them."""

    port: int
    backend: str
    mark: str
    service: Process
    processes: tuple[Process, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {
            "port": self.port,
            "backend": self.backend,
            "mark": self.mark,
            "service": self.service.as_json(),
            "processes": [process.as_json() for process in self.processes],
        }


class StateFolder:
    """Only this user can read it. The service holds `lock` as long as it lives: the system lets go of it when it dies."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def log(self) -> Path:
        return self.path / "service.log"

    @property
    def _record(self) -> Path:
        return self.path / "service.json"

    def make(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        os.chmod(self.path, 0o700)

    def lock(self) -> IO[bytes] | None:
        """The lock, kept until it is closed; None where a service holds it."""
        handle = open(self.path / "lock", "ab")  # noqa: SIM115 (as long-lived as its owner)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            handle.close()
            return None
        return handle

    @property
    def busy(self) -> bool:
        """Whether a service lives."""
        if not self.path.is_dir():
            return False
        handle = self.lock()
        if handle is None:
            return True
        handle.close()
        return False

    def new_token(self) -> str:
        token = secrets.token_urlsafe(32)
        self._write(self.path / "token", token)
        return token

    def token(self) -> str:
        try:
            return (self.path / "token").read_text().strip()
        except OSError as error:
            raise FleetError(f"no fleet in {self.path}: start one with `sopbench devices up`") from error

    def write(self, record: Record) -> None:
        self._write(self._record, json.dumps(record.as_json()))

    def read(self) -> Record | None:
        """The last record; None where there is none that can be read."""
        try:
            value = json.loads(self._record.read_bytes()[:MAX_FILE])
            [service] = from_json([value["service"]])
            if type(value["port"]) is not int or not 0 < value["port"] < 65536:
                return None
            return Record(
                value["port"], str(value["backend"]), str(value["mark"]), service, from_json(value["processes"])
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def clear(self) -> None:
        for name in ("service.json", "token"):
            (self.path / name).unlink(missing_ok=True)

    def end_leftovers(self) -> tuple[Process, ...]:
        """End what a dead service left, and forget it. Ids that other programs have got since are left alone."""
        record = self.read()
        if record is None:
            return ()
        ended = end_all(
            dict.fromkeys((record.service, *record.processes, *(marked(record.mark) if record.mark else ())))
        )
        self.clear()
        return ended

    def _write(self, path: Path, text: str) -> None:
        fresh = path.with_suffix(".new")
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as handle:
            handle.write(text)
        os.replace(fresh, path)
