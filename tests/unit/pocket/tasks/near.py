"""Near misses: the task is played almost as asked, and must not count as solved."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

from emulator.pocket.tasks import PocketSession, Template, find, start
from emulator.pocket.tasks.expert import Memory


def misled(session: PocketSession, **wrong: Any) -> float:
    """The score after the expert has done the same with other parameters: another person, another time, a typo."""
    params = {**session.params, **wrong}
    assert params != session.params
    other = replace(session, params=params, memory=Memory(), before=copy.deepcopy(session.before))
    assert other.score() == 0, "it was like that from the beginning"
    other.solve()
    session.phone.state.finished = None
    return session.score()


def both(name: str, seed: int) -> list[PocketSession]:
    """A task on both displays."""
    template: Template = find(name)
    return [start(template, seed, "regular"), start(template, seed, "large")]
