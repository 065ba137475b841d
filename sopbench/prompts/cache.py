"""Pulled texts on this machine: one JSON file a source in the user's cache folder (`SOPBENCH_CACHE` names another)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from sopbench.cachedir import CACHE, cache_folder
from sopbench.errors import PromptError
from sopbench.files import open_regular, why, write_json
from sopbench.prompts.catalogue import Official
from sopbench.prompts.texts import hash_of

VERSION: Final = 1
MAX_FILE: Final = 8 * 2**20


@dataclass(frozen=True, slots=True)
class Stored:
    """The templates of a pulled source, and where its files came from (an address, or a path on the machine that pulled them)."""

    path: Path
    templates: Mapping[str, str]
    origins: Mapping[str, str]
    pulled: str


def folder() -> Path:
    """Where pulled texts are kept."""
    return cache_folder() / "prompts"


def place(source: Official) -> Path:
    return folder() / f"{source.family}-{source.key}.json"


def load(source: Official) -> Stored | None:
    """What was pulled for `source`; None where nothing was. Raises `PromptError` for a file that is not what was stored."""
    path = place(source)
    try:
        with open_regular(path) as handle:
            data = handle.read(MAX_FILE + 1)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise PromptError(f"{path}: cannot be read ({why(error)})") from error
    try:
        kept: Any = json.loads(data)
        stored = Stored(path, MappingProxyType(dict(kept["templates"])), dict(kept["origins"]), str(kept["pulled"]))
        recorded, version = str(kept["sha256"]), kept["v"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise PromptError(f"{path}: it is damaged; delete it, or pull again") from error
    right = source.texts_sha256 or recorded
    if version != VERSION or not _all_text(stored.templates) or hash_of(stored.templates) != right:
        raise PromptError(f"{path}: its text is not what was pulled (the sha256 differs); delete it, or pull again")
    return stored


def save(source: Official, templates: Mapping[str, str], origins: Mapping[str, str]) -> Stored:
    """Keep `templates`, whole or not at all."""
    path = place(source)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    kept = {
        "v": VERSION,
        "family": source.family,
        "pulled": now,
        "sha256": hash_of(templates),
        "files": [
            {"repository": f.repository, "commit": f.commit, "path": f.path, "sha256": f.sha256} for f in source.files
        ],
        "origins": dict(origins),
        "templates": dict(templates),
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, kept)
    except OSError as error:
        raise PromptError(f"{path}: cannot be written ({error.strerror}); {CACHE} names another folder") from error
    return Stored(path, MappingProxyType(dict(templates)), dict(origins), now)


def _all_text(templates: Mapping[str, object]) -> bool:
    return bool(templates) and all(isinstance(v, str) for pair in templates.items() for v in pair)
