"""What a board is: which runs may stand on it, and what of them it shows. One YAML file a board in `leaderboards/`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from sopbench.errors import DataError, UsageError
from sopbench.files import open_regular, why
from sopbench.leaderboard.plain_text import Line, Prose
from sopbench.leaderboard.yaml_text import MAX_BYTES, read_yaml
from sopbench.runs.shapes import first_fault
from sopbench.suites.base import DataSource

Sha = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Metric = Literal["score", "pg", "tsr", "success", "sr", "tm", "gr"]


COLUMNS: Final[Mapping[str, tuple[Metric, ...]]] = {
    "semi_online": ("score", "pg", "tsr"),
    "online": ("success",),
    "static": ("sr", "tm", "gr"),
}


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ProfilePin(_Frozen):
    id: Line
    hash: Sha


class DataPin(_Frozen):
    """The data as a run's facts name it. `source` says where it is to be had."""

    data_sha256: Sha
    ids_sha256: Sha
    n: Annotated[int, Field(ge=1)]
    source: Line


class Limits(_Frozen):
    """images: the most screens that a request may carry. max_tokens: the most that a reply may be asked to have. repeats: the most times the data may be played.
    not_scored: how many episodes (static: steps) may be without a verdict, in percent. side: the longest side that a screen may be said to have, in pixels,
    where the screens themselves are not at hand."""

    images: Annotated[int, Field(ge=0)]
    max_tokens: Annotated[int, Field(ge=1)]
    repeats: Annotated[int, Field(ge=1)]
    not_scored: Annotated[float, Field(ge=0, le=100)] = 0.0
    side: Annotated[int, Field(ge=1)] = 3200


class Published(_Frozen):
    """Rows of a paper: `columns` maps this board's metrics to columns of `published/<file>`, whose values are percent."""

    file: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,60}\.csv$")]
    citation: Line
    columns: Annotated[dict[Metric, Line], Field(min_length=1)]


class Board(_Frozen):
    """`closed` says why nothing can be submitted yet, where that is so; then only published rows are shown. `simulated` is said on the page."""

    v: Annotated[int, Field(ge=1, le=1)] = 1
    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,60}$")]
    title: Line
    about: Prose
    suite: Line
    protocol: Literal["semi_online", "online", "static"]
    data: DataPin | None = None
    profile: ProfilePin | None = None
    limits: Limits
    headline: Metric
    columns: list[Metric]
    published: Published | None = None
    simulated: bool = False
    closed: Prose | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Board:
        if (self.data is None) != (self.closed is not None):
            raise ValueError("a board either pins its data or says in `closed` why it takes no submissions yet")
        if self.data is not None and (self.profile is None) != (self.protocol == "online"):
            raise ValueError("an open board pins a profile, unless its environment scores")
        if self.headline not in self.columns:
            raise ValueError("the headline is one of the columns")
        return self


@dataclass(frozen=True, slots=True)
class Boards:
    """The definitions in one `leaderboards` folder."""

    root: Path
    by_id: Mapping[str, Board]

    def get(self, name: str) -> Board:
        if name not in self.by_id:
            raise UsageError(f"there is no board {name[:60]!r}; there are: {', '.join(self.by_id)}")
        return self.by_id[name]

    def for_facts(self, facts: Mapping[str, Any]) -> Board:
        """The board whose suite a run was played on."""
        fitting = [b for b in self.by_id.values() if b.suite == facts["suite"] and b.protocol == facts["protocol"]]
        pinned = [b for b in fitting if b.data is not None and b.data.data_sha256 == facts["data_sha256"]]
        if len(pinned or fitting) == 1:
            return (pinned or fitting)[0]
        if not fitting:
            raise UsageError(f"no board takes runs of suite {facts['suite']!r}; there are: {', '.join(self.by_id)}")
        raise UsageError(f"several boards take such runs: name one with --board ({', '.join(b.id for b in fitting)})")


def load_boards(root: Path | None = None) -> Boards:
    """Every `<board>/board.yaml` under `root` (None: the definitions that ship with the package). Raises `DataError`."""
    root = root or packaged()
    found: dict[str, Board] = {}
    for file in sorted(root.glob("*/board.yaml")):
        try:
            with open_regular(file) as handle:
                data = handle.read(MAX_BYTES + 1)
        except OSError as error:
            raise DataError(f"cannot read {file} ({why(error)})") from error
        try:
            board = Board.model_validate(read_yaml(data, str(file)))
        except ValidationError as error:
            raise DataError(f"{file}: {first_fault(error)}") from error
        if board.id != file.parent.name:
            raise DataError(f"{file}: its id is {board.id!r}, its folder is {file.parent.name!r}")
        found[board.id] = board
    if not found:
        raise UsageError(f"{root} holds no boards (<board>/board.yaml)")
    return Boards(root, found)


def packaged() -> Path:
    """The folder `leaderboards`, which stands beside the package in a checkout and, with the definitions only, where it is installed."""
    beside = Path(str(resources.files("sopbench"))).parent / "leaderboards"
    if beside.is_dir():
        return beside
    raise UsageError(
        "the boards' definitions are not here: give the repository's `leaderboards` folder with --boards DIR"
    )


def definition_of(suite: str, source: DataSource | None, words: str) -> str:
    """The YAML of a board for `suite`, pinned to the data and profile that are here. Title and about are to be written by hand."""
    from sopbench.scoring import get_profile
    from sopbench.suites import get_suite

    played = get_suite(suite)
    loaded = played.load(source or DataSource())
    profile = get_profile(played.default_profile) if played.default_profile else None
    columns = COLUMNS[played.protocol]
    lines = ["v: 1", f"id: {suite}", f"title: {suite}", f"about: {json.dumps(played.summary)}", f"suite: {suite}"]
    lines += [f"protocol: {played.protocol}", *(["simulated: true"] if suite.startswith("pocket") else [])]
    lines += ["data:", f"  data_sha256: {loaded.sha256}", f"  ids_sha256: {loaded.ids_sha256}"]
    lines += [f"  n: {len(loaded.ids)}", f"  source: {json.dumps(words)}"]
    lines += ["profile:", f"  id: {profile.id}", f"  hash: {profile.hash}"] if profile else []
    lines += ["limits:", "  images: 8", "  max_tokens: 4096", "  repeats: 10"]
    lines += [f"headline: {columns[0]}", f"columns: [{', '.join(columns)}]"]
    return "\n".join(lines) + "\n"
