"""Splits: no two share a template's parameters, and what is held out is nowhere else."""

from __future__ import annotations

import itertools
from collections import Counter
from functools import lru_cache

import pytest

from emulator.pocket.phone import fresh_state
from emulator.pocket.tasks import SPLITS, TaskError, load_split, templates
from emulator.pocket.tasks.session import TaskSpec, parameters_of
from emulator.pocket.tasks.splits import parameter_key, seeds, share_of

EACH = 8


@pytest.fixture(scope="module")
def splits() -> dict[str, list[TaskSpec]]:
    """The splits with one task of each template."""
    return {name: load_split(name, per_template=1) for name in SPLITS}


@pytest.fixture(scope="module")
def drawn() -> dict[str, list[tuple[int, str]]]:
    """(seed, template with parameters) of eight tasks of each template, by split."""
    phones = lru_cache(maxsize=None)(fresh_state)
    return {
        name: [
            (seed, parameter_key(template, parameters_of(template, seed, phones(seed))))
            for template in templates()
            if template.heldout == (name == "heldout")
            for seed in itertools.islice(seeds(template, name, EACH, phones), EACH)
        ]
        for name in SPLITS
    }


def test_no_two_splits_share_parameters(drawn: dict[str, list[tuple[int, str]]]) -> None:
    keys = {name: {key for _, key in tasks} for name, tasks in drawn.items()}
    for name, mine in keys.items():
        others = set().union(*(other for key, other in keys.items() if key != name))
        assert mine
        assert not mine & others
        assert {share_of(key) for key in mine} <= set(SPLITS[name].share)


def test_shares_cover_every_parameter_once() -> None:
    shares = [share for name, split in SPLITS.items() if name != "heldout" for share in split.share]
    assert sorted(shares) == list(range(100))


def test_no_two_splits_share_a_phone(drawn: dict[str, list[tuple[int, str]]]) -> None:
    phones = [seed for tasks in drawn.values() for seed in {seed for seed, _ in tasks}]
    assert len(phones) == len(set(phones))


def test_a_split_asks_for_the_same_again_only_when_it_has_nothing_else() -> None:
    for template in templates():
        name = "heldout" if template.heldout else "train"
        few = list(itertools.islice(seeds(template, name, 2), 2))
        assert len({parameter_key(template, parameters_of(template, s, fresh_state(s))) for s in few}) == 2


def test_held_out_templates_are_in_no_other_split(splits: dict[str, list[TaskSpec]]) -> None:
    held = {template.name for template in templates() if template.heldout}
    assert held
    assert {spec.template for spec in splits["heldout"]} == held
    for name in ("train", "validation", "test"):
        assert splits[name]
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


def test_a_split_is_the_same_each_time(splits: dict[str, list[TaskSpec]]) -> None:
    again = load_split("heldout", per_template=1)
    assert [spec.canonical() for spec in again] == [spec.canonical() for spec in splits["heldout"]]


def test_the_large_display_has_the_same_tasks_under_names_of_its_own() -> None:
    regular = load_split("heldout", per_template=1)
    large = load_split("heldout", per_template=1, display="large")
    assert [(spec.goal, spec.params) for spec in regular] == [(spec.goal, spec.params) for spec in large]
    assert not {spec.id for spec in regular} & {spec.id for spec in large}


def test_an_unknown_split_is_told_with_the_known_ones() -> None:
    with pytest.raises(TaskError, match="train, validation, test, heldout"):
        load_split("tests")
