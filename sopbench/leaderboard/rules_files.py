"""Rules about the files, their sums, and the words that the board will show."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from pydantic import ValidationError

from sopbench.errors import DataError
from sopbench.leaderboard.case import Case, Refused
from sopbench.leaderboard.metadata import Metadata, read_metadata
from sopbench.leaderboard.plain_text import plain
from sopbench.leaderboard.reading import FILES, METADATA, RUN, SUMMARY, SUMMED, SUMS
from sopbench.leaderboard.scrub import KEPT_SETTINGS, KEYS, private_parts, short_model
from sopbench.leaderboard.strict_json import json_object
from sopbench.runs.folder import RunInfo
from sopbench.runs.shapes import first_fault

MAX_RUN: Final = 256 * 1024
MAX_TEXT: Final = 1_000


def files(case: Case) -> str:
    missing = [name for name in FILES if name not in case.submission.files]
    if missing:
        raise Refused(f"{', '.join(missing)} is missing; `sopbench submit` writes {', '.join(FILES)}")
    return f"{sum(map(len, case.submission.files.values())):,} bytes in {len(FILES)} files"


def sums_of(contents: dict[str, bytes]) -> bytes:
    """The content of `SHA256SUMS`, as `sha256sum` writes it for the files in this order."""
    return "".join(f"{hashlib.sha256(contents[name]).hexdigest()}  {name}\n" for name in SUMMED).encode()


def sums(case: Case) -> str:
    if case.submission.file(SUMS) == sums_of(case.submission.files):
        return "every file is what its sum says"
    lines = case.submission.file(SUMS).decode("ascii", "replace").splitlines()
    recorded = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    wrong = [n for n in SUMMED if recorded.get(n) != hashlib.sha256(case.submission.files[n]).hexdigest()]
    what = f"{', '.join(wrong)} changed after it was written" if wrong else f"{SUMS} is not in its canonical form"
    raise Refused(
        f"{what}. If you edited {METADATA} on purpose, renew the sums in that folder: sha256sum {' '.join(SUMMED)} > {SUMS}"
    )


def metadata(case: Case) -> str:
    case._metadata = read_metadata(case.submission.file(METADATA))
    for where, what in private_parts(case.metadata.model_dump(mode="json")):
        if what in KEYS:
            raise Refused(f"{METADATA}: {where} looks as if it held {what}; the file will be public")
    return f"{case.metadata.organisation}: {case.metadata.model}"


def folder(case: Case) -> str:
    """Where a submission lies among others, its folder is named after it."""
    wanted = folder_name(case.metadata)
    found = case.submission.folder
    if found is not None and re.match(r"\d{4}-\d{2}-\d{2}_", found) and found != wanted:
        raise Refused(f"the folder is named {found[:100]!r}; by its {METADATA} it must be {wanted}")
    return wanted


def folder_name(metadata: Metadata) -> str:
    """`<date>_<organisation>_<model>`, in characters that every file system and address takes."""
    words = (
        re.sub(r"[^A-Za-z0-9.-]+", "-", text).strip("-.")[:60] or "x"
        for text in (metadata.organisation, metadata.model)
    )
    return "_".join([metadata.date.isoformat(), *words])


def run(case: Case) -> str:
    try:
        case._info = RunInfo.model_validate(json_object(case.submission.file(RUN), RUN, limit=MAX_RUN))
    except ValidationError as error:
        raise Refused(f"{RUN} is not what a run writes ({first_fault(error)})") from error
    try:
        case.info.check(RUN)
    except DataError as error:
        raise Refused(str(error)) from error
    return f"fingerprint {case.info.fingerprint[:12]}"


def text(case: Case) -> str:
    """Every name and text of run.json may be shown, and must be seen as itself."""
    for where, value in _texts(case.info.model_dump(), ""):
        try:
            if len(value) > MAX_TEXT:
                raise ValueError(f"is longer than {MAX_TEXT} characters")
            plain(value)
        except ValueError as error:
            raise Refused(f"{RUN}: {ascii(where[:100])[1:-1]} {error}") from error
    try:
        datetime.fromisoformat(case.info.created)
    except ValueError as error:
        raise Refused(f"{RUN}: `created` is no time") from error
    return "every name is seen as itself"


def _texts(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Every text of a JSON tree, names included, with the place where it stands."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield path or "a name", key
            yield from _texts(item, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item, path)
    elif isinstance(value, str):
        yield path, value


def scrubbed(case: Case) -> str:
    info = case.info
    extra = sorted(set(info.settings) - set(KEPT_SETTINGS))
    if extra:
        raise Refused(
            f"{RUN}: settings tell of your machine ({', '.join(extra)[:200]}); make the submission with `sopbench submit`"
        )
    model = str(info.facts["model"])
    if short_model(model) != model:
        raise Refused(f"{RUN}: the model's name is a path of your machine; `sopbench submit` keeps its last part only")
    for name, value in ((RUN, info.model_dump()), (SUMMARY, json_object(case.submission.file(SUMMARY), SUMMARY))):
        for where, what in private_parts(value):
            raise Refused(
                f"{name}: {ascii(where[:100])[1:-1]} looks like {what} of your machine; `sopbench submit` leaves out what it can, a run without it is the other way"
            )
    return "no keys, addresses or paths"
