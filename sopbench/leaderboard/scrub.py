"""What a submission must not tell: keys, host names, addresses and paths of the submitter's machine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from sopbench.runs.fingerprint import fingerprint
from sopbench.runs.folder import RunInfo
from sopbench.runs.records import AttemptRecord, EpisodeEnd, FailureRecord, StepRecord

KEPT_SETTINGS: Final = (
    "concurrency",
    "adaptive",
    "attempt_timeout",
    "deadline",
    "max_attempts",
    "environment_attempts",
)
"""Settings that tell how a run was made and nothing about where."""
ENDPOINT: Final = "endpoint"
"""What stands in the place of an endpoint's address."""

PRIVATE: Final = {
    "a key": re.compile(r"\b(sk|pk|rk|hf|ghp|gho|github_pat|xox[abp]|AKIA|AIza)[-_]?[A-Za-z0-9_-]{16,}"),
    "a bearer token": re.compile(r"\b[Bb]earer\s+[A-Za-z0-9._~+/-]{12,}"),
    "a home folder": re.compile(r"(?<![\w.:-])(/home/|/root/|/Users/|/mnt/|/data/|[A-Za-z]:\\Users\\)[\w.-]+"),
    "an address": re.compile(r"\b(https?|wss?|ssh)://[^\s\"']+|\b(?:\d{1,3}\.){3}\d{1,3}(:\d+)?\b|\blocalhost\b"),
}
KEYS: Final = ("a key", "a bearer token")
"""Of `PRIVATE`, what is looked for in texts that models and submitters wrote too: they may well speak of folders and addresses."""


def private_parts(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """(where, what) for every text of a JSON tree that looks as if it told of the submitter's machine."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from private_parts(str(key), path or "a name")
            yield from private_parts(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from private_parts(item, f"{path}[{index}]")
    elif isinstance(value, str):
        for what, pattern in PRIVATE.items():
            if pattern.search(value):
                yield path, what


def scrubbed_info(info: RunInfo) -> RunInfo:
    """`info` without what tells of the machine. A model that was served under a path keeps the path's last part as its name."""
    facts = dict(info.facts)
    facts["model"] = short_model(str(facts["model"]))
    if "path" in facts.get("policy", {}):
        facts["policy"] = {k: v for k, v in facts["policy"].items() if k != "path"}
    settings = {key: info.settings[key] for key in KEPT_SETTINGS if key in info.settings}
    return info.model_copy(update={"facts": facts, "settings": settings, "fingerprint": fingerprint(facts)})


def short_model(name: str) -> str:
    """The last part of a path; any other name as it is (`organisation/model` of a hub included). Of `builtin:tiny:model=FOLDER` the folder's last part."""
    policy, option, folder = name.partition(":model=")
    if option:
        return f"{policy}{option}{_last(folder)}"
    if name.startswith(("/", "~", "./", "../")) or "\\" in name or re.match(r"[A-Za-z]:", name):
        return _last(name)
    return name


def _last(path: str) -> str:
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1] or "model"


def scrubbed_record(record: StepRecord | EpisodeEnd) -> StepRecord | EpisodeEnd:
    """`record` without addresses, without the words of infrastructure errors, which quote both, and without an environment's details, which tell of devices.

    Reasons, times and the model's words stay.
    """
    if isinstance(record, EpisodeEnd):
        return record.model_copy(update={"error": _plain(record.error), "details": None})
    attempts = tuple(
        AttemptRecord(endpoint=ENDPOINT, seconds=a.seconds, error=a.error, waited=a.waited) for a in record.attempts
    )
    return record.model_copy(
        update={
            "endpoint": ENDPOINT if record.endpoint is not None else None,
            "model": short_model(record.model) if record.model is not None else None,
            "attempts": attempts,
            "error": _plain(record.error),
        }
    )


def _plain(error: FailureRecord | None) -> FailureRecord | None:
    return None if error is None else FailureRecord(reason=error.reason, detail="")
