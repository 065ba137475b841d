"""What an online environment is: it shows screens, takes actions, and alone decides success."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sopbench.actions import Action
from sopbench.errors import SopbenchError
from sopbench.screen import Screen


class EnvironmentFailed(SopbenchError):
    """The environment broke: an infrastructure outcome, never the agent's failure. `kind` is a stable code."""

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind = kind
        self.detail = detail


@dataclass(frozen=True, slots=True)
class OnlineTask:
    """One task of an online suite. `budget`: steps that an agent may take. `facts`: whatever else defines the task (template, seed)."""

    id: str
    goal: str
    budget: int
    facts: Mapping[str, Any] = field(default_factory=dict)


class OnlineEnvironment(ABC):
    """One task being played. Calls may block (they run in a thread), and are made one at a time.

    Every method raises `EnvironmentFailed` where the environment, not the agent, is at fault.
    """

    @abstractmethod
    def reset(self) -> Screen:
        """Bring the task to its start and show the first screen."""

    @abstractmethod
    def act(self, action: Action) -> Screen:
        """Perform `action` (unit coordinates) and show the screen after it."""

    def perform(self, action: Action) -> None:
        """`act` for those who do not look, as when a recorded episode is played again."""
        self.act(action)

    @abstractmethod
    def score(self) -> float:
        """The environment's own verdict on the state now, 0..1."""

    def finished(self, said_done: bool) -> None:
        """The agent has ended its task (`said_done`) or used up its budget. Told before `score`, for benchmarks in which only the former can be success."""
        return

    def goal(self) -> str | None:
        """What the agent is asked to do, where only `reset` could tell; None: the task's own goal. Asked after `reset`."""
        return None

    def details(self) -> dict[str, Any]:
        """What else it has to say of the episode, for the journal's last line: small JSON, such as a raw reward. Asked after `score`."""
        return {}

    def expert(self) -> Action | None:
        """What an expert would do now; None where the environment knows none. Only built-in policies ask."""
        return None

    def close(self) -> None:
        """Tear down; always called."""
        return
