"""The released SOP data through every adapter: what the expert did can be said, read back, and counts."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from sopbench.adapters import ADAPTERS, get_adapter
from sopbench.adapters.base import ParsedReply
from sopbench.runs.summary import ceiling
from sopbench.scoring import PROFILES
from sopbench.screen import Screen
from sopbench.trajectory import Trajectory, load_trajectories
from tests.placeholders import size_for

SHARED = Path(os.environ.get("SOPBENCH_SHARED", Path(__file__).parents[4] / "shared"))
SOP = SHARED / "data" / "android_control_evaluation_std.jsonl"

pytestmark = pytest.mark.skipif(not SOP.is_file(), reason=f"no released SOP file at {SOP} (set SOPBENCH_SHARED)")


ALL = {"pg": 100.0, "tsr": 100.0}
CEILINGS = {"agentcpm": {"pg": 60.7, "tsr": 60.7}}
"""What the oracle can reach through the families that cannot say everything the expert did."""


@pytest.fixture(scope="module")
def trajectories() -> list[Trajectory]:
    return load_trajectories(SOP, lambda path, episode, step: Screen.from_bytes(b"", path))


@pytest.mark.parametrize("name", ADAPTERS)
def test_the_expert_s_actions_survive_the_adapter_and_match_themselves(
    name: str, trajectories: list[Trajectory]
) -> None:
    adapter = get_adapter(name)
    steps, unsaid = 0, Counter[str]()
    for trajectory in trajectories:
        size = size_for(trajectory)
        for index, step in enumerate(trajectory.steps):
            steps += 1
            if not adapter.can_express(step.action(size)):
                unsaid[step.kind] += 1
                continue
            parsed = adapter.parse(adapter.format(step.action(size), size, trajectory.goal), size)
            assert isinstance(parsed, ParsedReply), (trajectory.id, index, parsed)
            assert parsed.notes == ()
            for profile in PROFILES.values():
                assert profile.judge(parsed.action, step, size).match, (profile.id, trajectory.id, index)
    assert (len(trajectories), steps) == (1543, 8444)
    assert ceiling(trajectories, adapter) == CEILINGS.get(name, ALL) | {"missing": dict(unsaid)}
