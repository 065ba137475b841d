"""Whether a submission's numbers are what its replies give: every rule by name, in order, each with what it found."""

from __future__ import annotations

from collections.abc import Callable, Iterable, MutableMapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from sopbench.errors import SopbenchError
from sopbench.leaderboard import rules_board, rules_files, rules_numbers, rules_replies
from sopbench.leaderboard.boards import Boards, load_boards
from sopbench.leaderboard.case import Case, NoData, Rule, Skipped
from sopbench.leaderboard.reading import read_submission
from sopbench.leaderboard.row import Row, row_of
from sopbench.suites.base import DataSource, Loaded

RULES: Final[tuple[Rule, ...]] = (
    Rule("files", "exactly the files of a submission, small, plain", rules_files.files),
    Rule("sums", "every file is what SHA256SUMS says", rules_files.sums),
    Rule("metadata", "who submits which model is told", rules_files.metadata),
    Rule("board", "its board is known and open", rules_board.board),
    Rule("folder", "the folder is named after date, organisation and model", rules_files.folder),
    Rule("run", "run.json is what a run writes, and fits its fingerprint", rules_files.run),
    Rule("version", "it says which version of sopbench made it", rules_numbers.version),
    Rule("text", "every name is seen as itself", rules_files.text),
    Rule("scrubbed", "nothing tells of the submitter's machine", rules_files.scrubbed),
    Rule("protocol", "suite and protocol are the board's", rules_board.protocol),
    Rule("profile", "the scoring profile is the board's", rules_board.profile),
    Rule("data", "data and ids are the board's", rules_board.data),
    Rule("limits", "screens, tokens and repeats are within the board's limits", rules_board.limits),
    Rule("adapter", "adapter and prompt texts are known", rules_board.adapter),
    Rule("records", "every line is one step of this data, once", rules_replies.records),
    Rule("keys", "no reply holds a key", rules_replies.keys),
    Rule("complete", "every episode was played", rules_replies.complete),
    Rule("not-scored", "what has no verdict is within the board's cap", rules_replies.not_scored),
    Rule("replies", "every reply, parsed and judged again, is worth what its line says", rules_replies.replies),
    Rule("requests", "every request, written again, has the hash that its line tells", rules_replies.requests),
    Rule("screens", "the screens are the data's", rules_replies.screens),
    Rule("environment", "played again, the environment says the same", rules_numbers.environment),
    Rule("headline", "every number of the summary follows from the lines", rules_numbers.headline),
)
READING: Final = Rule("reading", "a folder, or an archive of one, within bounds", lambda case: "")


@dataclass(frozen=True, slots=True)
class Result:
    """`detail` says what was found, what to fix, or why it could not be told."""

    rule: str
    title: str
    outcome: Literal["passed", "refused", "skipped", "not reached"]
    detail: str


@dataclass(frozen=True, slots=True)
class Verification:
    """`row` is the line as the board would show it; None where the submission is refused. `folder` is the name that its folder should have."""

    where: str
    results: tuple[Result, ...]
    row: Row | None
    folder: str | None = None
    unjudged: bool = False
    """Whether all that is wrong is that the board's data is not on this machine."""

    @property
    def ok(self) -> bool:
        return self.row is not None

    @property
    def refused(self) -> Result | None:
        return next((r for r in self.results if r.outcome == "refused"), None)

    def as_dict(self) -> dict[str, Any]:
        checks = [{"rule": r.rule, "outcome": r.outcome, "detail": r.detail} for r in self.results]
        return {
            "submission": self.where,
            "ok": self.ok,
            "unjudged": self.unjudged,
            "folder": self.folder,
            "checks": checks,
            "row": self.row.as_dict() if self.row else None,
        }


def verify(
    path: Path | str,
    *,
    boards: Boards | Path | None = None,
    source: DataSource | None = None,
    every_screen: bool = False,
    told: Callable[[Result], None] | None = None,
    loaded: MutableMapping[str, Loaded] | None = None,
) -> Verification:
    """Check the submission at `path` (a folder, or an archive of one) by every rule. Never raises for what is wrong with the submission.

    `source`: the data of boards that bring none. `every_screen`: compare every screen of an online run, not those of a few episodes. `told` hears each result at once.
    `loaded`: data by board, read once where many submissions are verified one after the other.
    """
    known = boards if isinstance(boards, Boards) else load_boards(boards)
    try:
        submission = read_submission(Path(path))
    except SopbenchError as error:
        results = [Result(READING.name, READING.title, "refused", str(error)), *_unreached(RULES)]
        if told is not None:
            for result in results:
                told(result)
        return Verification(str(path), tuple(results), None)
    case = Case(submission, known, source or DataSource(), every_screen, {} if loaded is None else loaded)
    return _checked(case, told)


def checked_case(path: Path | str, boards: Boards, source: DataSource | None = None) -> tuple[Case, Verification]:
    """A submission with all that its rules found out, for those who go on from there. Raises `DataError` where it cannot be read at all."""
    case = Case(read_submission(Path(path)), boards, source or DataSource())
    return case, _checked(case, None)


def _checked(case: Case, told: Callable[[Result], None] | None) -> Verification:
    results: list[Result] = []
    unjudged = False

    def tell(result: Result) -> None:
        results.append(result)
        if told is not None:
            told(result)

    for index, rule in enumerate(RULES):
        try:
            tell(Result(rule.name, rule.title, "passed", rule.check(case)))
        except Skipped as error:
            tell(Result(rule.name, rule.title, "skipped", str(error)))
        except SopbenchError as error:
            tell(Result(rule.name, rule.title, "refused", str(error)))
            unjudged = isinstance(error, NoData)
            for result in _unreached(RULES[index + 1 :]):
                tell(result)
            break
    refused = any(result.outcome == "refused" for result in results)
    folder = rules_files.folder_name(case.metadata) if case.has_metadata else None
    row = None if refused else row_of(case)
    return Verification(case.submission.where, tuple(results), row, folder, unjudged)


def _unreached(rules: Iterable[Rule]) -> list[Result]:
    return [Result(rule.name, rule.title, "not reached", "") for rule in rules]
