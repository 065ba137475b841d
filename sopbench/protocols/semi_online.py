"""The semi-online protocol as a state machine without I/O.

An expert recording is played as if it were live: the model sees the goal, its own earlier replies and the recording's screens; while it acts as the
expert did, the next screen is shown; the first mismatch ends the episode. Source: arXiv 2509.11543, section 3.

Whoever drives it (the evaluator, the trainer) repeats: send `pending()`, hand the reply to `advance()`. Two switches of the paper's
training live here too, since a training rollout with none of them *is* an evaluation:

* `patches`: on a mismatch, while fewer than that many patches were used, the episode waits with `patch_due` set; the driver calls `patch(text)` to
  put a repaired reply into history and play on, or `decline_patch()` to end. `PatchDue.thought_free()` is the paper's default repair.
* `after_mismatch="continue"`: the diagnostic mode. History keeps the model's reply, the screen is the expert's next. Never feeds the headline.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from sopbench.actions import Action
from sopbench.adapters.base import Adapter, Message, ParsedReply, ParseFailure, Turn
from sopbench.errors import SopbenchError
from sopbench.geometry import Size
from sopbench.protocols.reply import judge_reply
from sopbench.scoring.base import Profile, Verdict
from sopbench.trajectory import Step, Trajectory


class ProtocolError(SopbenchError):
    """The driver called a state machine out of turn: a fault in the driver, never in the model."""


@dataclass(frozen=True, slots=True)
class Pending:
    """The request that a protocol waits for. `size` is the original size of the current screen."""

    step_index: int
    messages: tuple[Message, ...]
    size: Size


@dataclass(frozen=True, slots=True)
class StepResult:
    """One scored step. `parsed` tells what the reply says; a parse failure is a mismatch with reason `parse:<its reason>`."""

    step_index: int
    reply: str
    parsed: ParsedReply | ParseFailure
    verdict: Verdict
    size: Size

    @property
    def action(self) -> Action | None:
        return self.parsed.action if isinstance(self.parsed, ParsedReply) else None


@dataclass(frozen=True, slots=True)
class PatchDue:
    """A mismatch that may be patched: `result` is what the model did, `expert` the gold action (unit coordinates)."""

    result: StepResult
    step: Step
    expert: Action
    adapter: Adapter

    def thought_free(self) -> str:
        """The expert's action in the family's words, without a thought (with the recording's own where it has one)."""
        return self.adapter.format(self.expert, self.result.size, self.step.thought)


class SemiOnlineEpisode:
    """One trajectory, one adapter, one profile. `images`: how many of the last screens a request carries."""

    def __init__(
        self,
        trajectory: Trajectory,
        adapter: Adapter,
        profile: Profile,
        *,
        images: int | None = None,
        patches: float = 0,
        after_mismatch: Literal["stop", "continue"] = "stop",
    ) -> None:
        if not trajectory.steps:
            raise ProtocolError(f"trajectory {trajectory.id} has no steps to play")
        if math.isnan(patches) or patches < 0 or (patches != math.inf and patches != int(patches)):
            raise ProtocolError(f"patches must be 0, 1, 2, ... or math.inf, not {patches}")
        if patches and after_mismatch == "continue":
            raise ProtocolError("the diagnostic mode never patches: choose patches or after_mismatch='continue'")
        self.trajectory = trajectory
        self.adapter = adapter
        self.profile = profile
        self.images = adapter.default_images if images is None else images
        self.patches_left = patches
        self.patch_due: PatchDue | None = None
        self.results: list[StepResult] = []
        self.patched: dict[int, str] = {}
        self._continue = after_mismatch == "continue"
        self._history: list[Turn] = []
        self._over = False

    @property
    def over(self) -> bool:
        return self._over

    @property
    def step_index(self) -> int:
        """The step to be answered next (the number of steps answered so far)."""
        return len(self.results)

    @property
    def progress(self) -> int:
        """s of the metric: steps matched before the first mismatch."""
        for index, result in enumerate(self.results):
            if not result.verdict.match:
                return index
        return len(self.results)

    @property
    def success(self) -> bool:
        return self.progress == len(self.trajectory)

    def pending(self) -> Pending | None:
        """The request to send now; None when the episode is over or a patch is due."""
        if self._over or self.patch_due is not None:
            return None
        screen = self.trajectory.steps[self.step_index].screen
        messages = self.adapter.render(self.trajectory.goal, [*self._history, Turn(screen)], self.images)
        return Pending(self.step_index, messages, screen.size)

    def advance(self, reply: str) -> StepResult:
        """Take the model's reply to `pending()` and say what it was worth."""
        if self._over or self.patch_due is not None:
            raise ProtocolError("advance() without a pending request")
        step = self.trajectory.steps[self.step_index]
        size = step.screen.size
        parsed, verdict = judge_reply(self.adapter, self.profile, reply, step, size)
        result = StepResult(self.step_index, reply, parsed, verdict, size)
        self.results.append(result)
        if verdict.match or self._continue:
            self._turn(step, reply)
        elif self.patches_left > 0:
            self.patch_due = PatchDue(result, step, step.action(size), self.adapter)
        else:
            self._over = True
        return result

    def patch(self, reply: str) -> None:
        """Put `reply` into history in place of the model's mismatch, and play on from the expert's next screen."""
        if self.patch_due is None:
            raise ProtocolError("patch() without a patch due")
        due, self.patch_due = self.patch_due, None
        self.patches_left -= 1
        self.patched[due.result.step_index] = reply
        self._turn(due.step, reply)

    def decline_patch(self) -> None:
        """End the episode at the mismatch."""
        if self.patch_due is None:
            raise ProtocolError("decline_patch() without a patch due")
        self.patch_due = None
        self._over = True

    def _turn(self, step: Step, reply: str) -> None:
        self._history.append(Turn(step.screen, reply))
        self._over = len(self.results) == len(self.trajectory)
