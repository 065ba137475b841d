"""The shapes of the free JSON in run.json. A run folder may come from anybody: whatever code relies on is checked here, once, when it is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from sopbench.errors import DataError

MAX_REPEATS = 1_000
MAX_NAME = 1_000

_Name = Annotated[str, Field(max_length=MAX_NAME)]
_Count = Annotated[int, Field(ge=0, lt=2**53)]


class _Shape(BaseModel):
    """Exact types, no infinities; what a later version adds is left alone."""

    model_config = ConfigDict(strict=True, extra="allow", allow_inf_nan=False)


class _Exactly(_Shape):
    model_config = ConfigDict(extra="forbid")


class _Profile(_Shape):
    id: _Name
    hash: _Name


class _Prompt(_Shape):
    kind: _Name
    sha256: _Name
    note: str


class _Adapter(_Shape):
    name: _Name
    prompt: _Prompt


class _Sampling(_Exactly):
    temperature: float | None = None
    top_p: float | None = None
    top_k: int | None = None
    max_tokens: int | None = None
    seed: int | None = None
    extra_body: dict[str, Any] = {}


class _Prices(_Exactly):
    prompt: Annotated[float, Field(ge=0)]
    completion: Annotated[float, Field(ge=0)]


class _Static(_Shape):
    history: _Name
    instruction: _Name | None
    metrics: Literal["steps", "accuracy"]


class FactsShape(_Shape):
    """`facts` of run.json (see `runs.config.facts_of`)."""

    suite: _Name
    protocol: Literal["semi_online", "online", "static"]
    data_sha256: _Name
    ids_sha256: _Name
    n_trajectories: _Count
    repeats: Annotated[int, Field(ge=1, le=MAX_REPEATS)]
    seed: int | None
    profile: _Profile | None
    adapter: _Adapter
    images: _Count
    after_mismatch: Literal["stop", "continue"]
    model: _Name
    sampling: _Sampling | None = None
    policy: dict[str, Any] = {}
    static: _Static | None = None
    environment: dict[str, Any] = {}

    @model_validator(mode="after")
    def _scored_by_somebody(self) -> FactsShape:
        if (self.profile is None) != (self.protocol == "online"):
            raise ValueError("a profile belongs to runs that are not online, and to no other")
        if (self.static is None) != (self.protocol != "static"):
            raise ValueError("static runs say what their requests tell, and no other does")
        return self


class _Options(_Shape):
    """`suites.base.SuiteOptions.asked()`."""

    through: _Name | None = None
    instances: Annotated[int, Field(ge=1, lt=2**31)] | None = None
    task_seed: Annotated[int, Field(ge=0, lt=2**31)] | None = None
    family: _Name | None = None
    actuation: _Name | None = None
    devices: _Name | None = None
    judge_model: _Name | None = None
    judge_base_url: _Name | None = None


class SettingsShape(_Shape):
    """`settings` of run.json (see `runs.config.settings_of`); what is missing has its default."""

    data: str | None = None
    images_dir: str | None = None
    image_pattern: str = "{name}"
    limit: Annotated[int, Field(ge=1)] | None = None
    tasks: list[_Name] | None = None
    options: _Options | None = None
    environment_attempts: Annotated[int, Field(ge=1)] | None = None
    base_urls: list[str] = []
    concurrency: Annotated[int, Field(ge=1)] = 1
    adaptive: bool = False
    attempt_timeout: Annotated[float, Field(gt=0)] = 1.0
    deadline: Annotated[float, Field(gt=0)] = 1.0
    max_attempts: Annotated[int, Field(ge=1)] = 1
    prices: _Prices | None = None
    rescored_from: str | None = None


def require_shape(shape: type[BaseModel], value: Mapping[str, Any], what: str) -> None:
    """Raise `DataError` that names the first field of `value` which is not as `shape` has it; `what` names the file."""
    try:
        shape.model_validate(value)
    except ValidationError as error:
        raise DataError(f"{what}: {first_fault(error)}") from error


def first_fault(error: ValidationError) -> str:
    """The first of pydantic's complaints as `field: what`, without quoting the value."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    where = ".".join(str(part)[:60] for part in first["loc"])
    return f"{where}: {first['msg']}" if where else first["msg"]
