"""The weights that ship with the package: small, whole, and able to speak."""

from __future__ import annotations

from pathlib import Path

import sopbench
from emulator.pocket.export import export
from emulator.pocket.tasks import load_split
from sopbench.clients.base import Sampling
from sopbench.clients.tiny import packaged_folder

TASKS = 6


def test_they_take_little_room() -> None:
    assert sum(path.stat().st_size for path in packaged_folder().iterdir()) < 10e6


def test_they_answer_in_their_language(tmp_path: Path) -> None:
    """Every step of some tasks of the test split, each by itself: nearly every reply is an action, and of the kinds that are asked for more than one comes."""
    export(load_split("test", display="large")[:TASKS], "test", tmp_path / "recordings")
    run = sopbench.run(
        suite="androidcontrol-high",
        data=tmp_path / "recordings" / "trajectories.jsonl",
        images=tmp_path / "recordings" / "screens",
        profile="strict",
        model="builtin:tiny",
        sampling=Sampling(temperature=0.0),
        out=tmp_path / "run",
    )
    steps = run.steps
    assert run.info.facts["adapter"]["name"] == "tiny"
    assert len(steps) > 25
    unread = steps["reason"].fillna("").str.startswith("parse:").mean()
    assert unread <= 0.1
    assert (steps["finish_reason"] == "stop").mean() >= 0.9
    assert steps["match"].mean() > 0
