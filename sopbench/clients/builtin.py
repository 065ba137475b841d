"""Policies that need no server. They answer in the adapter's own language, so that a run with one of them exercises the whole path from prompt to verdict.

| name | answers with | good for |
|---|---|---|
| `builtin:oracle` | the expert's action | must score 100: checks data, adapter and profile |
| `builtin:oracle-dom` | the same, by the name that says what its experts look at: the elements of a web page (suite miniwob) | must score 100 on the tasks that have an expert |
| `builtin:noisy` | the expert's action, or with probability p (`builtin:noisy:p=0.2`, by default 0.1) a plausible wrong one; with `prose=0.05` that share of replies is prose | a run that looks like a real model's |
| `builtin:stray` | the expert's action until it errs, then nothing but mistakes (`builtin:stray:p=0.2,errors=early`, see `sopbench.clients.stray`) | an agent that does not find back, of which a metric sees more or less |
| `builtin:null` | "done, with success", at once | must score 0; online, finds tasks that are solved before they start |
| `builtin:random` | any action of the family's space, uniformly by type, then by argument | the floor of chance |
| `builtin:swipe` | a finger that moves up | what the commonest swipe alone is worth |
| `builtin:prose` | a sentence that is no action | must score 0: what cannot be read is nobody's step |

`builtin:tiny`, a small model with weights of its own, is in `sopbench.clients.tiny`.

**What an adapter cannot say.** A family without words for the expert's action (`open` in a space that has none) is answered for by giving up: `terminate` with status
failure, or where even that cannot be said the sentence "I cannot express open." Neither matches such a step under any profile: it is a mismatch, and part of the
adapter's ceiling. The reply carries the note `cannot_express:<kind>`.

Noise and chance depend only on (seed, episode, repeat, step): not on concurrency, order or earlier requests.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, cast

from sopbench.actions import (
    BUTTONS,
    STATUSES,
    Action,
    Answer,
    Button,
    Click,
    Key,
    LongPress,
    Open,
    Status,
    Swipe,
    SystemButton,
    Terminate,
    Type,
    Wait,
)
from sopbench.clients.base import Ask, AskFailed, Policy, Reply
from sopbench.errors import CannotExpress, UsageError
from sopbench.geometry import Point

DEFAULT_NOISE = 0.1
PROBABILITIES = ("p", "prose")
SCROLL = Swipe(Point(0.5, 0.75), Point(0.5, 0.25))
DONE = Terminate("success")
GIVE_UP = Terminate("failure")
REFUSAL = "Sorry, I can't help with that."

_TEXTS = ("hello", "42", "Thursday", "milk and eggs")
_APPS = ("Settings", "Camera", "Calendar", "Maps")
_KEYS = ("volume_up", "power", "camera")


class Builtin(Policy):
    """Base of the built-in policies: `choose` an action, say it in the adapter's words."""

    options: ClassVar[tuple[str, ...]] = ()
    takes: ClassVar[str] = ""
    """The options in words, for a message."""

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    @property
    def model(self) -> str:
        return self.name

    def choose(self, ask: Ask) -> Action:
        raise NotImplementedError

    async def ask(self, ask: Ask) -> Reply:
        await asyncio.sleep(0)  # nothing else here waits: let the event loop breathe
        text, notes = say(ask, self.choose(ask))
        return Reply(text=text, model=self.model, endpoint="builtin", finish_reason="stop", notes=notes)

    def describe(self) -> dict[str, Any]:
        return {"model": self.model, "sampling": None, "policy": {"kind": "builtin"}}

    def rng(self, ask: Ask, what: str = "") -> random.Random:
        """Chance for this request alone, and where `what` is given for that question about it."""
        episode, repeat, step = ask.key
        return self.chance(episode, repeat, str(step), *([what] if what else []))

    def chance(self, episode: str, repeat: int, *about: str) -> random.Random:
        """Chance that depends on this policy, its seed, the episode, the repeat and `about`, and on nothing else."""
        facts = [self.name, str(self.seed), episode, str(repeat), *about]
        return random.Random(hashlib.sha256("\0".join(facts).encode("utf-8", "surrogatepass")).digest())


class Oracle(Builtin):
    """Answers with the expert's action; where an environment knows no expert, it gives up."""

    name: ClassVar[str] = "builtin:oracle"

    def choose(self, ask: Ask) -> Action:
        return expert_action(ask)


