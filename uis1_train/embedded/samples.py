"""Expert recordings as supervised samples: asked exactly as in play, answered in the adapter's words, with the loss on replies only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sopbench.adapters.base import Adapter, Message, Text, Turn
from sopbench.errors import CannotExpress, UsageError
from sopbench.trajectory import Trajectory
from uis1_train.embedded.featurize import Featurizer, Prompt
from uis1_train.embedded.learner import Row

Kind = Literal["step", "window"]


@dataclass(frozen=True, slots=True)
class Lesson:
    """The steps `first` to `last` of a trajectory are taught; those before are its history. `replies` are the expert's, one a step up to `last`."""

    trajectory: Trajectory
    first: int
    last: int
    replies: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lessons:
    """`inexpressible`: steps left out (with all that follow in their trajectory) because the family has no words for an expert's action."""

    lessons: tuple[Lesson, ...]
    inexpressible: int


def lessons(
    trajectories: Sequence[Trajectory], adapter: Adapter, *, kind: Kind, images: int, thoughts: bool
) -> Lessons:
    """Each step of each trajectory is taught once. `kind` window: as many steps in a lesson as a request shows screens of."""
    width = 1 if kind == "step" else max(1, images)
    found, left_out = [], 0
    for trajectory in trajectories:
        replies = _replies(trajectory, adapter, thoughts=thoughts)
        left_out += len(trajectory) - len(replies)
        for first in range(0, len(replies), width):
            last = min(first + width, len(replies)) - 1
            found.append(Lesson(trajectory, first, last, tuple(replies[: last + 1])))
    return Lessons(tuple(found), left_out)


def _replies(trajectory: Trajectory, adapter: Adapter, *, thoughts: bool) -> list[str]:
    replies = []
    for step in trajectory.steps:
        size = step.screen.size
        try:
            replies.append(adapter.format(step.action(size), size, step.thought if thoughts else None))
        except CannotExpress:
            break
    return replies


def row_of(lesson: Lesson, adapter: Adapter, featurizer: Featurizer, images: int) -> Row:
    """The lesson as tokens. Raises `AskFailed` where its prompt is none that could be asked (too long, too many screens, a screen that cannot be read)."""
    trajectory, last = lesson.trajectory, lesson.last
    turns = [Turn(trajectory.steps[i].screen, lesson.replies[i]) for i in range(last)]
    messages = adapter.render(trajectory.goal, [*turns, Turn(trajectory.steps[last].screen)], images)
    prompt = featurizer.prompt(messages)
    reply = (*featurizer.tokens(lesson.replies[last]), featurizer.end_of_reply)
    row = Row.reply(prompt, reply)
    if lesson.first == last:
        return row
    return Row(row.whole, (*_earlier(lesson, messages, prompt, adapter, featurizer), *row.taught))


def _earlier(
    lesson: Lesson, messages: Sequence[Message], prompt: Prompt, adapter: Adapter, featurizer: Featurizer
) -> list[int]:
    """Where in the prompt the earlier replies of the lesson stand, each with the token that ends it."""
    replies = [m for m in messages if m.role == "assistant"]
    said = ["".join(p.text for p in m.parts if isinstance(p, Text)) for m in replies]
    if said != list(lesson.replies[:-1]):
        raise UsageError(
            f"adapter {adapter.name} does not tell history in the model's own replies: use sft.sample: step"
        )
    places: list[int] = []
    for index in range(lesson.first, lesson.last):
        at = messages.index(replies[index])
        start = len(featurizer.prompt(messages[:at]).ids)
        taught = (*featurizer.tokens(said[index]), featurizer.end_of_reply)
        if prompt.ids[start : start + len(taught)] != taught:
            raise UsageError(
                "the chat template or the tokenizer runs a reply together with what stands around it: use sft.sample: step"
            )
        places += range(start, start + len(taught))
    return places
