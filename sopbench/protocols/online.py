"""The online protocol as a state machine without I/O: the environment stands in the middle.

The driver repeats: send `pending()`, hand the reply to `advance()`, which says what to do on the device; act, and hand the new screen to `observe()`.
Success is the environment's word (`finish(score)`), never the agent's. A reply that cannot be parsed costs a step and changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from sopbench.actions import Action, Answer, Terminate
from sopbench.adapters.base import Adapter, ParsedReply, ParseFailure, Turn
from sopbench.geometry import Size
from sopbench.protocols.semi_online import Pending, ProtocolError
from sopbench.screen import Screen


@dataclass(frozen=True, slots=True)
class OnlineResult:
    """One online step: what was replied, and the action to perform (None: nothing to do, the reply was no action)."""

    step_index: int
    reply: str
    parsed: ParsedReply | ParseFailure
    size: Size

    @property
    def action(self) -> Action | None:
        return self.parsed.action if isinstance(self.parsed, ParsedReply) else None

    @property
    def answer(self) -> str | None:
        """What this step tells the user: the text of an `answer`, or the one with which a family ends its task."""
        if isinstance(self.action, Answer):
            return self.action.text
        return self.parsed.answer if isinstance(self.parsed, ParsedReply) else None


class OnlineEpisode:
    """One task in one live environment. `budget`: steps that the agent may take."""

    def __init__(self, goal: str, adapter: Adapter, first: Screen, *, budget: int, images: int | None = None) -> None:
        if budget < 1:
            raise ProtocolError(f"a budget of {budget} steps leaves nothing to play")
        self.goal = goal
        self.adapter = adapter
        self.budget = budget
        self.images = adapter.default_images if images is None else images
        self.results: list[OnlineResult] = []
        self.score: float | None = None
        self.said_done = False
        self._screen = first
        self._history: list[Turn] = []
        self._acting = False

    @property
    def over(self) -> bool:
        """True when the agent has ended the task or its budget is spent, and its last action has been observed."""
        return not self._acting and (self.said_done or len(self.results) >= self.budget)

    def pending(self) -> Pending | None:
        if self.over or self._acting:
            return None
        messages = self.adapter.render(self.goal, [*self._history, Turn(self._screen)], self.images)
        return Pending(len(self.results), messages, self._screen.size)

    def advance(self, reply: str) -> OnlineResult:
        if self.over or self._acting:
            raise ProtocolError("advance() without a pending request")
        size = self._screen.size
        result = OnlineResult(len(self.results), reply, self.adapter.parse(reply, size), size)
        self.results.append(result)
        self._history.append(Turn(self._screen, reply))
        self.said_done = isinstance(result.action, Terminate)
        self._acting = not self.said_done
        return result

    def observe(self, screen: Screen) -> None:
        """The screen after the last action was performed (the same one where there was none)."""
        if not self._acting:
            raise ProtocolError("observe() without an action")
        self._screen = screen
        self._acting = False

    def finish(self, score: float) -> None:
        """Record the environment's own verdict, 0..1."""
        if not self.over:
            raise ProtocolError("finish() before the episode is over")
        if not 0 <= score <= 1:
            raise ProtocolError(f"an environment's verdict lies in 0..1, not {score}")
        self.score = score
