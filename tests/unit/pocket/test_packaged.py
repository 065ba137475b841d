"""The recordings that ship with the package: what is in them, and that they are what a fresh export would write."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from emulator.pocket import png
from emulator.pocket.export import SCREENS, TRAJECTORIES, ScreenStore, record
from emulator.pocket.phone import Phone, fresh_state
from emulator.pocket.tasks import load_split, start, templates
from sopbench.suites import SUITES
from sopbench.suites.base import DataSource
from sopbench.suites.pocket import SPLIT, pocket_data
from sopbench.trajectory import to_jsonl_object

ZLIB_PROBE = "490193eb022fb1da"
"""Start of the SHA-256 of `_probe()` under the zlib that the packaged screens were compressed with (1.2.13; 1.3 gives the same)."""


def _probe() -> str:
    return hashlib.sha256(zlib.compress(bytes(i * i % 251 for i in range(200_000)), 9)).hexdigest()[:16]


@pytest.fixture(scope="module")
def lines() -> list[str]:
    return (pocket_data() / TRAJECTORIES).read_text(encoding="utf-8").splitlines()


@pytest.fixture(scope="module")
def objects(lines: list[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines]


@pytest.fixture(scope="module")
def files() -> list[Path]:
    return sorted((pocket_data() / SCREENS).iterdir())


def _steps(objects: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for obj in objects:
        yield from obj["steps"]


def test_there_are_at_least_100_trajectories_and_600_steps_in_at_most_10_megabytes(
    objects: list[dict[str, Any]], files: list[Path]
) -> None:
    assert len(objects) >= 100
    assert sum(1 for _ in _steps(objects)) >= 600
    size = sum(file.stat().st_size for file in files) + (pocket_data() / TRAJECTORIES).stat().st_size
    assert size <= 10_000_000


def test_every_app_and_every_template_that_is_not_held_out_is_in_it(objects: list[dict[str, Any]]) -> None:
    assert {obj["tags"]["template"] for obj in objects} == {t.name for t in templates() if not t.heldout}
    used = {app for obj in objects for app in obj["tags"]["apps"].split("+")}
    assert used == set(fresh_state(0).apps)
    assert len(templates()) >= 60


def test_it_is_the_test_split_on_the_regular_display(objects: list[dict[str, Any]]) -> None:
    assert {(obj["tags"]["split"], obj["tags"]["display"]) for obj in objects} == {("test", "regular")}


def test_the_actions_are_a_mixture(objects: list[dict[str, Any]]) -> None:
    kinds = Counter(step["action_content"]["action"] for step in _steps(objects))
    assert set(kinds) >= {
        "click",
        "long_press",
        "swipe",
        "type",
        "open",
        "system_button",
        "wait",
        "answer",
        "terminate",
    }
    first = Counter(obj["steps"][0]["action_content"]["action"] for obj in objects)
    assert 0.35 < first["open"] / len(objects) < 0.65
    assert first["click"] > 20
    assert first["system_button"] > 5


def test_the_screens_are_those_that_the_steps_name_and_show_what_their_names_say(
    objects: list[dict[str, Any]], files: list[Path]
) -> None:
    assert {f"{SCREENS}/{file.name}" for file in files} == {step["screenshot"] for step in _steps(objects)}
    for file in files:
        assert png.index(Image.open(file).convert("RGB")).fingerprint[:16] == file.stem


def test_the_screens_have_the_bytes_that_this_version_writes(files: list[Path]) -> None:
    if _probe() != ZLIB_PROBE:
        pytest.skip(f"this Python compresses with another zlib ({zlib.ZLIB_RUNTIME_VERSION}): same pixels, other bytes")
    for file in files[::25]:
        assert png.encode(Image.open(file).convert("RGB")) == file.read_bytes()


class _Names(ScreenStore):
    """Names screens as an export would, and writes none."""

    def add(self, phone: Phone) -> Path:
        return self.folder / f"{png.index(phone.screen()).fingerprint[:16]}.png"


@pytest.mark.slow
def test_a_fresh_export_would_be_the_same(lines: list[str]) -> None:
    """If this fails, something changed what a task is or how a screen looks. Was that meant? Then
    `python -m emulator.pocket export --split test --out emulator/pocket/data/test --overwrite`, and say so in the commit:
    numbers from before and after are not comparable."""
    store = _Names(pocket_data() / SCREENS)
    specs = load_split(SPLIT)
    assert len(specs) == len(lines)
    for spec, line in zip(specs, lines, strict=True):
        trajectory = record(start(spec.template, spec.seed, spec.display), SPLIT, store)
        names = [f"{SCREENS}/{step.screen.label}" for step in trajectory.steps]
        assert json.dumps(to_jsonl_object(trajectory, names), ensure_ascii=False) == line, spec.id


@pytest.mark.slow
def test_both_suites_have_the_same_tasks_in_the_same_order() -> None:
    recorded = SUITES["pocket"]().load(DataSource())
    live = SUITES["pocket-online"]().load(DataSource())
    assert recorded.ids == live.ids
    assert [t.goal for t in recorded.trajectories] == [t.goal for t in live.tasks]
    for trajectory, task in zip(recorded.trajectories, live.tasks, strict=True):
        assert task.budget == 2 * len(trajectory) + 4
