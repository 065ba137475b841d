"""Our learning signal against the released functions themselves, on random batches.

Needs a checkout of X-PLUG/MobileAgent 11cea575: UPSTREAM_UIS1 names its folder `UI-S1`. Skipped without one. Only `uis1/core_uis1.py` is loaded, which imports torch and verl's
`DataProto` (for a type). It computes in float32, so equal means to 1e-5.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from uis1_train.core.advantages import combined, episode_advantages, step_advantages
from uis1_train.core.returns import step_returns

UPSTREAM = os.environ.get("UPSTREAM_UIS1")
pytestmark = pytest.mark.skipif(not UPSTREAM, reason="set UPSTREAM_UIS1 to the folder UI-S1 of a MobileAgent checkout")


@pytest.fixture(scope="module")
def released() -> Any:
    assert UPSTREAM is not None
    spec = importlib.util.spec_from_file_location("released_core_uis1", Path(UPSTREAM) / "uis1" / "core_uis1.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Rows:
    """Random rollouts of 1 to 7 steps, 1 to 5 a goal, in the order in which the released trainer has them: step by step over the batch."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        rows: list[tuple[int, str, str, float, bool]] = []
        for goal in range(6):
            for rollout in range(int(rng.integers(1, 6))):
                for step in range(int(rng.integers(1, 8))):
                    reward = float(rng.choice([0.0, 0.1, 0.19, 0.55, 1.0]))
                    rows.append((step, f"g{goal}", f"g{goal}/{rollout}", reward, bool(rng.random() < 0.6)))
        rows.sort(key=lambda row: row[0])
        self.steps = np.array([row[0] for row in rows])
        self.goals = np.array([row[1] for row in rows], dtype=object)
        self.rollouts = np.array([row[2] for row in rows], dtype=object)
        self.rewards = np.array([row[3] for row in rows])
        self.matches = np.array([row[4] for row in rows])

    def released_batch(self) -> Any:
        import torch

        return SimpleNamespace(
            non_tensor_batch={"rewards": self.rewards, "traj_uid": self.rollouts, "extract_match": self.matches},
            batch={"input_ids": torch.zeros(1)},
        )

    def tokens(self) -> tuple[Any, Any]:
        """Token rewards as verl has them (all on one token of three) and a response mask of three tokens."""
        import torch

        token_rewards = torch.zeros(len(self.rewards), 3)
        token_rewards[:, 1] = torch.tensor(self.rewards, dtype=torch.float32)
        return token_rewards, torch.ones(len(self.rewards), 3)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("gamma", [0.0, 0.5, 0.9, 1.0])
def test_returns(released: Any, seed: int, gamma: float) -> None:
    rows = Rows(seed)
    theirs = released.compute_step_discounted_returns(rows.released_batch(), gamma).numpy()
    ours = step_returns(rows.rewards, rows.matches, rows.rollouts, rows.steps, gamma=gamma, cut="released")
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("norm", ["mean_norm", "mean_std_norm"])
def test_advantages(released: Any, seed: int, norm: Any) -> None:
    import torch

    rows = Rows(seed)
    returns = step_returns(rows.rewards, rows.matches, rows.rollouts, rows.steps, gamma=0.5, cut="released")
    token_rewards, mask = rows.tokens()
    theirs, _ = released.compute_uis1_outcome_advantage(
        token_rewards,
        torch.tensor(returns, dtype=torch.float32),
        mask,
        rows.goals,
        rows.rollouts,
        rows.steps,
        step_advantage_w=0.7,
        episode_advantage_w=0.3,
        mode=norm,
    )
    ours = combined(
        returns,
        rows.rewards,
        rows.goals,
        rows.rollouts,
        rows.steps,
        norm=norm,
        over="rows",
        step_weight=0.7,
        episode_weight=0.3,
    )
    np.testing.assert_allclose(
        np.tile(ours[:, None], 3), theirs.numpy(), atol=1e-3 if norm == "mean_std_norm" else 1e-5
    )


@pytest.mark.parametrize("seed", range(4))
def test_the_levels_by_themselves(released: Any, seed: int) -> None:
    import torch

    rows = Rows(seed)
    token_rewards, mask = rows.tokens()
    episode = released.episode_norm_reward(token_rewards.clone(), mask, rows.goals, rows.rollouts, 1e-6, True)
    np.testing.assert_allclose(
        episode_advantages(rows.rewards, rows.goals, rows.rollouts, norm="mean_norm", over="rows"),
        episode[:, 0].numpy(),
        atol=1e-5,
    )
    step = released.step_norm_reward(torch.tensor(rows.rewards), mask, rows.goals, rows.steps, 1e-6, True)
    np.testing.assert_allclose(
        step_advantages(rows.rewards, rows.goals, rows.steps, norm="mean_norm"), step[:, 0].numpy(), atol=1e-5
    )
