"""TM, GR and SR, against values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sopbench.stepstats import RATIOS, StepOutcome, per_trajectory, shares


def step(
    episode: str = "e",
    index: int = 0,
    gold: str = "click",
    said: str | None = "click",
    match: bool = True,
    **more: object,
) -> StepOutcome:
    fields = {"scored": True, "type_match": gold == said} | more
    return StepOutcome(episode, index, 0, gold, said=said, match=match, **fields)  # type: ignore[arg-type]


def test_tm_gr_and_sr_are_shares_of_steps() -> None:
    found = shares(
        [
            step("a", 0),
            step("a", 1, match=False),
            step("a", 2, said="swipe", match=False),
            step("a", 3, gold="swipe", said="swipe"),
            step("b", 0, gold="wait", said=None, match=False),
        ]
    )
    assert found.values["tm"] == pytest.approx(3 / 5)
    assert found.values["gr"] == pytest.approx(1 / 2)
    assert found.values["sr"] == pytest.approx(2 / 5)
    assert (found.n, found.scored, found.bounds) == (5, 5, {})


def test_a_click_that_opens_an_app_is_no_grounding() -> None:
    """Under `uis1-boxes` tapping the icon counts for `open`; GR looks at steps where the expert clicks."""
    assert shares([step(gold="open", said="click", type_match=True)]).values["gr"] is None


def test_grounding_without_a_click_has_neither_value_nor_interval() -> None:
    found = shares([step(gold="wait", said="wait"), step("b", gold="wait", said="wait")])
    assert found.values == {"tm": 1.0, "gr": None, "sr": 1.0}
    assert set(found.ci) == {"tm", "sr"}


def test_every_step_counts_once_however_long_its_trajectory() -> None:
    steps = [step("long", k) for k in range(9)] + [step("short", 0, match=False)]
    assert shares(steps).values["sr"] == pytest.approx(0.9)


def test_the_unit_of_resampling_is_the_trajectory() -> None:
    """Ten trajectories, all right or all wrong: their hundred steps are no hundred independent ones."""
    clustered = [step(f"{t}", k, match=t % 2 == 0) for t in range(10) for k in range(10)]
    spread = [step(f"{t}-{k}", 0, match=t % 2 == 0) for t in range(10) for k in range(10)]
    wide, narrow = shares(clustered).ci["sr"], shares(spread).ci["sr"]
    assert shares(clustered).values == shares(spread).values
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)


def test_unscored_steps_leave_bounds_and_no_value() -> None:
    found = shares(
        [
            step("a", 0),
            step("a", 1, gold="swipe", said="swipe"),
            step("a", 2, scored=False, said=None, match=False, type_match=False),
            step("a", 3, gold="wait", scored=False, said=None, match=False, type_match=False),
        ]
    )
    assert (found.n, found.scored) == (4, 2)
    assert found.values == {}
    assert found.ci == {}
    assert {k: (v.low, v.high) for k, v in found.bounds.items()} == {
        "tm": (0.5, 1.0),
        "sr": (0.5, 1.0),
        "gr": (0.5, 1.0),
    }


kinds = st.sampled_from(["click", "swipe", "wait"])
outcomes = st.lists(
    st.builds(
        lambda e, gold, said, match, scored: step(
            e, gold=gold, said=said if scored else None, match=scored and match and gold == said, scored=scored
        ),
        st.sampled_from("abc"),
        kinds,
        kinds | st.none(),
        st.booleans(),
        st.booleans(),
    ),
    min_size=1,
    max_size=12,
)


@settings(max_examples=60)
@given(outcomes, st.data())
def test_whatever_an_unscored_step_turns_out_to_be_lies_within_the_bounds(
    found: list[StepOutcome], data: st.DataObject
) -> None:
    before = shares(found, with_intervals=False)
    settled = [
        o
        if o.scored
        else step(
            o.episode, gold=o.gold, said=(said := data.draw(kinds)), match=said == o.gold and data.draw(st.booleans())
        )
        for o in found
    ]
    after = shares(settled, with_intervals=False)
    for name, bound in before.bounds.items():
        if (value := after.values[name]) is not None:
            assert bound.low - 1e-9 <= value <= bound.high + 1e-9


@given(outcomes)
def test_sums_of_trajectories_are_the_sums_of_all(found: list[StepOutcome]) -> None:
    names, sums = per_trajectory(found)
    assert len(names) == len({o.episode for o in found})
    total = sums.sum(axis=0)
    assert total[0] == len(found)
    assert RATIOS["sr"](total[None, :])[0] == pytest.approx(np.mean([o.match for o in found]))


def test_nothing_has_no_values() -> None:
    assert shares([]).n == 0
