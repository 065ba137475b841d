"""A run is a directory: `run.json`, `steps.jsonl`, `summary.json`, `report.html`."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from sopbench.errors import DataError
from sopbench.runs.fingerprint import fingerprint
from sopbench.runs.records import EpisodeEnd, StepRecord

MAX_RECORD_BYTES = 4 * 1024 * 1024


class RunInfo(BaseModel):
    """What was asked. `facts` change the meaning of the numbers and are fingerprinted; `settings` do not (concurrency, paths, timeouts)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    v: int = 1
    id: str
    created: str
    version: str
    fingerprint: str
    facts: dict[str, Any]
    settings: dict[str, Any]

    def check(self) -> None:
        if fingerprint(self.facts) != self.fingerprint:
            raise DataError(f"run {self.id}: run.json was changed by hand: its fingerprint does not fit its facts")


EpisodeKey = tuple[str, int]
"""(episode id, repeat)"""


@dataclass(slots=True)
class EpisodeLog:
    """The lines that count for one episode: at each step the first scored one, else the last that failed."""

    steps: dict[int, StepRecord] = field(default_factory=dict)
    end: EpisodeEnd | None = None
    attempt: int = 0

    def ordered(self) -> list[StepRecord]:
        return [self.steps[index] for index in sorted(self.steps)]

    def add(self, record: StepRecord | EpisodeEnd) -> None:
        if record.attempt < self.attempt or (self.end is not None and self.end.outcome == "scored"):
            return
        if record.attempt > self.attempt:
            self.steps, self.end, self.attempt = {}, None, record.attempt
        if isinstance(record, EpisodeEnd):
            self.end = record
            return
        known = self.steps.get(record.step)
        if known is None or known.outcome == "not_scored":
            self.steps[record.step] = record


class RunFolder:
    """Reading and writing the files of one run. Raises `DataError` where they are not what they should be."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def journal_path(self) -> Path:
        return self.path / "steps.jsonl"

    @property
    def summary_path(self) -> Path:
        return self.path / "summary.json"

    @property
    def report_path(self) -> Path:
        return self.path / "report.html"

    @property
    def screens_path(self) -> Path:
        return self.path / "screens"

    def exists(self) -> bool:
        return (self.path / "run.json").is_file()

    def create(self, info: RunInfo) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        write_json(self.path / "run.json", info.model_dump())

    def info(self) -> RunInfo:
        path = self.path / "run.json"
        if not path.is_file():
            raise DataError(f"{self.path} is not a run: it has no run.json")
        try:
            info = RunInfo.model_validate_json(path.read_bytes())
        except (ValidationError, OSError) as error:
            raise DataError(f"{path} cannot be read: {error}") from error
        info.check()
        return info

    def summary(self) -> dict[str, Any]:
        if not self.summary_path.is_file():
            raise DataError(f"{self.path} has no summary.json yet; finish the run with: sopbench resume {self.path}")
        try:
            summary = json.loads(self.summary_path.read_bytes())
        except ValueError as error:
            raise DataError(f"{self.summary_path} is not JSON: {error}") from error
        if not isinstance(summary, dict):
            raise DataError(f"{self.summary_path} is not a JSON object")
        return summary

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        write_json(self.summary_path, summary)

    def records(self) -> Iterable[StepRecord | EpisodeEnd]:
        """Every whole line of the journal, in order. A torn last line (no newline: the writer was killed) is left out."""
        if not self.journal_path.is_file():
            return
        with self.journal_path.open("rb") as handle:
            number = 0
            while line := handle.readline(MAX_RECORD_BYTES + 1):
                number += 1
                if not line.endswith(b"\n"):
                    if len(line) > MAX_RECORD_BYTES:
                        raise DataError(f"{self.journal_path} line {number}: longer than {MAX_RECORD_BYTES} bytes")
                    return
                yield read_record(line, f"{self.journal_path} line {number}")

    def episodes(self) -> dict[EpisodeKey, EpisodeLog]:
        logs: dict[EpisodeKey, EpisodeLog] = defaultdict(EpisodeLog)
        for record in self.records():
            logs[record.episode, record.repeat].add(record)
        return dict(logs)


def read_record(line: bytes, where: str) -> StepRecord | EpisodeEnd:
    """One journal line as a record; raises `DataError` that says what is wrong with it."""
    try:
        obj = json.loads(line)
        if not isinstance(obj, dict):
            raise DataError(f"{where}: not a JSON object")
        return EpisodeEnd.model_validate(obj) if obj.get("end") is True else StepRecord.model_validate(obj)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise DataError(f"{where}: not a record ({'.'.join(map(str, first['loc']))}: {first['msg']})") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: not JSON ({error})") from error


def write_json(path: Path, value: Any) -> None:
    """Write through a temporary file, so that readers never see half of it."""
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("w", encoding="ascii") as handle:
        json.dump(value, handle, indent=1, ensure_ascii=True)
        handle.write("\n")
        handle.flush()
        os.fsync(handle.fileno())
    temporary.replace(path)
