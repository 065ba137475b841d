"""Recordings as verl's data set: subsets by number and seed, addresses instead of copies, offline steps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from sopbench.errors import DataError, UsageError
from tests.train.verl_world import make_recordings
from uis1_train.verl_ext.dataset import Recordings, RecordingsDataset, load_recordings
from uis1_train.verl_ext.settings import MethodSettings


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_recordings(tmp_path_factory.mktemp("recordings"), goals=8, steps=2)


def names(spec: str, seed: int = 1) -> list[str]:
    return [trajectory.id for trajectory in load_recordings(spec, None, "{name}", seed)]


def dataset(files: Any, **method: Any) -> RecordingsDataset:
    return RecordingsDataset(files, None, OmegaConf.create({"method": method}))


def test_a_smaller_subset_is_part_of_a_larger_one(file: Path) -> None:
    assert names(f"{file}@3") == names(f"{file}@6")[:3]
    assert set(names(f"{file}@8")) == set(names(str(file)))
    assert names(f"{file}@8") != names(f"{file}@8", seed=2)
    assert names(f"{file}@8", seed=2) == names(f"{file}@8", seed=2)


def test_a_file_alone_keeps_its_order(file: Path) -> None:
    assert names(str(file)) == [f"goal-{n}" for n in range(8)]


def test_more_than_there_are_is_an_error(file: Path) -> None:
    with pytest.raises(DataError, match="has 8 trajectories, so that 9 cannot"):
        names(f"{file}@9")


def test_rows_are_addresses(file: Path) -> None:
    rows = dataset([f"{file}@2", f"{file}@3"])
    assert len(rows) == 5
    last = rows[4]
    assert last["recording"]["file"] == 1
    assert last["raw_prompt"] == [{"role": "user", "content": f"do {last['recording']['trajectory'][-1]}"}]
    assert len(json.dumps(last["recording"])) < 200
    found = rows.recordings.find(1, last["recording"]["position"], last["recording"]["trajectory"])
    assert found.id == last["recording"]["trajectory"]


def test_offline_has_a_row_for_every_step(file: Path) -> None:
    rows = dataset(str(file), mode="offline")
    assert len(rows) == 16
    assert [rows[n]["recording"]["step"] for n in range(4)] == [0, 1, 0, 1]


def test_another_file_on_another_machine_is_noticed(file: Path) -> None:
    recordings = Recordings([str(file)], MethodSettings())
    with pytest.raises(DataError, match="same file"):
        recordings.find(0, 0, "goal-5")


def test_screens_may_lie_elsewhere(file: Path, tmp_path: Path) -> None:
    for picture in file.parent.glob("*.png"):
        goal, step = picture.stem.split("-")
        (tmp_path / f"goal-{goal}_{step}.png").write_bytes(picture.read_bytes())
    found = load_recordings(str(file), tmp_path, "{episode}_{step}.png", 1)
    assert found[3].steps[1].screen.read() == (file.parent / "3-1.png").read_bytes()


def test_no_file_is_refused() -> None:
    with pytest.raises(UsageError, match="names no file"):
        Recordings([], MethodSettings())
