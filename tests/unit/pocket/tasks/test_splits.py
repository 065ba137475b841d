"""Splits: no two share a template's parameters, and what is held out is nowhere else."""

from __future__ import annotations

from collections import Counter

import pytest

from emulator.pocket.tasks import SPLITS, TaskError, load_split, templates
from emulator.pocket.tasks.session import TaskSpec
from emulator.pocket.tasks.splits import parameter_key, share_of


@pytest.fixture(scope="module")
def splits() -> dict[str, list[TaskSpec]]:
    return {name: load_split(name, per_template=min(6, split.per_template)) for name, split in SPLITS.items()}


def _keys(specs: list[TaskSpec]) -> set[str]:
    by_name = {template.name: template for template in templates()}
    return {parameter_key(by_name[spec.template], spec.params) for spec in specs}


def test_no_two_splits_share_parameters(splits: dict[str, list[TaskSpec]]) -> None:
    keys = {name: _keys(specs) for name, specs in splits.items()}
    for name, mine in keys.items():
        others = set().union(*(other for key, other in keys.items() if key != name))
        assert mine
        assert not mine & others
        assert {share_of(key) for key in mine} <= set(SPLITS[name].share)


def test_shares_cover_every_parameter_once() -> None:
    shares = [share for name, split in SPLITS.items() if name != "heldout" for share in split.share]
    assert sorted(shares) == list(range(100))


def test_no_two_splits_share_a_phone(splits: dict[str, list[TaskSpec]]) -> None:
    seeds = [seed for specs in splits.values() for seed in {spec.seed for spec in specs}]
    assert len(seeds) == len(set(seeds))


def test_held_out_templates_are_in_no_other_split(splits: dict[str, list[TaskSpec]]) -> None:
    held = {template.name for template in templates() if template.heldout}
    assert held
    assert {spec.template for spec in splits["heldout"]} == held
    for name in ("train", "validation", "test"):
        assert not held & {spec.template for spec in splits[name]}


@pytest.mark.parametrize("name", ["train", "validation", "test"])
def test_every_other_template_is_in_every_split(splits: dict[str, list[TaskSpec]], name: str) -> None:
    """If this fails for a template of yours it has too few combinations of parameters: give it more."""
    wanted = {template.name for template in templates() if not template.heldout}
    assert wanted - {spec.template for spec in splits[name]} == set()


def test_ids_are_unique_and_tasks_differ(splits: dict[str, list[TaskSpec]]) -> None:
    specs = [spec for some in splits.values() for spec in some]
    assert len({spec.id for spec in specs}) == len(specs)
    assert len({spec.canonical() for spec in specs}) == len(specs)


def test_about_half_of_the_tasks_say_open(splits: dict[str, list[TaskSpec]]) -> None:
    goals = Counter(spec.goal.startswith("Open ") for spec in splits["train"])
    assert 0.4 < goals[True] / sum(goals.values()) < 0.6


def test_the_first_tasks_of_a_split_are_a_mixture(splits: dict[str, list[TaskSpec]]) -> None:
    count = sum(not template.heldout for template in templates())
    assert len({spec.template for spec in splits["test"][:count]}) == count


def test_a_split_is_the_same_each_time() -> None:
    first, second = (load_split("validation", per_template=1) for _ in range(2))
    assert [spec.canonical() for spec in first] == [spec.canonical() for spec in second]


def test_the_large_display_has_the_same_tasks_under_names_of_its_own() -> None:
    regular = load_split("heldout", per_template=1)
    large = load_split("heldout", per_template=1, display="large")
    assert [(spec.goal, spec.params) for spec in regular] == [(spec.goal, spec.params) for spec in large]
    assert not {spec.id for spec in regular} & {spec.id for spec in large}


def test_an_unknown_split_is_told_with_the_known_ones() -> None:
    with pytest.raises(TaskError, match="train, validation, test, heldout"):
        load_split("tests")
