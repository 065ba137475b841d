"""What a judge's reply says: success, failure, or nothing that could be relied on. A reply is hostile: bounded, never evaluated, and never guessed at.

Looked for, after whatever was thought aloud (`</think>`): JSON objects with a `success` that is a boolean (or the word for one), else lines such as `Status: failure`. All that are
found have to say the same. Anything else is no verdict, which leaves an episode unscored: it is never a failure of the agent, nor its success.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Final, Literal

MAX_REPLY: Final = 20_000
"""Characters. A judge is asked for a few sentences."""
MAX_OBJECTS: Final = 100
WHY_NOT: Final = ("empty", "too_long", "cut_off", "still_thinking", "contradictory", "none_found")

WhyNot = Literal["empty", "too_long", "cut_off", "still_thinking", "contradictory", "none_found"]

_LINE: Final = re.compile(
    r"^[\s>*_#`\"'-]{0,12}(?:final\s{1,3})?(?:verdict|status|success|result|answer)[\s*_`\"']{0,6}[:=]"
    r"[\s*_`\"']{0,6}(success|successful|succeeded|true|yes|failure|failed|fail|false|no|unsuccessful)[\s*_`\"'.!]{0,12}$",
    re.IGNORECASE | re.MULTILINE,
)
_YES: Final = frozenset({"success", "successful", "succeeded", "true", "yes"})
_THOUGHT: Final = re.compile(r"<(/?)think(?:ing)?>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Verdict:
    """`success` is None where the reply holds no verdict; `why` says in one of `WHY_NOT` why not."""

    success: bool | None
    why: WhyNot | None = None


def read_verdict(reply: str, *, cut_off: bool = False) -> Verdict:
    """The verdict of a reply. `cut_off`: the server ended it before the judge did, so that what came last is missing."""
    if len(reply) > MAX_REPLY:
        return Verdict(None, "too_long")
    if cut_off:
        return Verdict(None, "cut_off")
    marks = list(_THOUGHT.finditer(reply))
    if marks and not marks[-1].group(1):
        return Verdict(None, "still_thinking")
    said = reply[marks[-1].end() :] if marks else reply
    if not said.strip():
        return Verdict(None, "empty")
    found = _in_objects(said)
    if found is None:
        return Verdict(None, "contradictory")
    found |= {match.group(1).lower() in _YES for match in _LINE.finditer(said)}
    if len(found) > 1:
        return Verdict(None, "contradictory")
    return Verdict(found.pop()) if found else Verdict(None, "none_found")


class _Twice(Exception):
    """An object names `success` twice."""


def _in_objects(text: str) -> set[bool] | None:
    """What the JSON objects in the text say; None where one says two things, or where there are too many to look at."""
    decoder = json.JSONDecoder(object_pairs_hook=_once)
    said: set[bool] = set()
    at = text.find("{")
    for _ in range(MAX_OBJECTS):
        if at < 0:
            return said
        try:
            value, end = decoder.raw_decode(text, at)
        except _Twice:
            return None
        except (ValueError, RecursionError):
            at = text.find("{", at + 1)
            continue
        verdict = _boolean(value.get("success"))
        if verdict is not None:
            said.add(verdict)
        elif "success" in value:
            return None  # a verdict that is neither, such as null or 0.5
        at = text.find("{", end)
    return said if at < 0 else None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if sum(name == "success" for name, _ in pairs) > 1:
        raise _Twice
    return dict(pairs)


def _boolean(value: object) -> bool | None:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    return None