class OracleDom(Oracle):
    """The oracle of web pages: their experts read the elements that a page shows, and answer with touches and text."""

    name: ClassVar[str] = "builtin:oracle-dom"


class Noisy(Builtin):
    """An oracle that errs with probability `p`. A wrong click may still fall into a large target: the error is plausible, not guaranteed to cost.

    With probability `prose` it answers in prose instead, which no adapter can read.
    """

    name: ClassVar[str] = "builtin:noisy"
    options: ClassVar[tuple[str, ...]] = ("p", "prose")
    takes: ClassVar[str] = "p=PROBABILITY and prose=PROBABILITY only, for example builtin:noisy:p=0.2"

    def __init__(self, seed: int = 0, p: float = DEFAULT_NOISE, prose: float = 0.0) -> None:
        super().__init__(seed)
        for name, value in (("p", p), ("prose", prose)):
            if not 0.0 <= value <= 1.0:
                raise UsageError(f"builtin:noisy: {name} is a probability between 0 and 1, not {value:g}")
        self.p, self.prose = p, prose

    @property
    def model(self) -> str:
        options = [f"p={self.p:g}"] if self.p != DEFAULT_NOISE else []
        options += [f"prose={self.prose:g}"] if self.prose else []
        return ":".join([self.name, *([",".join(options)] if options else [])])

    async def ask(self, ask: Ask) -> Reply:
        """Whether a reply is prose is a draw of its own: the other replies are those that `prose=0` gives."""
        if self.prose and self.rng(ask, "prose").random() < self.prose:
            return await refuse(self.model)
        return await super().ask(ask)

    def choose(self, ask: Ask) -> Action:
        gold, rng = expert_action(ask), self.rng(ask)
        return mistake(gold, ask, rng) if rng.random() < self.p else gold

    def describe(self) -> dict[str, Any]:
        policy = {"kind": "builtin", "p": self.p, "seed": self.seed}
        return super().describe() | {"policy": policy | ({"prose": self.prose} if self.prose else {})}


class Null(Builtin):
    """Says at once that the task is done."""

    name: ClassVar[str] = "builtin:null"

    def choose(self, ask: Ask) -> Action:
        return DONE


class Random(Builtin):
    """A kind of action that the family can say, each as likely as the next, with random arguments."""

    name: ClassVar[str] = "builtin:random"

    def choose(self, ask: Ask) -> Action:
        rng = self.rng(ask)
        return random_action(rng.choice(sorted(ask.adapter.expresses)), rng)

    def describe(self) -> dict[str, Any]:
        return super().describe() | {"policy": {"kind": "builtin", "seed": self.seed}}


class FingerUp(Builtin):
    """Always the same swipe: from (0.5, 0.75) to (0.5, 0.25) of the screen."""

    name: ClassVar[str] = "builtin:swipe"

    def choose(self, ask: Ask) -> Action:
        return SCROLL


class Prose(Builtin):
    """Never answers in the family's form: every reply is a parse failure."""

    name: ClassVar[str] = "builtin:prose"

    async def ask(self, ask: Ask) -> Reply:
        return await refuse(self.model)


def builtins() -> dict[str, type[Builtin]]:
    """Every built-in policy that needs no weights, by name."""
    from sopbench.clients.stray import Stray

    return {cls.name: cls for cls in (Oracle, Noisy, Stray, Null, Random, FingerUp, Prose, OracleDom)}


def make_builtin(text: str, *, seed: int = 0) -> Builtin:
    """The policy that `builtin:NAME[:option=value,...]` names. Raises `UsageError` that lists what there is."""
    prefix, _, rest = text.partition(":")
    word, _, options = rest.partition(":")
    known = builtins()
    cls = known.get(f"{prefix}:{word}")
    if cls is None:
        raise UsageError(f"there is no built-in policy {text[:60]!r}; known: {', '.join(known)}, builtin:tiny")
    values: dict[str, Any] = {}
    for option in options.split(",") if options else ():
        name, _, value = option.partition("=")
        name = name.strip()
        if name not in cls.options:
            takes = f"takes {cls.takes}" if cls.options else "takes no options"
            raise UsageError(f"{text[:60]!r}: {cls.name} {takes}")
        values[name] = _probability(text, name, value) if name in PROBABILITIES else value.strip()
    return cls(seed, **values)


def _probability(text: str, name: str, value: str) -> float:
    try:
        return float(value)
    except ValueError as error:
        raise UsageError(f"{text[:60]!r}: {name} is a probability between 0 and 1, not {value[:20]!r}") from error


