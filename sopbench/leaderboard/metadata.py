"""`metadata.yaml`: who submits which model, in words that the board shows."""

from __future__ import annotations

import json
import re
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from sopbench.errors import DataError
from sopbench.leaderboard.plain_text import Line, Link, Prose
from sopbench.leaderboard.yaml_text import read_yaml
from sopbench.runs.shapes import first_fault


def _contact(text: str) -> str:
    if not re.fullmatch(r"[^@\s]+@[^@\s]+\.[^@\s]+|https://\S+|@[A-Za-z0-9-]{1,60}", text):
        raise ValueError("must be a mail address, an https:// address or an @handle")
    return text


def _day(value: object) -> object:
    """Of a text, only YYYY-MM-DD: seconds since 1970 would be taken too."""
    if isinstance(value, str) and not re.fullmatch(r"\d{4}-\d{2}-\d{2}", value):
        raise ValueError("must be YYYY-MM-DD")
    return value


class Links(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    paper: Link | None = None
    code: Link | None = None
    weights: Link | None = None


class Metadata(BaseModel):
    """What a submitter says of a model. `training_data` discloses what it was trained on, `trained_on_benchmark` whether that includes this board's test data."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    v: Annotated[int, Field(ge=1, le=1)] = 1
    board: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,60}$")]
    model: Line
    organisation: Line
    date: Annotated[date, BeforeValidator(_day)]
    contact: Annotated[Line, AfterValidator(_contact)]
    links: Links = Links()
    weights_open: bool
    parameters: Annotated[str, Field(pattern=r"^[0-9]{1,4}(\.[0-9]{1,3})?[KMBT]$")] | None = None
    base_model: Line | None = None
    training_data: Prose
    trained_on_benchmark: Literal["no", "yes", "unknown"]
    notes: Prose | None = None


FIELDS = {
    "model": "the model's name, as the board shows it",
    "organisation": "who made or submits it",
    "contact": "a mail address, an https:// address or an @handle",
    "weights_open": "true or false: can anybody have the weights?",
    "training_data": "what it was trained on",
    "trained_on_benchmark": "no, yes or unknown: was it trained on this board's test data?",
}
"""What must be told, and how a question for it reads."""


def read_metadata(data: bytes, where: str = "metadata.yaml") -> Metadata:
    """Raises `DataError` that names the first field which is not as it must be."""
    return metadata_of(read_yaml(data, where), where)


def metadata_of(values: dict[str, Any], where: str) -> Metadata:
    try:
        return Metadata.model_validate(values)
    except ValidationError as error:
        raise DataError(f"{where}: {first_fault(error)}") from error


def check_field(name: str, value: object) -> None:
    """Raise `DataError` where `value` is not fit for the field `name`."""
    try:
        TypeAdapter(Metadata.model_fields[name].rebuild_annotation()).validate_python(value)
    except ValidationError as error:
        raise DataError(f"{name.replace('_', ' ')}: {first_fault(error)}") from error


def write_metadata(metadata: Metadata) -> bytes:
    """As YAML, one field a line; values are double-quoted, which YAML reads as JSON does."""
    lines = [
        "# What the board says of this model. Lines may be edited; then run `sopbench verify` again (it says how to renew SHA256SUMS)."
    ]
    for key, value in metadata.model_dump(mode="json", exclude_none=True).items():
        if isinstance(value, dict):
            inner = [f"  {name}: {_scalar(text)}" for name, text in value.items()]
            lines += [f"{key}:", *inner] if inner else []
        else:
            lines.append(f"{key}: {_scalar(value)}")
    return ("\n".join(lines) + "\n").encode()


def _scalar(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
