"""Measured agreement, kept in the user's cache by the judge's model and the hash of its words, so that a run can say how far its judge was measured."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from sopbench.cachedir import CACHE, cache_folder
from sopbench.errors import DataError, Notice, UsageError, command
from sopbench.files import read_json, why, write_json
from sopbench.judging.words import words_sha256

MAX_FILE: Final = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class KeptAgreement:
    """The few numbers of a measurement that a run repeats. `accuracy` is a fraction of the `n` examples with a verdict, `data` the SHA-256 of the examples."""

    n: int
    no_verdict: int
    accuracy: float
    kappa: float | None
    data: str

    def as_settings(self) -> dict[str, Any]:
        return {
            "n": self.n,
            "no_verdict": self.no_verdict,
            "accuracy": self.accuracy,
            "kappa": self.kappa,
            "data": self.data,
        }


def place(model: str) -> Path:
    """Where the agreement of a judge with the words of this version is kept."""
    key = sha256(f"{model}\n{words_sha256()}".encode()).hexdigest()[:32]
    return cache_folder() / "judges" / f"{key}.json"


def keep(model: str, result: Mapping[str, Any]) -> Path:
    """Write a measurement down. Raises `UsageError` where the cache cannot be written."""
    path = place(model)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, result)
    except OSError as error:
        raise UsageError(f"the result cannot be kept in {path} ({why(error)}); {CACHE} names another folder") from error
    return path


def agreement_of(model: str) -> KeptAgreement | None:
    """What was measured of this judge; None where nothing was, or where the file says something else (it may have been changed by hand)."""
    path = place(model)
    if not path.is_file():
        return None
    try:
        told = read_json(path, MAX_FILE)
    except DataError:
        return None
    return kept_from(told, model)


def kept_from(told: object, model: str) -> KeptAgreement | None:
    if not isinstance(told, dict) or not isinstance(told.get("judge"), dict):
        return None
    judge = told["judge"]
    if judge.get("model") != model or judge.get("prompt_sha256") != words_sha256():
        return None
    n, lost, accuracy, kappa, data = (told.get(k) for k in ("n", "no_verdict", "accuracy", "kappa", "data_sha256"))
    if type(n) is not int or type(lost) is not int or n < 1 or lost < 0 or not isinstance(data, str):
        return None
    if not _fraction(accuracy, 0) or not (kappa is None or _fraction(kappa, -1)):
        return None
    return KeptAgreement(n, lost, float(accuracy), None if kappa is None else float(kappa), data[:64])  # type: ignore[arg-type]  # `_fraction` saw to it


def _fraction(value: object, low: float) -> bool:
    return type(value) in (int, float) and math.isfinite(value) and low <= value <= 1  # type: ignore[arg-type,operator]  # a number, by its type


def warn_unmeasured(model: str) -> None:
    """A note where nothing is known of this judge."""
    if agreement_of(model) is None:
        measure = command("sopbench", "judge-agreement", "LABELLED.jsonl", "--judge-model", model)
        warnings.warn(
            f"judge agreement: not measured (with {model} and these words). Measure it before its verdicts are believed: {measure} --judge-base-url URL",
            Notice,
            stacklevel=2,
        )
