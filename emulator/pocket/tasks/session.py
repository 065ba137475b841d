"""One task being played: the phone at its start, the goal, the check, the expert."""

from __future__ import annotations

import copy
import hashlib
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

from emulator.pocket.phone import Phone, fresh_state
from emulator.pocket.state import PageState, PhoneState
from emulator.pocket.tasks.base import Params, TaskError, Template, same_stored
from emulator.pocket.tasks.expert import Expert, Memory, Move, Style
from emulator.pocket.themes import THEMES, Display
from sopbench.actions import Action

MAX_STEPS = 40
"""Steps after which an expert that has not ended is considered lost."""
SPARE = 4
"""Steps that a budget has beyond twice the expert's."""
ELSEWHERE = 0.2
"""Part of the tasks that start inside some other app."""
IMPERATIVES = (
    "Add Book Bring Buy Call Cancel Change Clear Connect Copy Create Cut Delete Disconnect Edit Enter Find Get Give Hide Join Keep Let Like "
    "Listen Look Make Mark Move Mute Note Pause Pin Play Press Put Read Reduce Rename Remove Reply Reset Save Search See Send Set Share Show "
    "Silence Sort Start Stop Store Switch Take Tell Text Turn Type Unpin Use Work Write"
)
"""First words of goals that may be joined to "Open X and"; all others get a sentence of their own."""


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """One task of a split. `steps`: the expert's, the final `terminate` included; `budget`: those an agent may take, 2 x steps + 4."""

    id: str
    template: str
    seed: int
    display: Display
    goal: str
    params: Params
    steps: int
    state_sha256: str

    @property
    def budget(self) -> int:
        return 2 * self.steps + SPARE

    def canonical(self) -> str:
        """Everything that defines the task, as one line of JSON: two tasks with the same line are the same task."""
        facts = {name: getattr(self, name) for name in self.__slots__} | {"budget": self.budget}
        return json.dumps(facts, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


@dataclass
class PocketSession:
    """A task on a phone of its own. Act on `phone`; `score` and `expert` look at its state."""

    template: Template
    seed: int
    display: Display
    phone: Phone
    before: PhoneState
    params: Params
    goal: str
    style: Style
    memory: Memory = field(default_factory=Memory)

    @property
    def id(self) -> str:
        return f"{self.template.name}-{self.seed}" + ("" if self.display == "regular" else f"-{self.display}")

    def score(self) -> float:
        """1 when the goal is reached and nothing else was changed, 0 when not (or, where a template says so, in between)."""
        if type(self.template).check is Template.check:  # the same verdict, but the wanted state is made once
            return float(same_stored(self._wanted, self.phone.state))
        return float(self.template.check(self.before, self.phone.state, self.params))

    @cached_property
    def _wanted(self) -> PhoneState:
        return self.template.wanted(self.before, self.params)

    def move(self) -> Move | None:
        """What the expert does now; None once the episode is over. It ends a solved task, and gives up one that can't be solved any more."""
        if self.phone.finished is not None:
            return None
        look = Expert(self.phone, self.style, self.memory)
        if self.score() == 1:
            return look.end("success")
        try:
            return next(iter(self.template.plan(look, self.params)), None) or look.end("failure")
        except LookupError:  # what the plan speaks of is gone: deleted, renamed
            return look.end("failure")
        except RuntimeError as error:  # so says an app's `get`, too; a generator turns StopIteration into RuntimeError
            if not isinstance(error.__cause__, StopIteration):
                raise
            return look.end("failure")

    def expert(self) -> Action | None:
        """The action of `move`. Ask before every step: the expert remembers what it has seen."""
        move = self.move()
        return move.action if move else None

    def moves(self) -> Iterator[Move]:
        """Let the expert play to its end, from wherever the phone is; each move is made when the next one is asked for.

        Raises `TaskError` if it doesn't come to an end, or to the wrong one.
        """
        told: list[Move] = []
        while (move := self.move()) is not None:
            told.append(move)
            yield move
            self.phone.act(move.action)
            if len(told) > MAX_STEPS:
                raise TaskError(f"{self.id}: not solved in {MAX_STEPS} steps; the last: {_told(told[-3:])}")
        if self.score() != 1:
            raise TaskError(f"{self.id}: the expert ended with score {self.score():g} after: {_told(told[-4:])}")

    def solve(self) -> list[Move]:
        """All of `moves`."""
        return list(self.moves())

    @cached_property
    def spec(self) -> TaskSpec:
        """This task as a split lists it. A session of its own is solved to know the length; this one is not touched."""
        return spec_of(self.template, self.seed, self.display)


def spec_of(template: Template, seed: int, display: Display) -> TaskSpec:
    """The task that `template` makes of `seed`, as a split lists it."""
    session = start(template, seed, display)
    digest = hashlib.sha256(session.before.to_json().encode()).hexdigest()
    steps = len(session.solve())
    return TaskSpec(session.id, template.name, seed, display, session.goal, session.params, steps, digest)


def start(template: str | Template, seed: int, display: Display | str = "regular") -> PocketSession:
    """The task that `template` makes of `seed`, on a phone of its own. The same arguments give the same task, on every machine.

    Raises `TaskError` for a template, display or seed that there is none of.
    """
    if isinstance(template, str):
        from emulator.pocket.tasks import find

        template = find(template)
    if display not in THEMES:
        raise TaskError(f"no display {display!r}; PocketPhone has {' and '.join(THEMES)}")
    shape = cast(Display, display)
    state = fresh_state(seed)
    params = parameters_of(template, seed, state)
    template.prepare(state, params, _rng(template, seed, "prepare"))
    style = _begin(template, state, _rng(template, seed, "beginning"))
    phone = Phone(shape, state)
    goal = _goal(template, params, style, phone, _rng(template, seed, "wording"))
    session = PocketSession(template, seed, shape, phone, copy.deepcopy(state), params, goal, style)
    if session.score() > 0:
        raise TaskError(f"{session.id} is solved before it starts; prepare() must undo what the goal asks for")
    return session


def parameters_of(template: Template, seed: int, phone: PhoneState) -> Params:
    """The parameters of `seed`; `phone` is that seed's fresh phone."""
    return template.parameters(_rng(template, seed, "parameters"), phone)


def _rng(template: Template, seed: int, purpose: str) -> random.Random:
    return random.Random(f"{template.name}/{seed}/{purpose}")


def _begin(template: Template, state: PhoneState, rng: random.Random) -> Style:
    """Choose how apps are entered, and let some tasks start inside an app that has nothing to do with them."""
    style: Style = "open" if rng.random() < 0.5 else "icon"
    others = sorted(set(state.apps) - set(template.apps))
    if others and rng.random() < ELSEWHERE and state.nav.app not in state.apps:
        other = rng.choice(others)
        state.nav.app = other
        state.nav.stacks[other] = [PageState("main")]
        state.nav.recent = [other]
    return style


def _goal(template: Template, params: Params, style: Style, phone: Phone, rng: random.Random) -> str:
    """A wording. "Open X and ..." goes with the `open` action, every other one with the icons: the first step follows from the goal."""
    said = template.words(params)
    title = phone.apps[template.apps[0]].title
    text = rng.choice(template.goals).format(**said, in_app="" if style == "open" else f" in {title}")
    if style == "open":
        app = rng.choice((title, f"the {title} app"))
        joined = text.split(" ", 1)[0] in IMPERATIVES.split() and rng.random() < 0.7
        text = f"Open {app} and {text[0].lower()}{text[1:]}" if joined else f"Open {app}. {text}"
    return text if text.endswith(("?", "!", ".", ".”")) else text + "."


def _told(moves: list[Move]) -> str:
    return "; ".join(move.instruction for move in moves)
