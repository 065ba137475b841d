"""`docs/training-signal.md` runs, and its table is what the code gives."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import pytest

from sopbench.adapters import get_adapter
from sopbench.clients.builtin import make_builtin
from sopbench.scoring import get_profile
from sopbench.suites.pocket import pocket_data
from sopbench.trajectory import load_trajectories, screens_in
from uis1_train.core.rewards import reward
from uis1_train.policies.endpoint import EndpointPolicy
from uis1_train.session import GroupItem, RolloutConfig

PAGE = (Path(__file__).parents[3] / "docs" / "training-signal.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def names() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for code in re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL):
        exec(compile(code, "training-signal.md", "exec"), found)  # noqa: S102  # our own documentation
    return found


def rows_after(heading: str) -> list[list[str]]:
    """The cells of the first table after `heading`, without its head."""
    lines = PAGE.split(heading, 1)[1].splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("|"))
    table = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        table.append([cell.strip() for cell in line.strip("|").split("|")])
    return table


def test_the_table_of_the_worked_example_is_what_its_code_gives(names: dict[str, Any]) -> None:
    table = rows_after("By hand:")
    assert len(table) == 11
    for row, (rollout, step, paid, match, *numbers) in enumerate(table):
        assert (int(rollout), int(step)) == (names["rollouts"][row], names["steps"][row])
        assert (float(paid), match == "yes") == (names["rewards"][row], names["matches"][row])
        columns = ("paper", "released", "step_level", "episode_level", "advantages")
        for column, said in zip(columns, numbers, strict=True):
            assert float(said) == pytest.approx(names[column][row], abs=6e-4), (row, column)
    group = names["group"]
    assert (round(group.mean, 3), round(group.std, 3), group.kept) == (1.075, 0.735, True)


def test_the_table_of_rewards_is_what_the_code_pays() -> None:
    [paper, with_thought, without] = rows_after("## From verdict to reward")
    verdicts = [(True, True, True), (True, True, False), (True, False, False), (False, False, False)]
    for row, name, thought in ((paper, "paper", True), (with_thought, "released", True), (without, "released", False)):
        paid = [reward(name, *verdict, thought=thought).total for verdict in verdicts]  # type: ignore[arg-type]
        assert [float(cell) for cell in row[1:]] == pytest.approx(paid)


async def test_the_batch_of_groups_is_filled(names: dict[str, Any]) -> None:
    folder = pocket_data()
    trajectories = load_trajectories(folder / "trajectories.jsonl", screens_in(folder / "screens"))
    config = RolloutConfig(get_profile("strict"), get_adapter("uis1"), patches=math.inf)
    policy = EndpointPolicy(make_builtin("builtin:noisy:p=0.3"))
    kept, counts = await names["batch_of"](5, (GroupItem(t.id, t) for t in trajectories), policy, config)
    assert [len(group) for group in kept] == [8] * 5
    assert counts.groups >= 5
