"""Rules about the files, their sums, and the words that the board will show."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from pydantic import ValidationError

from sopbench.errors import DataError
from sopbench.leaderboard.case import Case, Refused
from sopbench.leaderboard.metadata import Metadata, read_metadata
from sopbench.leaderboard.plain_text import plain
from sopbench.leaderboard.reading import FILES, METADATA, RUN, SUMMARY, SUMMED, SUMS
from sopbench.leaderboard.scrub import KEPT_SETTINGS, private_parts, short_model
from sopbench.runs.folder import RunInfo
from sopbench.runs.shapes import first_fault

MAX_JSON = 4 * 1024 * 1024
MAX_DEPTH = 40


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
    found = list(
        private_parts(
            {k: v for k, v in case.metadata.model_dump(mode="json").items() if k in ("notes", "training_data")}
        )
    )
    if keys := [where for where, what in found if "key" in what or "token" in what]:
        raise Refused(f"{METADATA}: {keys[0]} looks as if it held a key")
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


def json_object(data: bytes, where: str) -> dict[str, Any]:
    """JSON from strangers: bounded in size and depth, no NaN, no doubled names."""
    if len(data) > MAX_JSON:
        raise Refused(f"{where} is larger than {MAX_JSON} bytes")
    try:
        value = json.loads(data, parse_constant=_no_constant, object_pairs_hook=_once)
        _bounded(value, where)
    except (ValueError, RecursionError) as error:
        raise Refused(f"{where} is not JSON as a run writes it ({str(error)[:120]})") from error
    if not isinstance(value, dict):
        raise Refused(f"{where} is not a JSON object")
    return value


def _no_constant(word: str) -> float:
    raise ValueError(f"{word} is no number of JSON")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name stands twice in one object")
    return found


def _bounded(value: Any, where: str, depth: int = 0) -> None:
    if depth > MAX_DEPTH:
        raise Refused(f"{where} is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        for item in value.values():
            _bounded(item, where, depth + 1)
    elif isinstance(value, list):
        for item in value:
            _bounded(item, where, depth + 1)


def run(case: Case) -> str:
    try:
        case._info = RunInfo.model_validate(json_object(case.submission.file(RUN), RUN))
    except ValidationError as error:
        raise Refused(f"{RUN} is not what a run writes ({first_fault(error)})") from error
    try:
        case.info.check(RUN)
    except DataError as error:
        raise Refused(str(error)) from error
    return f"fingerprint {case.info.fingerprint[:12]}"


def text(case: Case) -> str:
    """Names that the page shows must be seen as themselves."""
    facts = case.facts
    shown = {
        "facts.model": facts["model"],
        "facts.suite": facts["suite"],
        "facts.adapter.name": facts["adapter"]["name"],
        "facts.adapter.prompt.note": facts["adapter"]["prompt"]["note"],
        "id": case.info.id,
        "version": case.info.version,
    }
    for where, value in shown.items():
        try:
            if len(value) > 1000:
                raise ValueError("is longer than 1000 characters")
            plain(value)
        except ValueError as error:
            raise Refused(f"{RUN}: {where} {error}") from error
    return "every name is seen as itself"


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
                f"{name}: {where[:100]} looks like {what} of your machine; `sopbench submit` leaves such things out"
            )
    return "no keys, addresses or paths"
