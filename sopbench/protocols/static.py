"""The static protocol as a state machine without I/O: every step of a recording is a request of its own.

A step is asked with the goal, the expert's earlier actions as if the model had replied them, and the recording's screens; what the model answers changes no
other step. This is the only protocol in which gold history reaches a request, and only with `instruct` does the step's own instruction: `told`
says of each step what it was told, and the engine writes that into its record.

Source of the two settings (high level: goal and history; low level: the step's instruction too): AndroidControl, arXiv 2406.03679.
"""

from __future__ import annotations

from dataclasses import replace

from sopbench.adapters.base import Adapter, Message, Text, Turn
from sopbench.protocols.reply import judge_reply
from sopbench.protocols.semi_online import Pending, ProtocolError, StepResult
from sopbench.scoring.base import Profile
from sopbench.trajectory import Step, Trajectory

EXPERT_HISTORY = "expert_history"
INSTRUCTION = "instruction"


class StaticEpisode:
    """One trajectory, one adapter, one profile; its steps may be asked in any order, and at the same time.

    images: how many of the last screens a request carries. instruct: requests tell the instruction of their step.
    """

    def __init__(
        self,
        trajectory: Trajectory,
        adapter: Adapter,
        profile: Profile,
        *,
        images: int | None = None,
        instruct: bool = False,
    ) -> None:
        if not trajectory.steps:
            raise ProtocolError(f"trajectory {trajectory.id} has no steps to play")
        self.trajectory = trajectory
        self.adapter = adapter
        self.profile = profile
        self.images = adapter.default_images if images is None else images
        self.instruct = instruct
        self.results: dict[int, StepResult] = {}
        self._said: list[str | None] = []

    @property
    def over(self) -> bool:
        """True when every step has been answered."""
        return len(self.results) == len(self.trajectory)

    def pending(self, index: int) -> Pending | None:
        """The request for step `index`; None where it has been answered. Raises `DataError` where a screen up to that step cannot be read."""
        if index in self.results:
            return None
        step = self._step_at(index)
        return Pending(index, self._render(index, self._history(index)), step.screen.size)

    def advance(self, index: int, reply: str) -> StepResult:
        """Take the model's reply to `pending(index)` and say what it was worth."""
        step = self._step_at(index)
        if index in self.results:
            raise ProtocolError(f"step {index} of trajectory {self.trajectory.id} has been answered already")
        size = step.screen.size
        parsed, verdict = judge_reply(self.adapter, self.profile, reply, step, size)
        self.results[index] = StepResult(index, reply, parsed, verdict, size)
        return self.results[index]

    def told(self, index: int) -> tuple[str, ...]:
        """What of the recording, besides goal and screens, the request for step `index` carries: some families tell no history, or only part of it."""
        history = self._history(index)
        tells = bool(history) and _without_images(self._render(index, history)) != _without_images(
            self._render(index, [])
        )
        return (*((EXPERT_HISTORY,) if tells else ()), *((INSTRUCTION,) if self._instruction(index) else ()))

    def left_out(self, index: int) -> int:
        """How many of the expert's earlier actions the history leaves out, because the family has no words for them."""
        return index - len(self._history(index))

    def _render(self, index: int, history: list[Turn]) -> tuple[Message, ...]:
        turns = [*history, Turn(self._step_at(index).screen)]
        return self.adapter.render_instructed(self.trajectory.goal, turns, self.images, self._instruction(index))

    def _instruction(self, index: int) -> str | None:
        """The instruction that the request tells, if any."""
        return ((self._step_at(index).instruction or "").strip() or None) if self.instruct else None

    def _step_at(self, index: int) -> Step:
        if not 0 <= index < len(self.trajectory):
            raise ProtocolError(
                f"trajectory {self.trajectory.id} has the steps 0 to {len(self.trajectory) - 1}, not {index}"
            )
        return self.trajectory.steps[index]

    def _history(self, index: int) -> list[Turn]:
        """The expert's steps before `index` in the family's words, without thoughts."""
        while len(self._said) < index:
            step = self.trajectory.steps[len(self._said)]
            size = step.screen.size
            action = step.action(size)
            self._said.append(self.adapter.format(action, size) if self.adapter.can_express(action) else None)
        before = zip(self.trajectory.steps, self._said[:index], strict=False)
        return [Turn(step.screen, said) for step, said in before if said is not None]


def _without_images(messages: tuple[Message, ...]) -> list[Message]:
    return [replace(message, parts=tuple(p for p in message.parts if isinstance(p, Text))) for message in messages]
