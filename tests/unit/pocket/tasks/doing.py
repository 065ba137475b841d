"""Hands for near misses: start a task, change what its state should become, and ask for the score."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from emulator.pocket.state import PhoneState
from emulator.pocket.tasks import PocketSession, find, start

Params = dict[str, Any]
Change = Callable[[PhoneState, Params], None]


def started(name: str, seed: int = 1) -> PocketSession:
    return start(name, seed)


def score_of_wanted(name: str, change: Change, seed: int = 1) -> float:
    """The score when the goal was reached exactly, and then `change(state, parameters)` was made."""
    session = start(name, seed)
    find(name).want(session.phone.state, session.params)
    assert session.score() == 1, "the wanted state is a solution"
    change(session.phone.state, session.params)
    return session.score()


def score_after(name: str, change: Change, seed: int = 1) -> float:
    """The score when nothing but `change(state, parameters)` was made."""
    session = start(name, seed)
    change(session.phone.state, session.params)
    return session.score()