async def refuse(model: str) -> Reply:
    """The reply of a model that answers in prose."""
    await asyncio.sleep(0)
    return Reply(text=REFUSAL, model=model, endpoint="builtin", finish_reason="stop")


def expert_action(ask: Ask) -> Action:
    """The expert's action. `GIVE_UP` where the expert knows none; raises `AskFailed` where there is no expert to ask."""
    if ask.expert is None:
        raise AskFailed(
            "rejected", "this suite knows no expert: builtin:oracle and builtin:noisy cannot play it", fatal=True
        )
    return ask.expert() or GIVE_UP


def say(ask: Ask, action: Action) -> tuple[str, tuple[str, ...]]:
    """`action` in the adapter's words, or the honest second best (see the module), with the note that says so."""
    notes: tuple[str, ...] = ()
    for candidate in (action, GIVE_UP):
        try:
            return ask.adapter.format(candidate, ask.size), notes
        except CannotExpress:
            notes = (f"cannot_express:{action.kind}",)
    return f"I cannot express {action.kind}.", notes


def mistake(gold: Action, ask: Ask, rng: random.Random) -> Action:
    """A wrong action that a model might have given for `gold`, among those that the adapter can say."""
    for candidate in _mistakes(gold, rng):
        if candidate.kind in ask.adapter.expresses:
            return candidate
    return DONE if gold.kind != "terminate" else SCROLL


def _mistakes(gold: Action, rng: random.Random) -> Iterator[Action]:
    """Likely mistakes for `gold`, in the random order in which they are to be considered."""
    match gold:
        case Click(point) | LongPress(point):
            others: list[Action] = [_elsewhere(point, rng), _elsewhere(point, rng), SCROLL, SystemButton("Back")]
        case Swipe(start, end):
            others = [Swipe(end, start), Click(Point(0.5, 0.5)), Wait()]
        case Type(text):
            others = [Type(_other(text, _TEXTS, rng)), Type(_other(text, _TEXTS, rng)), Click(Point(0.5, 0.9))]
        case Open(app):
            others = [Open(_other(app, _APPS, rng)), SCROLL, SystemButton("Home")]
        case SystemButton(button):
            others = [SystemButton(cast(Button, rng.choice([b for b in BUTTONS if b != button]))), SCROLL, Wait()]
        case Key(code):
            others = [Key(_other(code, _KEYS, rng)), SystemButton("Back")]
        case Wait():
            others = [Click(Point(0.5, 0.5)), SCROLL, DONE]
        case Answer(text):
            others = [Answer(_other(text, _TEXTS, rng)), DONE]
        case Terminate(status):
            others = [Terminate("failure" if status == "success" else "success"), Wait(), SCROLL]
    rng.shuffle(others)
    yield from others


def _elsewhere(point: Point, rng: random.Random) -> Click:
    """A click a quarter to three quarters of the screen away, in both directions (around the edges), on the screen."""
    return Click(Point((point.x + rng.uniform(0.25, 0.75)) % 1.0, (point.y + rng.uniform(0.25, 0.75)) % 1.0))


def _other(text: str, choices: tuple[str, ...], rng: random.Random) -> str:
    """A choice that neither holds `text` nor is held by it: even the laxest profile tells them apart (unless `text` is empty)."""
    here = text.casefold().strip()
    apart = [c for c in choices if here not in c.casefold() and c.casefold() not in here]
    return rng.choice(apart or list(choices))


def random_action(kind: str, rng: random.Random) -> Action:
    """An action of `kind` with random arguments: points uniform over the screen, texts, apps and keys from short lists."""

    def point() -> Point:
        return Point(rng.random(), rng.random())

    makers: dict[str, Callable[[], Action]] = {
        "click": lambda: Click(point()),
        "long_press": lambda: LongPress(point()),
        "swipe": lambda: Swipe(point(), point()),
        "type": lambda: Type(rng.choice(_TEXTS)),
        "open": lambda: Open(rng.choice(_APPS)),
        "system_button": lambda: SystemButton(cast(Button, rng.choice(BUTTONS))),
        "key": lambda: Key(rng.choice(_KEYS)),
        "wait": Wait,
        "answer": lambda: Answer(rng.choice(_TEXTS)),
        "terminate": lambda: Terminate(cast(Status, rng.choice(STATUSES))),
    }
    return makers[kind]()
