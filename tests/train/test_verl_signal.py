"""From rows to advantages and scalars, with padding anywhere; and how many mini-batches a batch has."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from uis1_train.verl_ext.settings import MethodSettings
from uis1_train.verl_ext.signal import Rows, advantages, scalars
from uis1_train.verl_ext.splitting import split


def fact(goal: str, rollout: int, step: int, reward: float, value: float, **other: Any) -> dict[str, Any]:
    defaults = {
        "match": reward == 1,
        "format": 1.0,
        "type": float(reward >= 0.5),
        "accuracy": float(reward == 1),
        "patched": False,
        "patched_before": 0,
        "truncated": False,
        "patches": 0,
        "fell_back": 0,
        "steps": 1,
        "progress": reward,
        "success": reward == 1,
    }
    return {"goal": goal, "rollout": rollout, "step": step, "reward": reward, "step_return": value} | defaults | other


# two goals of two rollouts; goal b's rollouts have one step
FACTS = [
    fact("a", 0, 0, 1.0, 1.5, steps=2),
    fact("a", 0, 1, 1.0, 1.0, steps=2),
    fact("a", 1, 0, 0.1, 0.1),
    fact("b", 0, 0, 1.0, 1.0, patches=1, patched=True),
    fact("b", 1, 0, 0.5, 0.5),
]
WITHOUT_STD = MethodSettings(normalise="mean_norm")


def test_advantages_by_hand() -> None:
    # step level: a.0: returns 1.5 and 0.1, mean 0.8; a.1 is alone: 0; b.0: 1.0 and 0.5, mean 0.75
    # episode level: a: 2.0 and 0.1, mean 1.05; b: 1.0 and 0.5
    found = advantages(Rows.of(FACTS, [False] * 5), WITHOUT_STD)
    assert found == pytest.approx([0.7 + 0.95, 0.95, -0.7 - 0.95, 0.25 + 0.25, -0.5])


def test_padding_gets_nothing_and_changes_nothing() -> None:
    """verl's padding rows are copies of a real row's facts with another key: they must not count as a rollout of its goal."""
    mixed = [FACTS[2], *FACTS, FACTS[0]]
    found = advantages(Rows.of(mixed, [True, *[False] * 5, True]), WITHOUT_STD)
    alone = advantages(Rows.of(FACTS, [False] * 5), WITHOUT_STD)
    assert found[[0, -1]].tolist() == [0, 0]
    assert found[1:-1] == pytest.approx(alone)


def test_offline_steps_count_once() -> None:
    offline = WITHOUT_STD.model_copy(update={"mode": "offline"})
    found = advantages(Rows.of([FACTS[3], FACTS[4]], [False, False]), offline)
    assert found == pytest.approx([0.25, -0.25])


def test_scalars_are_means_over_rows_or_over_rollouts() -> None:
    rows = Rows.of([*FACTS, FACTS[0]], [*[False] * 5, True])
    told = scalars(rows, advantages(rows, WITHOUT_STD))
    assert told["uis1/rows"] == 5
    assert told["uis1/padding_rows"] == 1
    assert told["uis1/goals"] == 2
    assert told["uis1/rollouts"] == 4
    assert told["uis1/reward/total"] == pytest.approx(3.6 / 5)
    assert told["uis1/rollout/steps"] == pytest.approx(5 / 4)
    assert told["uis1/rollout/patches"] == pytest.approx(1 / 4)
    assert told["uis1/patch_rate"] == pytest.approx(1 / 5)
    assert told["uis1/rollout/success"] == pytest.approx(2 / 4)
    assert told["uis1/advantage/zero"] == 0


def test_a_batch_of_padding_alone_has_no_means() -> None:
    rows = Rows.of(FACTS[:1], [True])
    assert scalars(rows, np.zeros(1)) == {"uis1/rows": 0.0, "uis1/padding_rows": 1.0}


@pytest.mark.parametrize(
    ("rows", "dp", "wanted", "learning", "asking", "expected"),
    [
        (1000, 8, 4, 1, 1, (4, 32)),
        (128, 8, 4, 1, 1, (4, 32)),
        (127, 8, 4, 1, 1, (3, 24)),
        (7, 8, 4, 1, 1, (1, 8)),
        (20, 1, 3, 2, 2, (3, 6)),
        (20, 1, 3, 4, 4, (2, 8)),
        (1, 1, 1, 1, 1, (1, 1)),
    ],
)
def test_mini_batches(rows: int, dp: int, wanted: int, learning: int, asking: int, expected: tuple[int, int]) -> None:
    assert split(rows, dp, wanted, learning, asking) == expected


def test_no_mini_batch_can_be_all_padding() -> None:
    for rows in range(1, 300):
        for dp, wanted, learning, asking in ((1, 4, 1, 1), (2, 4, 2, 1), (8, 4, 1, 2), (1, 3, 4, 4)):
            parts, multiple = split(rows, dp, wanted, learning, asking)
            padded = math.ceil(rows / multiple) * multiple
            assert padded % (parts * dp * learning) == 0
            assert padded // dp % asking == 0
            assert padded - rows < padded // parts
