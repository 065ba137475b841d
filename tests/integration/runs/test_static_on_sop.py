"""The static AndroidControl suites on the released file, with blank screens of the right size: an oracle reaches the ceiling of each family."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import sopbench
from sopbench.screen import Screen
from sopbench.trajectory import load_trajectories
from tests.placeholders import make_placeholders

SHARED = Path(os.environ.get("SOPBENCH_SHARED", Path(__file__).parents[4] / "shared"))
SOP = SHARED / "data" / "android_control_evaluation_std.jsonl"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not SOP.is_file(), reason=f"no released SOP file at {SOP} (set SOPBENCH_SHARED)"),
]


@pytest.fixture(scope="module")
def screens(tmp_path_factory: pytest.TempPathFactory) -> Path:
    recorded = load_trajectories(SOP, lambda path, episode, step: Screen.from_bytes(b"", Path(path).name))
    return make_placeholders(recorded, tmp_path_factory.mktemp("sop") / "screens")


@pytest.mark.parametrize(
    ("suite", "adapter", "sr"),
    [
        ("androidcontrol-high", "uis1", 100.0),
        ("androidcontrol-low", "ui_tars", 100.0),
        ("androidcontrol-high", "agentcpm", 92.8),  # it has no word for 608 of 8,444 steps
    ],
)
def test_the_oracle_reaches_the_ceiling(screens: Path, tmp_path: Path, suite: str, adapter: str, sr: float) -> None:
    run = sopbench.run(
        suite=suite, data=SOP, images=screens, adapter=adapter, model="builtin:oracle", out=tmp_path / "run"
    )
    summary = run.summary
    assert (summary["n"], summary["n_trajectories"], summary["complete"]) == (8444, 1543, True)
    assert (summary["sr"], summary["tm"], summary["gr"]) == (sr, sr, 100.0)
    assert summary["ceiling"]["sr"] == sr
    assert summary["ceiling"]["missing"] == ({} if sr == 100.0 else {"open": 608})
    assert summary.get("without_instruction") == (16 if suite == "androidcontrol-low" else None)
