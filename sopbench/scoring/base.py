"""What a scoring profile is: a named, versioned, hashed pure function from a prediction and a step to a verdict."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from typing import Any, ClassVar

from sopbench.actions import Action, from_released
from sopbench.errors import ActionError, DataError, shown
from sopbench.geometry import Size
from sopbench.screen import Screen
from sopbench.trajectory import Step, read_boxes


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the predicted action's type and the whole action count as the step; `reason` is None exactly on a match."""

    type_match: bool
    match: bool
    reason: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return {"type_match": self.type_match, "match": self.match, "reason": self.reason}


MATCH = Verdict(True, True)


def mismatch(reason: str, *, type_match: bool = True) -> Verdict:
    return Verdict(type_match, False, reason)


WRONG_TYPE = mismatch("wrong_type", type_match=False)
NOT_AN_ACTION = "not_an_action"


class Profile(ABC):
    """One way of counting. Subclasses are stateless; `judge` is pure.

    `reasons` lists every mismatch reason that the profile can give. `constants` holds each number that the rules use, `tables` whatever else they look up.
    The hash covers name, version, constants, tables and the verdicts on the profile's own table of cases (`scoring/cases/<name>.json`): it names what
    the profile *does*.
    """

    name: ClassVar[str]
    version: ClassVar[int]
    summary: ClassVar[str]
    constants: ClassVar[Mapping[str, float]]
    reasons: ClassVar[tuple[str, ...]]
    tables: ClassVar[Mapping[str, Any]] = {}

    @abstractmethod
    def judge(self, pred: Action, step: Step, size: Size) -> Verdict:
        """Does `pred` (unit coordinates) count as `step`, whose original screen has `size` pixels?"""

    @property
    def id(self) -> str:
        return f"{self.name}@{self.version}"

    @cached_property
    def hash(self) -> str:
        facts = {
            "name": self.name,
            "version": self.version,
            "constants": dict(self.constants),
            "tables": dict(self.tables),
            "cases": [[case, judge_case(self, case).as_dict()] for case in load_cases(self.name)],
        }
        return hashlib.sha256(json.dumps(facts, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def load_cases(name: str) -> list[dict[str, Any]]:
    """The profile's table of cases: objects in the form that `sopbench judge` reads, plus `expect` and `why`."""
    text = resources.files("sopbench.scoring").joinpath("cases", f"{name}.json").read_text(encoding="utf-8")
    cases = json.loads(text)
    assert isinstance(cases, list)
    return cases


def judge_case(profile: Profile, case: Mapping[str, Any]) -> Verdict:
    """Judge one case in the form of `sopbench judge`: `{"screen":[w,h],"sent":[w,h],"pred":{..},"gold":{..},"check_options":{..}}`.

    `pred` is in pixels of `sent` (by default `screen`), `gold` and boxes in pixels of `screen`. A `pred` that is no action is a mismatch with reason
    `not_an_action:<code>`; anything else that is wrong raises `DataError`.
    """
    screen = read_size(case, "screen")
    sent = read_size(case, "sent") if case.get("sent") is not None else screen
    step = _read_step(case, screen)
    if "pred" not in case:
        raise DataError("`pred` is missing")
    pred = case["pred"]
    if not isinstance(pred, dict):
        return mismatch(f"{NOT_AN_ACTION}:not_an_object", type_match=False)
    try:
        action = from_released(pred, sent)
    except ActionError as error:
        return mismatch(f"{NOT_AN_ACTION}:{error.reason}", type_match=False)
    return profile.judge(action, step, screen)


def _read_step(case: Mapping[str, Any], screen: Size) -> Step:
    gold, check = case.get("gold"), case.get("check_options")
    check = {} if check is None else check
    if not isinstance(gold, dict) or not isinstance(check, dict):
        raise DataError("`gold` must be a JSON object, and so must `check_options` where given")
    try:
        from_released(gold, screen)
    except ActionError as error:
        raise DataError(f"`gold` is no action of the space ({error})") from error
    return Step(
        content={key: value for key, value in gold.items() if key != "bbox"},
        screen=Screen.from_bytes(b"", "none"),
        boxes=read_boxes(check.get("candidate_bbox", gold.get("bbox"))),
        check_options=check,
    )


def read_size(case: Mapping[str, Any], name: str) -> Size:
    value = case.get(name)
    if (
        not isinstance(value, list | tuple)
        or len(value) != 2
        or not all(type(v) is int and 0 < v < 1_000_000 for v in value)
    ):
        raise DataError(f"`{name}` must be [width, height] in pixels, not {shown(value)}")
    return Size(value[0], value[1])
