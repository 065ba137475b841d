"""`builtin:stray`: an agent that errs and does not find back, for studies of what a metric sees.

The oracle behind `builtin:noisy` plans anew after every mistake, so that online almost any rate of mistakes is repaired. This one is lost with its first: from then on,
as long as its own replies are its history, it makes nothing but mistakes. Where it is told the expert's history (a static suite) no earlier mistake has any
bearing, and only the chance to err at that step is left.

`errors` says when it may go wrong, with chance p:

| errors | the first mistake comes |
|---|---|
| `uniform` | at any step, with chance p |
| `early` | at the first two steps only, with chance p at each |
| `drift` | at step k (from 0) with chance 1 - (1-p)^k: the longer its own history, the likelier; never at the first step |
| `text` | in a share p of episodes it garbles everything that it types, and does the rest right |

Like all chance of the built-in policies it depends on (seed, episode, repeat, step) alone, not on what was asked before.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final, Literal, get_args

from sopbench.actions import Action
from sopbench.clients.base import Ask
from sopbench.clients.builtin import DEFAULT_NOISE, Builtin, expert_action, mistake
from sopbench.errors import UsageError

Errors = Literal["uniform", "early", "drift", "text"]
EARLY: Final = 2
"""Steps at which an `early` agent may go wrong."""


class Stray(Builtin):
    """See the module."""

    name: ClassVar[str] = "builtin:stray"
    options: ClassVar[tuple[str, ...]] = ("p", "errors")
    takes: ClassVar[str] = (
        f"p=PROBABILITY and errors={'|'.join(get_args(Errors))} only, for example builtin:stray:p=0.2,errors=early"
    )

    def __init__(self, seed: int = 0, p: float = DEFAULT_NOISE, errors: Errors = "uniform") -> None:
        super().__init__(seed)
        if not 0.0 <= p <= 1.0:
            raise UsageError(f"builtin:stray: p is a probability between 0 and 1, not {p:g}")
        if errors not in get_args(Errors):
            raise UsageError(f"builtin:stray: errors is one of {', '.join(get_args(Errors))}, not {errors[:40]!r}")
        self.p, self.errors = p, errors

    @property
    def model(self) -> str:
        options = [f"p={self.p:g}"] if self.p != DEFAULT_NOISE else []
        options += [f"errors={self.errors}"] if self.errors != "uniform" else []
        return ":".join([self.name, *([",".join(options)] if options else [])])

    def choose(self, ask: Ask) -> Action:
        gold = expert_action(ask)
        return mistake(gold, ask, self.rng(ask)) if self._wrong(ask, gold) else gold

    def _wrong(self, ask: Ask, gold: Action) -> bool:
        episode, repeat, step = ask.key
        if self.errors == "text":
            return gold.kind == "type" and self._draw(episode, repeat, None) < self.p
        steps = [step] if ask.gold_history else range(step + 1)
        return any(self._draw(episode, repeat, k) < self._chance(k) for k in steps)

    def _chance(self, step: int) -> float:
        """The chance that step `step` is the first to go wrong."""
        if self.errors == "early":
            return self.p if step < EARLY else 0.0
        return float(1 - (1 - self.p) ** step) if self.errors == "drift" else self.p

    def _draw(self, episode: str, repeat: int, step: int | None) -> float:
        """Uniform in 0..1; `step` None: one for the whole episode."""
        return self.chance(episode, repeat, "episode" if step is None else str(step), "stray").random()

    def describe(self) -> dict[str, Any]:
        return super().describe() | {
            "policy": {"kind": "builtin", "p": self.p, "errors": self.errors, "seed": self.seed}
        }
