"""What a task template is. See README.md for how to write one."""

from __future__ import annotations

import copy
import random
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from emulator.pocket.state import PhoneState
from emulator.pocket.tasks.matching import folded
from sopbench.errors import SopbenchError

if TYPE_CHECKING:
    from emulator.pocket.tasks.expert import Expert, Move

Params: TypeAlias = dict[str, Any]
"""What the goal says, by name: texts, numbers, booleans or lists of them (they are written as JSON). Never ids."""

Plan: TypeAlias = "Iterator[Move]"
"""The expert's plan: run from its beginning before every step; only the first move it yields is made."""


class TaskError(SopbenchError):
    """A template or seed that does not work: unknown, solved before it starts, or not solved by its expert."""


class Template(ABC):
    """A kind of task: wordings, parameters, an initial state, a check, an expert. Stateless; one instance serves all seeds.

    `name` is `<app>.<verb>` and unique; cross-app templates are called `cross.<what>`. `apps`: every app that a solution uses, the
    one where it starts first. `goals`: at least three wordings, formatted with the parameters; imperative sentences without a full
    stop (see README.md). `heldout` templates appear in the split of that name and in no other.
    """

    name: ClassVar[str]
    apps: ClassVar[tuple[str, ...]]
    goals: ClassVar[tuple[str, ...]]
    heldout: ClassVar[bool] = False

    @abstractmethod
    def parameters(self, rng: random.Random, state: PhoneState) -> Params:
        """Draw what the goal speaks of, from `rng` and from what is on a fresh phone. Must not change `state`."""

    def prepare(self, state: PhoneState, p: Params, rng: random.Random) -> None:  # noqa: B027  # often there is nothing to prepare
        """Change the fresh phone so that the task is unsolved and can be solved."""

    def want(self, state: PhoneState, p: Params) -> None:
        """Change a copy of the state at the start into what must be stored at the end. Everything else must stay as it was."""
        raise NotImplementedError(f"{self.name} defines neither want() nor check()")

    def check(self, before: PhoneState, state: PhoneState, p: Params) -> float:
        """How far the task is solved, 0..1; 1 means solved, with nothing else changed. By default: what `want` makes of `before`."""
        return float(same_stored(self.wanted(before, p), state))

    def wanted(self, before: PhoneState, p: Params) -> PhoneState:
        """What `want` makes of the state at the start."""
        state = copy.deepcopy(before)
        self.want(state, p)
        return state

    @abstractmethod
    def plan(self, x: Expert, p: Params) -> Plan:
        """What the expert does from the phone's present state on. It need not test whether the task is solved: then it isn't asked."""

    def words(self, p: Params) -> Params:
        """The parameters as the goal prints them, where that differs (a date, a list)."""
        return p


def same_stored(wanted: PhoneState, state: PhoneState) -> bool:
    """Whether device and apps are as wanted; `wanted` may hold `ANY` and `said(...)`."""
    return wanted.device == state.device and wanted.apps == state.apps


def answered(before: PhoneState, state: PhoneState, *accepted: str) -> bool:
    """Whether the last answer is one of `accepted` (case and white space aside) and nothing stored was changed."""
    said = {folded(text) for text in accepted}
    return bool(state.answers) and folded(state.answers[-1]) in said and same_stored(before, state)
