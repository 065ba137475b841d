"""PocketPhone in process as an online environment."""

from __future__ import annotations

from emulator.pocket.tasks import PocketSession, start
from sopbench.actions import Action
from sopbench.online.base import OnlineEnvironment
from sopbench.screen import Screen


class PocketEnvironment(OnlineEnvironment):
    """One PocketPhone task, played on a phone of its own in this process (a simulation)."""

    def __init__(self, template: str, seed: int, display: str = "regular") -> None:
        self._template, self._seed, self._display = template, seed, display
        self._session: PocketSession | None = None

    @property
    def session(self) -> PocketSession:
        assert self._session is not None, "reset() first"
        return self._session

    def reset(self) -> Screen:
        self._session = start(self._template, self._seed, self._display)
        return self._look()

    def act(self, action: Action) -> Screen:
        self.session.phone.act(action)
        return self._look()

    def perform(self, action: Action) -> None:
        self.session.phone.act(action)

    def score(self) -> float:
        return self.session.score()

    def expert(self) -> Action | None:
        return self.session.expert()

    def _look(self) -> Screen:
        return Screen.from_bytes(self.session.phone.png(), f"{self._template}-{self._seed}")
