"""What is evaluated during training, and how."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from sopbench.errors import UsageError
from sopbench.runs.shapes import first_fault

POCKET = "builtin:pocket"
"""As `data`: the packaged PocketPhone recordings, for suites that take a file (`sop`, `androidcontrol-high`)."""

Keep = Literal["copy", "link", "pointer", "off"]

SERVE_COMMAND = (
    "vllm serve {model} --served-model-name {name} --host 127.0.0.1 --port {port} --limit-mm-per-prompt {limits}"
)


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SuiteCheck(_Strict):
    """One suite. `limit`: only its first so many trajectories (the same ones at every step). `profile`: None is the suite's own."""

    suite: str = "pocket"
    data: Path | Literal["builtin:pocket"] | None = None
    images: Path | None = None
    image_pattern: str = "{name}"
    limit: int | None = Field(default=None, ge=1)
    profile: str | None = None
    repeats: int = Field(default=1, ge=1)


class ValidationSettings(_Strict):
    """`sop`, `static` and `online` are each optional; their scalars are `val/sop/*`, `val/static/*` and `val/online/*`.

    out: folder of the runs, one sub-folder a step. Greedy by default. time_limit: seconds that one suite may take before it is reported as failed (what
    it scored is kept). keep_best: what is kept of the checkpoint with the best SOP (see `best.KeepBest`). how: who answers for a checkpoint: this process
    (`local`) or a server that is started for it with `serve_command`; its fields are {model}, {name}, {port} and {limits}.
    """

    sop: SuiteCheck | None = SuiteCheck()
    static: SuiteCheck | None = None
    online: SuiteCheck | None = None
    adapter: str = "uis1"
    prompts: Literal["auto", "official", "builtin", "package", "pulled"] = "auto"
    history_images: int | None = Field(default=None, ge=0)
    model: str | None = None
    temperature: float | None = 0.0
    top_k: int | None = None
    max_tokens: int | None = Field(default=512, ge=1)
    seed: int | None = Field(default=None, ge=0)
    concurrency: int = Field(default=16, ge=1)
    request_timeout: float = Field(default=120.0, gt=0)
    request_deadline: float = Field(default=600.0, gt=0)
    time_limit: float = Field(default=7200.0, gt=0)
    out: Path = Path("validation")
    keep_best: Keep = "copy"
    how: Literal["local", "serve"] = "local"
    serve_command: str = SERVE_COMMAND
    serve_timeout: float = Field(default=900.0, gt=0)

    @model_validator(mode="after")
    def _something_to_do(self) -> Self:
        if not self.checks():
            raise ValueError("nothing to evaluate: name at least one of sop, static and online")
        return self

    def checks(self) -> dict[str, SuiteCheck]:
        """The suites by the name that their scalars have."""
        named = {"sop": self.sop, "static": self.static, "online": self.online}
        return {name: check for name, check in named.items() if check is not None}

    @classmethod
    def read(cls, options: Any) -> ValidationSettings:
        """From the plain dict of a configuration file. Raises `UsageError` that names the field."""
        try:
            return cls.model_validate(options)
        except ValidationError as error:
            raise UsageError(f"validation settings: {first_fault(error)}") from error
