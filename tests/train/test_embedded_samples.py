"""Expert recordings as lessons: every step taught once, asked as in play, with the loss on replies alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from sopbench.adapters import get_adapter
from sopbench.adapters.base import Turn
from sopbench.clients.base import AskFailed
from sopbench.errors import UsageError
from sopbench.trajectory import Step, Trajectory
from tests.train.worlds import BUTTONS, opened, pressing, screen
from uis1_train.embedded.samples import lessons, row_of

UIS1, TINY = get_adapter("uis1"), get_adapter("tiny")


def test_a_step_is_asked_as_the_harness_asks_it_and_answered_as_the_expert(tiny_vl: Path) -> None:
    _, featurizer, _ = opened(tiny_vl)
    trajectory = pressing("t", "Go home", "Back", "Home")
    found = lessons([trajectory], UIS1, kind="step", images=2, thoughts=True)
    row = row_of(found.lessons[1], UIS1, featurizer, 2)
    first, second = (UIS1.format(s.action(), s.screen.size, s.thought) for s in trajectory.steps)
    turns = [Turn(trajectory.steps[0].screen, first), Turn(trajectory.steps[1].screen)]
    prompt = featurizer.prompt(UIS1.render("Go home", turns, 2))
    assert row.whole.ids[: len(prompt.ids)] == prompt.ids
    assert row.taught == tuple(range(len(prompt.ids), len(row.whole.ids)))
    taught = row.whole.ids[len(prompt.ids) :]
    assert featurizer.decode(taught) == second
    assert taught[-1] == featurizer.end_of_reply
    assert "I press Home" in second


def test_thoughts_can_be_left_out() -> None:
    (lesson,) = lessons([pressing("t", "g", "Back")], UIS1, kind="step", images=2, thoughts=False).lessons
    assert "I press" not in lesson.replies[0]


@pytest.mark.parametrize(
    ("kind", "images", "spans"), [("step", 2, [(0, 0), (1, 1), (2, 2)]), ("window", 2, [(0, 1), (2, 2)])]
)
def test_every_step_is_taught_once(kind: str, images: int, spans: list[tuple[int, int]]) -> None:
    found = lessons([pressing("t", "g", "Back", "Home", "Menu")], UIS1, kind=kind, images=images, thoughts=True)  # type: ignore[arg-type]
    assert [(lesson.first, lesson.last) for lesson in found.lessons] == spans
    assert found.inexpressible == 0


def test_a_window_teaches_each_of_its_replies_and_nothing_else(tiny_vl: Path) -> None:
    model, featurizer, _ = opened(tiny_vl)
    trajectory = pressing("t", "Go home", *BUTTONS)
    *_, window = lessons([trajectory], UIS1, kind="window", images=2, thoughts=True).lessons
    row = row_of(window, UIS1, featurizer, 2)
    spans: list[list[int]] = []
    for place in row.taught:
        if not spans or place != spans[-1][-1] + 1:
            spans.append([])
        spans[-1].append(place)
    said = [featurizer.decode([row.whole.ids[place] for place in span]) for span in spans]
    assert said == list(window.replies[2:])
    assert all(row.whole.ids[span[-1]] == featurizer.end_of_reply for span in spans)
    assert model.image_token not in [row.whole.ids[place] for place in row.taught]
    assert [p.key for p in row.whole.pictures] == [s.screen.sha256 for s in trajectory.steps[2:]]


def test_a_window_needs_a_history_in_the_model_s_own_replies(tiny_vl: Path) -> None:
    _, featurizer, _ = opened(tiny_vl)
    window = lessons([pressing("t", "g", "Back", "Home")], TINY, kind="window", images=2, thoughts=True).lessons[0]
    with pytest.raises(UsageError, match=r"sft\.sample: step"):
        row_of(window, TINY, featurizer, 2)


def test_from_an_action_without_words_on_nothing_of_a_trajectory_is_taught() -> None:
    """ui_tars cannot say `key`: neither that step nor any with it in its history can be told rightly."""
    adapter = get_adapter("ui_tars")
    key = Step({"action": "key", "text": "power"}, screen(5))
    whole = pressing("t", "g", "Back", "Home")
    broken = Trajectory("u", "g", (whole.steps[0], key, whole.steps[1]))
    found = lessons([whole, broken], adapter, kind="step", images=1, thoughts=True)
    assert [(lesson.trajectory.id, lesson.last) for lesson in found.lessons] == [("t", 0), ("t", 1), ("u", 0)]
    assert found.inexpressible == 2


def test_a_lesson_that_cannot_be_asked_is_refused_as_in_play(tiny_vl: Path) -> None:
    _, featurizer, _ = opened(tiny_vl, max_prompt=50)
    (lesson,) = lessons([pressing("t", "g", "Back")], UIS1, kind="step", images=1, thoughts=True).lessons
    with pytest.raises(AskFailed, match="limit is 50"):
        row_of(lesson, UIS1, featurizer, 1)
