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

from sopbench.errors import DataError, command, shown
from sopbench.files import create_json, is_temporary, open_regular, read_json, why, write_json
from sopbench.runs.fingerprint import fingerprint
from sopbench.runs.records import MAX_RECORD_BYTES, EpisodeEnd, StepRecord
from sopbench.runs.shapes import FactsShape, SettingsShape, first_fault, require_shape

MAX_INFO_BYTES = 4 * 1024 * 1024
MAX_SUMMARY_BYTES = 64 * 1024 * 1024
"""A summary may list every trajectory that flips, by its id."""


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

    def check(self, where: str) -> None:
        """Raise `DataError` where facts or settings are not what code relies on, or do not fit the fingerprint."""
        require_shape(FactsShape, self.facts, f"{where}: facts")
        require_shape(SettingsShape, self.settings, f"{where}: settings")
        if fingerprint(self.facts) != self.fingerprint:
            raise DataError(f"{where} was changed by hand: its fingerprint does not fit its facts")


EpisodeKey = tuple[str, int]
"""(episode id, repeat)"""


@dataclass(slots=True)
class EpisodeLog:
    """The lines that count for one episode: at each step the first scored one, else the last that failed.

    `failures`: why its attempts ended without a score, in order.
    """

    steps: dict[int, StepRecord] = field(default_factory=dict)
    end: EpisodeEnd | None = None
    attempt: int = 0
    failures: list[str] = field(default_factory=list)

    def ordered(self) -> list[StepRecord]:
        return [self.steps[index] for index in sorted(self.steps)]

    def add(self, record: StepRecord | EpisodeEnd) -> None:
        if record.attempt < self.attempt or (self.end is not None and self.end.outcome == "scored"):
            return
        if record.attempt > self.attempt:
            self.steps, self.end, self.attempt = {}, None, record.attempt
        if isinstance(record, EpisodeEnd):
            self.end = record
            if record.outcome == "not_scored":
                self.failures.append(record.error.reason if record.error else "?")
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

    @property
    def info_path(self) -> Path:
        return self.path / "run.json"

    def exists(self) -> bool:
        return os.path.lexists(self.info_path)

    def has_other_files(self) -> bool:
        """Whether the path is taken by something that is no run: a file, or a folder with files of others."""
        if not os.path.lexists(self.path):
            return False
        return not self.path.is_dir() or not all(map(is_temporary, self.path.iterdir()))

    def create(self, info: RunInfo) -> None:
        """Write run.json. Raises `FileExistsError` where another process was faster."""
        self.path.mkdir(parents=True, exist_ok=True)
        create_json(self.info_path, info.model_dump())

    def info(self) -> RunInfo:
        if not self.exists():
            raise DataError(f"{self.path} is not a run: it has no run.json")
        try:
            info = RunInfo.model_validate(read_json(self.info_path, MAX_INFO_BYTES))
        except ValidationError as error:
            raise DataError(f"{self.info_path} is not what a run writes ({first_fault(error)})") from error
        info.check(str(self.info_path))
        return info

    def summary(self) -> dict[str, Any]:
        """The content of summary.json, whatever it says."""
        if not os.path.lexists(self.summary_path):
            raise DataError(
                f"{self.path} has no summary.json yet; finish the run with: {command('sopbench', 'resume', self.path)}"
            )
        summary = read_json(self.summary_path, MAX_SUMMARY_BYTES)
        if not isinstance(summary, dict):
            raise DataError(f"{self.summary_path} is not a JSON object")
        return summary

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        write_json(self.summary_path, summary)

    def records(self) -> Iterable[StepRecord | EpisodeEnd]:
        """Every whole line of the journal, in order. A torn last line (no newline: the writer was killed) is left out."""
        if not os.path.lexists(self.journal_path):
            return
        try:
            handle = open_regular(self.journal_path)
        except OSError as error:
            raise DataError(f"cannot read {self.journal_path} ({why(error)})") from error
        with handle:
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


def require_own(logs: Iterable[EpisodeKey], ids: Iterable[str], repeats: int, folder: RunFolder) -> None:
    """Raise `DataError` where the journal has lines of an episode or repeat that is not the run's: it would be counted in no mean and in every sum."""
    known = set(ids)
    for episode, repeat in logs:
        if episode not in known or repeat >= repeats:
            raise DataError(
                f"{folder.journal_path} has lines of episode {shown(episode)}, repeat {repeat}, which this run does not play: "
                "it was edited, or mixed with another run's"
            )


def read_record(line: bytes, where: str) -> StepRecord | EpisodeEnd:
    """One journal line as a record; raises `DataError` that says what is wrong with it."""
    try:
        obj = json.loads(line)
        if not isinstance(obj, dict):
            raise DataError(f"{where}: not a JSON object")
        return EpisodeEnd.model_validate(obj) if obj.get("end") is True else StepRecord.model_validate(obj)
    except ValidationError as error:
        raise DataError(f"{where}: not a record ({first_fault(error)})") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where}: not JSON ({error})") from error
