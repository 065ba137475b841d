"""`sopbench.run(policy=...)`: whoever answers is the caller's, and the run is an ordinary one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import sopbench
from sopbench.clients.base import Ask, Policy, Reply
from sopbench.clients.builtin import make_builtin


class Counting(Policy):
    """The oracle under another name; it counts what it is asked, and whether anybody closed it."""

    name = "counting"

    def __init__(self) -> None:
        self.oracle, self.asked, self.closed = make_builtin("builtin:oracle"), 0, False

    async def ask(self, ask: Ask) -> Reply:
        self.asked += 1
        return await self.oracle.ask(ask)

    def describe(self) -> dict[str, Any]:
        return {"model": "mine", "sampling": None, "policy": {"kind": "counting"}}

    async def close(self) -> None:
        self.closed = True


def test_the_callers_policy_answers_and_is_recorded_and_left_open(tmp_path: Path) -> None:
    policy = Counting()

    run = sopbench.run(suite="pocket", limit=3, prompts="builtin", out=tmp_path / "run", policy=policy)

    assert run.summary["tsr"] == 100.0
    assert run.info.facts["model"] == "mine"
    assert run.info.facts["policy"] == {"kind": "counting"}
    assert policy.asked == run.summary["scored_steps"] > 0
    assert not policy.closed
